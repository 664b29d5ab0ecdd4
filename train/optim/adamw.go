package optim

import (
	"math"
	"runtime"
	"sync"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// AdamW holds the masters and moments of the trained parameters.
type AdamW struct {
	cfg    Config
	k      kernels.Backend
	states []*State
	steps  int // taken
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
	step := a.step(lr, factor)
	for _, s := range a.states {
		own := step
		if !a.cfg.DecayAll && !s.Param.Decay {
			own.Keep = 1
		}
		a.k.AdamW(s.Master, s.M, s.V, s.Param.Grad.F32(), own)
	}
	a.each(func(_ int, s *State) { s.Push() })
	return norm
}

// ZeroGrad forgets all gradients.
func (a *AdamW) ZeroGrad() {
	a.each(func(_ int, s *State) { s.Param.Grad.Zero() })
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
