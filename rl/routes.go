package rl

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Routes are the experts that the first tokens of a sample went to in every layer. An expert takes one byte, or two where layers have more than 256.
type Routes struct {
	Layers  int    `json:"layers"`
	Choices int    `json:"choices"` // experts of a token in each layer
	Experts int    `json:"experts"` // of a layer
	Rows    []byte `json:"rows"`    // [token, layer, choice], two bytes little endian
}

// NewRoutes returns routes of no tokens in a model of the given shape.
func NewRoutes(layers, choices, experts int) *Routes {
	return &Routes{Layers: layers, Choices: choices, Experts: experts}
}

// Like returns routes of no tokens in the same model.
func (r *Routes) Like() *Routes { return NewRoutes(r.Layers, r.Choices, r.Experts) }

// bytes returns what one expert takes.
func (r *Routes) bytes() int {
	if r.Experts > 256 {
		return 2
	}
	return 1
}

// RowBytes returns what a token takes in one layer.
func (r *Routes) RowBytes() int { return r.Choices * r.bytes() }

// Len returns the number of tokens, 0 for no routes at all.
func (r *Routes) Len() int {
	if r == nil || r.Layers*r.Choices == 0 {
		return 0
	}
	return len(r.Rows) / (r.Layers * r.RowBytes())
}

// Pack appends experts to b as Rows has them.
func (r *Routes) Pack(b []byte, experts []int32) []byte {
	if r.bytes() == 2 {
		for _, e := range experts {
			b = binary.LittleEndian.AppendUint16(b, uint16(e))
		}
		return b
	}
	for _, e := range experts {
		b = append(b, byte(e))
	}
	return b
}

// Add appends the experts of further tokens: [token, layer, choice].
func (r *Routes) Add(experts []int32) { r.Rows = r.Pack(r.Rows, experts) }

// At appends to dst the experts of a token in a layer.
func (r *Routes) At(dst []int32, token, layer int) []int32 {
	n := r.RowBytes()
	return r.unpack(dst, r.Rows[(token*r.Layers+layer)*n:][:n])
}

// From returns the experts of all tokens from one on: [token, layer, choice].
func (r *Routes) From(token int) []int32 {
	if r == nil {
		return nil
	}
	rows := r.Rows[token*r.Layers*r.RowBytes():]
	return r.unpack(make([]int32, 0, len(rows)/r.bytes()), rows)
}

func (r *Routes) unpack(dst []int32, row []byte) []int32 {
	if r.bytes() == 2 {
		for ; len(row) > 1; row = row[2:] {
			dst = append(dst, int32(binary.LittleEndian.Uint16(row)))
		}
		return dst
	}
	for _, e := range row {
		dst = append(dst, int32(e))
	}
	return dst
}

// Set writes the experts of a token in a layer.
func (r *Routes) Set(token, layer int, experts []int32) {
	n := r.RowBytes()
	r.Pack(r.Rows[(token*r.Layers+layer)*n:][:0], experts)
}

// Head returns the routes of the first n tokens, in the memory of r.
func (r *Routes) Head(n int) *Routes {
	if r == nil {
		return nil
	}
	h := *r
	h.Rows = slices.Clip(r.Rows[:n*r.Layers*r.RowBytes()])
	return &h
}

// Clone returns a copy in memory of its own, nil of nil.
func (r *Routes) Clone() *Routes {
	if r == nil {
		return nil
	}
	c := *r
	c.Rows = slices.Clone(r.Rows)
	return &c
}

// Check reports what keeps r from being routes of a model.
func (r *Routes) Check(layers, choices, experts int) error {
	if r.Layers != layers || r.Choices != choices || r.Experts != experts {
		return fmt.Errorf("routes are %d of %d experts in %d layers, want %d of %d in %d", r.Choices, r.Experts, r.Layers, choices, experts, layers)
	}
	if n := layers * r.RowBytes(); len(r.Rows)%n != 0 {
		return fmt.Errorf("routes have %d bytes, want a multiple of the %d of a token", len(r.Rows), n)
	}
	for i := range len(r.Rows) / r.bytes() {
		if e := r.expert(i); e >= experts {
			return fmt.Errorf("token %d goes to expert %d in layer %d, want less than %d", i/choices/layers, e, i/choices%layers, experts)
		}
	}
	return nil
}

// expert returns the i-th expert of Rows.
func (r *Routes) expert(i int) int {
	if r.bytes() == 2 {
		return int(binary.LittleEndian.Uint16(r.Rows[2*i:]))
	}
	return int(r.Rows[i])
}
