package optim

import (
	"errors"
	"fmt"
	"math"
)

// Config says how weights are updated.
type Config struct {
	LR       float64 `flag:"lr" help:"peak learning rate"`
	MinLR    float64 `flag:"min-lr" help:"learning rate at the end of a decay"`
	Decay    string  `flag:"lr-decay-style" help:"constant, linear, cosine, inverse-square-root, WSD (constant, then linear down)"`
	Warmup   int     `flag:"lr-warmup-iters" help:"steps of linear warm-up from 0"`
	Steps    int     `flag:"lr-decay-iters" help:"step at which a decay ends; 0 is the planned number of steps"`
	WSDSteps int     `flag:"lr-wsd-decay-iters" help:"length of the last leg of WSD, in steps"`

	Beta1       float64 `flag:"adam-beta1" help:"decay of the first moment"`
	Beta2       float64 `flag:"adam-beta2" help:"decay of the second moment"`
	Eps         float64 `flag:"adam-eps" help:"added to the root of the second moment"`
	WeightDecay float64 `flag:"weight-decay" help:"decoupled decay of matrices (not of norms, sinks, biases, hyper-connections)"`
	Clip        float64 `flag:"clip-grad" help:"largest global norm of a step's gradient; 0 is off"`

	// DecayAll decays every trained tensor. The reference vectors' run does; nothing else should.
	DecayAll bool
}

// Default returns the settings of the reference recipe.
func Default() Config {
	return Config{LR: 1e-6, Decay: "constant", Beta1: 0.9, Beta2: 0.98, Eps: 1e-8, WeightDecay: 0.1, Clip: 1}
}

// Validate reports everything that is wrong with c, in the words of the flags.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch c.Decay {
	case "constant", "linear", "cosine", "inverse-square-root", "WSD":
	default:
		bad("--lr-decay-style is %q, want one of: constant linear cosine inverse-square-root WSD", c.Decay)
	}
	// Conditions say what is right, so that a NaN is wrong.
	if !(c.LR >= 0) || math.IsInf(c.LR, 0) {
		bad("--lr is %v, want 0 or more", c.LR)
	}
	if !(c.MinLR >= 0 && c.MinLR <= c.LR) {
		bad("--min-lr is %v, want between 0 and --lr (%v)", c.MinLR, c.LR)
	}
	if c.Warmup < 0 || c.Steps < 0 || c.WSDSteps < 0 {
		bad("--lr-warmup-iters is %d, --lr-decay-iters %d and --lr-wsd-decay-iters %d, want 0 or more", c.Warmup, c.Steps, c.WSDSteps)
	}
	if c.Decay == "WSD" && c.WSDSteps == 0 {
		bad("--lr-wsd-decay-iters is 0, want at least 1 with --lr-decay-style WSD")
	}
	for _, b := range []struct {
		flag string
		v    float64
	}{{"adam-beta1", c.Beta1}, {"adam-beta2", c.Beta2}} {
		if !(b.v >= 0 && b.v < 1) {
			bad("--%s is %v, want from 0 up to, not including, 1", b.flag, b.v)
		}
	}
	if !(c.Eps > 0) || math.IsInf(c.Eps, 0) {
		bad("--adam-eps is %v, want more than 0", c.Eps)
	}
	if !(c.WeightDecay >= 0) || math.IsInf(c.WeightDecay, 0) {
		bad("--weight-decay is %v, want 0 or more", c.WeightDecay)
	}
	if !(c.Clip >= 0) {
		bad("--clip-grad is %v, want 0 (off) or more", c.Clip)
	}
	return errors.Join(errs...)
}

// Idle returns the flags that change nothing as c stands, and why.
func (c Config) Idle() map[string]string {
	why := "--lr-decay-style is " + c.Decay
	switch c.Decay {
	case "constant":
		return map[string]string{"min-lr": why, "lr-decay-iters": why, "lr-wsd-decay-iters": why}
	case "inverse-square-root":
		return map[string]string{"lr-decay-iters": why, "lr-wsd-decay-iters": why}
	case "linear", "cosine":
		return map[string]string{"lr-wsd-decay-iters": why}
	}
	return nil
}

// NeedsEnd says whether the schedule depends on the step at which it ends: Steps, or else the total that Rate is given.
func (c Config) NeedsEnd() bool {
	return c.Steps == 0 && (c.Decay == "linear" || c.Decay == "cosine" || c.Decay == "WSD")
}

// Rate returns the learning rate of step n, counted from 0, of a run planned for total steps.
func (c Config) Rate(n, total int) float64 {
	if n < c.Warmup {
		return c.LR * float64(n+1) / float64(c.Warmup)
	}
	end := c.Steps
	if end == 0 {
		end = total
	}
	return c.MinLR + (c.LR-c.MinLR)*c.factor(n, end)
}

// factor returns the share of the way from MinLR to LR at step n of a decay that ends at step end.
func (c Config) factor(n, end int) float64 {
	done := 1.0
	if end > c.Warmup {
		done = min(1, float64(n-c.Warmup)/float64(end-c.Warmup))
	}
	switch c.Decay {
	case "linear":
		return 1 - done
	case "cosine":
		return (1 + math.Cos(math.Pi*done)) / 2
	case "inverse-square-root":
		return math.Sqrt(float64(max(c.Warmup, 1)) / float64(max(n+1, c.Warmup, 1)))
	case "WSD":
		if left := end - n; left < c.WSDSteps {
			return max(0, float64(left)/float64(c.WSDSteps))
		}
	}
	return 1
}
