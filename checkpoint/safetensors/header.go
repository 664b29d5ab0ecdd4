package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"furlong/checkpoint"
	"furlong/dtype"
)

const (
	lengthBytes    = 8           // the header's length, at the start of the file
	maxHeaderBytes = 100_000_000 // the limit of the format's reference reader
	metadataKey    = "__metadata__"
)

// A header is a table of contents that agrees with itself and with the size of its file.
type header struct {
	names    []string // in the order of the header
	spans    []span   // likewise
	index    map[string]int
	metadata map[string]string
}

// A span is a tensor and where its bytes lie, counted from the end of the header.
type span struct {
	checkpoint.Info
	lo, hi int
}

// headerBytes returns the length of the header from the first bytes of a file.
func headerBytes(length []byte, fileBytes int64) (int, error) {
	n := binary.LittleEndian.Uint64(length)
	switch {
	case n > maxHeaderBytes:
		return 0, fmt.Errorf("header is %d bytes, want at most %d", n, maxHeaderBytes)
	case int64(n) > fileBytes-lengthBytes:
		return 0, fmt.Errorf("header is %d bytes, the file has %d after its length", n, fileBytes-lengthBytes)
	}
	return int(n), nil
}

// parseHeader reads a header and checks it against the number of bytes that follow it.
func parseHeader(buf []byte, dataBytes int64) (*header, error) {
	h, err := readable(buf)
	if err != nil {
		return nil, err
	}
	return h, h.fill(dataBytes)
}

// readable reads a header that is not held against anything yet.
func readable(buf []byte) (*header, error) {
	if !utf8.Valid(buf) {
		return nil, fmt.Errorf("header is not UTF-8")
	}
	if len(buf) == 0 || buf[0] != '{' {
		return nil, fmt.Errorf("header does not begin with {")
	}
	h, err := scanHeader(buf)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return h, nil
}

func scanHeader(buf []byte) (*header, error) {
	h := &header{index: map[string]int{}}
	s := &scanner{buf: buf}
	s.object(func(name string) {
		if name == metadataKey {
			_, h.metadata = s.texts()
			return
		}
		h.index[name] = len(h.names)
		h.names = append(h.names, name)
		h.spans = append(h.spans, s.tensor(name))
	})
	s.end()
	return h, s.err
}

// tensor reads the description of one tensor.
func (s *scanner) tensor(name string) (t span) {
	var offsets []int
	had := map[string]bool{}
	s.object(func(key string) {
		had[key] = true
		switch key {
		case "dtype":
			t.Type = s.dtype()
		case "shape":
			t.Shape = s.numbers()
		case "data_offsets":
			offsets = s.numbers()
		default:
			s.fail("%q is no key of a tensor", key)
		}
	})
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !had[key] {
			s.fail("%s is missing", key)
		}
	}
	if s.err == nil && len(offsets) != 2 {
		s.fail("data_offsets has %d numbers, want 2", len(offsets))
	}
	if s.err != nil {
		s.err = fmt.Errorf("tensor %q: %w", name, s.err)
		return t
	}
	t.lo, t.hi = offsets[0], offsets[1]
	return t
}

func (s *scanner) dtype() dtype.Type {
	name := s.text()
	t, ok := dtype.Parse(name)
	if !ok {
		s.fail("dtype %q is not known", name)
	}
	return t
}

// fill checks that the tensors fill n bytes without gap or overlap, each as its shape says.
func (h *header) fill(n int64) error {
	_, end, err := h.layOut()
	if err == nil && int64(end) != n {
		err = fmt.Errorf("tensors end at byte %d, the data at byte %d", end, n)
	}
	return err
}

// check holds the span against its shape and the end of the tensor before it.
func (t span) check(before int) error {
	n, err := sizeBytes(t.Info)
	if err != nil {
		return err
	}
	switch {
	case t.lo < before:
		return fmt.Errorf("begins at byte %d inside another tensor that ends at %d", t.lo, before)
	case t.lo > before:
		return fmt.Errorf("begins at byte %d after a gap from %d", t.lo, before)
	case t.hi-t.lo != n:
		return fmt.Errorf("has bytes %d to %d, want %d for %v", t.lo, t.hi, n, t.Info)
	}
	return nil
}

// sizeBytes returns the bytes that a tensor takes, or an error when that is no number.
func sizeBytes(i checkpoint.Info) (int, error) {
	if i.Type.Bits() == 0 {
		return 0, fmt.Errorf("has the dtype %v", i.Type)
	}
	size, empty := uint64(i.Type.Bits()), false
	for _, n := range i.Shape {
		if n < 0 {
			return 0, fmt.Errorf("shape %v has a negative axis", i.Shape)
		}
		over, product := bits.Mul64(size, uint64(max(n, 1)))
		if over != 0 || product/8 > math.MaxInt {
			return 0, fmt.Errorf("shape %v has more bytes than can be counted", i.Shape)
		}
		size, empty = product, empty || n == 0
	}
	switch {
	case empty:
		return 0, nil
	case size%8 != 0:
		return 0, fmt.Errorf("%v does not end on a whole byte", i)
	}
	return int(size / 8), nil
}
