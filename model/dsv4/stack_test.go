package dsv4

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/tensor"
)

// small is four layers with every kind of attention and both routers, small enough for many passes.
var small = Config{
	Vocab: 23, Hidden: 16, Layers: []Layer{{W, Hash}, {C4, Learned}, {C128, Hash}, {C4, Learned}}, Heads: 4, HeadDim: 8, RopeDim: 4, QRank: 12,
	OGroups: 2, ORank: 6, Window: 3, RateC4: 2, RateC128: 6, IndexHeads: 4, IndexDim: 8, IndexTopK: 3, Experts: 5, TopK: 2, ExpertDim: 10,
	RoutedFactor: 1.5, Limit: 1.5, LimitShared: 1, Streams: 3, SinkhornIter: 6, HyperEps: 1e-6, NormEps: 1e-6,
	RopeTheta: 100, CompressRopeTheta: 1000, Yarn: Yarn{4, 8, 32, 1}, MaxPositions: 64, InitRange: 0.3, BOS: 0, EOS: 1,
}

// randomModel returns a model whose every weight is random, so that nothing is a zero or a one by luck.
func randomModel(cfg Config, format dtype.Type, seed uint64) *Model {
	m := New(cfg, format)
	m.Init(seed)
	for i, p := range m.Params() {
		r := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		switch {
		case p.Value.Type == dtype.I32:
		case isOne(p.Name):
			fill(p.Value, func() float64 { return 1 + 0.3*r.NormFloat64() })
		case isZero(p.Name):
			fill(p.Value, func() float64 { return 0.5 * r.NormFloat64() })
		}
	}
	return m
}

// packed returns random tokens of sequences of the given lengths, numbered from 0.
func packed(seed uint64, vocab int, lengths ...int) *ops.Tokens {
	in := &ops.Tokens{}
	for seq, n := range lengths {
		r := rand.New(rand.NewPCG(seed, uint64(seq)))
		for p := range n {
			in.ID, in.Seq, in.Pos = append(in.ID, int32(r.IntN(vocab))), append(in.Seq, int32(seq)), append(in.Pos, int32(p))
		}
	}
	return in
}

// slice returns tokens lo up to hi as an input of their own.
func slice(in *ops.Tokens, lo, hi int) *ops.Tokens {
	return &ops.Tokens{ID: in.ID[lo:hi], Seq: in.Seq[lo:hi], Pos: in.Pos[lo:hi]}
}

// An engine runs passes of one model.
type engine struct {
	c         *ops.Ctx
	m         *Model
	recompute bool
}

func newEngine(k kernels.Backend, m *Model) *engine {
	t := dtype.F32
	if m.norm.Value.Type == dtype.F64 {
		t = dtype.F64
	}
	e := &engine{c: ops.NewCtx(k, &tensor.Arena{}, t), m: m}
	ready(e.c, m)
	return e
}

// score returns each token's final row, and the logprob and entropy of the next token of its sequence (of token 0 after the last).
func (e *engine) score(c *ops.Ctx, in *ops.Tokens) (h, lp, entropy *tensor.Tensor) {
	stores := make([]kv.InPlace, len(e.m.blocks))
	h = e.m.Final(c, model.Forward(c, e.m, in, func(i int) kv.Store { return &stores[i] }, e.recompute))
	next, scale := make([]int32, in.Len()), make([]float32, in.Len())
	in.Runs(func(_ int32, lo, hi int) { copy(next[lo:hi-1], in.ID[lo+1:hi]) })
	for i := range scale {
		scale[i] = 1.25
	}
	lp, entropy = ops.LogProb(c, h, e.m.Head(), next, scale)
	return h, lp, entropy
}

// pass runs tokens forward and backward, adds to the weights' gradients, and returns the bits of what came out. The loss is a sum over
// tokens of the logprob times a weight of their own, and a little of the entropy.
func (e *engine) pass(in *ops.Tokens) (out [][]byte) {
	defer e.c.Mem.Reset()
	c := e.c.Taped()
	h, lp, entropy := e.score(c, in)
	for _, x := range []*tensor.Tensor{h, lp, entropy} {
		out = append(out, bytes.Clone(x.Mem))
	}
	i := -1
	fill(c.Grad(lp), func() float64 { i++; return math.Sin(float64(3*in.Pos[i] + in.Seq[i])) })
	fill(c.Grad(entropy), func() float64 { return 0.1 })
	c.Unwind()
	return out
}

