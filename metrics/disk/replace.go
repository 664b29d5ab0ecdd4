package disk

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// tempSuffix marks a file that is being written. A run has one writer, so the name need not be unique.
const tempSuffix = ".tmp"

// Replace puts what fill writes in the place of path: all of it, or, if anything fails, nothing, and then no temporary stays behind.
func Replace(path string, fill func(io.Writer) error) error {
	temp := path + tempSuffix
	if err := write(temp, fill); err != nil {
		return errors.Join(err, remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// ReplaceBytes is [Replace] with the content at hand.
func ReplaceBytes(path string, content []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func write(path string, fill func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncDir makes a rename in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sweep removes the temporaries that a killed writer left in dir, and returns their names. Only the writer of dir may call it.
func Sweep(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var swept []string
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return swept, err
		}
		swept = append(swept, e.Name())
	}
	return swept, nil
}
