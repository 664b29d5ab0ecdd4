package checkpoint

import (
	"fmt"
	"slices"

	"furlong/dtype"
	"furlong/tensor"
)

// An Info is what is known of a tensor before it is read.
type Info struct {
	Type  dtype.Type
	Shape []int
}

// An Entry is a named Info: one line of a table of contents.
type Entry struct {
	Name string
	Info
}

// A Source holds named tensors. Any number of goroutines may read.
type Source interface {
	// Names returns all names in the order of the file.
	Names() []string
	// Info returns what is known of a tensor; the caller leaves the Shape alone.
	Info(name string) (Info, bool)
	// Tensor returns a tensor. Its memory may be the file's own: it is not to be written, and it is
	// gone when the Source is closed.
	Tensor(name string) (*tensor.Tensor, error)
}

// A Sink takes each tensor it was made for once, in any order, from one goroutine. What it wrote counts
// only once Close has returned nil; when Close returns an error nothing was changed.
type Sink interface {
	// Write stores a tensor and is done with its memory when it returns.
	Write(name string, t *tensor.Tensor) error
	// Close makes the checkpoint visible, or fails and names what is missing.
	Close() error
}

// Bytes returns the size of a tensor, which must be one that can exist.
func (i Info) Bytes() int64 {
	n := 1
	for _, s := range i.Shape {
		n *= s
	}
	return int64(i.Type.Bytes(n))
}

// InfoOf returns the Info of a tensor.
func InfoOf(t *tensor.Tensor) Info { return Info{t.Type, t.Shape} }

// Equal reports whether two tensors have one format and shape.
func (i Info) Equal(j Info) bool { return i.Type == j.Type && slices.Equal(i.Shape, j.Shape) }

// String returns format and shape, as error messages print them.
func (i Info) String() string { return fmt.Sprintf("%v%v", i.Type, i.Shape) }
