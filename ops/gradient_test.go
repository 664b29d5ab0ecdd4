package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// A formula is a use of one op: activations and weights in, activations out.
type formula struct {
	name string
	x    acts
	w    weights
	f    func(c *Ctx, x acts, w weights) acts
}

// Float64 differences of the fourth order with this step leave 1e-12 of truncation and 1e-12 of rounding; gradients come out of
// sums of a few hundred terms.
const (
	gradStep  = 3e-4
	gradLimit = 1e-8
)

func TestGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all []formula
	for _, group := range []func(*rand.Rand) []formula{linearFormulas, normFormulas, attentionFormulas, poolFormulas, hyperFormulas, expertFormulas, headFormulas, tapeFormulas} {
		all = append(all, group(r)...)
	}
	for _, f := range all {
		t.Run(f.name, func(t *testing.T) { f.check(t, r) })
	}
}

// check compares the gradient along a random direction with differences, for each input and weight alone.
func (f formula) check(t *testing.T, r *rand.Rand) {
	c := wideCtx()
	var dy []*tensor.Tensor
	for _, y := range f.run(c) {
		dy = append(dy, normal(r, y.Shape...))
	}
	grads := f.gradients(dy)
	for i, x := range f.inputs() {
		v := normal(r, x.Shape...)
		got, size := 0.0, 0.0
		for j, d := range v.F64() {
			got += d * grads[i].F64()[j]
			size += math.Abs(d * grads[i].F64()[j])
		}
		if size == 0 {
			t.Errorf("input %d has no gradient", i)
		}
		want := f.slope(dy, x, v)
		if e := math.Abs(got-want) / size; !(e < gradLimit) {
			t.Errorf("input %d: gradient along a direction is %v, want %v", i, got, want)
		}
	}
}

func (f formula) run(c *Ctx) []*tensor.Tensor {
	for _, w := range f.w {
		if w.Product {
			c.K.Prepare(w.Value)
		}
	}
	return f.f(c, f.x, f.w)
}

// inputs returns activations, then weights.
func (f formula) inputs() []*tensor.Tensor {
	all := append([]*tensor.Tensor(nil), f.x...)
	for _, w := range f.w {
		all = append(all, w.Value)
	}
	return all
}

// gradients returns those of inputs, when the outputs' are dy.
func (f formula) gradients(dy []*tensor.Tensor) []*tensor.Tensor {
	c := wideCtx().Taped()
	for _, w := range f.w {
		w.Grad = tensor.New(dtype.F64, w.Value.Shape...)
	}
	for i, y := range f.run(c) {
		c.K.Add(c.Grad(y), c.Grad(y), dy[i])
	}
	c.Unwind()
	var grads []*tensor.Tensor
	for _, x := range f.x {
		grads = append(grads, c.Grad(x))
	}
	for _, w := range f.w {
		grads = append(grads, w.Grad)
	}
	return grads
}

// slope returns the derivative of the sum of dy*y when x moves along v.
func (f formula) slope(dy []*tensor.Tensor, x, v *tensor.Tensor) float64 {
	start, c := x.Clone(), wideCtx()
	loss := func(steps float64) (sum float64) {
		for i := range x.F64() {
			x.F64()[i] = start.F64()[i] + steps*gradStep*v.F64()[i]
		}
		c.Mem.Reset()
		for i, y := range f.run(c) {
			for j, d := range dy[i].F64() {
				sum += d * y.F64()[j]
			}
		}
		copy(x.Mem, start.Mem)
		return sum
	}
	return (8*(loss(1)-loss(-1)) - (loss(2) - loss(-2))) / (12 * gradStep)
}

func wideCtx() *Ctx { return NewCtx(ref.New[float64](), &tensor.Arena{}, dtype.F64) }

func normal(r *rand.Rand, shape ...int) *tensor.Tensor {
	x := tensor.New(dtype.F64, shape...)
	for i := range x.F64() {
		x.F64()[i] = r.NormFloat64()
	}
	return x
}

// matrix and vector return random weights, the one for products.
func matrix(r *rand.Rand, shape ...int) *tensor.Param {
	return &tensor.Param{Name: "matrix", Value: normal(r, shape...), Product: true}
}

func vector(r *rand.Rand, shape ...int) *tensor.Param {
	return &tensor.Param{Name: "vector", Value: normal(r, shape...)}
}
