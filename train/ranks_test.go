package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/rl"
	"furlong/train/loss"
	ranked "furlong/train/schedule"
)

// A pulling is what a step comes to before its update: the sums of its loss, and the gradient of each trained weight.
type pulling struct {
	sums  loss.Sums
	grads map[string][]float32
}

// pullingOf returns what an engine has added up, and leaves its gradients empty.
func pullingOf(e *Engine, sums *loss.Sums) pulling {
	p := pulling{*sums, map[string][]float32{}}
	for _, w := range e.Params() {
		if w.Grad != nil && !w.Grad.Fresh {
			p.grads[w.Name] = slices.Clone(w.Grad.F32())
		} else if w.Grad != nil {
			p.grads[w.Name] = make([]float32, w.Grad.Len())
		}
	}
	e.opt.ZeroGrad()
	return p
}

// add adds what another rank has, as a sum over ranks does: gradients in float32.
func (p *pulling) add(q pulling) {
	eachSum(&p.sums, &q.sums, func(a, b reflect.Value) {
		if a.CanFloat() {
			a.SetFloat(a.Float() + b.Float())
		} else if a.CanInt() {
			a.SetInt(a.Int() + b.Int())
		}
	})
	for name, g := range p.grads {
		for i, v := range q.grads[name] {
			g[i] += v
		}
	}
}

// scale multiplies every sum over tokens, and the gradients, by what the step divides by. What counts samples or tokens is not divided.
func (p *pulling) scale(by float64) {
	ess := p.sums.ESS
	eachSum(&p.sums, &p.sums, func(a, _ reflect.Value) {
		if a.CanFloat() {
			a.SetFloat(a.Float() * by)
		}
	})
	p.sums.ESS = ess
	for _, g := range p.grads {
		for i := range g {
			g[i] = float32(float64(g[i]) * by)
		}
	}
}

// eachSum calls f with each exported field of a and of b.
func eachSum(a, b *loss.Sums, f func(a, b reflect.Value)) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if x.Type().Field(i).IsExported() {
			f(x.Field(i), y.Field(i))
		}
	}
}

// wantClose holds p against the whole step. Counts are equal. A sum over tokens in float64 may differ by rounding, and by tol of float32 gradients: the norm of
// the difference of a weight's gradients is at most tol times that of the gradient.
func (p *pulling) wantClose(t *testing.T, what string, want pulling, tol float64) {
	t.Helper()
	i := 0
	eachSum(&p.sums, &want.sums, func(a, b reflect.Value) {
		name := reflect.TypeFor[loss.Sums]().Field(i).Name
		if i++; a.CanInt() && a.Int() != b.Int() {
			t.Errorf("%s: %s is %d, want %d", what, name, a.Int(), b.Int())
		} else if a.CanFloat() && !(math.Abs(a.Float()-b.Float()) <= 1e-12*(1+math.Abs(b.Float()))) {
			t.Errorf("%s: %s is %v, want %v", what, name, a.Float(), b.Float())
		}
	})
	for name, g := range want.grads {
		var off, norm float64
		for i, v := range g {
			d := float64(p.grads[name][i]) - float64(v)
			off, norm = off+d*d, norm+float64(v)*float64(v)
		}
		if !(math.Sqrt(off) <= tol*math.Sqrt(norm)) {
			t.Errorf("%s: gradient of %s differs by %.2g of its norm, want at most %.2g", what, name, math.Sqrt(off/norm), tol)
		}
	}
}

// regrouped is by how much gradients may differ whose float32 sums over tokens are grouped, or scaled, otherwise. Those of sinks come the closest, at a third of it:
// each is one number, a sum over all tokens that largely cancels.
const regrouped = 2e-5

// aged returns a batch whose policy has moved since the trainer scored it, so that ratios are not 1 and some are clipped, and in which some tokens don't train.
func aged(seed uint64, groups, n int) *rl.Batch {
	b := batch(seed, groups, n)
	r := rand.New(rand.NewPCG(seed, 8))
	for i, s := range b.Samples {
		s.TrainLogProbs, s.Entropy = make([]float32, len(s.Response)), make([]float32, len(s.Response))
		for t := range s.Response {
			s.TrainLogProbs[t] = float32(-3.2 + 0.3*r.NormFloat64())
			s.LogProbs[t] = s.TrainLogProbs[t] + float32(0.3*r.NormFloat64())
		}
		if i%3 == 1 {
			s.LossMask = make([]bool, len(s.Response))
			for t := range s.LossMask {
				s.LossMask[t] = t%4 != 2
			}
		}
	}
	return b
}

