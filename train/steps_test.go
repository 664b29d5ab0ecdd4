package train

import (
	"fmt"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/train/loss"
)

// Two steps of a cycle are a scoring pass over all of it, and then a step on each half: old logprobs are those before the first.
func TestStepsOfACycle(t *testing.T) {
	c := settings()
	c.Steps, c.Optim.Warmup = 2, 3
	e := cpuEngine(t, c, dtype.F32)
	got := mustStep(t, e, batch(1, 2, 4))

	c.Steps = 1
	apart := cpuEngine(t, c, dtype.F32)
	b := batch(1, 2, 4)
	if err := apart.Score(t.Context(), b.Samples); err != nil {
		t.Fatal(err)
	}
	first := mustStep(t, apart, &rl.Batch{Samples: b.Samples[:4]})
	second := mustStep(t, apart, &rl.Batch{Samples: b.Samples[4:]})
	wantSame(t, "state", state(e), state(apart))
	if second["train/ois"] == 1 {
		t.Error("the second step's ratio has not moved")
	}
	for name, want := range map[string]float64{
		"train/step": 2, "train/steps_taken": 2, "train/skipped_steps": 0, "train/lr-pg_0": second["train/lr-pg_0"], "train/samples": 8,
		"train/tokens": first["train/tokens"] + second["train/tokens"], "train/loss": (first["train/loss"] + second["train/loss"]) / 2,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

// A sample that does not train keeps its place, and a step without any other is skipped and counted.
func TestStepsKeepTheirPlaces(t *testing.T) {
	c := settings()
	c.Steps = 4
	e := cpuEngine(t, c, dtype.F32)
	b := batch(1, 2, 4)
	b.Samples[1].Verdict, b.Samples[6].Verdict, b.Samples[7].Verdict = rl.Invalid, rl.Invalid, rl.Invalid
	samples, err := e.trainable(b)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, p := range e.parts(b, samples) {
		sizes = append(sizes, len(p))
	}
	if fmt.Sprint(sizes) != "[1 2 2 0]" {
		t.Errorf("steps have %v samples, want 1, 2, 2 and 0", sizes)
	}
	stats, err := e.Step(t.Context(), b)
	if err != nil || stats["train/skipped_steps"] != 1 || stats["train/steps_taken"] != 3 || stats["train/excluded_samples"] != 3 || e.Steps() != 3 {
		t.Errorf("%v skipped, %v taken, %v excluded, %d steps, %v; want 1, 3, 3, 3", stats["train/skipped_steps"], stats["train/steps_taken"], stats["train/excluded_samples"], e.Steps(), err)
	}
	for _, s := range b.Samples {
		s.Verdict = rl.Invalid
	}
	if stats, err := e.Step(t.Context(), b); err != nil || stats["train/skipped_steps"] != 4 || e.Steps() != 3 {
		t.Errorf("without a sample %v are skipped, %v, want 4", stats["train/skipped_steps"], err)
	}
}

// Advantages are of the whole cycle, also where a group's samples are in several steps.
func TestAdvantagesAreOfTheCycle(t *testing.T) {
	whole, cut := settings(), settings()
	cut.Steps = 4
	a, b := batch(3, 2, 4), batch(3, 2, 4)
	mustStep(t, cpuEngine(t, whole, dtype.F32), a)
	mustStep(t, cpuEngine(t, cut, dtype.F32), b)
	for i := range a.Samples {
		if a.Samples[i].Advantage != b.Samples[i].Advantage {
			t.Errorf("sample %d has advantage %v in one step, %v in four", i, a.Samples[i].Advantage, b.Samples[i].Advantage)
		}
	}
}

// What an algorithm asks for and nobody gave is named.
func TestMissingModelsAreNamed(t *testing.T) {
	for _, tt := range []struct {
		change func(c *loss.Config)
		want   string
	}{
		{func(c *loss.Config) { c.Estimator = loss.PPO }, "--advantage-estimator ppo: no critic"},
		{func(c *loss.Config) { c.Est.Distill = true }, "--use-opd: no teacher: give --opd-teacher-load"},
	} {
		if _, err := cpuEngine(t, withLoss(tt.change), dtype.F32).Step(t.Context(), batch(1, 2, 4)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %q", err, tt.want)
		}
	}
	c := withLoss(func(c *loss.Config) { c.Estimator, c.Est.RewardKL = loss.RLOO, 0.1 })
	if _, err := New(c, actor(dtype.F32, 1), nil, cpuEngine(t, settings(), dtype.F32).whole().k, files()); err == nil || !strings.Contains(err.Error(), "--kl-coef: no reference policy") {
		t.Errorf("error is %v, want one that asks for a reference policy", err)
	}
}

func TestStepSettings(t *testing.T) {
	for _, tt := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.Steps = 0 }, "--num-steps-per-rollout is 0, want at least 1"},
		{func(c *Config) { c.Critic.Only = 1 }, "--num-critic-only-steps is 1 with --advantage-estimator grpo, which has no critic"},
		{func(c *Config) { c.Critic.Warmup = -1 }, "--critic-lr-warmup-iters -1, want 0 or more"},
		{func(c *Config) { c.Critic.LR = -1 }, "--critic-lr is -1, want 0 (as --lr) or more"},
		{func(c *Config) { c.Critic.LR, c.Optim.LR, c.Optim.MinLR = 1e-5, 1e-3, 1e-4 }, "--critic-lr is 1e-05, want at least --min-lr (0.0001)"},
	} {
		c := settings()
		tt.spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
	if idle := settings().Idle(); idle["critic-lr"] == "" || idle["num-critic-only-steps"] == "" {
		t.Errorf("without a critic idle flags are %v", idle)
	}
	if idle := withLoss(func(c *loss.Config) { c.Estimator = loss.PPO }).Idle(); len(idle) != 0 {
		t.Errorf("with a critic idle flags are %v", idle)
	}
}
