package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"furlong/metrics/disk/disktest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var n []string
	for _, e := range entries {
		n = append(n, e.Name())
	}
	return n
}

func TestReplaceIsWholeOrNothing(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := ReplaceBytes(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Replace(path, func(w io.Writer) error {
		io.WriteString(w, "half of tw")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("Replace = %v, want %v", err, broken)
	}
	for size := range uint64(8) {
		disktest.Full(t, size, func() { err = ReplaceBytes(path, []byte("twelve b")) })
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path) {
			t.Errorf("disk of %d bytes: Replace = %v, want EFBIG and the name %s", size, err, path)
		}
	}
	if got := read(t, path); got != "one" {
		t.Errorf("file holds %q, want the old content", got)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("directory holds %v, want no temporary", got)
	}
}

func TestReplaceNamesDevice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.Symlink("/dev/full", path+tempSuffix); err != nil {
		t.Fatal(err)
	}
	err := ReplaceBytes(path, []byte("x"))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("Replace = %v, want ENOSPC and the file's name", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("directory holds %v, want nothing", got)
	}
}

func TestAppendOnFullDisk(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "a")
	a, err := OpenAppender(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Append([]byte("first\n")); err != nil {
		t.Fatal(err)
	}
	for size := uint64(6); size < 13; size++ {
		disktest.Full(t, size, func() { err = a.Append([]byte("second\n")) })
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path) {
			t.Errorf("disk of %d bytes: Append = %v, want EFBIG and the file's name", size, err)
		}
		if got := read(t, path); got != "first\n" {
			t.Errorf("disk of %d bytes: file holds %q, want the first piece alone", size, got)
		}
	}
	if err := a.Append([]byte("second\n")); err != nil {
		t.Errorf("Append after there was room again: %v", err)
	}
	if got := read(t, path); got != "first\nsecond\n" {
		t.Errorf("file holds %q", got)
	}
	if a.Size() != 13 {
		t.Errorf("Size = %d, want 13", a.Size())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseTellsWhatWriteLost(t *testing.T) {
	if disktest.Alone(t) {
		return
	}
	path := filepath.Join(t.TempDir(), "a")
	a, err := OpenAppender(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Write([]byte("one\n"))
	disktest.Full(t, 4, func() {
		for range 2 {
			if n, err := a.Write([]byte("two\n")); n != 0 || err == nil {
				t.Errorf("Write on a full disk = %d, %v", n, err)
			}
		}
	})
	a.Write([]byte("three\n"))
	if err := a.Close(); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path+" lost 2 pieces") {
		t.Errorf("Close = %v, want the file and 2 lost pieces", err)
	}
	if got := read(t, path); got != "one\nthree\n" {
		t.Errorf("file holds %q", got)
	}
}

func TestAppendThatCannotBeUndoneStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	a, _, err := OpenLines(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Append([]byte("x\n")); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
			t.Errorf("Append = %v, want ENOSPC and the file's name", err)
		}
	}
}

func TestOpenLinesRepairsEveryTear(t *testing.T) {
	const head, last = "{\"a\":1}\n{\"b\":2}\n", "{\"c\":\"x}\"}\n"
	for cut := range len(last) + 1 {
		path := filepath.Join(t.TempDir(), "a")
		os.WriteFile(path, []byte(head+last[:cut]), 0o644)
		a, torn, err := OpenLines(path)
		if err != nil {
			t.Fatal(err)
		}
		a.Append([]byte("{\"d\":4}\n"))
		want, wantTorn := head, cut
		if cut >= len(last)-1 {
			want, wantTorn = head+last, 0
		}
		if got := read(t, path); got != want+"{\"d\":4}\n" || torn != wantTorn {
			t.Errorf("torn at %d: file holds %q and %d bytes were cut, want %q and %d", cut, got, torn, want, wantTorn)
		}
		a.Close()
	}
}

func TestOpenLinesLongTear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	long := strings.Repeat("x", 200_000)
	os.WriteFile(path, []byte("ok\n"+long), 0o644)
	a, torn, err := OpenLines(path)
	if err != nil || torn != len(long) || a.Size() != 3 {
		t.Errorf("OpenLines = size %d, torn %d, %v, want 3, %d", a.Size(), torn, err, len(long))
	}
}

