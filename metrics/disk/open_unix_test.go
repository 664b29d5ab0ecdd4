//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to is an error and not a wait; files and what is missing are as they are for package os.
func TestOpenWantsAFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644), os.WriteFile(filepath.Join(dir, "file"), []byte("whole"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"pipe": ErrNoFile, "none": fs.ErrNotExist, "file": nil} {
		path := filepath.Join(dir, name)
		for how, read := range map[string]func() ([]byte, error){
			"ReadFile": func() ([]byte, error) { return ReadFile(path) },
			"ReadIn":   func() ([]byte, error) { return ReadIn(root, name) },
		} {
			b, err := read()
			if !errors.Is(err, want) || want == nil && string(b) != "whole" {
				t.Errorf("%s of %s: %q, %v, want %v", how, name, b, err, want)
			}
		}
	}
	if _, err := Open(dir); err != nil {
		t.Errorf("directory: %v, want to be told by who reads it", err)
	}
}
