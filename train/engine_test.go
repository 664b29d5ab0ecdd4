package train

import (
	"strings"
	"sync/atomic"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
)

var _ rl.TrainEngine = (*Engine)(nil)

// counting is a model that tells of each pass before it runs. Lanes run passes at the same time.
type counting struct {
	model.Model
	pass func(n int)
	n    *atomic.Int64
}

func (m counting) Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor {
	m.pass(int(m.n.Add(1)))
	return m.Model.Embed(c, in)
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.MaxTokens = 0 }, "--max-tokens-per-gpu is 0, want at least 1"},
		{func(c *Config) { c.Loss.Type = "dpo" }, `--loss-type is "dpo"`},
		{func(c *Config) { c.Optim.LR = -1 }, "--lr is -1"},
		{func(c *Config) { c.Loss.UseKL = true }, "--use-kl-loss: no reference policy: give --ref-load"},
		{func(c *Config) { c.Optim.Decay = "cosine" }, "--lr-decay-style cosine: the run's length is not known: give --lr-decay-iters"},
		{func(c *Config) { c.Loss.Agg, c.MaxLength = loss.SeqSumNorm, 0 }, "--loss-agg seq-mean-token-sum-norm divides by the longest response allowed, which is 0"},
	} {
		c := settings()
		tt.spoil(&c)
		_, err := New(c, actor(dtype.F32, 1), nil, ref.New[float32](), files())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want one with %q", err, tt.want)
		}
	}
	c := Config{Optim: settings().Optim, Loss: settings().Loss}
	c.Loss.EpsClip, c.Optim.Eps = 2, 0
	err := c.Validate()
	for _, flag := range []string{"--max-tokens-per-gpu", "--eps-clip", "--adam-eps"} {
		if err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v says nothing about %s", err, flag)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// The arena has grown to what the largest batch needs after the first passes, and a step leaves nothing in it.
func TestMemoryStaysFlat(t *testing.T) {
	for _, recompute := range []bool{false, true} {
		c := settings()
		c.Recompute, c.MaxTokens = recompute, 64
		e := cpuEngine(t, c, dtype.BF16)
		mustStep(t, e, batch(1, 3, 4))
		want := e.Bytes()
		for range 4 {
			b := batch(1, 3, 4)
			if err := e.Score(t.Context(), b.Samples); err != nil {
				t.Fatal(err)
			}
			mustStep(t, e, b)
			if got := e.Bytes(); got != want {
				t.Fatalf("recompute %v: %d bytes, want the %d of the first step", recompute, got, want)
			}
		}
		for i, l := range e.lanes.all() {
			if l.mem.Mark() != (tensor.Mark{}) {
				t.Errorf("recompute %v: a step leaves memory of lane %d in use", recompute, i)
			}
		}
	}
}

// A step needs the memory of one micro-batch a lane, not of the batch, and lanes share the budget.
func TestMemoryDependsOnTheBudget(t *testing.T) {
	long(t)
	used := func(k kernels.Backend, budget, groups int) int {
		c := settings()
		c.MaxTokens = budget
		e := engine(t, c, actor(dtype.F32, 1), k)
		mustStep(t, e, batch(1, groups, 16))
		return e.Bytes()
	}
	two := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer two.Close()
	if small, large := used(two, 100_000, 8), used(two, 100_000, 24); large > small {
		t.Errorf("%d bytes for a batch, %d for one three times as large, want no more", small, large)
	}
	var l lanes
	l.split = []*lane{{}, {}}
	if ps, on := l.share(batch(1, 24, 16).Samples, 100_000); len(on) != 2 || longest(ps) > cacheTokens {
		t.Errorf("micro-batches of up to %d tokens on %d lanes, want at most %d on 2", longest(ps), len(on), cacheTokens)
	}
	if ps, _ := l.share(batch(1, 24, 16).Samples, 200); longest(ps) > 100 {
		t.Errorf("micro-batches of up to %d tokens, want at most 100: two lanes share a budget of 200", longest(ps))
	}
}

// longest returns the tokens of the largest micro-batch.
func longest(ps []pass) (n int) {
	for _, p := range ps {
		n = max(n, p.in.Len())
	}
	return n
}

// The load counts each token's choices once, with and without recomputation, and starts anew with each step.
func TestExpertLoad(t *testing.T) {
	for _, recompute := range []bool{false, true} {
		c := settings()
		c.Recompute, c.MaxTokens = recompute, 50
		e := cpuEngine(t, c, dtype.F32)
		for seed := range uint64(2) {
			b := batch(seed, 2, 4)
			if err := e.Score(t.Context(), b.Samples); err != nil { // does not count
				t.Fatal(err)
			}
			stats := mustStep(t, e, b)
			want := uint32(0)
			for _, s := range b.Samples {
				want += uint32(run(s) * small.TopK)
			}
			if n := len(e.ExpertLoad()); n != len(small.Layers) {
				t.Fatalf("load of %d layers, want %d", n, len(small.Layers))
			}
			worst := 0.0
			for i, layer := range e.ExpertLoad() {
				sum := uint32(0)
				for _, n := range layer {
					sum += n
					worst = max(worst, float64(n)*float64(small.Experts)/float64(want))
				}
				if sum != want || len(layer) != small.Experts {
					t.Errorf("recompute %v, layer %d: %d choices of %d experts, want %d of %d", recompute, i, sum, len(layer), want, small.Experts)
				}
			}
			if got := stats["moe/max_load"]; got < worst*(1-1e-12) || got > worst*(1+1e-12) || worst <= 1 {
				t.Errorf("busiest expert has %v times its share, want %v", got, worst)
			}
		}
	}
}

func TestUneven(t *testing.T) {
	for _, tt := range []struct {
		counts   []uint32
		cv, peak float64
	}{
		{[]uint32{5, 5, 5, 5}, 0, 1}, {[]uint32{4, 0}, 1, 2}, {[]uint32{0, 0, 0, 8}, 1.7320508075688772, 4}, {[]uint32{0, 0}, 0, 0},
	} {
		if cv, peak := uneven(tt.counts); cv != tt.cv || peak != tt.peak {
			t.Errorf("uneven(%v) = %v, %v, want %v, %v", tt.counts, cv, peak, tt.cv, tt.peak)
		}
	}
}