// poll returns what came, one string a line, with its offset.
func poll(t *testing.T, f *Follower) (lines []string, restarted bool) {
	t.Helper()
	restarted, err := f.Poll(func(offset int64, line []byte) error {
		lines = append(lines, fmt.Sprint(offset, ":", string(line)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, restarted
}

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f := Follow(path, 0)
	long := strings.Repeat("y", 1<<17)
	add := func(s string) func() {
		return func() {
			h, _ := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			defer h.Close()
			h.WriteString(s)
		}
	}
	for _, tt := range []struct {
		name      string
		do        func()
		want      []string
		restarted bool
	}{
		{"missing", func() {}, nil, false},
		{"one and a half", add("one\ntw"), []string{"0:one"}, false},
		{"still torn", add("o"), nil, false},
		{"whole", add("\n\n"), []string{"4:two", "8:"}, false},
		{"longer than the buffer", add(long + "\nz\n"), []string{"9:" + long, fmt.Sprint(9+len(long)+1, ":z")}, false},
		{"shrunk", func() { os.WriteFile(path, []byte("new\n"), 0o644) }, []string{"0:new"}, true},
		{"replaced by a longer one", func() { os.Remove(path); add("newer\nlast\n")() }, []string{"0:newer", "6:last"}, true},
		{"overwritten in place", func() { os.WriteFile(path, []byte("abcdefghijklmno\n"), 0o644) }, []string{"0:abcdefghijklmno"}, true},
		{"gone", func() { os.Remove(path) }, nil, true},
		{"back", add("x\n"), []string{"0:x"}, false},
	} {
		tt.do()
		got, restarted := poll(t, f)
		if !slices.Equal(got, tt.want) || restarted != tt.restarted {
			t.Errorf("%s: Poll = %.60q, restarted %v, want %.60q, %v", tt.name, got, restarted, tt.want, tt.restarted)
		}
	}
}

func TestFollowFromOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	os.WriteFile(path, []byte("one\ntwo\n"), 0o644)
	for offset, want := range map[int64]int{-1: 2, 0: 2, 3: 2, 4: 1, 8: 0, 9: 2} {
		if got, _ := poll(t, Follow(path, offset)); len(got) != want {
			t.Errorf("from %d: %d lines, want %d", offset, len(got), want)
		}
	}
}

func TestPollResumesAtTheLineThatFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	os.WriteFile(path, []byte("one\ntwo\n"), 0o644)
	f, stop := Follow(path, 0), errors.New("stop")
	if _, err := f.Poll(func(o int64, _ []byte) error {
		if o > 0 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Fatalf("Poll = %v, want %v", err, stop)
	}
	if got, _ := poll(t, f); !slices.Equal(got, []string{"4:two"}) {
		t.Errorf("Poll = %q, want the second line", got)
	}
}

func TestReadLinesCountsTheBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	os.WriteFile(path, []byte("1\nx\n3\n4"), 0o644)
	got, bad, err := ReadLines(path, func(l []byte) (string, error) {
		if bytes.Equal(l, []byte("x")) {
			return "", errors.New("not a number")
		}
		return string(l), nil
	})
	if err != nil || !slices.Equal(got, []string{"1", "3"}) || len(bad) != 1 || bad[0].Offset != 2 {
		t.Errorf("ReadLines = %v, %v, %v", got, bad, err)
	}
	if want := path + ": offset 2: not a number"; bad[0].Error() != want {
		t.Errorf("Error = %q, want %q", bad[0].Error(), want)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a", "b.tmp", "c.tmp"} {
		os.WriteFile(filepath.Join(dir, n), nil, 0o644)
	}
	got, err := Sweep(dir)
	if err != nil || !slices.Equal(got, []string{"b.tmp", "c.tmp"}) || !slices.Equal(names(t, dir), []string{"a"}) {
		t.Errorf("Sweep = %v, %v, left %v", got, err, names(t, dir))
	}
	if got, err := Sweep(filepath.Join(dir, "none")); got != nil || err != nil {
		t.Errorf("Sweep of nothing = %v, %v", got, err)
	}
}

func ExampleFollower_Poll() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rows.jsonl")
	os.WriteFile(path, []byte("{\"a\":1}\n{\"a\":"), 0o644)
	Follow(path, 0).Poll(func(offset int64, line []byte) error {
		fmt.Println(offset, string(line))
		return nil
	})
	// Output: 0 {"a":1}
}
