package safetensors

import (
	"fmt"
	"io"
	"os"
)

// A region is the bytes of an open file.
type region interface {
	// bytes returns n bytes from offset at, which lie inside the file. They may be the region's own.
	bytes(at int64, n int) ([]byte, error)
	close() error
}

// A readRegion reads anew each time it is asked. It serves where files can't be mapped.
type readRegion struct{ f *os.File }

func (r readRegion) bytes(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := r.f.ReadAt(b, at); err != nil && !(err == io.EOF && n == 0) {
		return nil, fmt.Errorf("bytes %d to %d: %w", at, at+int64(n), err)
	}
	return b, nil
}

func (r readRegion) close() error { return r.f.Close() }

// memory is content that the caller holds.
type memory []byte

func (m memory) bytes(at int64, n int) ([]byte, error) { return m[at:][:n:n], nil }

func (m memory) close() error { return nil }
