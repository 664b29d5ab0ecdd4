package safetensors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"furlong/checkpoint"
)

// A Stream is a file that comes from a Reader: a header, then one tensor after the other. Its length follows from the header, which is checked
// before anything else is read. One goroutine reads it.
type Stream struct {
	name   string
	r      io.Reader
	header *header
	order  []int // of the tensors' bytes
	next   int
}

// NewStream reads a header and checks it. name stands for the stream in errors.
func NewStream(name string, r io.Reader) (*Stream, error) {
	h, err := streamHeader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Stream{name: name, r: r, header: h}
	if s.order, _, err = h.layOut(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// streamHeader reads a header. Memory is taken as bytes come, whatever length they announce.
func streamHeader(r io.Reader) (*header, error) {
	length := make([]byte, lengthBytes)
	if n, err := io.ReadFull(r, length); err != nil {
		return nil, fmt.Errorf("ends after %d bytes, want at least %d: %w", n, lengthBytes, err)
	}
	n, err := headerBytes(length, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if got, err := io.CopyN(&buf, r, int64(n)); err != nil {
		return nil, fmt.Errorf("ends after %d bytes of a header of %d: %w", got, n, err)
	}
	return readable(buf.Bytes())
}

// Entries returns the tensors in the order in which their bytes come.
func (s *Stream) Entries() []checkpoint.Entry {
	out := make([]checkpoint.Entry, len(s.order))
	for k, i := range s.order {
		out[k] = checkpoint.Entry{Name: s.header.names[i], Info: s.header.spans[i].Info}
	}
	return out
}

// Metadata returns a copy of the header's free text.
func (s *Stream) Metadata() map[string]string { return maps.Clone(s.header.metadata) }

// Read fills dst with the next tensor of [Stream.Entries]; dst has its size.
func (s *Stream) Read(dst []byte) error {
	i := s.order[s.next]
	x := s.header.spans[i]
	if len(dst) != x.hi-x.lo {
		return fmt.Errorf("%s: tensor %q: room for %d bytes, want %d", s.name, s.header.names[i], len(dst), x.hi-x.lo)
	}
	if n, err := io.ReadFull(s.r, dst); err != nil {
		return fmt.Errorf("%s: tensor %q: the stream ends after %d of %d bytes: %w", s.name, s.header.names[i], n, len(dst), cmp.Or(plain(err), err))
	}
	s.next++
	return nil
}

// Skip reads the next tensor and leaves it.
func (s *Stream) Skip() error {
	x := s.header.spans[s.order[s.next]]
	if n, err := io.CopyN(io.Discard, s.r, int64(x.hi-x.lo)); err != nil {
		return fmt.Errorf("%s: tensor %q: the stream ends after %d of %d bytes: %w", s.name, s.header.names[s.order[s.next]], n, x.hi-x.lo, cmp.Or(plain(err), err))
	}
	s.next++
	return nil
}

// plain makes one error of the two by which readers say that they ended.
func plain(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// End checks that every tensor was read and that nothing follows.
func (s *Stream) End() error {
	if s.next < len(s.order) {
		return fmt.Errorf("%s: %d of %d tensors were read", s.name, s.next, len(s.order))
	}
	switch n, err := io.ReadFull(s.r, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("%s: bytes follow the last tensor", s.name)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%s: after the last tensor: %w", s.name, err)
	}
	return nil
}

// layOut returns the tensors in the order of their bytes and where the last one ends, if there is neither gap nor overlap and each is as long as
// its shape says.
func (h *header) layOut() (order []int, end int, err error) {
	order = make([]int, len(h.spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := h.spans[a], h.spans[b]
		return cmp.Or(cmp.Compare(x.lo, y.lo), cmp.Compare(x.hi, y.hi))
	})
	for _, i := range order {
		if err := h.spans[i].check(end); err != nil {
			return nil, 0, fmt.Errorf("tensor %q: %w", h.names[i], err)
		}
		end = h.spans[i].hi
	}
	return order, end, nil
}
