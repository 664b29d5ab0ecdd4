package optim

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// param returns a trained parameter of random weights.
func param(r *rand.Rand, name string, format dtype.Type, decay bool, shape ...int) *tensor.Param {
	p := &tensor.Param{Name: name, Value: tensor.New(format, shape...), Grad: tensor.New(dtype.F32, shape...), Decay: decay}
	for i := range p.Value.Len() {
		if w := float32(r.NormFloat64()); format == dtype.BF16 {
			p.Value.BF16()[i] = dtype.ToBF16(w)
		} else {
			p.Value.F32()[i] = w
		}
	}
	return p
}

func randomise(r *rand.Rand, ps []*tensor.Param) {
	for _, p := range ps {
		if p.Grad == nil {
			continue
		}
		for i := range p.Grad.F32() {
			p.Grad.F32()[i] = float32(r.NormFloat64())
		}
	}
}

// byHand is AdamW in float64, as the paper writes it.
type byHand struct{ w, m, v []float64 }

func start(p *tensor.Param) *byHand {
	n := p.Value.Len()
	h := &byHand{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range h.w {
		if p.Value.Type == dtype.BF16 {
			h.w[i] = float64(dtype.FromBF16(p.Value.BF16()[i]))
		} else {
			h.w[i] = float64(p.Value.F32()[i])
		}
	}
	return h
}

func (h *byHand) step(c Config, step int, lr, factor float64, p *tensor.Param) {
	for i, g32 := range p.Grad.F32() {
		g := float64(g32) * factor
		h.m[i] = c.Beta1*h.m[i] + (1-c.Beta1)*g
		h.v[i] = c.Beta2*h.v[i] + (1-c.Beta2)*g*g
		m := h.m[i] / (1 - math.Pow(c.Beta1, float64(step)))
		v := h.v[i] / (1 - math.Pow(c.Beta2, float64(step)))
		if p.Decay || c.DecayAll {
			h.w[i] *= 1 - lr*c.WeightDecay
		}
		h.w[i] -= lr * m / (math.Sqrt(v) + c.Eps)
	}
}

func TestAdamWByHand(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(c *Config)
	}{
		{"default", func(*Config) {}},
		{"no clip", func(c *Config) { c.Clip = 0 }},
		{"clip out of reach", func(c *Config) { c.Clip = 1e6 }},
		{"no decay", func(c *Config) { c.WeightDecay = 0 }},
		{"everything decays", func(c *Config) { c.DecayAll = true }},
		{"large eps", func(c *Config) { c.Eps = 0.1 }},
		{"no momentum", func(c *Config) { c.Beta1 = 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			tt.set(&c)
			compareByHand(t, c)
		})
	}
}

func compareByHand(t *testing.T, c Config) {
	r := rand.New(rand.NewPCG(3, 4))
	ps := []*tensor.Param{param(r, "matrix", dtype.BF16, true, 5, 7), param(r, "norm", dtype.F32, false, 9), param(r, "wide", dtype.F32, true, 3, 3)}
	var hands []*byHand
	for _, p := range ps {
		hands = append(hands, start(p))
	}
	a := New(c, ps, ref.New[float32]())
	for step := 1; step <= 6; step++ {
		lr := 0.01 * float64(step)
		randomise(r, ps)
		norm := 0.0
		for _, p := range ps {
			for _, g := range p.Grad.F32() {
				norm += float64(g) * float64(g)
			}
		}
		norm = math.Sqrt(norm)
		factor := 1.0
		if c.Clip > 0 && norm > c.Clip {
			factor = c.Clip / norm
		}
		for i, p := range ps {
			hands[i].step(c, step, lr, factor, p)
		}
		if got := a.Step(lr); math.Abs(got-norm) > 1e-12*norm {
			t.Errorf("step %d: norm is %v, want %v before the clip", step, got, norm)
		}
		if a.Steps() != step {
			t.Errorf("%d steps taken, want %d", a.Steps(), step)
		}
	}
	for i, s := range a.States() {
		for j, w := range s.Master {
			// Six steps of float32, each half a unit in the last place of a weight below 4, and as much of a move.
			if math.Abs(float64(w)-hands[i].w[j]) > 4e-6 {
				t.Errorf("%s[%d] is %v, want %v", s.Param.Name, j, w, hands[i].w[j])
			}
		}
	}
}

