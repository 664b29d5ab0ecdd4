//go:build unix

package safetensors

import (
	"fmt"
	"os"
	"syscall"
)

// A mapped is a file seen as memory, read only: a write to it is a fault.
type mapped []byte

// newRegion maps a file of the given size, which is not 0, and is done with f.
func newRegion(f *os.File, size int64) (region, error) {
	defer f.Close() // the map outlives the descriptor
	if int64(int(size)) != size {
		return nil, fmt.Errorf("%d bytes do not fit the address space", size)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	return mapped(b), nil
}

func (m mapped) bytes(at int64, n int) ([]byte, error) { return m[at:][:n:n], nil }

func (m mapped) close() error { return syscall.Munmap(m) }

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
