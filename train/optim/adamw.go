package optim

import (
	"math"
	"runtime"
	"sync"

	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// AdamW holds the masters and moments of the trained parameters.
type AdamW struct {
	cfg    Config
	states []*State
	steps  int // taken
}

// State is one parameter's master weight and moments, each of the parameter's size.
type State struct {
	Param        *tensor.Param
	Master, M, V []float32
	master       *tensor.Tensor // whose elements Master are; an F32 weight is its own
}

// New returns the optimizer of every parameter of ps that has a gradient. Masters start at the parameters' values.
func New(cfg Config, ps []*tensor.Param) *AdamW {
	a := &AdamW{cfg: cfg}
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
	}
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

// GradNorm returns the norm of all gradients together: one float64 sum, parameters in order.
func (a *AdamW) GradNorm() float64 {
	sums := make([]float64, len(a.states))
	a.each(func(i int, s *State) {
		sums[i] = squares(s.Param.Grad.F32())
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return math.Sqrt(total)
}

// squares returns the sum of squares, in order. It stays in a register: sums of two cores may share a cache line.
func squares(x []float32) (sum float64) {
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
	u := a.update(lr, factor)
	a.each(func(_ int, s *State) {
		u.apply(s, a.cfg.DecayAll || s.Param.Decay)
		s.Push()
	})
	return norm
}

// ZeroGrad forgets all gradients.
func (a *AdamW) ZeroGrad() {
	for _, s := range a.states {
		s.Param.Grad.Zero()
	}
}

// An update holds one step's constants.
type update struct {
	b1, b2, c1, c2, lr, keep, root2, eps, clip float32
}

func (a *AdamW) update(lr, clip float64) update {
	bias1 := 1 - math.Pow(a.cfg.Beta1, float64(a.steps))
	bias2 := 1 - math.Pow(a.cfg.Beta2, float64(a.steps))
	return update{
		b1: float32(a.cfg.Beta1), b2: float32(a.cfg.Beta2), c1: float32(1 - a.cfg.Beta1), c2: float32(1 - a.cfg.Beta2),
		lr: float32(lr / bias1), keep: float32(1 - lr*a.cfg.WeightDecay), root2: float32(1 / math.Sqrt(bias2)), eps: float32(a.cfg.Eps), clip: float32(clip),
	}
}

// apply does w = keep*w - lr/bias1 * m/(sqrt(v/bias2)+eps). The conversions forbid fused multiply-adds, so that
// every machine takes the same step.
func (u update) apply(s *State, decay bool) {
	keep := u.keep
	if !decay {
		keep = 1
	}
	w, m, v := s.Master, s.M, s.V
	for i, g := range s.Param.Grad.F32() {
		g = float32(g * u.clip)
		mi := float32(u.b1*m[i]) + float32(u.c1*g)
		vi := float32(u.b2*v[i]) + float32(u.c2*float32(g*g))
		root := float32(float32(math.Sqrt(float64(vi)))*u.root2) + u.eps
		w[i] = float32(keep*w[i]) - float32(u.lr*mi)/root
		m[i], v[i] = mi, vi
	}
}

// each calls f for every state, on all cores; f touches nothing but its state.
func (a *AdamW) each(f func(i int, s *State)) {
	var wg sync.WaitGroup
	next := make(chan int, len(a.states))
	for i := range a.states {
		next <- i
	}
	close(next)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i, a.states[i])
			}
		})
	}
	wg.Wait()
}
