package hf

import (
	"fmt"

	"furlong/quant"
	"furlong/tensor"
)

// A Piece is a tensor of a checkpoint and the run of a parameter's elements that it holds.
type Piece struct {
	Name  string
	Shape []int
	Lo    int // the first element; the pieces of a parameter follow each other without a gap
	Place Place
}

// Pieces returns the tensors of a scheme that make up a parameter, in the order of its elements. The
// parameter's name is the memory scheme's. Only the fused experts are ever more than one tensor.
func Pieces(s Scheme, param string, shape []int) ([]Piece, error) {
	if s < Memory || s > Wire {
		return nil, fmt.Errorf("parameter %q: no names in %v", param, s)
	}
	if r, ok := globalRow[param]; ok {
		return []Piece{{r.in(s), shape, 0, Place{param, -1, 0}}}, nil
	}
	layer, leaf, ok := splitLayer(param)
	if !ok || param != layerPrefix(Memory, layer)+leaf {
		return nil, fmt.Errorf("parameter %q: is no name of DeepSeek-V4", param)
	}
	prefix := layerPrefix(s, layer)
	if parts, ok := fused[leaf]; ok {
		return expertPieces(s, param, prefix, parts, shape)
	}
	r, ok := layeredRow[leaf]
	if !ok {
		return nil, fmt.Errorf("parameter %q: a layer of DeepSeek-V4 has no %q", param, leaf)
	}
	return []Piece{{prefix + r.in(s), shape, 0, Place{param, -1, 0}}}, nil
}

// expertPieces splits [E, P*R, C] into E times P matrices [R, C].
func expertPieces(s Scheme, param, prefix string, parts []row, shape []int) ([]Piece, error) {
	if s == Memory {
		return []Piece{{param, shape, 0, Place{param, -1, 0}}}, nil
	}
	if len(shape) != 3 || shape[1]%len(parts) != 0 {
		return nil, fmt.Errorf("parameter %q: is %v, want [experts, %d * rows, columns]", param, shape, len(parts))
	}
	rows, cols := shape[1]/len(parts), shape[2]
	var list []Piece
	for e := range shape[0] {
		for i, part := range parts {
			name := prefix + fmt.Sprintf(part.in(s), e)
			list = append(list, Piece{name, []int{rows, cols}, len(list) * rows * cols, Place{param, e, i}})
		}
	}
	return list, nil
}

// Of returns the piece's run of a parameter's value, over the same memory. Of a quantised value it has the scales that go with it.
func (p Piece) Of(value *tensor.Tensor) *tensor.Tensor {
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	lo, hi := value.Type.Bytes(p.Lo), value.Type.Bytes(p.Lo+n)
	t := &tensor.Tensor{Type: value.Type, Shape: p.Shape, Mem: value.Mem[lo:hi:hi]}
	if value.Quantised() {
		t.Block, t.Fused = value.Block, value.Fused
		if len(p.Shape) == 2 {
			t.Fused = 1 // one of the matrices that are fused
		}
		t.Scale = p.scaleOf(value, t)
	}
	return t
}

// scaleOf returns the scales of t, which is the piece of value. They lie as the numbers do: whole matrices, one after the other.
func (p Piece) scaleOf(value, t *tensor.Tensor) *tensor.Tensor {
	grid := quant.FormatOf(value).Grid(t.Fused, p.Shape...)
	n := 1
	for _, s := range grid {
		n *= s
	}
	size := p.Shape[len(p.Shape)-2] * p.Shape[len(p.Shape)-1] / t.Fused
	per := grid[len(grid)-2] * grid[len(grid)-1] / t.Fused
	first := 0
	if size > 0 {
		first = p.Lo / size * per
	}
	lo, hi := value.Scale.Type.Bytes(first), value.Scale.Type.Bytes(first+n)
	return &tensor.Tensor{Type: value.Scale.Type, Shape: grid, Mem: value.Scale.Mem[lo:hi:hi]}
}
