package verdict

import (
	"slices"
	"strings"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/trend"
)

// Points are the values of one series in the cycles that have one, by cycle. A value that is there may not be finite.
type Points struct{ X, Y []float64 }

// last returns the newest value.
func (p Points) last() (float64, bool) {
	if len(p.Y) == 0 {
		return 0, false
	}
	return p.Y[len(p.Y)-1], true
}

// sum adds up the finite values.
func (p Points) sum() float64 {
	s := 0.0
	for _, v := range p.Y {
		if trend.Finite(v) {
			s += v
		}
	}
	return s
}

// at returns the value of a cycle.
func (p Points) at(x float64) (float64, bool) {
	if i, ok := slices.BinarySearch(p.X, x); ok {
		return p.Y[i], true
	}
	return 0, false
}

// A Run is what is known of a run.
type Run struct {
	Life   run.Life
	Now    time.Time             // the reader's clock; times of day are printed in its location
	Points map[string]Points     // by series, of the rows that count
	Newest metrics.Row           // the last row; only what names it is read
	Cycles int                   // rows of cycles
	Alarms []Alarm               // of Fold
	Held   map[string]Difference // pass@1 of the last evaluation of a set against its first, where both are of the same problems
	Twice  []metrics.Repeat      // rows written more than once
}

// Reads reports whether a series is among those that the sentences speak of.
func Reads(series string) bool {
	switch series {
	case "perf/step_time", "rollout/raw_reward", "train/loss", "train/logp_diff/mean", "train/logp_diff/max", "train/tokens", "train/nonfinite_tokens", "reward/invalid_samples",
		"rollout/samples", "rollout/truncated_ratio", "update/attested", "update/version", "update/retries":
		return true
	}
	name, eval := strings.CutPrefix(series, "eval/")
	return eval && !strings.Contains(name, "/") && (strings.HasSuffix(name, "-pass@1") || !strings.Contains(name, "@"))
}

// FromRows returns what the rows of a metrics.jsonl, in the order of the file, say of a run. The rest is for the caller to fill in.
func FromRows(rows []metrics.Row) Run {
	live, twice := metrics.Merge(rows)
	r := Run{Points: map[string]Points{}, Twice: twice}
	for _, row := range live {
		if row.Kind == metrics.Cycle {
			r.Cycles++
		}
		for name, v := range row.Values {
			if Reads(name) {
				p := r.Points[name]
				p.X, p.Y = append(p.X, float64(row.Cycle)), append(p.Y, v)
				r.Points[name] = p
			}
		}
		r.Newest = row
	}
	return r
}

// A Tone says how a sentence is to be taken.
type Tone string

// The tones.
const (
	None Tone = "none"
	OK   Tone = "ok"
	Warn Tone = "warn"
	Bad  Tone = "bad"
)

// A Link leads to a page of the run. Href begins behind the run's own address.
type Link struct {
	Text string `json:"text"`
	Href string `json:"href"`
}

// A Sentence is the answer to one question.
type Sentence struct {
	ID    string `json:"id"`  // alive, learning, honest, alarms
	Big   string `json:"big"` // a few words
	Text  string `json:"text"`
	Tone  Tone   `json:"tone"`
	Links []Link `json:"links"`
}

// Title returns the sentence's question in one word.
func (s Sentence) Title() string { return strings.ToUpper(s.ID[:1]) + s.ID[1:] }

// String returns the sentence as a line of text.
func (s Sentence) String() string {
	if s.Text == "" {
		return s.Big + "."
	}
	return s.Big + ". " + s.Text
}

// Of answers the four questions, in their order.
func Of(r Run) []Sentence {
	all := []Sentence{alive(r), learning(r), honest(r), alarms(r)}
	for i := range all {
		if all[i].Links == nil {
			all[i].Links = []Link{} // an empty list in JSON, not null
		}
	}
	return all
}

// Glyph returns the mark of a state, which stands beside its word.
func Glyph(s run.State) string {
	switch s {
	case run.Running:
		return "●"
	case run.Finished:
		return "✓"
	case run.Stopped:
		return "■"
	case run.Failed, run.Crashed:
		return "✕"
	}
	return "○"
}