// The weight is the master rounded, and steps too small for the weight add up in the master.
func TestMastersKeepWhatWeightsCannot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	p := param(r, "w", dtype.BF16, false, 4)
	for i := range p.Value.BF16() {
		p.Value.BF16()[i] = dtype.ToBF16(1)
		p.Grad.F32()[i] = -1
	}
	c := Default()
	c.Clip = 0
	a := New(c, []*tensor.Param{p}, ref.New[float32]())
	moved := 0
	for range 8 { // of 0.001: past 1 + 1/256, where rounding goes up to 1 + 1/128, but not past the next such place, 1 + 3/256
		before := bytes.Clone(p.Value.Mem)
		a.Step(0.001)
		if !bytes.Equal(before, p.Value.Mem) {
			moved++
		}
		for i, w := range a.States()[0].Master {
			if got := p.Value.BF16()[i]; got != dtype.ToBF16(w) {
				t.Fatalf("weight %v, want its master %v rounded", dtype.FromBF16(got), w)
			}
		}
	}
	if moved != 1 {
		t.Errorf("the weight moved in %d of 8 steps, want 1", moved)
	}
	if m := a.States()[0].Master[0]; math.Abs(float64(m)-1.008) > 1e-5 {
		t.Errorf("master is %v, want 1.008", m)
	}
}

func TestF32WeightsAreTheirOwnMasters(t *testing.T) {
	p := param(rand.New(rand.NewPCG(1, 1)), "w", dtype.F32, false, 3)
	s := New(Default(), []*tensor.Param{p}, ref.New[float32]()).States()[0]
	s.Master[1] = 42
	s.Push()
	if got := p.Value.F32()[1]; got != 42 {
		t.Errorf("weight is %v, want its master 42", got)
	}
}

// A state taken out and put into another optimizer goes on as if nothing had happened.
func TestStateMoves(t *testing.T) {
	make2 := func() []*tensor.Param {
		r := rand.New(rand.NewPCG(7, 8))
		return []*tensor.Param{param(r, "a", dtype.BF16, true, 4, 4), param(r, "b", dtype.F32, false, 4)}
	}
	grads := rand.New(rand.NewPCG(9, 10))
	here, there := make2(), make2()
	a := New(Default(), here, ref.New[float32]())
	for range 3 {
		randomise(grads, here)
		a.Step(1e-3)
	}
	b := New(Default(), there, ref.New[float32]())
	b.SetSteps(a.Steps())
	for i, s := range b.States() {
		from := a.States()[i]
		copy(s.Master, from.Master)
		copy(s.M, from.M)
		copy(s.V, from.V)
		s.Push()
	}
	randomise(grads, here)
	for i, p := range there {
		copy(p.Grad.Mem, here[i].Grad.Mem)
	}
	a.Step(1e-3)
	b.Step(1e-3)
	for i := range here {
		if !bytes.Equal(here[i].Value.Mem, there[i].Value.Mem) {
			t.Errorf("%s differs after the move", here[i].Name)
		}
	}
}

func TestFrozenHasNoState(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	frozen := param(r, "frozen", dtype.F32, true, 2)
	frozen.Frozen = true
	bare := param(r, "bare", dtype.F32, true, 2)
	bare.Grad = nil
	trained := param(r, "trained", dtype.F32, true, 2)
	ps := []*tensor.Param{frozen, bare, trained}
	a := New(Default(), ps, ref.New[float32]())
	if n := len(a.States()); n != 1 || a.States()[0].Param != trained {
		t.Fatalf("%d states, want 1, of the trained parameter", n)
	}
	before := bytes.Clone(frozen.Value.Mem)
	randomise(r, ps)
	if a.Step(1); !bytes.Equal(before, frozen.Value.Mem) {
		t.Error("a frozen parameter moved")
	}
}

