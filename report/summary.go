package report

import (
	"furlong/metrics/run"
	"furlong/metrics/trend"
	"furlong/verdict"
)

// A Summary is a run for programs: furlong report --json, and the block of data within the page.
type Summary struct {
	Dir      string             `json:"run_dir"`
	State    run.State          `json:"state"`
	Cycles   int                `json:"cycles"`
	Planned  int                `json:"planned"`
	Verdict  []verdict.Sentence `json:"verdict"`
	Reward   *Trend             `json:"reward,omitempty"`
	Gap      *Trend             `json:"gap,omitempty"`
	Held     []Paired           `json:"held_out,omitempty"`
	Alarms   []AlarmSpan        `json:"alarms"`
	Seconds  map[string]float64 `json:"seconds_by_phase,omitempty"`
	Digest   string             `json:"metrics_sha256,omitempty"`
	Command  string             `json:"command,omitempty"`
	Problems []string           `json:"problems,omitempty"`
	File     string             `json:"file,omitempty"`
	PNG      []string           `json:"png,omitempty"`
}

// A Trend is the course of a series. The slope is for 100 cycles, with its 95 % interval; without ten rows there is none.
type Trend struct {
	First float64  `json:"first_third"`
	Last  float64  `json:"last_third"`
	Slope *float64 `json:"slope_per_100,omitempty"`
	Lo    *float64 `json:"slope_lo,omitempty"`
	Hi    *float64 `json:"slope_hi,omitempty"`
}

// An AlarmSpan is an alarm from when to when.
type AlarmSpan struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Since    int    `json:"since"`
	Until    *int   `json:"until"` // null while it stands
	Text     string `json:"text"`
}

// Summary returns the run in figures.
func (r *Run) Summary() Summary {
	s := Summary{
		Dir: r.Dir, State: r.Life.State, Cycles: len(r.data.cycles), Planned: r.Life.Status.Planned, Verdict: r.Sentences(), Alarms: []AlarmSpan{}, Seconds: map[string]float64{},
		Reward: newTrend(r.data.of("rollout/raw_reward")), Gap: newTrend(r.data.of("train/logp_diff/mean")), Digest: r.Digest, Command: r.Command(), Problems: r.Problems,
	}
	for _, set := range r.Sets {
		s.Held = append(s.Held, set.Paired...)
	}
	for _, a := range r.Alarms {
		span := AlarmSpan{ID: a.ID, Severity: a.Severity, Since: a.Cycle, Text: short(a.Text)}
		if a.Cleared {
			span.Until = &a.Until
		}
		s.Alarms = append(s.Alarms, span)
	}
	for _, p := range r.parts() {
		if v := r.data.sum(p.series); v > 0 {
			s.Seconds[p.name] += v
		}
	}
	return s
}

func newTrend(c column) *Trend {
	if c.N == 0 {
		return nil
	}
	t := &Trend{}
	t.First, t.Last = trend.Thirds(c.Y)
	if l, ok := trend.Fit(c.X, c.Y); ok {
		lo, hi := l.Interval()
		slope, low, high := 100*l.Slope, 100*lo, 100*hi
		t.Slope, t.Lo, t.Hi = &slope, &low, &high
	}
	return t
}
