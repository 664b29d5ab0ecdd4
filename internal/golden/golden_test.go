package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A seen test remembers that it failed, instead of failing.
type seen struct {
	testing.TB
	said string
}

func (s *seen) Errorf(format string, args ...any) { s.said = fmt.Sprintf(format, args...) }

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.golden")
	Compare(t, path, []byte("one\ntwo\n"), true)
	Compare(t, path, []byte("one\ntwo\n"), false)
	s := &seen{TB: t}
	Compare(s, path, []byte("one\nthree\n"), false)
	if want := path + " is not what comes out; if it should be, go test -run TestCompare -update. First difference:\nline 2: got  three\nline 2: want two"; s.said != want {
		t.Errorf("said %q, want %q", s.said, want)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("the file is %q, %v: only rewrite may change it", text, err)
	}
}

func ExampleFirstDifference() {
	fmt.Println(FirstDifference("a\nb\nc", "a\nB\nc"))
	fmt.Println(FirstDifference("a\nb", "a\nb\nc"))
	// Output:
	// line 2: got  b
	// line 2: want B
	// got 2 lines, want 3
}