func TestNonFiniteGradientMovesNothing(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := rand.New(rand.NewPCG(1, 2))
		ps := []*tensor.Param{param(r, "a", dtype.BF16, true, 8), param(r, "b", dtype.F32, true, 8)}
		a := New(Default(), ps, ref.New[float32]())
		randomise(r, ps)
		a.Step(1e-3)
		before := fmt.Sprint(ps[0].Value.Mem, ps[1].Value.Mem, a.States()[0], a.States()[1].M, a.States()[1].V)
		ps[1].Grad.F32()[5] = float32(bad)
		norm := a.Step(1e-3)
		if !(math.IsNaN(norm) || math.IsInf(norm, 0)) || a.Steps() != 1 {
			t.Errorf("a gradient of %v: norm %v after %d steps, want one that is not finite, after 1", bad, norm, a.Steps())
		}
		if after := fmt.Sprint(ps[0].Value.Mem, ps[1].Value.Mem, a.States()[0], a.States()[1].M, a.States()[1].V); after != before {
			t.Errorf("a gradient of %v moved something", bad)
		}
	}
}

func TestZeroGrad(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ps := []*tensor.Param{param(r, "a", dtype.BF16, true, 8)}
	a := New(Default(), ps, ref.New[float32]())
	randomise(r, ps)
	if a.ZeroGrad(); a.GradNorm() != 0 {
		t.Errorf("norm is %v after ZeroGrad, want 0", a.GradNorm())
	}
}

// A gradient of 1e30 has a square that float32 cannot hold.
func TestGradNormDoesNotOverflow(t *testing.T) {
	p := param(rand.New(rand.NewPCG(1, 2)), "a", dtype.F32, true, 4)
	for i := range p.Grad.F32() {
		p.Grad.F32()[i] = 1e30
	}
	if got := New(Default(), []*tensor.Param{p}, ref.New[float32]()).GradNorm(); math.Abs(got-2e30) > 1e24 {
		t.Errorf("norm is %v, want 2e30", got)
	}
}

// The bits of a step do not depend on how many goroutines take it.
func TestThreadsDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want string
	for _, threads := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(threads)
		r := rand.New(rand.NewPCG(11, 12))
		var ps []*tensor.Param
		for i := range 13 {
			ps = append(ps, param(r, fmt.Sprint(i), []dtype.Type{dtype.F32, dtype.BF16}[i%2], i%3 > 0, 10+i*7))
		}
		a := New(Default(), ps, ref.New[float32]())
		norms := []float64{}
		for range 4 {
			randomise(r, ps)
			norms = append(norms, a.Step(1e-2))
		}
		got := fmt.Sprint(norms)
		for _, s := range a.States() {
			got += fmt.Sprint(s.Param.Value.Mem, s.Master, s.M, s.V)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d threads give other bits than 1", threads)
		}
	}
}

func ExampleAdamW_Step() {
	w := &tensor.Param{Name: "w", Value: tensor.Of([]float32{1, -1}, 2), Grad: tensor.Of([]float32{3, -4}, 2)}
	a := New(Default(), []*tensor.Param{w}, ref.New[float32]())
	norm := a.Step(0.1)
	fmt.Printf("norm %.0f, then w is %.3f\n", norm, w.Value.F32())
	// Output:
	// norm 5, then w is [0.900 -0.900]
}

// BenchmarkStep steps the two million weights of a small model.
func BenchmarkStep(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var ps []*tensor.Param
	for i := range 128 {
		ps = append(ps, param(r, fmt.Sprint("w", i), dtype.F32, true, 128, 128))
	}
	randomise(r, ps)
	k := cpu.New(0)
	defer k.Close()
	a := New(Default(), ps, k)
	b.Run("norm", func(b *testing.B) {
		for b.Loop() {
			a.GradNorm()
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			a.Step(1e-6)
		}
	})
}
