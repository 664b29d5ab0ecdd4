package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/cpu"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/tensor"
	"furlong/train/loss"
)

// critics are the settings of ppo over two steps a cycle.
func critics() Config {
	c := withLoss(func(c *loss.Config) { c.Estimator, c.Est.Lambda, c.Est.Gamma = loss.PPO, 0.9, 0.99 })
	c.Steps, c.Critic.LR = 2, 2e-2
	return c
}

// accompanied is an engine with a critic of new weights, and a teacher of others.
func accompanied(t testing.TB, c Config, k kernels.Backend, format dtype.Type) *Engine {
	t.Helper()
	e, err := New(c, actor(format, 1), actor(format, 3), k, files())
	if err != nil {
		t.Fatal(err)
	}
	var o Others
	if c.Loss.HasCritic() {
		o.Critic = actor(format, 1)
	}
	if c.Loss.Est.Distill {
		o.Teacher = actor(format, 2)
	}
	e.Accompany(o)
	return e
}

func accompaniedCPU(t testing.TB, c Config, format dtype.Type) *Engine {
	k := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	t.Cleanup(k.Close)
	return accompanied(t, c, k, format)
}

// bothStates returns everything that a step may change of actor and critic.
func bothStates(e *Engine) map[string]string {
	out := state(e)
	if e.critic == nil {
		return out
	}
	out["critic steps"] = fmt.Sprint(e.critic.opt.Steps())
	for _, p := range append(e.critic.Params(), e.critic.head) {
		out["critic "+p.Name] = string(p.Value.Mem)
	}
	for _, s := range e.critic.opt.States() {
		for _, part := range parts {
			x := part.of(s)
			out["critic "+s.Param.Name+part.suffix] = string(tensor.Of(x, len(x)).Mem)
		}
	}
	return out
}

// How a batch is cut into micro-batches, on which backend and how many cores: no bit of actor or critic depends on it, whatever the estimator.
func TestCutsDoNotMatterToAnyEstimator(t *testing.T) {
	two := cpu.Open(cpu.Options{Threads: 2, Sleepy: true})
	defer two.Close()
	for _, estimator := range []string{loss.GSPO, loss.CISPO, loss.RLOO, loss.Reinforce, loss.Baseline, loss.PPO} {
		if testing.Short() && estimator != loss.PPO {
			continue
		}
		var want map[string]string
		for _, v := range []struct {
			k         kernels.Backend
			budget    int
			recompute bool
		}{{ref.New[float32](), 100_000, false}, {two, 1, true}, {two, 50, false}} {
			c := critics()
			c.MaxTokens, c.Recompute = v.budget, v.recompute
			c.Loss.Estimator, c.Loss.Est.Distill, c.Loss.Est.Whiten = estimator, true, true
			c.Loss.Est.CovRatio, c.Loss.Est.CovLow = 0.1, 0
			if estimator != loss.GSPO && estimator != loss.CISPO {
				c.Loss.Est.RewardKL = 0.1
			}
			e := accompanied(t, c, v.k, dtype.F32)
			stats := mustStep(t, e, batch(1, 2, 4))
			if stats["train/clip_cov_frac"] == 0 {
				t.Errorf("%s: no token is spared", estimator)
			}
			if want == nil {
				want = bothStates(e)
				continue
			}
			wantSame(t, fmt.Sprintf("%s, %s, budget %d", estimator, v.k.Name(), v.budget), bothStates(e), want)
		}
	}
}

