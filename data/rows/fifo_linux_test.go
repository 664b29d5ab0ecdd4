package rows

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe into which nobody writes is refused, and not waited for.
func TestPipesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path, limit); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("error is %v", err)
	}
}
