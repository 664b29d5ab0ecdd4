package ops

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// An arithmetic is a format and the backend that computes in it.
type arithmetic struct {
	name string
	k    kernels.Backend
	t    dtype.Type
}

var arithmetics = []arithmetic{{"float32", ref.New[float32](), dtype.F32}, {"float64", ref.New[float64](), dtype.F64}}

func (a arithmetic) ctx() *Ctx { return NewCtx(a.k, &tensor.Arena{}, a.t) }

// normal returns normal numbers in a's format.
func (a arithmetic) normal(r *rand.Rand, shape ...int) *tensor.Tensor {
	x := normal(r, shape...)
	if a.t == dtype.F64 {
		return x
	}
	y := tensor.New(dtype.F32, shape...)
	for i, v := range x.F64() {
		y.F32()[i] = float32(v)
	}
	return y
}

func (a arithmetic) matrix(r *rand.Rand, shape ...int) *tensor.Param {
	p := &tensor.Param{Name: "matrix", Value: a.normal(r, shape...), Product: true, Grad: tensor.New(a.t, shape...)}
	a.k.Prepare(p.Value)
	return p
}

// mixer is a small function of one input and two weights, with a residual.
func mixer(a, b *tensor.Param) func(*Ctx, *tensor.Tensor) *tensor.Tensor {
	return func(c *Ctx, x *tensor.Tensor) *tensor.Tensor {
		h := HeadNorm(c, Linear(c, x, a), x.Dim(), 1e-6)
		return Linear(c, Join(c, h, x), b)
	}
}

func TestRecomputeChangesNothing(t *testing.T) {
	for _, a := range arithmetics {
		t.Run(a.name, func(t *testing.T) {
			run := func(recompute bool) (results []*tensor.Tensor) {
				r := rand.New(rand.NewPCG(3, 4))
				x, wa, wb := a.normal(r, 9, 8), a.matrix(r, 8, 8), a.matrix(r, 8, 16)
				c := a.ctx().Taped()
				y := x
				for range 3 {
					if recompute {
						y = Recompute(c, y, mixer(wa, wb))
					} else {
						y = mixer(wa, wb)(c, y)
					}
				}
				c.Backward(y, a.normal(r, 9, 8))
				return []*tensor.Tensor{y, c.Grad(x), wa.Grad, wb.Grad}
			}
			want := run(false)
			for i, got := range run(true) {
				if !bytes.Equal(got.Mem, want[i].Mem) {
					t.Errorf("result %d (output, input gradient, weight gradients) has other bits", i)
				}
			}
		})
	}
}

// The memory that a recomputed function took is free afterwards, in both directions.
func TestRecomputeGivesMemoryBack(t *testing.T) {
	const steps, rows, dim = 16, 4096, 64 // one result is 1 MiB, a step makes four
	run := func(recompute bool) int {
		r := rand.New(rand.NewPCG(3, 4))
		a := arithmetics[0]
		x, wa, wb := a.normal(r, rows, dim), a.matrix(r, dim, dim), a.matrix(r, dim, 2*dim)
		c := a.ctx()
		c.K = idle{a.k}
		c = c.Taped()
		y := x
		for range steps {
			if recompute {
				y = Recompute(c, y, mixer(wa, wb))
			} else {
				y = mixer(wa, wb)(c, y)
			}
		}
		c.Backward(y, x)
		return c.Mem.Bytes()
	}
	with, without := run(true), run(false)
	if 2*with > without {
		t.Errorf("%d bytes with recomputation, %d without, want half at most", with, without)
	}
}

// idle is a backend whose products cost nothing.
type idle struct{ kernels.Backend }

func (idle) Linear(_, _, _ *tensor.Tensor, _ int)               {}
func (idle) LinearBackward(_, _, _, _, _ *tensor.Tensor, _ int) {}

func TestRecomputeIsNotWatched(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a := arithmetics[0]
	x, w, calls, seen := a.normal(r, 2, 4), a.matrix(r, 4, 4), 0, []int{}
	c := a.ctx()
	c.Watch = func(layer int, name string, x *tensor.Tensor, choice []int32) { seen = append(seen, layer) }
	c = c.Taped()
	y := Recompute(c.InLayer(7), x, func(c *Ctx, x *tensor.Tensor) *tensor.Tensor {
		calls++
		y := Linear(c, x, w)
		c.See("y", y)
		c.Route([]int32{1})
		return y
	})
	c.Backward(y, x)
	c.See("outside", y)
	if want := []int{7, 7, -1}; calls != 2 || !reflect.DeepEqual(seen, want) {
		t.Errorf("%d calls, seen in layers %v, want 2 and %v", calls, seen, want)
	}
}

func TestReshapeSharesMemoryAndGradient(t *testing.T) {
	a := arithmetics[1]
	c := a.ctx().Taped()
	x := a.normal(rand.New(rand.NewPCG(1, 1)), 2, 6)
	y := Reshape(c, x, 3, 4)
	z := Reshape(c, y, 12)
	for _, v := range []*tensor.Tensor{y, z} {
		if &v.Mem[0] != &x.Mem[0] {
			t.Errorf("%v has memory of its own", v)
		}
		c.Grad(v).F64()[5]++
	}
	if got := c.Grad(x).F64()[5]; got != 2 {
		t.Errorf("gradient of what was reshaped = %v, want 2, one from each view", got)
	}
}

func TestFrozenWeightsHaveNoGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, run := range map[string]func(*Ctx, *tensor.Tensor, *tensor.Param) *tensor.Tensor{
		"linear":   func(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor { return Linear(c, x, w) },
		"rms norm": func(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor { return RMSNorm(c, x, w, 1e-6) },
		"embed": func(c *Ctx, x *tensor.Tensor, w *tensor.Param) *tensor.Tensor {
			return Embed(c, &Tokens{ID: []int32{1, 0}, Pos: []int32{0, 1}}, w, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := arithmetics[1]
			x, w := a.normal(r, 2, 4), a.matrix(r, 4, 4)
			if name == "rms norm" {
				w = a.matrix(r, 4, 1)
			}
			for _, frozen := range []bool{false, true} {
				w.Frozen = frozen
				w.Grad.Zero()
				c := a.ctx().Taped()
				y := run(c, x, w)
				c.Backward(y, y)
				if got := nonzero(w.Grad); got == frozen {
					t.Errorf("frozen %v: weight has a gradient: %v", frozen, got)
				}
				if name != "embed" && !nonzero(c.Grad(x)) {
					t.Errorf("frozen %v: the input has no gradient", frozen)
				}
			}
		})
	}
}

func nonzero(x *tensor.Tensor) bool { return !bytes.Equal(x.Mem, make([]byte, len(x.Mem))) }

func TestUntapedHasNoGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a := arithmetics[1]
	x, w, v := a.normal(r, 2, 4), a.matrix(r, 4, 4), a.matrix(r, 4, 4)
	c := a.ctx().Taped()
	Linear(c.Untaped(), x, v)
	y := Linear(c, x, w)
	c.Backward(y, y)
	if nonzero(v.Grad) || !nonzero(w.Grad) {
		t.Errorf("gradients: untaped %v, taped %v, want false, true", nonzero(v.Grad), nonzero(w.Grad))
	}
}

// Gradients of results live no longer than they must, so a backward pass takes little memory beside the forward pass.
func TestGradientsAreSpent(t *testing.T) {
	const steps, rows, dim = 48, 4096, 64 // one result is 1 MiB
	a := arithmetics[0]
	c := a.ctx()
	c.K = idle{a.k}
	c = c.Taped()
	r := rand.New(rand.NewPCG(3, 4))
	x, w := a.normal(r, rows, dim), a.matrix(r, dim, dim)
	var middle *tensor.Tensor
	y := x
	for i := range steps {
		if y = Linear(c, y, w); i == steps/2 {
			middle = Reshape(c, y, dim, rows)
		}
	}
	forward := c.Mem.Bytes()
	c.Backward(y, x)
	if got, most := c.Mem.Bytes(), forward+16<<20; got > most {
		t.Errorf("a pass takes %d bytes, want %d at most, %d of them forwards", got, most, forward)
	}
	c.Grad(x) // an input's stays
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "is spent") {
			t.Errorf("panic is %v, want that the gradient of a result is spent", p)
		}
	}()
	c.Grad(middle)
}

func TestBackwardAddsToGradients(t *testing.T) {
	a := arithmetics[1]
	r := rand.New(rand.NewPCG(1, 1))
	x, w := a.normal(r, 2, 4), a.matrix(r, 4, 4)
	for i := range w.Value.F64() { // whole numbers, so that sums are exact in any order
		w.Value.F64()[i] = math.Round(w.Value.F64()[i])
		x.F64()[i%8] = math.Round(x.F64()[i%8])
	}
	a.k.Prepare(w.Value)
	pass := func() {
		c := a.ctx().Taped()
		y := Linear(c, x, w)
		c.Backward(y, y)
	}
	pass()
	once := w.Grad.Clone()
	pass()
	for i, g := range w.Grad.F64() {
		if want := 2 * once.F64()[i]; g != want {
			t.Errorf("gradient %d after two passes = %v, want %v", i, g, want)
		}
	}
}

// Scoring in chunks, and in passes of any size one after the other, gives the bits of one piece.
func TestLogProbInChunks(t *testing.T) {
	const rows, vocab = 12, 1 << 18 // a row of logits is 1 MiB
	a, r := arithmetics[0], rand.New(rand.NewPCG(5, 6))
	h, w := a.normal(r, rows, 1), a.matrix(r, vocab, 1)
	next, scale := make([]int32, rows), make([]float32, rows)
	for i := range next {
		next[i], scale[i] = int32(i*997), 1/float32(1+i)
	}
	run := func(size int) []*tensor.Tensor {
		w.Grad.Zero()
		lps, dh := tensor.New(a.t, rows), tensor.New(a.t, rows, 1)
		for lo := 0; lo < rows; lo += size {
			c, x := a.ctx().Taped(), h.Slice(lo, lo+size)
			lp, entropy := LogProb(c, x, w, next[lo:lo+size], scale[lo:lo+size])
			copy(lps.Slice(lo, lo+size).Mem, lp.Mem)
			c.K.Copy(c.Grad(entropy), entropy)
			c.Backward(lp, lp)
			copy(dh.Slice(lo, lo+size).Mem, c.Grad(x).Mem)
		}
		return []*tensor.Tensor{lps, dh, w.Grad.Clone()}
	}
	want := run(rows)
	for i, got := range run(4) {
		if !bytes.Equal(got.Mem, want[i].Mem) {
			t.Errorf("result %d (logprobs, gradients of rows and weight) has other bits", i)
		}
	}
	c := a.ctx()
	LogProb(c, h, w, next, scale)
	if got, most := c.Mem.Bytes(), 2*logitBytes; got > most {
		t.Errorf("scoring took %d bytes, want %d at most", got, most)
	}
}
