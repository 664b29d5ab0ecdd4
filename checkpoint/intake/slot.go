package intake

import (
	"fmt"
	"math"
	"slices"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// A way is how the bytes of a tensor become those that are held.
type way uint8

const (
	moved  way = iota // as they are
	viewed            // as they are, under the name of another format
	packed            // numbers to codes
	recast            // to another format that holds the same numbers
)

// A slot is where a tensor goes, and how.
type slot struct {
	checkpoint.Entry
	spec  *spec
	piece hf.Piece
	scale bool
	way   way
}

func (s *slot) bad(format string, args ...any) error {
	return fmt.Errorf("tensor %q: %s", s.Name, fmt.Sprintf(format, args...))
}

// brings returns what comes with the tensor.
func (s *slot) brings() got {
	switch {
	case s.scale:
		return scales
	case s.spec.Value.Quantised() && s.way != packed:
		return codes
	}
	return numbers
}

// fit says how a tensor that is announced goes into its piece of a parameter, or why it doesn't.
func (s *slot) fit() error {
	v := s.spec.Value
	switch {
	case s.scale && !v.Quantised():
		return s.bad("is scales, but %s is held as %v", s.spec.Name, v.Type)
	case s.scale:
		return s.fitScale()
	case s.spec.table():
		return s.fitTable()
	case v.Quantised():
		return s.fitCodes()
	}
	return s.fitNumbers()
}

func (s *slot) fitNumbers() error {
	plain := func(t dtype.Type) bool { return t == dtype.F32 || t == dtype.BF16 }
	have, want := s.Type, s.spec.Value.Type
	switch {
	case have != want && !(plain(have) && plain(want)), !slices.Equal(s.Shape, s.piece.Shape):
		return s.bad("is %v, want %v%v", s.Info, want, s.piece.Shape)
	case have != want:
		s.way = recast
	}
	return nil
}

func (s *slot) fitScale() error {
	v := s.spec.Value
	want := checkpoint.Info{Type: v.Scale.Type, Shape: quant.FormatOf(v).Grid(s.fused(), s.piece.Shape...)}
	switch {
	case s.Type == want.Type:
	case s.Type == dtype.U8 && want.Type == dtype.E8M0:
		s.way = viewed
	case s.Type == dtype.F32 && want.Type == dtype.E8M0, s.Type == dtype.E8M0 && want.Type == dtype.F32:
		s.way = recast
	default:
		return s.bad("is %v, want %v", s.Info, want)
	}
	if !slices.Equal(s.Shape, want.Shape) {
		return s.bad("is %v, want %v for blocks of %dx%d", s.Info, want, v.Block[0], v.Block[1])
	}
	return nil
}

// fused returns how many matrices with blocks of their own the piece has below each other.
func (s *slot) fused() int {
	if len(s.piece.Shape) == 2 && len(s.spec.pieces) > 1 {
		return 1 // one of those that are fused
	}
	return s.spec.Value.Fused
}

func (s *slot) fitTable() error {
	switch {
	case s.Type != dtype.I32 && s.Type != dtype.I64, !slices.Equal(s.Shape, s.piece.Shape):
		return s.bad("is %v, want I64 or I32 %v", s.Info, s.piece.Shape)
	case s.Type != s.spec.Value.Type:
		s.way = recast
	}
	return nil
}

func (s *slot) fitCodes() error {
	v, shape := s.spec.Value, s.piece.Shape
	switch {
	case s.Type == v.Type:
	case s.Type == dtype.BF16 || s.Type == dtype.F32:
		s.way = packed
	case (s.Type == dtype.I8 || s.Type == dtype.U8) && v.Type == dtype.E2M1:
		s.way, shape = viewed, slices.Clone(shape)
		shape[len(shape)-1] /= 2
	default:
		return s.bad("is %v, want %s of %v, or BF16 or F32 to be packed", s.Info, codesOf(v.Type), shape)
	}
	if !slices.Equal(s.Shape, shape) {
		return s.bad("is %v, want shape %v", s.Info, shape)
	}
	return nil
}

// codesOf says in which formats codes may come.
func codesOf(t dtype.Type) string {
	if t == dtype.E2M1 {
		return "F4 (or two codes a byte, as I8 or U8)"
	}
	return t.String()
}

// dst returns the memory that the slot fills.
func (s *slot) dst(value *tensor.Tensor) *tensor.Tensor {
	d := s.piece.Of(value)
	if s.scale {
		return d.Scale
	}
	return d
}

// direct returns where bytes may be written to as they come; nil if they have to be changed.
func (s *slot) direct(value *tensor.Tensor) []byte {
	if s.way == moved || s.way == viewed {
		return s.dst(value).Mem
	}
	return nil
}

// change sets the slot's memory from data, which may lie anywhere.
func (s *slot) change(value *tensor.Tensor, data []byte, experts int) error {
	src := tensor.New(s.Type, s.Shape...) // aligned
	copy(src.Mem, data)
	d := s.dst(value)
	switch {
	case s.scale:
		if err := hf.CheckScales(src); err != nil {
			return s.bad("%v", err)
		}
		return s.changeScales(d, src)
	case s.spec.table():
		if err := hf.CheckTable(src, experts); err != nil { // before its entries are cut to fewer bits
			return s.bad("%v", err)
		}
		hf.Convert(d, src)
	default:
		_, loss := hf.Convert(d, src)
		if s.way == recast && loss.Changed > 0 {
			return s.bad("is %v, and %d of its %d numbers are none of %v, in which %s is held", s.Info, loss.Changed, loss.Numbers, d.Type, s.spec.Name)
		}
	}
	return nil
}

// changeScales copies scales by value, if they stay the same numbers.
func (s *slot) changeScales(dst, src *tensor.Tensor) error {
	for i := range src.Len() {
		if dst.Type == dtype.F32 {
			dst.F32()[i] = dtype.FromE8M0(src.Mem[i])
			continue
		}
		x := src.F32()[i]
		fraction, exp := math.Frexp(float64(x))
		if fraction != .5 || exp-1 < -127 {
			return s.bad("has the scale %v at %d, which F8_E8M0 can't hold: it is no power of two", x, i)
		}
		dst.Mem[i] = uint8(exp - 1 + 127)
	}
	return nil
}

// check says what is wrong with values that have arrived, which no sender means.
func (s *slot) check(value *tensor.Tensor, experts int) (err error) {
	switch {
	case s.scale:
		err = hf.CheckScales(s.dst(value))
	case s.spec.table():
		err = hf.CheckTable(s.dst(value), experts)
	}
	if err != nil {
		return s.bad("%v", err)
	}
	return nil
}
