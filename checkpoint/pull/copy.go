package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// replace makes the files of local those of from. All are copied before the first takes an old one's place. Links are followed only in the folder
// that the reader began with.
func replace(ctx context.Context, local, from string, links bool) error {
	names, err := plainFiles(from, links)
	if err != nil {
		return err
	}
	incoming := filepath.Join(local, syncDir, "incoming")
	if err := errors.Join(os.RemoveAll(incoming), os.MkdirAll(incoming, 0o777)); err != nil {
		return err
	}
	defer os.RemoveAll(incoming) //nolint:errcheck // what is left is removed by the next pull
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(incoming, name), filepath.Join(from, name)); err != nil {
			return err
		}
	}
	if err := forget(local); err != nil {
		return err
	}
	if err := prune(local, names); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(incoming, name), filepath.Join(local, name)); err != nil {
			return err
		}
	}
	return nil
}

// plainFiles returns the names of a folder's files.
func plainFiles(dir string, links bool) (names []string, err error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%s is a file, want a folder", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		mode := e.Type()
		if mode&os.ModeSymlink != 0 && links {
			st, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			mode = st.Mode().Type()
		}
		switch {
		case mode.IsDir():
		case mode.IsRegular():
			names = append(names, e.Name())
		default:
			return nil, fmt.Errorf("%s is no plain file", filepath.Join(dir, e.Name()))
		}
	}
	return names, nil
}

// copyFile copies a file to a new one, down to the disk.
func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

// prune removes the files of an older version. Folders stay.
func prune(local string, names []string) error {
	keep := map[string]bool{}
	for _, name := range names {
		keep[name] = true
	}
	entries, err := os.ReadDir(local)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() && !keep[e.Name()] {
			if err := os.Remove(filepath.Join(local, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
