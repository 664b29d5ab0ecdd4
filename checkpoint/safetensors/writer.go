package safetensors

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"furlong/checkpoint"
	"furlong/tensor"
)

// A Writer writes one file. It is a [checkpoint.Sink].
//
// Bytes go to a temporary file beside the target. Close makes it durable and renames it; when anything fails
// before that, the temporary file is removed at once and the target is as it was.
type Writer struct {
	path    string
	temp    file
	data    int64 // where the tensors begin
	header  *header
	written map[string]bool
	err     error // the first failure; the temporary file is then gone
}

// A file is what the Writer needs of an *os.File; tests put a full disk here.
type file interface {
	io.WriterAt
	Name() string
	Sync() error
	Close() error
}

var errClosed = errors.New("is closed")

// Create begins a file that will hold the given tensors and free text.
func Create(path string, entries []checkpoint.Entry, metadata map[string]string) (*Writer, error) {
	return create(path, entries, metadata, createTemp)
}

func create(path string, entries []checkpoint.Entry, metadata map[string]string, open func(string) (file, error)) (*Writer, error) {
	h, err := place(entries)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	h.metadata = maps.Clone(metadata)
	start, err := h.encode()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	temp, err := open(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, temp: temp, data: int64(len(start)), header: h, written: map[string]bool{}}
	if _, err := temp.WriteAt(start, 0); err != nil {
		return nil, w.fail(err)
	}
	return w, nil
}

// createTemp creates a file beside path under a name that nobody has.
func createTemp(path string) (file, error) {
	for i := 0; ; i++ {
		f, err := os.OpenFile(path+".tmp"+strconv.Itoa(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
}

// Write stores a tensor: any order, each once.
func (w *Writer) Write(name string, t *tensor.Tensor) error {
	if w.err != nil {
		return w.err
	}
	at, err := w.placeOf(name, t)
	if err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	if _, err := w.temp.WriteAt(t.Mem, at); err != nil {
		return w.fail(fmt.Errorf("tensor %q: %w", name, err))
	}
	w.written[name] = true
	return nil
}

// placeOf returns where in the file the tensor goes.
func (w *Writer) placeOf(name string, t *tensor.Tensor) (int64, error) {
	i, ok := w.header.index[name]
	if !ok {
		return 0, fmt.Errorf("tensor %q: not announced", name)
	}
	s := w.header.spans[i]
	if err := checkpoint.CheckWrite(name, t, s.Info); err != nil {
		return 0, err
	}
	if w.written[name] {
		return 0, fmt.Errorf("tensor %q: written twice", name)
	}
	return w.data + int64(s.lo), nil
}

// Close makes the file visible under its name, or fails, naming each tensor that was never written.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.missing(); err != nil {
		return w.fail(err)
	}
	if err := w.temp.Sync(); err != nil {
		return w.fail(err)
	}
	if err := w.publish(); err != nil {
		return w.fail(err)
	}
	w.err = fmt.Errorf("%s: %w", w.path, errClosed)
	if err := syncDir(filepath.Dir(w.path)); err != nil {
		return fmt.Errorf("%s: is written, but perhaps not durable: %w", w.path, err)
	}
	return nil
}

func (w *Writer) publish() error {
	if err := w.temp.Close(); err != nil {
		return err
	}
	return os.Rename(w.temp.Name(), w.path)
}

func (w *Writer) missing() error {
	var errs []error
	for _, name := range w.header.names {
		if !w.written[name] {
			errs = append(errs, fmt.Errorf("tensor %q: never written", name))
		}
	}
	return checkpoint.Join(errs)
}

// fail gives up: it removes the temporary file and returns err with the file's name, now and from then on.
func (w *Writer) fail(err error) error {
	w.temp.Close() // a second close is harmless, and err matters more
	w.err = errors.Join(fmt.Errorf("%s: %w", w.path, err), os.Remove(w.temp.Name()))
	return w.err
}