// oneRank computes a step as the engine does.
func oneRank(t *testing.T, e *Engine, b *rl.Batch) pulling {
	t.Helper()
	defer func() { e.known = nil }()
	if err := e.prepareCycle(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	sums, err := e.gradients(t.Context(), b.Samples)
	if err != nil {
		t.Fatal(err)
	}
	return pullingOf(e, sums)
}

// shareOf computes what a rank with some of the samples adds up: its tokens count what plain says, which knows of no other rank, or with nil what the step says. What the step as a whole
// says of its samples (advantages, the mean of importance weights, tokens that are spared) every rank is told.
func shareOf(t *testing.T, e *Engine, b *rl.Batch, mine []int, plain func(s *rl.Sample) float64) pulling {
	t.Helper()
	defer func() { e.known = nil }()
	if err := e.prepareCycle(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	ld, err := e.newLedger(t.Context(), b.Samples)
	if err != nil {
		t.Fatal(err)
	}
	ld.samples = nil
	for _, i := range mine {
		s := b.Samples[i]
		if plain != nil {
			w := ld.whole[s]
			w.Weight = plain(s)
			ld.whole[s] = w
		}
		ld.samples = append(ld.samples, s)
	}
	loud, silent := e.audible(ld.samples)
	sums, err := e.fill(t.Context(), ld, loud, silent)
	if err != nil {
		t.Fatal(err)
	}
	return pullingOf(e, sums)
}

// plainly returns what a token of a sample counts in a rank's sums, and by what the sum over ranks is divided: the definitions of the five modes.
func plainly(c Config, b *rl.Batch) (plain func(s *rl.Sample) float64, by float64) {
	tokens := 0
	for _, s := range b.Samples {
		tokens += lengthOf(s)
	}
	one := func(*rl.Sample) float64 { return 1 }
	switch c.Loss.Agg {
	case loss.TokenMean:
		return one, float64(tokens)
	case loss.SeqSum:
		return one, float64(len(b.Samples))
	case loss.SeqSumNorm:
		return one, float64(len(b.Samples) * c.MaxLength)
	}
	return func(s *rl.Sample) float64 { return 1 / float64(lengthOf(s)) }, float64(len(b.Samples))
}

// shards returns ways to share out n samples among ranks: end to end, one each in turn, and with a rank that has none.
func shards(n, ranks int) map[string][][]int {
	out := map[string][][]int{"end to end": make([][]int, ranks), "in turn": make([][]int, ranks), "none for the first": make([][]int, ranks+1)}
	for i := range n {
		for name, r := range map[string]int{"end to end": i * ranks / n, "in turn": i % ranks, "none for the first": 1 + i%ranks} {
			out[name][r] = append(out[name][r], i)
		}
	}
	return out
}

// planned returns the shards of a schedule, with the samples of a rank in the order of its micro-batches.
func planned(t *testing.T, b *rl.Batch, ranks, budget int) [][]int {
	t.Helper()
	lengths := make([]int, len(b.Samples))
	for i, s := range b.Samples {
		lengths[i] = run(s)
	}
	p, err := ranked.New(lengths, ranked.Config{Ranks: ranks, Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]int, ranks)
	for r, all := range p.Ranks {
		for _, m := range all {
			out[r] = append(out[r], m.Samples...)
		}
	}
	return out
}

// A step over one, two and four data parallel ranks, each with an engine of its own that adds up plain sums, is the step of one engine, once the sums are added
// and divided: for every way to weigh tokens, however the samples are shared out, with a rank that has none as well.
func TestDataParallelRanks(t *testing.T) {
	long(t)
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer k.Close()
	for _, tt := range []struct {
		name   string
		change func(c *Config)
		ranks  []int
	}{
		{loss.TrajMean, func(c *Config) { c.Loss.Agg = loss.TrajMean }, []int{1, 2, 4}},
		{loss.TokenMean, func(c *Config) { c.Loss.Agg = loss.TokenMean }, []int{1, 2, 4}},
		{loss.SeqSum, func(c *Config) { c.Loss.Agg = loss.SeqSum }, []int{1, 2, 4}},
		{loss.SeqMean, func(c *Config) { c.Loss.Agg = loss.SeqMean }, []int{4}},
		{loss.SeqSumNorm, func(c *Config) { c.Loss.Agg, c.MaxLength = loss.SeqSumNorm, 24 }, []int{4}},
		{"entropy", func(c *Config) { c.Loss.Entropy = 0.01 }, []int{2}},
		{"gspo", func(c *Config) { c.Loss.Estimator, c.Loss.EpsClip, c.Loss.EpsClipHigh = loss.GSPO, 0.1, 0.1 }, []int{4}},
		{"cispo", func(c *Config) { c.Loss.Estimator, c.Loss.Agg = loss.CISPO, loss.TokenMean }, []int{2}},
		{"mis", func(c *Config) { c.Loss.IS = "mis" }, []int{4}},
		{"spared tokens", func(c *Config) { c.Loss.Est.CovRatio, c.Loss.Est.CovLow, c.Loss.Est.CovHigh = 0.2, -10, 10 }, []int{2}},
		{"supervised", func(c *Config) { c.Loss.Type, c.Loss.Agg = "sft_loss", loss.TokenMean }, []int{4}},
		{"whitened", func(c *Config) { c.Loss.Estimator, c.Loss.Est.Whiten = loss.Baseline, true }, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := settings()
			c.MaxTokens, c.FreezeGate = 60, false
			tt.change(&c)
			want := oneRank(t, engine(t, c, actor(dtype.F32, 1), k), aged(1, 3, 4))
			if want.sums.Loss == 0 || c.Loss.Type == "policy_loss" && want.sums.ClipFrac == 0 {
				t.Fatalf("sums are %+v, want a loss, and tokens that are clipped", want.sums)
			}
			ranks := []*Engine{nil, nil, nil, nil, nil}
			for r := range ranks {
				ranks[r] = engine(t, c, actor(dtype.F32, 1), k)
			}
			for _, n := range tt.ranks {
				ways := shards(12, n)
				if n == 1 {
					delete(ways, "in turn")
				}
				ways["as scheduled"] = planned(t, aged(1, 3, 4), n, 60)
				for way, parts := range ways {
					plain, by := plainly(c, aged(1, 3, 4))
					got := add(t, ranks, parts, plain)
					got.scale(1 / by)
					got.wantClose(t, fmt.Sprintf("%d ranks, %s", n, way), want, regrouped)
				}
			}
			got := add(t, ranks, shards(12, 4)["none for the first"], nil) // divided before it is added, not after
			got.wantClose(t, "ranks that know the step's weights", want, regrouped)
		})
	}
}

// add returns the sums over ranks that have these samples, in the order of ranks.
func add(t *testing.T, ranks []*Engine, parts [][]int, plain func(s *rl.Sample) float64) pulling {
	t.Helper()
	all := shareOf(t, ranks[0], aged(1, 3, 4), parts[0], plain)
	for r, mine := range parts[1:] {
		all.add(shareOf(t, ranks[r+1], aged(1, 3, 4), mine, plain))
	}
	return all
}

// Two samples that hold the same response, of which each trains what the other masks, pull as one that trains all of it where tokens are what is counted. They
// are the sequences into which a conversation is cut whose beginning is thrown away.
func TestResponseInTwoSamples(t *testing.T) {
	c := withLoss(func(c *loss.Config) { c.Agg, c.NoNormalize = loss.TokenMean, true })
	e := cpuEngine(t, c, dtype.F32)
	want := oneRank(t, e, aged(2, 2, 3))
	halves := &rl.Batch{}
	for i, s := range aged(2, 2, 3).Samples {
		for half := range 2 {
			part := *aged(2, 2, 3).Samples[i]
			part.LossMask = make([]bool, len(s.Response))
			for k := range part.LossMask {
				part.LossMask[k] = trains(s, k) && (k < 2) == (half == 0)
			}
			if lengthOf(&part) > 0 {
				halves.Samples = append(halves.Samples, &part)
			}
		}
	}
	got := oneRank(t, e, halves)
	if got.sums.Samples <= want.sums.Samples {
		t.Fatalf("%d samples, want more than %d", got.sums.Samples, want.sums.Samples)
	}
	got.sums.Samples, got.sums.ESS, got.sums.RejectedSamples = want.sums.Samples, want.sums.ESS, want.sums.RejectedSamples // of samples, not tokens
	got.wantClose(t, "halves", want, regrouped)
}
