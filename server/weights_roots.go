package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// roots are the folders that requests may name files of, without links.
type roots []string

func newRoots(dirs []string) (r roots, err error) {
	for _, dir := range dirs {
		full, err := filepath.Abs(dir)
		if err == nil {
			full, err = filepath.EvalSymlinks(full)
		}
		if err != nil {
			return nil, fmt.Errorf("--weights-root %s: %w", dir, err)
		}
		r = append(r, full)
	}
	return r, nil
}

// resolve returns where a path leads when all links in it are followed; what does not exist yet lies where its folder leads. It must be below a root.
func (r roots) resolve(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("path is %.200q, want one of this machine", path)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(full)
		if err == nil {
			full = filepath.Join(real, rest)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || full == filepath.Dir(full) {
			return "", r.outside(path)
		}
		if _, err := os.Lstat(full); err == nil {
			return "", r.outside(path) // a link that leads nowhere leads anywhere soon
		}
		full, rest = filepath.Dir(full), filepath.Join(filepath.Base(full), rest)
	}
	for _, root := range r {
		if below(root, full) {
			return full, nil
		}
	}
	return "", r.outside(path)
}

// below reports whether a path without links is a root or lies below it.
func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

func (r roots) outside(path string) error {
	return refusal{http.StatusForbidden, fmt.Sprintf("path is %.200q, which is not below a folder that may be read (--weights-root): %s", path, strings.Join(r, ", "))}
}

// folder returns a folder or a file that may be read, with all files of a checkpoint in it.
func (r roots) folder(path string) (string, error) {
	full, err := r.resolve(path)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(full)
	if st, e := os.Stat(full); e == nil && st.Mode().IsRegular() {
		return full, nil
	}
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.Type().IsRegular() || ext != ".safetensors" && ext != ".json" {
			continue
		}
		if err := r.plain(filepath.Join(full, e.Name())); err != nil {
			return "", err
		}
	}
	return full, nil
}

// file opens a plain file that may be read.
func (r roots) file(path string) (*os.File, error) {
	if err := r.plain(path); err != nil {
		return nil, err
	}
	full, err := r.resolve(path)
	if err != nil {
		return nil, err
	}
	return os.Open(full)
}

// plain refuses what may not be read, and what is no plain file: opening a pipe would wait for whoever writes it, and all updates with it.
func (r roots) plain(path string) error {
	full, err := r.resolve(path)
	if err != nil {
		return err
	}
	st, err := os.Stat(full)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no plain file", path)
	}
	return nil
}
