package cpu

import (
	"fmt"

	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// e4m3Cost is the work of one element of Round, in multiply-adds.
const e4m3Cost = 8

// Round sets y to x rounded to E4M3 by groups; see [furlong/kernels.Linear].
func (b *Backend) Round(y, x *tensor.Tensor, cols, group int) {
	rows, dim := x.Shape[0], wide(x)
	want("round", "y", y, rows, dim)
	if group < 1 || cols < 0 || cols > dim {
		panic(fmt.Sprintf("round: %d of %d columns by groups of %d, want 0 or more by 1 or more", cols, dim, group))
	}
	out, in := y.F32(), x.F32()
	b.eachShort(rows, dim*e4m3Cost, func(lo, hi int, _ *scratch) {
		for r := lo; r < hi; r++ {
			b.roundRow(out[r*dim:][:cols], in[r*dim:][:cols], group)
			copy(out[r*dim+cols:][:dim-cols], in[r*dim+cols:])
		}
	})
}

// roundRow rounds whole groups of whole vectors in assembly. A last group that is shorter is one call more.
func (b *Backend) roundRow(y, x []float32, group int) {
	for _, n := range [2]int{group, len(x) % group} {
		if n == 0 || n > len(x) {
			continue
		}
		if !b.whole(n) {
			for len(x) >= n {
				ref.RoundGroup(y[:n], x[:n])
				y, x = y[n:], x[n:]
			}
			continue
		}
		groups := len(x) / n
		asm.RoundE4M3(part(y, 0, groups*n), &x[0], n, groups)
		y, x = y[groups*n:], x[groups*n:]
	}
}
