package summary

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"furlong/metrics"
)

// A Summary is how a run went.
type Summary struct {
	Cycles  int                `json:"cycles"`
	Seconds float64            `json:"seconds"`
	Reward  *Reward            `json:"reward,omitempty"`
	Gap     *Gap               `json:"gap,omitempty"`
	Eval    *Eval              `json:"eval,omitempty"`
	Skipped float64            `json:"skipped_steps"`
	Invalid float64            `json:"invalid_samples"`
	Account *Account           `json:"account,omitempty"`
	Phases  map[string]float64 `json:"time_by_phase,omitempty"` // seconds
	Digest  string             `json:"weights_sha256,omitempty"`
	Dir     string             `json:"run_dir,omitempty"`
}

// Reward is the training reward over the cycles.
type Reward struct {
	FirstThird float64 `json:"first_third"`
	LastThird  float64 `json:"last_third"`
	Slope      float64 `json:"slope"`
}

// Gap is the difference of trainer and rollout engine over all tokens that were trained on, but for cycles in which one of the two had
// no number for a token.
type Gap struct {
	MeanAbs   float64 `json:"mean_abs"`
	MaxAbs    float64 `json:"max_abs"`
	NotFinite int     `json:"cycles_not_finite,omitempty"`
}

// add takes in a cycle of so many tokens. tokens counts those of all cycles before.
func (g *Gap) add(mean, peak, n float64, tokens *float64) {
	if bad := mean + peak; math.IsNaN(bad) || math.IsInf(bad, 0) {
		g.NotFinite++
		return
	}
	if n > 0 {
		*tokens += n
		g.MeanAbs += (mean - g.MeanAbs) * n / *tokens
		g.MaxAbs = max(g.MaxAbs, peak)
	}
}

// Eval is the held-out evaluation before the first cycle and after the last, and the paired difference.
type Eval struct {
	Name   string             `json:"name"`
	Before map[string]float64 `json:"before,omitempty"` // pass@1, pass@8, truncated_ratio, and intervals pass@1_lo, ...
	After  map[string]float64 `json:"after,omitempty"`
	Diff   map[string]any     `json:"diff,omitempty"` // pass@1, pass@1_ci95 [lo, hi], ...
	More   []*Eval            `json:"more,omitempty"` // of the other sets, if there are several
}

// Of sums up the cycle rows of a run.
func Of(rows []metrics.Row) Summary {
	merged, _ := metrics.Merge(rows)
	s := Summary{Phases: map[string]float64{}}
	var rewards []float64
	var gap Gap
	tokens := 0.0
	for _, r := range merged {
		if r.Kind != metrics.Cycle {
			continue
		}
		s.Cycles++
		s.Seconds += r.Values["perf/step_time"]
		s.Skipped += r.Values["train/skipped_steps"]
		s.Invalid += r.Values["reward/invalid_samples"]
		rewards = append(rewards, r.Values["rollout/raw_reward"])
		gap.add(r.Values["train/logp_diff/mean"], r.Values["train/logp_diff/max"], r.Values["train/tokens"], &tokens)
		s.Account = accountOf(r.Values)
		for _, p := range phases {
			s.Phases[p.name] += r.Values[p.series]
		}
	}
	if s.Cycles > 0 {
		s.Reward, s.Gap = trend(rewards), &gap
	}
	return s
}

// AddRest adds the seconds that were spent after the last cycle's row, by the series that a row would have them under: the last checkpoint, push and evaluation.
func (s *Summary) AddRest(seconds map[string]float64) {
	if s.Phases == nil {
		s.Phases = map[string]float64{}
	}
	for _, p := range phases {
		s.Phases[p.name] += seconds[p.series]
		s.Seconds += seconds[p.series]
	}
}

// phases are the parts of the trainer's clock.
var phases = []struct{ name, series string }{
	{"rollout", "perf/rollout_wait_time"},
	{"reward", "perf/reward_wait_time"},
	{"train", "perf/train_time"},
	{"update", "perf/update_weights_time"},
	{"eval", "perf/eval_time"},
	{"save", "perf/save_model_time"},
	{"other", "perf/other_time"},
}

// trend returns the means of the first and last third, and the slope of the least-squares line.
func trend(y []float64) *Reward {
	n := len(y)
	third := max(1, n/3)
	r := &Reward{FirstThird: mean(y[:third]), LastThird: mean(y[n-third:])}
	mx, my := float64(n-1)/2, mean(y)
	var xy, xx float64
	for i, v := range y {
		d := float64(i) - mx
		xy += d * (v - my)
		xx += d * d
	}
	if xx > 0 {
		r.Slope = xy / xx
	}
	return r
}

func mean(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}

// Print writes the closing table.
func (s Summary) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "cycles\t%d in %.0f s\n", s.Cycles, s.Seconds)
	if r := s.Reward; r != nil {
		fmt.Fprintf(t, "training reward\t%.3f first third, %.3f last third, slope %+.5f a cycle\n", r.FirstThird, r.LastThird, r.Slope)
	}
	if g := s.Gap; g != nil {
		fmt.Fprintf(t, "gap of trainer and rollout\t%.3g nats mean, %.3g largest", g.MeanAbs, g.MaxAbs)
		if g.NotFinite > 0 {
			fmt.Fprintf(t, ", without %d cycles in which it is no number", g.NotFinite)
		}
		fmt.Fprintln(t)
	}
	if s.Eval != nil {
		s.Eval.print(t)
	}
	if s.Account != nil {
		s.Account.print(t)
	}
	fmt.Fprintf(t, "skipped steps, invalid samples\t%.0f, %.0f\n", s.Skipped, s.Invalid)
	for _, p := range phases {
		if v := s.Phases[p.name]; v > 0 {
			fmt.Fprintf(t, "time: %s\t%.1f s\n", p.name, v)
		}
	}
	if s.Digest != "" {
		fmt.Fprintf(t, "weights\tsha256 %.16s\n", s.Digest)
	}
	if s.Dir != "" {
		fmt.Fprintf(t, "run directory\t%s\n", s.Dir)
	}
	return t.Flush()
}

func (e *Eval) print(w io.Writer) {
	name := "held-out"
	if len(e.More) > 0 {
		name = e.Name
	}
	e.printSet(w, name)
	for _, m := range e.More {
		m.printSet(w, m.Name)
	}
}

// printSet prints the rows of one set under a name.
func (e *Eval) printSet(w io.Writer, name string) {
	for _, k := range []string{"pass@1", "pass@8"} {
		b, a := e.Before, e.After
		if _, ok := a[k]; !ok {
			continue
		}
		fmt.Fprintf(w, "%s %s\t", name, k)
		if _, ok := b[k]; ok {
			fmt.Fprintf(w, "%.3f [%.3f, %.3f] before, ", b[k], b[k+"_lo"], b[k+"_hi"])
		}
		fmt.Fprintf(w, "%.3f [%.3f, %.3f] after", a[k], a[k+"_lo"], a[k+"_hi"])
		if ci, ok := e.Diff[k+"_ci95"].([2]float64); ok {
			fmt.Fprintf(w, ", difference %+.3f [%+.3f, %+.3f]", e.Diff[k], ci[0], ci[1])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s truncated\t%.3f before, %.3f after\n", name, e.Before["truncated_ratio"], e.After["truncated_ratio"])
}
