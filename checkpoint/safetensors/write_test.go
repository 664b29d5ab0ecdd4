package safetensors

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"furlong/checkpoint"
	"furlong/dtype"
	"furlong/tensor"
)

// filled returns a tensor whose bytes count up from seed.
func filled(seed int, t dtype.Type, shape ...int) *tensor.Tensor {
	x := tensor.New(t, shape...)
	for i := range x.Mem {
		x.Mem[i] = byte(seed + i)
	}
	return x
}

// sample is a checkpoint of many formats, with sizes that would misalign each other.
func sample() (entries []checkpoint.Entry, tensors map[string]*tensor.Tensor) {
	tensors = map[string]*tensor.Tensor{
		"bytes":           filled(1, dtype.U8, 3),
		"codes":           filled(2, dtype.E4M3, 5, 1),
		"scales":          filled(3, dtype.E8M0, 1),
		"nibbles":         filled(4, dtype.E2M1, 3, 2),
		"bf16":            filled(5, dtype.BF16, 3, 1),
		"f32":             filled(6, dtype.F32, 2, 2),
		"scalar":          filled(7, dtype.F64),
		"nothing":         filled(8, dtype.I32, 4, 0, 2),
		"table":           filled(9, dtype.I64, 1, 2),
		"odd \"name\" <é": filled(10, dtype.F16, 1),
	}
	for _, name := range []string{"bytes", "codes", "scales", "nibbles", "bf16", "f32", "scalar", "nothing", "table", "odd \"name\" <é"} {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(tensors[name])})
	}
	return entries, tensors
}

func writeAll(t *testing.T, w checkpoint.Sink, tensors map[string]*tensor.Tensor) {
	t.Helper()
	for name, x := range tensors { // any order
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, s checkpoint.Source, tensors map[string]*tensor.Tensor) {
	t.Helper()
	if got := len(s.Names()); got != len(tensors) {
		t.Errorf("%d names, want %d", got, len(tensors))
	}
	for name, want := range tensors {
		got, err := s.Tensor(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if !checkpoint.InfoOf(got).Equal(checkpoint.InfoOf(want)) || !bytes.Equal(got.Mem, want.Mem) {
			t.Errorf("%s is %v % x, want %v % x", name, got, got.Mem, want, want.Mem)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	entries, tensors := sample()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w, err := Create(path, entries, map[string]string{"format": "pt", "<": "\u2028"})
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, tensors)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	compare(t, f, tensors)
	if got := f.Metadata(); len(got) != 2 || got["format"] != "pt" || got["<"] != "\u2028" {
		t.Errorf("metadata is %q", got)
	}
	for i, name := range f.Names() {
		if s := f.header.spans[i]; (f.data+int64(s.lo))*8%int64(s.Type.Bits()) != 0 {
			t.Errorf("%s begins at byte %d, which is not aligned", name, f.data+int64(s.lo))
		}
	}
	if got := f.Names()[:3]; !slices.Equal(got, []string{"scalar", "table", "f32"}) {
		t.Errorf("file begins with %v, want the largest elements first, else as announced", got)
	}
}

// The same tensors make the same bytes, whatever the order of the writes.
func TestFilesAreDeterministic(t *testing.T) {
	entries, tensors := sample()
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "x")
		w, err := Create(path, entries, map[string]string{"b": "1", "a": "2", "c": "3"})
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, w, tensors)
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of the same tensors differ")
	}
}