// A run of ppo that is saved and goes on is the run that did not stop.
func TestResumeWithACritic(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		if testing.Short() && format != dtype.BF16 {
			continue
		}
		c := critics()
		c.Optim.Decay, c.Planned, c.Critic.Only, c.Critic.Warmup = "cosine", 8, 1, 3
		cycle := func(e *Engine, n int) string {
			b := batch(uint64(n), 2, 4)
			b.Cycle = n
			return fmt.Sprint(mustStep(t, e, b))
		}
		straight, saved := accompaniedCPU(t, c, format), accompaniedCPU(t, c, format)
		cycle(straight, 1)
		cycle(straight, 2)
		want := cycle(straight, 3)

		cycle(saved, 1)
		cycle(saved, 2)
		dir := t.TempDir()
		if err := saved.Save(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		resumed := accompaniedCPU(t, c, format)
		cycle(resumed, 5) // and knows something wrong
		if err := resumed.Load(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if got := cycle(resumed, 3); got != want {
			t.Errorf("%v: figures are\n%v, want\n%v", format, got, want)
		}
		wantSame(t, format.String(), bothStates(resumed), bothStates(straight))
	}
}

// A state with a critic is not one without, either way round; and a critic whose two files do not belong together is refused.
func TestCriticStatesAreHeldApart(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	e := accompaniedCPU(t, critics(), dtype.BF16)
	mustStep(t, e, batch(1, 2, 4))
	grpo := cpuEngine(t, settings(), dtype.BF16)
	for dir, of := range map[string]*Engine{with: e, without: grpo} {
		if err := of.Save(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(e *Engine, dir, want string) {
		t.Helper()
		if err := e.Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	refused(grpo, with, "the state has a critic, and --advantage-estimator grpo has none")
	refused(e, without, "the state has no critic, and --advantage-estimator ppo needs one")
	actors, err := os.ReadFile(filepath.Join(with, modelDir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(with, criticDir, modelDir, "model.safetensors"), actors, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(e, with, "rounds to other values than the model beside it has")
}

// In critic-only cycles the actor stays as it is, and the critic learns; rewards are the same everywhere, so soon it foretells all of them.
func TestTheCriticAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("short: much arithmetic, nothing at once that other tests do not do")
	}
	c := critics()
	c.Critic.Only, c.Loss.Est.Lambda, c.Loss.Est.Gamma, c.Loss.Est.ValueClip = 100, 1, 1, 10
	e := accompaniedCPU(t, c, dtype.F32)
	untouched := state(e)
	var losses []float64
	for n := range 12 {
		b := batch(4, 2, 4)
		b.Cycle = n + 1
		for _, s := range b.Samples {
			s.Verdict, s.Reward = rl.Right, 1
		}
		stats := mustStep(t, e, b)
		losses = append(losses, stats["train/value_loss"])
		if _, ok := stats["train/loss"]; ok || stats["train/step"] != 0 || stats["train/samples"] != 8 {
			t.Fatalf("figures of the actor are %v", stats)
		}
		if b.Samples[0].TrainLogProbs == nil {
			t.Fatal("samples are not scored")
		}
	}
	wantSame(t, "actor", state(e), untouched)
	if first, last := losses[0], losses[len(losses)-1]; !(first > 0.5 && last < first/10) {
		t.Errorf("loss of the critic went from %v to %v, want a tenth or less: %v", first, last, losses)
	}
	b := batch(4, 2, 4)
	b.Cycle = 101
	if mustStep(t, e, b); e.Steps() != 2 {
		t.Errorf("the actor took %d steps after its rest, want 2", e.Steps())
	}
}

// The critic's gradient, through all of the model, is that of its loss: differences over single weights.
func TestGradientOfTheCritic(t *testing.T) {
	if testing.Short() {
		t.Skip("short: much arithmetic, nothing at once that other tests do not do")
	}
	c := critics()
	c.Loss.Est.ValueClip = 100
	e := accompanied(t, c, ref.New[float32](), dtype.F32)
	r := rand.New(rand.NewPCG(5, 5))
	for i := range e.critic.head.Value.F32() {
		e.critic.head.Value.F32()[i] = float32(r.NormFloat64())
	}
	e.critic.prepare(e.whole())
	b := batch(2, 1, 3)
	if err := e.prepareCycle(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	at := func() float64 {
		e.critic.opt.ZeroGrad()
		e.critic.prepare(e.whole())
		sums, err := e.criticGradients(t.Context(), b.Samples)
		if err != nil {
			t.Fatal(err)
		}
		return sums.Loss
	}
	for _, p := range []*tensor.Param{e.critic.head, named(t, e.critic.Params(), "model.norm.weight"), named(t, e.critic.Params(), "model.layers.1.self_attn.o_b_proj.weight")} {
		at()
		grad := append([]float32(nil), p.Grad.F32()...)
		for _, i := range []int{0, len(grad) / 2, len(grad) - 1} {
			w := &p.Value.F32()[i]
			start, far := *w, float32(1.0/4096)
			*w = start + far
			up := at()
			*w = start - far
			down := at()
			*w = start
			if want := (up - down) / (2 * float64(far)); math.Abs(float64(grad[i])-want) > 1e-2*max(1, math.Abs(want)) {
				t.Errorf("%s, element %d: gradient is %v, want %v", p.Name, i, grad[i], want)
			}
		}
	}
}

// named returns a parameter by its name.
func named(t testing.TB, ps []*tensor.Param, name string) *tensor.Param {
	t.Helper()
	for _, p := range ps {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// Without rewards, distillation alone draws the policy to the teacher.
func TestDistillationDrawsToTheTeacher(t *testing.T) {
	long(t)
	c := withLoss(func(c *loss.Config) { c.Est.Distill = true })
	c.Optim.LR, c.Optim.WeightDecay = 1e-2, 0
	e := accompaniedCPU(t, c, dtype.F32)
	teacher := player{accompaniedCPU(t, settings(), dtype.F32), rand.New(rand.NewPCG(1, 1))}
	teacher.e.actor = actor(dtype.F32, 2)
	teacher.e.prepare()
	p := player{e, rand.New(rand.NewPCG(3, 4))}
	prompt := &rl.Prompt{ID: "p", Tokens: tokens(p.r, 5)}
	want := teacher.odds(t, prompt, nil)
	apart := func() (kl float64) {
		for v, lp := range p.odds(t, prompt, nil) {
			kl += math.Exp(float64(lp)) * float64(lp-want[v])
		}
		return kl
	}
	before := apart()
	for range 40 {
		mustStep(t, e, &rl.Batch{Samples: p.group(t, prompt, 32)})
	}
	if after := apart(); !(after < before/4) {
		t.Errorf("KL to the teacher went from %v to %v, want a quarter or less", before, after)
	}
}

// The critic has a rate and a warm-up of its own, and the actor's where none is given.
func TestTheCriticsOwnRate(t *testing.T) {
	for _, tt := range []struct {
		lr   float64
		want [2]float64 // of both steps
	}{{2e-2, [2]float64{5e-3, 1e-2}}, {0, [2]float64{2.5e-3, 5e-3}}} {
		c := critics()
		c.Steps, c.Critic.LR, c.Critic.Warmup = 1, tt.lr, 4
		e := accompaniedCPU(t, c, dtype.F32)
		for i, want := range tt.want {
			stats := mustStep(t, e, batch(uint64(i), 1, 2))
			if stats["train/lr-pg_1"] != want || stats["train/lr-pg_0"] != c.Optim.LR {
				t.Errorf("step %d: rates are %v and %v, want %v and %v", i+1, stats["train/lr-pg_0"], stats["train/lr-pg_1"], c.Optim.LR, want)
			}
		}
	}
}

// Values may move by a bound from what they were before the cycle, not from what they were before the step.
func TestValuesMoveWithinACycle(t *testing.T) {
	c := critics()
	c.Loss.Est.ValueClip, c.Steps = 1e-6, 1
	if first := mustStep(t, accompaniedCPU(t, c, dtype.F32), batch(1, 2, 4)); first["train/value_clipfrac"] != 0 {
		t.Errorf("in the first step %v of the values have moved", first["train/value_clipfrac"])
	}
	c.Steps = 2
	if both := mustStep(t, accompaniedCPU(t, c, dtype.F32), batch(1, 2, 4)); both["train/value_clipfrac"] == 0 {
		t.Error("in two steps no value has moved")
	}
}

// What spoils the critic's loss skips the step and is counted; the critic stays.
func TestTheCriticSkips(t *testing.T) {
	c := critics()
	c.Steps, c.Critic.Only = 1, 9
	e := accompaniedCPU(t, c, dtype.F32)
	before := bothStates(e)
	b := batch(1, 1, 2)
	b.Cycle, b.Samples[0].Reward = 1, math.NaN()
	stats, err := e.Step(t.Context(), b)
	if err != nil || stats["train/skipped_steps"] != 1 {
		t.Errorf("%v steps are skipped, %v, want 1", stats["train/skipped_steps"], err)
	}
	wantSame(t, "state", bothStates(e), before)
}
