package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// random returns normal numbers. A few are huge, tiny or zero.
func random(r *rand.Rand, shape ...int) *tensor.Tensor {
	t := tensor.New(dtype.F32, shape...)
	for i := range t.F32() {
		x := float32(r.NormFloat64())
		switch r.IntN(60) {
		case 0:
			x *= 1e6
		case 1:
			x *= 1e-30
		case 2:
			x = 0
		}
		t.F32()[i] = x
	}
	return t
}

// poisoned returns a tensor of NaNs.
func poisoned(shape ...int) *tensor.Tensor {
	t := tensor.New(dtype.F32, shape...)
	for i := range t.F32() {
		t.F32()[i] = float32(math.NaN())
	}
	return t
}

// halved returns t in bfloat16.
func halved(t *tensor.Tensor) *tensor.Tensor {
	h := tensor.New(dtype.BF16, t.Shape...)
	for i, x := range t.F32() {
		h.BF16()[i] = dtype.ToBF16(x)
	}
	return h
}

// same fails unless got and want have the same bits. All NaNs count as one.
func same(t *testing.T, name string, got, want *tensor.Tensor) {
	t.Helper()
	for i, w := range want.F32() {
		g := got.F32()[i]
		if math.Float32bits(g) != math.Float32bits(w) && (g == g || w == w) {
			t.Fatalf("%s[%d] of %v = %v, want %v", name, i, want.Shape, g, w)
		}
	}
}

func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	oracle := ref.New[float32]()
	shapes := [][4]int{
		{1, 77, 100, 1},
		{2, 48, 33, 1},
		{3, 70, 9, 2},
		{5, 16, 1, 1},
		{7, 13, 257, 3},
		{13, 100, 40, 1},
		{0, 8, 8, 1},
		{19, 33, 900, 1},
		{67, 40, 513, 1},
		{300, 65, 31, 1},
		{101, 129, 64, 2},
		{40, 300, 600, 1},
		{127, 300, 130, 1},
		{140, 2, 270, 1},
		{50, 700, 40, 1},
		{1, 24, 40, 1},
		{4, 88, 33, 1},
		{3, 24, 9, 2},
		{5, 40, 20, 1},
		{29, 56, 300, 1},
		{12, 48, 70, 1},
		{9, 24, 8, 3},
	}
	for _, s := range shapes {
		rows, n, k, groups := s[0], s[1], s[2], s[3]
		x, dy := random(r, rows, groups*k), random(r, rows, groups*n)
		for _, w := range []*tensor.Tensor{random(r, groups*n, k), halved(random(r, groups*n, k))} {
			dx, dw := random(r, rows, groups*k), random(r, groups*n, k)
			y, gx, gw := poisoned(rows, groups*n), dx.Clone(), dw.Clone()
			oracle.Prepare(w)
			oracle.Linear(y, x, w, groups)
			oracle.LinearBackward(gx, gw, dy, x, w, groups)
			for name, b := range units(t) {
				t.Run(fmt.Sprint(name, s, w.Type), func(t *testing.T) {
					y2, gx2, gw2 := poisoned(rows, groups*n), dx.Clone(), dw.Clone()
					v := w.Clone()
					b.Prepare(v)
					b.Linear(y2, x, v, groups)
					b.LinearBackward(gx2, gw2, dy, x, v, groups)
					same(t, "y", y2, y)
					same(t, "dx", gx2, gx)
					same(t, "dw", gw2, gw)
				})
			}
		}
	}
}

func TestExpertLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	oracle := ref.New[float32]()
	for _, off := range [][]int32{{0, 3, 3, 10, 11}, {0, 0, 64, 64, 200}, {0, 0, 0, 0, 0}} {
		e, n, k := len(off)-1, 50, 37
		rows := int(off[e])
		x, dy := random(r, rows, k), random(r, rows, n)
		for _, w := range []*tensor.Tensor{random(r, e, n, k), halved(random(r, e, n, k))} {
			dx, dw := random(r, rows, k), random(r, e, n, k)
			y, gx, gw := poisoned(rows, n), dx.Clone(), dw.Clone()
			oracle.Prepare(w)
			oracle.ExpertLinear(y, x, w, off)
			oracle.ExpertLinearBackward(gx, gw, dy, x, w, off)
			for name, b := range units(t) {
				t.Run(fmt.Sprint(name, off, w.Type), func(t *testing.T) {
					y2, gx2, gw2 := poisoned(rows, n), dx.Clone(), dw.Clone()
					v := w.Clone()
					b.Prepare(v)
					b.ExpertLinear(y2, x, v, off)
					b.ExpertLinearBackward(gx2, gw2, dy, x, v, off)
					same(t, "y", y2, y)
					same(t, "dx", gx2, gx)
					same(t, "dw", gw2, gw)
				})
			}
		}
	}
}
