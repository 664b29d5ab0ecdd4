package kerneltest

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// Formats of quantised weights: those of checkpoints, and blocks that put many boundaries into small matrices.
var codeFormats = []quant.Format{
	quant.FP8, quant.FP4,
	{Code: dtype.E4M3, Scale: dtype.F32, Block: quant.WeightE4M3},
	{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 5, Cols: 16}},
	{Code: dtype.E4M3, Scale: dtype.F32, Block: quant.Block{Rows: 3, Cols: 32}},
	{Code: dtype.E2M1, Scale: dtype.E8M0, Block: quant.Block{Rows: 7, Cols: 16}},
}

// coded returns a weight of random codes, every one of them, under scales between 2^-12 and 1. NaN is not among them.
func (g gen) coded(f quant.Format, fused int, shape ...int) *tensor.Tensor {
	w := f.New(fused, shape...)
	for i := range w.Mem {
		w.Mem[i] = byte(g.IntN(256))
		if f.Code == dtype.E4M3 && w.Mem[i]&0x7f == 0x7f {
			w.Mem[i]--
		}
	}
	for i := range w.Scale.Len() {
		if f.Scale == dtype.F32 {
			w.Scale.F32()[i] = float32(math.Exp2(-12 * g.Float64()))
		} else {
			w.Scale.Mem[i] = byte(115 + g.IntN(13))
		}
	}
	return w
}

// spoilt returns w with scales and codes of all kinds in some places: NaN, infinite products, what only just fits.
func (g gen) spoilt(w *tensor.Tensor) *tensor.Tensor {
	for range 3 {
		i := g.IntN(w.Scale.Len())
		if w.Scale.Type == dtype.F32 {
			w.Scale.F32()[i] = []float32{0, -1, 300, 1e38, 1e-42, float32(math.NaN()), float32(math.Inf(1))}[g.IntN(7)]
		} else {
			w.Scale.Mem[i] = []byte{0, 1, 134, 135, 254, 255}[g.IntN(6)]
		}
		w.Mem[g.IntN(len(w.Mem))] = []byte{0x7f, 0xff}[g.IntN(2)]
	}
	return w
}

// codedCalls are products with quantised weights, and Round.
func codedCalls(g gen) []call {
	var calls []call
	rows := []int{1, 2, 3, 4, 5, 6, 7, 13, 64, 0}
	for i, s := range codedSizes() {
		groups, n, k := s[0], s[1], s[2]
		for j, f := range codeFormats {
			t := rows[(i+j)%len(rows)]
			fused := 1 + (i+j)%2*(1-n*groups%2) // two where the rows can be halved
			w := g.coded(f, fused, groups*n, k)
			if (i+j)%3 == 0 {
				w = g.spoilt(w)
			}
			calls = append(calls, linear(g.normal(1, t, groups*k), w, groups), linearBackward(g, g.normal(1, t, groups*k), w, groups))
		}
	}
	for i, s := range [][4]int{{13, 3, 18, 30}, {64, 5, 6, 20}, {30, 8, 16, 32}, {9, 2, 260, 130}, {4, 4, 40, 64}, {0, 2, 4, 4}} {
		for j, f := range codeFormats {
			w, off := g.coded(f, 1+(i+j)%2, s[1:]...), g.runs(s[0], s[1])
			if j%3 == 0 {
				w = g.spoilt(w)
			}
			calls = append(calls, expertLinear(g.normal(1, s[0], s[3]), w, off), expertLinearBackward(g, g.normal(1, s[0], s[3]), w, off))
		}
	}
	return append(calls, roundCalls(g)...)
}

// codedSizes are groups, N and even K: single columns and blocks, some more, some less, and depths that are cut.
func codedSizes() [][3]int {
	sizes := [][3]int{{1, 300, 260}, {1, 33, 600}, {1, 130, 1100}, {1, 32, 128}, {1, 64, 66}, {3, 20, 34}, {2, 16, 32}, {4, 32, 64}}
	for n := 1; n <= 40; n += 3 {
		sizes = append(sizes, [3]int{1, n, 2 * n}, [3]int{1, 41 - n, 30 + 2*n})
	}
	return sizes
}

// largeCodedCalls have enough work for several threads, with many rows and with few.
func largeCodedCalls(g gen) []call {
	calls := []call{round(g.normal(1, 300, 500), 450, 128)}
	for _, f := range codeFormats[:3] {
		w, experts, off := g.coded(f, 1, 6*150, 300), g.coded(f, 2, 9, 130, 70), g.runs(200, 9)
		x, rows := g.normal(1, 67, 300), g.normal(1, 200, 70)
		calls = append(calls, linear(x, w, 1), linear(x.Slice(0, 1), w, 1), linear(x.Slice(0, 5), w, 1), linear(g.normal(1, 67, 6*300), w, 6),
			linearBackward(g, x, w, 1), expertLinear(rows, experts, off), expertLinearBackward(g, rows, experts, off))
	}
	return calls
}

func roundCalls(g gen) []call {
	var calls []call
	inf := float32(math.Inf(1))
	for _, s := range [][3]int{{1, 128, 128}, {7, 300, 128}, {13, 40, 128}, {64, 256, 128}, {5, 77, 32}, {3, 9, 4}, {2, 24, 1}, {4, 1, 8}, {0, 128, 128}} {
		t, dim, group := s[0], s[1], s[2]
		for _, x := range []*tensor.Tensor{g.normal(1, t, dim), g.wild(t, dim), g.normal(1e-6, t, dim), g.normal(1e6, t, dim), g.normal(1, t, dim)} {
			calls = append(calls, round(x, dim, group), round(x, dim*2/3, group))
		}
		last := calls[len(calls)-1].in[0].F32()
		for i := range last {
			if g.IntN(200) == 0 {
				last[i] = []float32{inf, -inf, float32(math.NaN()), math.MaxFloat32}[g.IntN(4)]
			}
		}
	}
	return calls
}

