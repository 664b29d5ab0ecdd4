//go:build unix

package server

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe among a checkpoint's files would hold up the update, and every later one, until somebody writes into it.
func TestRootsRefusePipes(t *testing.T) {
	dir := t.TempDir()
	r, err := newRoots([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "model.safetensors")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.folder(dir); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("folder with a pipe: %v, want it refused", err)
	}
	if _, err := r.file(pipe); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("pipe: %v, want it refused", err)
	}
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if _, err := r.folder(dir); err != nil {
		t.Errorf("folder without: %v", err)
	}
}
