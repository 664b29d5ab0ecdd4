package optim

import (
	"math"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/split"
	"furlong/quant"
	"furlong/tensor"
)

// AdamW holds the masters and moments of the trained parameters.
type AdamW struct {
	cfg    Config
	k      kernels.Backend
	states []*State
	steps  int // taken

	byLength []int // states, those with most weights first
}

// State is one parameter's master weight and moments, each of the parameter's size.
type State struct {
	Param        *tensor.Param
	Master, M, V []float32
	master       *tensor.Tensor // whose elements Master are; an F32 weight is its own
}

// New returns the optimizer of every parameter of ps that has a gradient, which k moves. Masters start at the parameters' values.
func New(cfg Config, ps []*tensor.Param, k kernels.Backend) *AdamW {
	a := &AdamW{cfg: cfg, k: k}
	for _, p := range ps {
		if p.Frozen || p.Grad == nil {
			continue
		}
		n := p.Value.Len()
		s := &State{Param: p, M: make([]float32, n), V: make([]float32, n), master: p.Value}
		if p.Value.Type != dtype.F32 {
			s.master = tensor.New(dtype.F32, p.Value.Shape...)
		}
		s.Master = s.master.F32()
		s.pull()
		a.states = append(a.states, s)
		a.byLength = append(a.byLength, len(a.byLength))
	}
	slices.SortStableFunc(a.byLength, func(i, j int) int { return len(a.states[j].M) - len(a.states[i].M) })
	return a
}

// Steps returns the number of steps taken.
func (a *AdamW) Steps() int { return a.steps }

// SetSteps sets the number of steps taken: after loading a state.
func (a *AdamW) SetSteps(n int) { a.steps = n }

// States returns the parameters' states, in order, for checkpoints.
func (a *AdamW) States() []*State { return a.states }

// pull sets the master to the weight's value.
func (s *State) pull() {
	switch v := s.Param.Value; {
	case v == s.master:
	case v.Quantised():
		quant.Unpack(s.master, v)
	default:
		for i, b := range v.BF16() {
			s.Master[i] = dtype.FromBF16(b)
		}
	}
}

// Push rounds the master into the weight. After loading a state, or when the weight got another format, it brings the weight up to it.
func (s *State) Push() {
	switch v := s.Param.Value; {
	case v == s.master:
	case v.Quantised():
		quant.Pack(v, s.master)
	default:
		out := v.BF16()
		for i, w := range s.Master {
			out[i] = dtype.ToBF16(w)
		}
	}
}

// abreast is how many sums of squares are taken side by side: each waits for its own last addition.
const abreast = 4

// GradNorm returns the norm of all gradients together: one float64 sum, parameters in order.
func (a *AdamW) GradNorm() float64 {
	sums := make([]float64, len(a.states))
	split.Share(a.k, (len(a.states)+abreast-1)/abreast, func(_ kernels.Backend, i int) {
		some := a.byLength[i*abreast : min((i+1)*abreast, len(a.states))]
		var x [abreast][]float32
		for j, at := range some {
			x[j] = a.states[at].Param.Grad.F32()
		}
		for j, sum := range squares(x)[:len(some)] {
			sums[some[j]] = sum
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return math.Sqrt(total)
}

// squares returns the sum of squares of each of x, every one in order. They stay in registers: sums of two cores may share a cache line.
func squares(x [abreast][]float32) []float64 {
	n := min(len(x[0]), len(x[1]), len(x[2]), len(x[3]))
	a, b, c, d := x[0][:n], x[1][:n], x[2][:n], x[3][:n]
	var p, q, r, s float64
	for i := range n {
		p += float64(a[i]) * float64(a[i])
		q += float64(b[i]) * float64(b[i])
		r += float64(c[i]) * float64(c[i])
		s += float64(d[i]) * float64(d[i])
	}
	return []float64{goOn(p, x[0][n:]), goOn(q, x[1][n:]), goOn(r, x[2][n:]), goOn(s, x[3][n:])}
}

// goOn adds the squares of x to sum, in order.
func goOn(sum float64, x []float32) float64 {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// Step moves the weights against their gradients at learning rate lr, and returns the gradients' norm before the clip. If it
// is not finite nothing moves.
func (a *AdamW) Step(lr float64) (norm float64) {
	norm = a.GradNorm()
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm
	}
	factor := 1.0
	if a.cfg.Clip > 0 {
		factor = min(1, a.cfg.Clip/(norm+1e-6))
	}
	a.steps++
	step := a.step(lr, factor)
	a.each(func(k kernels.Backend, s *State) {
		own := step
		if !a.cfg.DecayAll && !s.Param.Decay {
			own.Keep = 1
		}
		k.AdamW(s.Master, s.M, s.V, s.Param.Grad.F32(), own)
		s.Push()
	})
	return norm
}

// ZeroGrad forgets all gradients.
func (a *AdamW) ZeroGrad() {
	a.each(func(_ kernels.Backend, s *State) { s.Param.Grad.Zero() })
}

// step returns the constants of a step: w = (1 - lr*decay)*w - lr/bias1 * m/(sqrt(v/bias2)+eps).
func (a *AdamW) step(lr, clip float64) kernels.AdamWStep {
	bias1 := 1 - math.Pow(a.cfg.Beta1, float64(a.steps))
	bias2 := 1 - math.Pow(a.cfg.Beta2, float64(a.steps))
	return kernels.AdamWStep{
		B1: float32(a.cfg.Beta1), B2: float32(a.cfg.Beta2), C1: float32(1 - a.cfg.Beta1), C2: float32(1 - a.cfg.Beta2),
		LR: float32(lr / bias1), Keep: float32(1 - lr*a.cfg.WeightDecay), Root2: float32(1 / math.Sqrt(bias2)), Eps: float32(a.cfg.Eps), Clip: float32(clip),
	}
}

// each calls f for every state, the longest first, on all threads; f touches nothing but its state.
func (a *AdamW) each(f func(k kernels.Backend, s *State)) {
	split.Share(a.k, len(a.states), func(k kernels.Backend, i int) { f(k, a.states[a.byLength[i]]) })
}