// gradients returns the bits of all gradients and sets them to zero.
func (e *engine) gradients() map[string][]byte {
	g := map[string][]byte{}
	for _, p := range e.m.Params() {
		if p.Grad != nil {
			g[p.Name] = bytes.Clone(p.Grad.Mem)
			p.Grad.Zero()
		}
	}
	return g
}

// sameGradients reports the first parameter whose gradients differ.
func sameGradients(t *testing.T, got, want map[string][]byte) {
	t.Helper()
	for name, w := range want {
		if !bytes.Equal(got[name], w) {
			t.Errorf("gradient of %s has other bits", name)
		}
	}
}

// A setting is a way to hold and to compute the small model.
type setting struct {
	name   string
	format dtype.Type
	k      kernels.Backend
}

func settings(t *testing.T) []setting {
	fast := cpu.New(2)
	t.Cleanup(fast.Close)
	return []setting{
		{"F32", dtype.F32, ref.New[float32]()},
		{"BF16", dtype.BF16, ref.New[float32]()},
		{"F64", dtype.F64, ref.New[float64]()},
		{"F32 on cpu", dtype.F32, fast},
		{"BF16 on cpu", dtype.BF16, fast},
	}
}

// Sequences packed into one pass must have the bits of each alone, whatever lies before and after it.
func TestPackedEqualsAlone(t *testing.T) {
	lengths := []int{1, 17, 5, 2, 13, 1}
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			e, in := newEngine(s.k, randomModel(small, s.format, 1)), packed(7, small.Vocab, lengths...)
			together := e.pass(in)
			in.Runs(func(seq int32, lo, hi int) {
				for i, alone := range e.pass(slice(in, lo, hi)) {
					width := len(alone) / (hi - lo)
					if !bytes.Equal(together[i][lo*width:hi*width], alone) {
						t.Errorf("result %d (rows, logprobs, entropies) of sequence %d has other bits alone", i, seq)
					}
				}
			})
		})
	}
}

// Cutting a batch into micro-batches, in order, must not change a bit of any gradient.
func TestMicroBatchesAddUp(t *testing.T) {
	in := packed(8, small.Vocab, 9, 14, 1, 6, 20)
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			e := newEngine(s.k, randomModel(small, s.format, 2))
			e.pass(in)
			want := e.gradients()
			for _, cuts := range [][]int{{0, 9, 23, 24, 30, 50}, {0, 23, 50}, {0, 24, 50}} {
				for i := range len(cuts) - 1 {
					e.pass(slice(in, cuts[i], cuts[i+1]))
				}
				sameGradients(t, e.gradients(), want)
			}
			e.pass(slice(in, 9, 50))
			e.pass(slice(in, 0, 9))
			if got := e.gradients(); s.format != dtype.F64 && bytes.Equal(got["lm_head.weight"], want["lm_head.weight"]) {
				t.Error("another order has the same bits, so the comparison sees nothing")
			}
		})
	}
}

// A later token must not change a bit of what came before it.
func TestLaterTokensChangeNothing(t *testing.T) {
	e, in := newEngine(ref.New[float32](), randomModel(small, dtype.F32, 3)), packed(9, small.Vocab, 24)
	all := e.pass(in)[0]
	for _, n := range []int{1, 2, 3, 5, 6, 11, 12, 13, 23} {
		if first := e.pass(slice(in, 0, n))[0]; !bytes.Equal(all[:len(first)], first) {
			t.Errorf("the first %d tokens have other bits alone", n)
		}
	}
}

func TestRecomputeEqualsKeeping(t *testing.T) {
	in := packed(10, small.Vocab, 12, 19, 3)
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			e := newEngine(s.k, randomModel(small, s.format, 4))
			want := e.pass(in)
			grads := e.gradients()
			e.recompute = true
			for i, got := range e.pass(in) {
				if !bytes.Equal(got, want[i]) {
					t.Errorf("result %d (rows, logprobs, entropies) has other bits", i)
				}
			}
			sameGradients(t, e.gradients(), grads)
		})
	}
}

