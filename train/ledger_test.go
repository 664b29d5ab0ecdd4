package train

import (
	"fmt"
	"maps"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/rl"
	"furlong/train/loss"
)

// flat gives all answers of a batch's groups from number lo up to hi one verdict.
func flat(b *rl.Batch, lo, hi int64) *rl.Batch {
	for _, s := range b.Samples {
		if g := s.Prompt.Group; g >= lo && g < hi {
			s.Verdict, s.Reward = rl.Right, 1
		}
	}
	return b
}

// pulled is everything that a way through a step leaves behind but the weights themselves.
func pulled(t *testing.T, e *Engine, b *rl.Batch, part func([]*rl.Sample) (loud, silent []*rl.Sample)) map[string]string {
	t.Helper()
	e.lanes.reset()
	e.advantages(b.Samples)
	loud, silent := part(b.Samples)
	sums, err := e.pull(t.Context(), b.Samples, loud, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer e.opt.ZeroGrad()
	out := map[string]string{"sums": fmt.Sprintf("%+v", *sums), "experts": fmt.Sprint(e.lanes.load()), "agreement": fmt.Sprintf("%+v", *e.lanes.agreement())}
	for i, s := range b.Samples {
		out[fmt.Sprint("figures of sample ", i)] = fmt.Sprint(s.TrainLogProbs, s.Entropy, s.TrainExperts)
	}
	for _, p := range e.Params() {
		if p.Grad != nil {
			out[p.Name] = string(p.Grad.Mem)
		}
	}
	return out
}

func all(samples []*rl.Sample) (loud, silent []*rl.Sample) { return samples, nil }

// A sample without an advantage that is run forward only leaves the same bits behind as one that goes backward too: gradients, sums, figures,
// counts of experts; wherever such samples stand.
func TestSilentSamplesPullAtNothing(t *testing.T) {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer k.Close()
	for _, estimator := range []string{loss.GRPO, loss.GSPO, loss.CISPO, loss.RLOO} {
		for _, span := range [][2]int64{{0, 1}, {1, 3}, {3, 4}, {0, 4}} {
			for _, budget := range []int{1, 60, 100_000} {
				t.Run(fmt.Sprintf("%s, groups %d to %d, budget %d", estimator, span[0], span[1], budget), func(t *testing.T) {
					c := settings()
					c.Loss.Estimator, c.MaxTokens, c.Tell, c.FreezeGate = estimator, budget, true, false
					e := engine(t, c, actor(dtype.F32, 1), k)
					want := pulled(t, e, flat(batch(1, 4, 3), span[0], span[1]), all)
					got := pulled(t, e, flat(batch(1, 4, 3), span[0], span[1]), func(samples []*rl.Sample) (loud, silent []*rl.Sample) {
						loud, silent = e.audible(samples)
						if n := int(span[1]-span[0]) * 3; len(silent) != n {
							t.Fatalf("%d samples are silent, want %d", len(silent), n)
						}
						return loud, silent
					})
					wantSame(t, "silent samples", got, want)
					if len(got) != len(want) {
						t.Errorf("%d figures and weights, want %d", len(got), len(want))
					}
				})
			}
		}
	}
}

// Steps over batches in which some or all samples are silent count and move as others do.
func TestStepsWithSilentSamples(t *testing.T) {
	e, other := cpuEngine(t, settings(), dtype.BF16), cpuEngine(t, settings(), dtype.BF16)
	for i, hi := range []int64{2, 1, 3} {
		b := flat(batch(uint64(i), 3, 3), 0, hi)
		stats := mustStep(t, e, b)
		if n := stats["train/samples"]; n != 9 {
			t.Errorf("batch %d: %v samples, want all 9", i, n)
		}
		again := flat(batch(uint64(i), 3, 3), 0, hi)
		other.advantages(again.Samples)
		sums, err := other.pull(t.Context(), again.Samples, again.Samples, nil)
		if err != nil {
			t.Fatal(err)
		}
		moved := other.update(sums)
		report(moved, sums, other.cfg.Loss)
		for name, v := range moved {
			if stats[name] != v {
				t.Errorf("batch %d: %s is %v, want %v", i, name, stats[name], v)
			}
		}
		wantSame(t, fmt.Sprint("batch ", i), state(e), maps.Clone(state(other)))
	}
}
