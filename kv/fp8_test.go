package kv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/quant"
	"furlong/tensor"
)

// An FP8 cache keeps of a row's coarse part what packing by groups of 64 keeps, the rest as it is, and streams without a coarse part whole. In
// place and in pages it is the same.
func TestFP8(t *testing.T) {
	const n, width, coarse = 5, 104, 100
	layer := []Spec{
		{Stream: Window, Width: width, Rate: 1, Reach: 8, Coarse: coarse},
		{Stream: Raw, Width: width, Rate: 1, Reach: 8},
	}
	k := ref.New[float32]()
	pages := NewPages(k, NewLayout([][]Spec{layer}, 1), dtype.F32, 16, 16, false)
	seq := &Sequence{}
	pages.Grow(seq, n)
	pass := pages.NewPass(k, true)
	pass.Bind([]*Sequence{seq})
	place := &InPlace{Keep: FP8(k, layer)}
	in := &ops.Tokens{ID: make([]int32, n), Seq: make([]int32, n), Pos: []int32{0, 1, 2, 3, 4}}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range layer {
		rows := tensor.New(dtype.F32, n, width)
		for i := range rows.F32() {
			rows.F32()[i] = float32(r.NormFloat64())
		}
		want := slices.Clone(rows.F32())
		if s.Coarse > 0 {
			want = kept(rows, s.Coarse)
		}
		for name, st := range map[string]Store{"in place": place, "pages": pass.Store(0)} {
			st.Put(in, s.Stream, rows.Clone())
			v := st.See(in, s.Stream, Sliding(1))
			var got []float32
			for t := range n {
				at := int(v.At(t)[0])
				got = append(got, v.Pool.Slice(at, at+1).F32()...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: stream %v keeps %v, want %v", name, s.Stream, got, want)
			}
		}
	}
}

// kept returns rows whose first columns were packed and unpacked.
func kept(rows *tensor.Tensor, cols int) []float32 {
	part, back := tensor.New(dtype.F32, rows.Rows(), cols), tensor.New(dtype.F32, rows.Rows(), cols)
	for t := range rows.Rows() {
		copy(part.F32()[t*cols:], rows.F32()[t*rows.Dim():][:cols])
	}
	q := quant.Format{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 1, Cols: 64}}.New(1, part.Shape...)
	quant.Pack(q, part)
	quant.Unpack(back, q)
	out := slices.Clone(rows.F32())
	for t := range rows.Rows() {
		copy(out[t*rows.Dim():][:cols], back.F32()[t*cols:])
	}
	return out
}
