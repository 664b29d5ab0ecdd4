package golden

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Compare compares with a file, or with rewrite writes it.
func Compare(t testing.TB, path string, got []byte, rewrite bool) {
	t.Helper()
	if rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what comes out; if it should be, go test -run %s -update. First difference:\n%s", path, t.Name(), FirstDifference(string(got), string(want)))
	}
}

// FirstDifference returns the first line in which two texts differ, of both; "" if they are the same.
func FirstDifference(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got  %s\nline %d: want %s", i+1, g[i], i+1, w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}
