package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNoFile is what is wrong with a name behind which there is a pipe, a socket or a device.
var ErrNoFile = errors.New("it is a pipe, a socket or a device, want a file")

// Open opens a file to read it. A pipe or the like is an error: who opens one waits until somebody writes to it, and reading it takes from others.
func Open(path string) (*os.File, error) {
	return plain(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// OpenIn is Open for a name under root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return plain(root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// ReadFile returns what a file holds; see [Open].
func ReadFile(path string) ([]byte, error) { return whole(Open(path)) }

// ReadIn returns what a file under root holds; see [Open].
func ReadIn(root *os.Root, name string) ([]byte, error) { return whole(OpenIn(root, name)) }

// plain lets files and directories pass: of those reading says what is wrong.
func plain(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: ErrNoFile}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func whole(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