func TestCreateRefuses(t *testing.T) {
	f32 := checkpoint.Info{Type: dtype.F32, Shape: []int{1}}
	for _, tt := range []struct {
		name    string
		entries []checkpoint.Entry
		want    string
	}{
		{"same name twice", []checkpoint.Entry{{Name: "w", Info: f32}, {Name: "w", Info: f32}}, `"w": comes twice`},
		{"the metadata's name", []checkpoint.Entry{{Name: "__metadata__", Info: f32}}, "keeps for itself"},
		{"no UTF-8", []checkpoint.Entry{{Name: "a\xff", Info: f32}}, "not UTF-8"},
		{"no format", []checkpoint.Entry{{Name: "w"}}, "invalid"},
		{"negative axis", []checkpoint.Entry{{Name: "w", Info: checkpoint.Info{Type: dtype.F32, Shape: []int{-1}}}}, "negative axis"},
		{"half a byte", []checkpoint.Entry{{Name: "w", Info: checkpoint.Info{Type: dtype.E2M1, Shape: []int{1}}}}, "whole byte"},
	} {
		dir := t.TempDir()
		if _, err := Create(filepath.Join(dir, "x"), tt.entries, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
		if _, err := CreateDir(filepath.Join(dir, "d"), tt.entries, nil, 0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: directory: error is %v, want %q", tt.name, err, tt.want)
		}
		wantFiles(t, dir)
	}
}

// wantFiles checks what a directory holds.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("directory holds %q, want %q", got, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	entries := []checkpoint.Entry{{Name: "w", Info: checkpoint.Info{Type: dtype.F32, Shape: []int{2}}}}
	short := filled(0, dtype.F32, 2)
	short.Mem = short.Mem[:4]
	for _, tt := range []struct {
		name string
		x    *tensor.Tensor
		want string
	}{
		{"v", filled(0, dtype.F32, 2), `"v": not announced`},
		{"w", filled(0, dtype.F32, 3), "is F32[3], want F32[2]"},
		{"w", filled(0, dtype.BF16, 2), "is BF16[2], want F32[2]"},
		{"w", short, "has 4 bytes, want 8"},
	} {
		dir := t.TempDir()
		w, err := Create(filepath.Join(dir, "x"), entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := CreateDir(filepath.Join(dir, "d"), entries, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, sink := range []checkpoint.Sink{w, d, checkpoint.NewMemory(entries...)} {
			if err := sink.Write(tt.name, tt.x); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%T: error is %v, want %q", sink, err, tt.want)
			}
			if err := sink.Close(); err == nil {
				t.Errorf("%T: closed with a tensor missing", sink)
			}
		}
		wantFiles(t, dir)
	}
}

func TestCloseNamesWhatIsMissing(t *testing.T) {
	entries, tensors := sample()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path, entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := CreateDir(filepath.Join(dir, "d"), entries, nil, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []checkpoint.Sink{w, d, checkpoint.NewMemory(entries...)} {
		for name, x := range tensors {
			if name == "f32" || name == "nothing" {
				continue
			}
			if err := sink.Write(name, x); err != nil {
				t.Fatal(err)
			}
		}
		err := sink.Close()
		if err == nil || !strings.Contains(err.Error(), `"f32": never written`) || !strings.Contains(err.Error(), `"nothing": never written`) || strings.Contains(err.Error(), "bf16") {
			t.Errorf("%T: error is %v, want one that names f32 and nothing else but nothing", sink, err)
		}
	}
	wantFiles(t, dir, "x")
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("file holds %q, want the old content", b)
	}
}

func TestWriteTwice(t *testing.T) {
	entries, tensors := sample()
	w, err := Create(filepath.Join(t.TempDir(), "x"), entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := CreateDir(filepath.Join(t.TempDir(), "d"), entries, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []checkpoint.Sink{w, d, checkpoint.NewMemory(entries...)} {
		if err := sink.Write("f32", tensors["f32"]); err != nil {
			t.Fatal(err)
		}
		if err := sink.Write("f32", tensors["f32"]); err == nil || !strings.Contains(err.Error(), "written twice") {
			t.Errorf("%T: error is %v, want written twice", sink, err)
		}
		sink.Close()
	}
}

// A full is a disk that is full after some number of writes, or when it is asked to make them durable.
type full struct {
	*os.File
	writes int
}

func (f *full) WriteAt(b []byte, at int64) (int, error) {
	if f.writes--; f.writes < 0 {
		n, _ := f.File.WriteAt(b[:len(b)/2], at)
		return n, syscall.ENOSPC
	}
	return f.File.WriteAt(b, at)
}

func (f *full) Sync() error { return syscall.ENOSPC }

func TestFullDiskLeavesTheOldFile(t *testing.T) {
	entries, tensors := sample()
	for writes := range len(entries) + 2 {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
		err := writeFull(path, entries, tensors, writes)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Errorf("full after %d writes: error is %v, want one that names the file and %v", writes, err, syscall.ENOSPC)
		}
		wantFiles(t, dir, "x")
		if b, _ := os.ReadFile(path); string(b) != "old" {
			t.Errorf("full after %d writes: file holds %q, want the old content", writes, b)
		}
	}
}

func writeFull(path string, entries []checkpoint.Entry, tensors map[string]*tensor.Tensor, writes int) error {
	w, err := create(path, entries, nil, func(path string) (file, error) {
		f, err := createTemp(path)
		return &full{f.(*os.File), writes}, err
	})
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.Write(e.Name, tensors[e.Name]); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}
