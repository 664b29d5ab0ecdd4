//go:build linux && amd64

package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// Every product function gives the bits of the loop in Go and touches nothing beyond its operands.
func TestTiles(t *testing.T) {
	if !asm.Available() {
		t.Skip("the assembly is not for this machine")
	}
	sets := map[isa]*gemms{avx2: &byEight}
	if asm.Wide() {
		sets[avx512] = &bySixteen
	}
	b := &bounds{fences: newFences(t, 3, 40), r: rand.New(rand.NewPCG(5, 6))}
	for set, table := range sets {
		for rows := range table.whole {
			for vecs, f := range table.whole[rows] {
				if f == nil {
					continue
				}
				for i := range 40 {
					b.end = i%2 == 1
					x := b.tile(rows, vecs, i)
					what := fmt.Sprintf("%v, %d rows of %d vectors, %d below and %d beside each other, depth %d, %d", set, rows, vecs, x.n, x.m, x.k, i)
					want := slices.Clone(x.c)
					p := x
					p.c = want
					p.multiply(plain)
					inBounds(t, what, func() { x.multiply(set) })
					if !slices.Equal(x.c, want) {
						t.Fatalf("%s: %v, want %v", what, x.c, want)
					}
				}
			}
		}
	}
}

// tile returns a tile of all the kinds that there are, one after the other, whose operands end where their memory does.
func (b *bounds) tile(rows, vecs, i int) tile {
	x := tile{rows: rows, vecs: vecs, n: 1 + i/2%2, m: 1 + i/4%2, k: 1 + b.r.IntN(9), from: b.r.IntN(2) == 0, add: b.r.IntN(2) == 0}
	if vecs%2 == 1 {
		x.m = 1
	}
	wide, all := vec*vecs*x.m, rows*x.n
	panels := x.panels() * x.m
	x.cs, x.pace = wide, panel
	x.as, x.ak, x.at = x.k, 1, rows*x.k
	if b.r.IntN(2) == 0 { // rows side by side
		x.as, x.ak, x.at = 1, all, rows
	}
	x.c, x.a = b.f32(0, all*wide), b.f32(1, all*x.k)
	x.bk, x.bp, x.bm = panel, panel*x.k, x.panels()*panel*x.k
	switch i / 8 % 3 {
	case 0:
		x.b = b.f32(2, panels*panel*x.k)
	case 1: // as rows lie
		x.bk, x.bp, x.bm = wide, panel, x.panels()*panel
		x.b = b.f32(2, wide*x.k)
	default:
		x.half = b.halves(2, panels*panel*x.k)
	}
	return x
}

// halves is f32 in bfloat16.
func (b *bounds) halves(i, n int) []uint16 {
	x := (&tensor.Tensor{Type: dtype.BF16, Mem: b.fences[i].cut(2*n, b.end)}).BF16()
	for k := range x {
		x[k] = dtype.ToBF16(float32(b.r.NormFloat64()))
	}
	return x
}