func TestRecomputeTakesLessMemory(t *testing.T) {
	bytesFor := func(recompute bool) int {
		e := newEngine(ref.New[float64](), randomModel(small, dtype.F64, 4))
		e.recompute = recompute
		e.pass(packed(10, small.Vocab, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50))
		return e.c.Mem.Bytes()
	}
	if with, without := bytesFor(true), bytesFor(false); 2*with > without {
		t.Errorf("a pass takes %d bytes with recomputation, %d without, want half at most", with, without)
	}
}

// The fast backend must give the bits of the plain one: outputs and all gradients.
func TestCPUEqualsRef(t *testing.T) {
	fast := cpu.New(2)
	t.Cleanup(fast.Close)
	for _, cfg := range []struct {
		name string
		Config
	}{{"small", small}, {"golden", golden}} {
		for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
			t.Run(cfg.name+" "+format.String(), func(t *testing.T) {
				in := packed(11, cfg.Vocab, 7, 18, 1)
				plain := newEngine(ref.New[float32](), randomModel(cfg.Config, format, 5))
				e := newEngine(fast, randomModel(cfg.Config, format, 5))
				want := plain.pass(in)
				for i, got := range e.pass(in) {
					if !bytes.Equal(got, want[i]) {
						t.Errorf("result %d (rows, logprobs, entropies) has other bits", i)
					}
				}
				sameGradients(t, e.gradients(), plain.gradients())
			})
		}
	}
}

// BF16 is a way to store: a model computes with exactly the rounded values.
func TestBF16EqualsRoundedF32(t *testing.T) {
	half, wide := randomModel(small, dtype.BF16, 6), randomModel(small, dtype.F32, 6)
	rounded := 0
	for i, p := range half.Params() {
		if p.Value.Type != dtype.BF16 {
			copy(wide.Params()[i].Value.Mem, p.Value.Mem)
			continue
		}
		for j, b := range p.Value.BF16() {
			wide.Params()[i].Value.F32()[j] = dtype.FromBF16(b)
			rounded++
		}
	}
	if rounded == 0 {
		t.Fatal("no weight is BF16")
	}
	in := packed(12, small.Vocab, 15, 4)
	a, b := newEngine(ref.New[float32](), half), newEngine(ref.New[float32](), wide)
	want := b.pass(in)
	for i, got := range a.pass(in) {
		if !bytes.Equal(got, want[i]) {
			t.Errorf("result %d (rows, logprobs, entropies) has other bits", i)
		}
	}
	sameGradients(t, a.gradients(), b.gradients())
}

// What a few low bits would spoil stays wide in every format.
func TestWhatStaysWide(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F64} {
		wide := dtype.F32
		if format == dtype.F64 {
			wide = dtype.F64
		}
		for _, p := range New(small, format).Params() {
			want := format
			switch {
			case strings.HasSuffix(p.Name, "tid2eid"):
				want = dtype.I32
			case strings.HasSuffix(p.Name, "norm.weight"), isZero(p.Name), strings.Contains(p.Name, "hc.") || strings.Contains(p.Name, "hc_head"):
				want = wide
			}
			if p.Value.Type != want {
				t.Errorf("%s of a model in %v is %v, want %v", p.Name, format, p.Value.Type, want)
			}
		}
	}
}

// Many passes may run over one model at once.
func TestPassesAtOnce(t *testing.T) {
	m, in := randomModel(small, dtype.F32, 7), packed(13, small.Vocab, 11, 8)
	newEngine(ref.New[float32](), m)
	results := make([][]byte, 4)
	done := make(chan int)
	for i := range results {
		go func() {
			e := &engine{c: ops.NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32), m: m}
			h, _, _ := e.score(e.c, slice(in, 0, in.Len()))
			results[i] = slices.Clone(h.Mem)
			done <- i
		}()
	}
	for range results {
		<-done
	}
	for i, r := range results {
		if !bytes.Equal(r, results[0]) {
			t.Errorf("pass %d has other bits", i)
		}
	}
}

// Shapes are those of the model, without its memory.
func TestShapes(t *testing.T) {
	want, got := New(small, dtype.BF16).Params(), Shapes(small)
	if len(got) != len(want) {
		t.Fatalf("%d parameters, want %d", len(got), len(want))
	}
	for i, p := range got {
		if w := want[i]; p.Name != w.Name || p.Value.String() != w.Value.String() || p.Value.Mem != nil {
			t.Errorf("parameter %d is %s %v with %d bytes, want %s %v with none", i, p.Name, p.Value, len(p.Value.Mem), w.Name, w.Value)
		}
	}
}
