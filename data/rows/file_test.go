package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

const limit = 1 << 20

// all returns the rows of a file as text, faults in angle brackets.
func all(t testing.TB, f *File) (out []string, err error) {
	t.Helper()
	for {
		r, err := f.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, err
		case r.Fault != nil:
			out = append(out, fmt.Sprintf("%d <%v>", r.Number, r.Fault))
		default:
			out = append(out, fmt.Sprintf("%d %s", r.Number, r.Text))
		}
	}
}

func fromBytes(t testing.TB, name string, content []byte, limit int) *File {
	t.Helper()
	f, err := New(name, bytes.NewReader(content), int64(len(content)), limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		limit      int
		want       []string
	}{
		{"empty", "", limit, nil},
		{"line ends and blank lines", "{}\r\n\n  \n{\"a\":1}", limit, []string{"1 {}", "2 ", "3 ", `4 {"a":1}`}},
		{"a mark", "\ufeff{}\n\ufeff{}\n", limit, []string{"1 {}", "2 \ufeff{}"}},
		{"no UTF-8", "{}\n\xff\xfe\n{}", limit, []string{"1 {}", "2 <line is not UTF-8>", "3 {}"}},
		{"no object", "[1]\n3\nnull\n{", limit, []string{"1 <line is [1], want an object>", "2 <line is 3, want an object>", "3 <line is null, want an object>", "4 {"}},
		{"a long one", "{}\n{\"a\":\"" + strings.Repeat("x", 100_000) + "\"}\n{}\n", 10, []string{"1 {}", "2 <line is longer than 10 bytes (--max-line-bytes)>", "3 {}"}},
		{"as long as may be", "{\"aaa\":12}\r\n{\"aaa\":123}", 10, []string{`1 {"aaa":12}`, "2 <line is longer than 10 bytes (--max-line-bytes)>"}},
		{"a long one at the end", "{}\n" + strings.Repeat("x", 70_000), 10, []string{"1 {}", "2 <line is longer than 10 bytes (--max-line-bytes)>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := all(t, fromBytes(t, "f.jsonl", []byte(tt.file), tt.limit))
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("rows are %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Offsets point at what was handed out, whatever stands around it.
func TestOffsets(t *testing.T) {
	content := []byte("\ufeff{\"a\":1}\r\n\n\xff\n  {\"b\":2}\n{\"c\":3}")
	f := fromBytes(t, "f", content, limit)
	for {
		r, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if at := content[r.Offset:][:len(r.Text)]; !bytes.Equal(at, r.Text) {
			t.Errorf("line %d: at %d stands %q, want %q", r.Number, r.Offset, at, r.Text)
		}
	}
	if f.Done() != f.Size() || !f.Marked() {
		t.Errorf("done is %d of %d, marked %t", f.Done(), f.Size(), f.Marked())
	}
}

// xs is a file of one row of n bytes.
type xs struct{ n int64 }

func (x xs) ReadAt(p []byte, at int64) (int, error) {
	n := min(int64(len(p)), x.n-at)
	for i := range n {
		p[i] = 'x'
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func TestLongRowInBoundedMemory(t *testing.T) {
	const size = 50 << 20
	f, err := New("f.jsonl", xs{size}, size, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := f.Next()
	runtime.ReadMemStats(&after)
	if err != nil || r.Fault == nil || !strings.Contains(r.Fault.Error(), "longer than 1048576 bytes") {
		t.Errorf("row is %.40q, %v, fault %v", r.Text, err, r.Fault)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("a row of %d bytes took %d, want at most 8 MiB", size, n)
	}
}

func TestReadErrorNamesTheLine(t *testing.T) {
	broken := struct{ io.ReaderAt }{readerAt{iotest.ErrReader(errors.New("disk on fire"))}}
	if _, err := New("f.jsonl", broken, 10, limit); err == nil || !strings.Contains(err.Error(), "f.jsonl: disk on fire") {
		t.Errorf("error is %v", err)
	}
}

type readerAt struct{ r io.Reader }

func (r readerAt) ReadAt(p []byte, _ int64) (int, error) { return r.r.Read(p) }

// value reads JSON with numbers as they are written.
func value(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// What another program wrote as Parquet reads as the same rows that it wrote as JSON.
func TestParquet(t *testing.T) {
	lines, err := os.ReadFile("testdata/rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, err := all(t, fromBytes(t, "rows.jsonl", lines, limit))
	if err != nil || len(want) != 50 {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	for _, name := range []string{"snappy", "zstd-v2", "gzip-plain", "none-delta", "empty-group"} {
		t.Run(name, func(t *testing.T) {
			f, err := Open(filepath.Join("testdata", name+".parquet"), limit)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := all(t, f)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d rows, %v, want %d", len(got), err, len(want))
			}
			out := []string{"raw"}
			if name == "zstd-v2" { // its truth values are run lengths
				out = []string{"flags", "raw"}
			}
			for i := range want {
				n, text, _ := strings.Cut(got[i], " ")
				wantN, wantText, _ := strings.Cut(want[i], " ")
				wantValue := value(t, wantText)
				for _, name := range out {
					delete(wantValue, name)
				}
				if n != wantN || !reflect.DeepEqual(value(t, text), wantValue) {
					t.Errorf("row is %s, want %s", got[i], want[i])
				}
			}
			if !slices.Equal(f.LeftOut(), out) || f.Done() != f.Size() || !f.Parquet() {
				t.Errorf("left out are %q, done %d of %d", f.LeftOut(), f.Done(), f.Size())
			}
		})
	}
}

// A table without rows is an empty file, not a damaged one.
func TestParquetWithoutRows(t *testing.T) {
	f, err := Open("testdata/no-rows.parquet", limit)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := all(t, f); err != nil || len(got) > 0 || f.Done() != f.Size() {
		t.Errorf("rows are %q, %v, done %d of %d", got, err, f.Done(), f.Size())
	}
}

func TestIntegersStayExact(t *testing.T) {
	f, err := Open("testdata/snappy.parquet", limit)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := f.Next()
	if err != nil || !strings.Contains(string(r.Text), `"rank":18446744073709551615`) {
		t.Errorf("row is %s, %v", r.Text, err)
	}
}

func TestRefused(t *testing.T) {
	whole, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	huge := bytes.Clone(whole)
	copy(huge[len(huge)-8:], "\xff\xff\xff\xff")
	for _, tt := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"cut off", "f.parquet", whole[:len(whole)/2], "f.parquet: file ends with"},
		{"cut off at the beginning", "f.parquet", whole[:6], "file has 6 bytes, want at least 12: it is cut off"},
		{"nothing", "f.parquet", nil, `f.parquet: file begins with "", want PAR1`},
		{"another format", "f.parquet", []byte("{}\n{}\n{}\n"), `begins with "{}\n{", want PAR1`},
		{"a huge footer", "f.parquet", huge, "footer has 4294967295 bytes, want at most"},
		{"gzip", "f.jsonl.gz", []byte("\x1f\x8b\x08\x00"), "f.jsonl.gz: file is compressed"},
		{"gzip by another name", "f.jsonl", []byte("\x1f\x8b\x08\x00"), "file is compressed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.file, bytes.NewReader(tt.content), int64(len(tt.content)), limit)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
	f, err := Open("testdata/refused.parquet", limit)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Next(); err == nil || !strings.Contains(err.Error(), "encoding is DELTA_BYTE_ARRAY") {
		t.Errorf("error is %v", err)
	}
	if _, err := Open("testdata", limit); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("error of a folder is %v", err)
	}
}

// A row of Parquet that is too long is a fault, and the next one follows.
func TestLongRowOfParquet(t *testing.T) {
	content, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(t, fromBytes(t, "f.parquet", content, 200))
	if err != nil || len(got) != 50 || !strings.Contains(strings.Join(got, "\n"), "<row is longer than 200 bytes (--max-line-bytes)>") {
		t.Errorf("rows are %q, %v", got, err)
	}
}

// Every damaged copy of a file is an error or other rows, in bounded memory: no panic, no gigabytes.
func TestDamagedParquet(t *testing.T) {
	content, err := os.ReadFile("testdata/snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := 0; i < len(content); i += 17 {
		broken := bytes.Clone(content)
		broken[i] ^= 1 << (i % 8)
		f, err := New("f.parquet", bytes.NewReader(broken), int64(len(broken)), limit)
		if err == nil {
			_, err = all(t, f)
			f.Close()
		}
		if err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"snappy", "gzip-plain", "none-delta", "empty-group"} {
		content, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := New("f.parquet", bytes.NewReader(content), int64(len(content)), 1<<16)
		if err != nil {
			return
		}
		defer file.Close()
		for range 1000 {
			r, err := file.Next()
			if err != nil {
				return
			}
			if r.Fault == nil && !file.Parquet() {
				continue
			}
			if r.Fault == nil && !json.Valid(r.Text) {
				t.Fatalf("row %d is %s", r.Number, r.Text)
			}
		}
	})
}
