package dsv4

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/ops"
	"furlong/tensor"
)

// stackStep is far below the distance of any choice from a tie and of any clamped value from its bound, which the test checks. It leaves
// 1e-11 of rounding in a difference; gradients along random directions are of order one.
const stackStep = 1e-5

// TestStackGradients compares the gradient of every trained weight of a four-layer model, along a random direction, with differences.
func TestStackGradients(t *testing.T) {
	e := newEngine(ref.New[float64](), randomModel(small, dtype.F64, 8))
	in := packed(14, small.Vocab, 20, 7)
	e.pass(in)
	r, trained := rand.New(rand.NewPCG(9, 9)), 0
	for _, p := range e.m.Params() {
		if p.Frozen {
			continue
		}
		trained++
		v := make([]float64, p.Value.Len())
		got, size := 0.0, 0.0
		for i, g := range p.Grad.F64() {
			v[i] = r.NormFloat64()
			got += v[i] * g
			size += v[i] * g * v[i] * g
		}
		want := e.slope(t, in, p, v)
		if err := math.Abs(got-want) / math.Sqrt(size); !(err < 1e-7) {
			t.Errorf("%s: gradient along a direction is %v, want %v (%.1e of its size)", p.Name, got, want, err)
		}
	}
	if want := len(e.m.Params()) - 2*6 - 4; trained != want { // two indexers, two biases, two tables
		t.Errorf("%d weights are trained, want %d", trained, want)
	}
}

// slope returns the derivative of the loss when p moves along v, from four points. All of them must make the same choices.
func (e *engine) slope(t *testing.T, in *ops.Tokens, p *tensor.Param, v []float64) float64 {
	t.Helper()
	start := p.Value.Clone()
	_, at := e.loss(in)
	loss := func(steps float64) float64 {
		for i := range v {
			p.Value.F64()[i] = start.F64()[i] + steps*stackStep*v[i]
		}
		e.prepare(p)
		l, choices := e.loss(in)
		if !slices.Equal(choices, at) {
			t.Errorf("%s: another choice at %v steps", p.Name, steps)
		}
		return l
	}
	d := (8*(loss(1)-loss(-1)) - (loss(2) - loss(-2))) / (12 * stackStep)
	copy(p.Value.Mem, start.Mem)
	e.prepare(p)
	return d
}

func (e *engine) prepare(p *tensor.Param) {
	if p.Product {
		e.c.K.Prepare(p.Value)
	}
}

// loss returns what pass takes the gradient of, and everything that was chosen on the way.
func (e *engine) loss(in *ops.Tokens) (sum float64, choices []int32) {
	defer e.c.Mem.Reset()
	c := *e.c
	c.Watch = func(_ int, _ string, _ *tensor.Tensor, choice []int32) { choices = append(choices, choice...) }
	_, lp, entropy := e.score(&c, in)
	for i, x := range lp.F64() {
		sum += math.Sin(float64(3*in.Pos[i]+in.Seq[i]))*x + 0.1*entropy.F64()[i]
	}
	return sum, choices
}

// While the choices stay, nothing that only chooses may move the loss by a bit.
func TestFrozenWeightsOnlyChoose(t *testing.T) {
	e := newEngine(ref.New[float64](), randomModel(small, dtype.F64, 8))
	in := packed(14, small.Vocab, 20, 7)
	want, choices := e.loss(in)
	moved := false
	for _, p := range e.m.Params() {
		if !p.Frozen || p.Value.Type == dtype.I32 {
			continue
		}
		for _, by := range []float64{1e-9, -3} {
			start := p.Value.Clone()
			for i, v := range start.F64() {
				p.Value.F64()[i] = v * (1 + by*float64(i%3))
			}
			e.prepare(p)
			got, now := e.loss(in)
			if slices.Equal(now, choices) && got != want {
				t.Errorf("%s moves the loss from %v to %v with the same choices", p.Name, want, got)
			}
			moved = moved || got != want
			copy(p.Value.Mem, start.Mem)
			e.prepare(p)
		}
	}
	if !moved {
		t.Error("no choice changed, so nothing was tested")
	}
}

// A store may throw away everything else.
func TestLayersSayWhatIsKept(t *testing.T) {
	got := fmt.Sprint(New(small, dtype.F32).Layers())
	want := "[[{window false 8 1 3 4}]" +
		" [{window false 8 1 3 4} {raw false 32 1 4 0} {compressed false 8 2 0 4} {index_raw false 32 1 4 0} {index false 8 2 0 0}]" +
		" [{window false 8 1 3 4} {raw false 16 1 6 0} {compressed false 8 6 0 4}]" +
		" [{window false 8 1 3 4} {raw false 32 1 4 0} {compressed false 8 2 0 4} {index_raw false 32 1 4 0} {index false 8 2 0 0}]]"
	if got != want {
		t.Errorf("Layers() = %s, want %s", got, want)
	}
}