func round(x *tensor.Tensor, cols, group int) call {
	return call{
		name: fmt.Sprintf("Round %d columns of %v by %d", cols, x, group), rows: x.Shape[0],
		in: []operand{rowwise("x", x)}, out: []operand{rowwise("y", x)},
		run: func(k kernels.Backend, a args) { k.Round(a.out[0], a.in[0], cols, group) },
	}
}

// unpacked returns the numbers of w.
func unpacked(w *tensor.Tensor) *tensor.Tensor {
	x := tensor.New(dtype.F32, w.Shape...)
	quant.Unpack(x, w)
	return x
}

// testCodes wants a quantised weight to give the bits of its values in F32: forwards, and in both gradients.
func testCodes(t reporter, k kernels.Backend) {
	g := newGen(71)
	for i, f := range codeFormats {
		for _, rows := range []int{1, 2, 6, 7, 33} {
			w := g.coded(f, 1+i%2, 150, 2*(40+g.IntN(200)))
			if rows == 7 {
				w = g.spoilt(w)
			}
			x := g.normal(1, rows, w.Dim())
			narrow, wide := linear(x, w, 1), linear(x, unpacked(w), 1)
			narrow.same(t, "against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)
			narrow, wide = linearBackward(newGen(72), x, w, 1), linearBackward(newGen(72), x, unpacked(w), 1)
			narrow.same(t, "against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)

			w = g.coded(f, 1+i%2, 3, 36, 96)
			x = g.normal(1, rows, w.Dim())
			off := g.runs(rows, 3)
			narrow, wide = expertLinear(x, w, off), expertLinear(x, unpacked(w), off)
			narrow.same(t, "against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)
			narrow, wide = expertLinearBackward(newGen(73), x, w, off), expertLinearBackward(newGen(73), x, unpacked(w), off)
			narrow.same(t, "against the same values in F32", narrow.all(t, k), wide.all(t, k), 0, rows)
		}
	}
}

// testAllCodes has every code under every scale, one product each.
func testAllCodes(t reporter, k kernels.Backend) {
	one := tensor.Of([]float32{1, 0}, 1, 2)
	for s := range 256 {
		for _, f := range []quant.Format{
			{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 256, Cols: 16}},
			{Code: dtype.E4M3, Scale: dtype.F32, Block: quant.Block{Rows: 256, Cols: 16}},
			{Code: dtype.E2M1, Scale: dtype.E8M0, Block: quant.Block{Rows: 256, Cols: 16}},
		} {
			w := f.New(1, 256, 2)
			for c := range 256 {
				w.Mem[f.Code.Bytes(2*c)] = byte(c)
			}
			if f.Scale == dtype.F32 {
				w.Scale.F32()[0] = math.Float32frombits(uint32(s)<<23 | 0x2aaaaa)
			} else {
				w.Scale.Mem[0] = byte(s)
			}
			got, want := tensor.New(dtype.F32, 1, 256), tensor.New(dtype.F32, 1, 256)
			k.Prepare(w)
			k.Linear(got, one, w, 1)
			for c, x := range unpacked(w).F32() {
				want.F32()[c/2] += x * one.F32()[c%2]
			}
			sameBits(t, "Linear", fmt.Sprintf("every code of %v under scale %d", f, s), "y", got, want)
		}
	}
}

// testRound wants Round to give the numbers that packing and unpacking gives.
func testRound(t reporter, k kernels.Backend) {
	g := newGen(74)
	for _, c := range roundCalls(g) {
		x := c.in[0].Tensor
		for _, group := range []int{16, 32, 128} {
			q := quant.Format{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 1, Cols: group}}.New(1, x.Shape...)
			if x.Len() == 0 {
				continue
			}
			quant.Pack(q, x)
			y := x.Clone()
			k.Round(y, y, y.Dim(), group)
			sameBits(t, "Round", fmt.Sprintf("%v by %d in place", x, group), "y", y, unpacked(q))
		}
	}
	x := tensor.Of(every(1<<18), 1, len(every(1<<18)))
	for _, group := range []int{1, 8} { // whole vectors are assembly, single numbers are not
		q := quant.Format{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 1, Cols: group}}.New(1, x.Shape...)
		quant.Pack(q, x)
		y := x.Clone()
		k.Round(y, x, x.Dim(), group)
		sameBits(t, "Round", fmt.Sprintf("numbers of all exponents by %d", group), "y", y, unpacked(q))
	}
}

// testFormatsRefused wants Prepare to say what it takes.
func testFormatsRefused(t reporter, k kernels.Backend) {
	for _, f := range []quant.Format{
		{Code: dtype.E2M1, Scale: dtype.F32, Block: quant.GroupE2M1},
		{Code: dtype.E4M3, Scale: dtype.BF16, Block: quant.WeightE4M3},
		{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 8, Cols: 8}},
		{Code: dtype.U8, Scale: dtype.E8M0, Block: quant.WeightE4M3},
	} {
		wantPanic(t, fmt.Sprintf("Prepare of %v", f), func() { k.Prepare(f.New(1, 32, 64)) })
	}
	wantPanic(t, "Prepare of an odd number of half bytes", func() { k.Prepare(quant.FP4.New(1, 4, 5)) })
}
