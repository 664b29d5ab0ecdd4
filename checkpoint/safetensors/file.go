package safetensors

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"furlong/checkpoint"
	"furlong/tensor"
)

// A File is an open safetensors file. It is a [checkpoint.Source]; any number of goroutines may read.
type File struct {
	path   string
	header *header
	data   int64 // where the tensors begin
	region region
}

// Open opens a file and checks its whole header. Where the system can, the file is mapped: it must not be
// truncated or written to while it is open.
func Open(path string) (*File, error) { return open(path, newRegion) }

func open(path string, see func(*os.File, int64) (region, error)) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := fileBytes(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	r, err := see(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parse(path, r, size)
}

// Parse reads a file that is in memory. name stands for it in errors; content must not change while the File is in use.
func Parse(name string, content []byte) (*File, error) {
	if len(content) < lengthBytes {
		return nil, fmt.Errorf("%s: is %d bytes, want at least %d", name, len(content), lengthBytes)
	}
	return parse(name, memory(content), int64(len(content)))
}

// parse checks the header of a region of the given size, and closes the region if it is not one of ours.
func parse(path string, r region, size int64) (*File, error) {
	h, at, err := readHeader(r, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.close())
	}
	return &File{path: path, header: h, data: at, region: r}, nil
}

// fileBytes returns the size of f, which must be a regular file large enough to be one of ours.
func fileBytes(f *os.File) (int64, error) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case !st.Mode().IsRegular():
		return 0, fmt.Errorf("is not a regular file")
	case st.Size() < lengthBytes:
		return 0, fmt.Errorf("is %d bytes, want at least %d", st.Size(), lengthBytes)
	}
	return st.Size(), nil
}

// readHeader returns the header and where the data begins.
func readHeader(r region, size int64) (*header, int64, error) {
	length, err := r.bytes(0, lengthBytes)
	if err != nil {
		return nil, 0, err
	}
	n, err := headerBytes(length, size)
	if err != nil {
		return nil, 0, err
	}
	buf, err := r.bytes(lengthBytes, n)
	if err != nil {
		return nil, 0, err
	}
	at := lengthBytes + int64(n)
	h, err := parseHeader(buf, size-at)
	return h, at, err
}

// Names returns all names in the order of the header.
func (f *File) Names() []string { return slices.Clone(f.header.names) }

// Info returns format and shape of a tensor.
func (f *File) Info(name string) (checkpoint.Info, bool) {
	i, ok := f.header.index[name]
	if !ok {
		return checkpoint.Info{}, false
	}
	return f.header.spans[i].Info, true
}

// Where returns where the bytes of a tensor lie in the file.
func (f *File) Where(name string) (at int64, n int, ok bool) {
	i, ok := f.header.index[name]
	if !ok {
		return 0, 0, false
	}
	s := f.header.spans[i]
	return f.data + int64(s.lo), s.hi - s.lo, true
}

// Metadata returns a copy of the header's free text.
func (f *File) Metadata() map[string]string { return maps.Clone(f.header.metadata) }

// Tensor returns a tensor that shares the file's map: it is read only, and gone after Close. A tensor that
// lies in the file at an address its format can't have (other writers do that) is copied.
func (f *File) Tensor(name string) (*tensor.Tensor, error) {
	i, ok := f.header.index[name]
	if !ok {
		return nil, fmt.Errorf("%s: tensor %q: is not there", f.path, name)
	}
	s := f.header.spans[i]
	at := f.data + int64(s.lo)
	b, err := f.region.bytes(at, s.hi-s.lo)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", f.path, name, err)
	}
	if at*8%int64(s.Type.Bits()) != 0 {
		t := tensor.New(s.Type, s.Shape...)
		copy(t.Mem, b)
		return t, nil
	}
	return &tensor.Tensor{Type: s.Type, Shape: slices.Clone(s.Shape), Mem: b}, nil
}

// Close unmaps the file. Tensors that share the map must not be touched again.
func (f *File) Close() error { return f.region.close() }
