package cpu

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Embed copies rows of the table; see [furlong/kernels.Head].
func (b *Backend) Embed(y, table *tensor.Tensor, ids []int32) {
	if table.Type != dtype.F32 && table.Type != dtype.BF16 {
		b.Backend.Embed(y, table, ids)
		return
	}
	dim := wide(table)
	streams := embedStreams("embed", y, len(ids), dim)
	out := y.F32()
	b.each(len(ids), streams*dim*elementCost/2, func(lo, hi int, _ *scratch) {
		for t := lo; t < hi; t++ {
			first := out[t*streams*dim:][:dim]
			tableRow(first, table, int(ids[t]))
			for s := 1; s < streams; s++ {
				copy(out[(t*streams+s)*dim:][:dim], first)
			}
		}
	})
}

// tableRow sets y to row id of the table.
func tableRow(y []float32, table *tensor.Tensor, id int) {
	at := id * len(y)
	if table.Type == dtype.F32 {
		copy(y, table.F32()[at:][:len(y)])
		return
	}
	for i, h := range table.BF16()[at:][:len(y)] {
		y[i] = dtype.FromBF16(h)
	}
}

// EmbedBackward adds to the rows of dtable; see [furlong/kernels.Head].
func (b *Backend) EmbedBackward(dtable, dy *tensor.Tensor, ids []int32) {
	if dtable == nil || !b.whole(wide(dtable)) {
		b.Backend.EmbedBackward(dtable, dy, ids)
		return
	}
	dim := wide(dtable)
	streams := embedStreams("embed backward", dy, len(ids), dim)
	out, in := b.sums(dtable), dy.F32()
	b.columnsOf(len(ids)*streams, dim, func(lo, hi int, s *scratch) {
		acc := s.f32(hi - lo)
		for t, id := range ids {
			clear(acc)
			asm.ColumnSum(&acc[0], &in[t*streams*dim+lo], streams, hi-lo, dim)
			to := out[int(id)*dim:][lo:hi]
			add(to, to, acc)
		}
	})
}

// embedStreams returns S of y [T, S, D].
func embedStreams(kernel string, y *tensor.Tensor, rows, dim int) int {
	streams := max(1, wide(y)/dim)
	want(kernel, "y", y, rows, streams*dim)
	return streams
}

// Gather copies rows of x; see [furlong/kernels.Head].
func (b *Backend) Gather(y, x *tensor.Tensor, rows []int32) {
	dim := wide(x)
	want("gather", "y", y, len(rows), dim)
	out, in := y.F32(), x.F32()
	b.each(len(rows), dim*elementCost/2, func(lo, hi int, _ *scratch) {
		for r := lo; r < hi; r++ {
			copy(out[r*dim:][:dim], in[int(rows[r])*dim:][:dim])
		}
	})
}

// GatherBackward adds rows of dy; see [furlong/kernels.Head].
func (b *Backend) GatherBackward(dx, dy *tensor.Tensor, rows []int32) {
	if dx == nil || !b.isa.simd() {
		b.Backend.GatherBackward(dx, dy, rows)
		return
	}
	dim := wide(dx)
	want("gather backward", "dy", dy, len(rows), dim)
	out, in := b.sums(dx), dy.F32()
	b.columnsOf(len(rows), dim, func(lo, hi int, _ *scratch) {
		for r, row := range rows {
			to := out[int(row)*dim:][lo:hi]
			add(to, to, in[r*dim:][lo:hi])
		}
	})
}
