package ops

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// counting counts what it rounds.
type counting struct {
	kernels.Backend
	rounds *int
}

func (k counting) Round(y, x *tensor.Tensor, cols, group int) {
	*k.rounds++
	k.Backend.Round(y, x, cols, group)
}

// A product that rounds is the product of rounded activations; the gradient of its input is that of a product that doesn't, and the
// weight's is that of rounded activations.
func TestRoundedProducts(t *testing.T) {
	const rows, wide, out = 9, 300, 8
	off := []int32{0, 4, 4, rows}
	for _, tt := range []struct {
		name  string
		shape []int
		f     func(*Ctx, *tensor.Tensor, *tensor.Param) *tensor.Tensor
	}{
		{"linear", []int{out, wide}, Linear},
		{"grouped linear", []int{out, wide / 2}, func(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor { return GroupedLinear(c, x, w, 2) }},
		{"expert linear", []int{3, out, wide}, func(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor { return ExpertLinear(c, x, w, off) }},
	} {
		for _, a := range arithmetics {
			for _, packed := range []bool{false, true} {
				r := rand.New(rand.NewPCG(7, 8))
				x, dy, w := a.normal(r, rows, wide), a.normal(r, rows, out), a.matrix(r, tt.shape...)
				if packed {
					w.Value = quant.FP8.New(1, tt.shape...)
					quant.Pack(w.Value, arithmetics[0].normal(r, tt.shape...))
					a.k.Prepare(w.Value)
				}
				near := tensor.New(a.t, rows, wide)
				a.k.Round(near, x, x.Dim(), 128)
				if bytes.Equal(near.Mem, x.Mem) {
					t.Fatal("activations are no different when rounded")
				}
				run := func(x *tensor.Tensor, rounds bool) (y, dx, dw *tensor.Tensor) {
					w.Rounds = rounds
					w.Grad.Zero()
					c := a.ctx().Taped()
					c.Grad(x)
					y = tt.f(c, x, w)
					c.Backward(y, dy)
					return y, c.Grad(x), w.Grad.Clone()
				}
				y, dx, dw := run(x, true)
				wantY, _, wantDW := run(near, false)
				_, wantDX, _ := run(x, false)
				for _, pair := range []struct {
					name      string
					got, want *tensor.Tensor
				}{{"output", y, wantY}, {"gradient of x", dx, wantDX}, {"gradient of w", dw, wantDW}} {
					if !bytes.Equal(pair.got.Mem, pair.want.Mem) {
						t.Errorf("%s, %s, packed %v: %s has other bits", tt.name, a.name, packed, pair.name)
					}
				}
				if y2 := tt.f(a.ctx(), x, &tensor.Param{Value: w.Value, Rounds: true}); !bytes.Equal(y2.Mem, y.Mem) {
					t.Errorf("%s, %s, packed %v: output has other bits without a tape", tt.name, a.name, packed)
				}
			}
		}
	}
}

// What several weights read is rounded once; a recomputation is a pass of its own.
func TestRoundedOnce(t *testing.T) {
	r, a, rounds := rand.New(rand.NewPCG(7, 8)), arithmetics[0], 0
	x, v, w, last := a.normal(r, 5, 64), a.matrix(r, 64, 64), a.matrix(r, 64, 64), a.matrix(r, 64, 128)
	v.Rounds, w.Rounds = true, true
	f := func(c *Ctx, x *tensor.Tensor) *tensor.Tensor {
		y := Linear(c, x, v)
		z := Linear(c, x, w)
		return Linear(c, Join(c, y, z), last)
	}
	c := a.ctx()
	c.K = counting{a.k, &rounds}
	c = c.Taped()
	f(c, x)
	if rounds != 1 {
		t.Errorf("two weights that read one tensor round %d times, want 1", rounds)
	}
	y := Recompute(c, x, f)
	c.Backward(y, x)
	if rounds != 4 { // twice without a tape, once with the second one
		t.Errorf("with a recomputation %d roundings, want 4", rounds)
	}
}
