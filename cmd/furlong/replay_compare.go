package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"furlong/metrics"
	"furlong/metrics/rollouts"
	"furlong/metrics/samples"
	"furlong/rl"
)

// A replayedCycle is a cycle that was trained again.
type replayedCycle struct {
	cycle    int
	rollouts string // where they are recorded
	stats    rl.Stats
	state    string // of the weights after it; "" where nobody published them
	samples  []*rl.Sample
	drawn    bool // samples were drawn again
}

// A replayReport is what came of a replay.
type replayReport struct {
	Run     string         `json:"run"`
	Cycle   int            `json:"cycle"`
	From    string         `json:"from,omitempty"`    // the checkpoint; without it, the run's start
	Changed []string       `json:"changed,omitempty"` // settings
	Drawn   bool           `json:"drawn"`             // samples were drawn again
	Cycles  []cycleFinding `json:"cycles"`
}

// A cycleFinding says what of a cycle came out the same.
type cycleFinding struct {
	Cycle    int          `json:"cycle"`
	Rollouts string       `json:"rollouts"`
	Figures  []figurePair `json:"figures"`           // those that were recorded, by name
	State    [2]string    `json:"state"`             // of the weights after it, recorded and replayed; "" where it is not known
	Trainer  tokenPair    `json:"trainer_logprobs"`  // of the trainer
	Draws    *drawPair    `json:"samples,omitempty"` // where they were drawn again
	Blind    string       `json:"unheld,omitempty"`  // why tokens could not be compared
	Missing  []string     `json:"unknown,omitempty"` // figures that the run did not record
	Differs  bool         `json:"differs"`
}

// A figurePair is a figure on both sides.
type figurePair struct {
	Name     string     `json:"name"`
	Recorded jsonNumber `json:"recorded"`
	Replayed jsonNumber `json:"replayed"`
}

func (p figurePair) same() bool {
	a, b := float64(p.Recorded), float64(p.Replayed)
	return a == b || math.IsNaN(a) && math.IsNaN(b)
}

// A jsonNumber is written as rows of metrics have it: what is not finite as text.
type jsonNumber float64

// MarshalJSON returns the number, or its name.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	v := float64(n)
	switch {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	}
	return fmt.Appendf(nil, "%v", v), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *jsonNumber) UnmarshalJSON(raw []byte) error {
	v, ok := metrics.ParseNumber(raw)
	if !ok {
		return fmt.Errorf("%.40q is no number", raw)
	}
	*n = jsonNumber(v)
	return nil
}

// A tokenPair counts tokens whose logprobs are on both sides.
type tokenPair struct {
	Tokens  int        `json:"tokens"`
	Differ  int        `json:"differ"`
	Largest jsonNumber `json:"largest"` // difference, nats
}

func (p *tokenPair) add(a, b []float32) {
	for i := range min(len(a), len(b)) {
		p.Tokens++
		if a[i] == b[i] {
			continue
		}
		p.Differ++
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		p.Largest = max(p.Largest, jsonNumber(d))
	}
}

// A drawPair counts samples on both sides.
type drawPair struct {
	Samples int `json:"samples"` // replayed ones
	Missing int `json:"missing"` // of them, without a recorded one
	Differ  int `json:"differ"`  // in tokens, logprobs or reward
}

// hold holds a cycle against what the run recorded of it.
func (r *replaying) hold(c replayedCycle) error {
	f := cycleFinding{Cycle: c.cycle, Rollouts: c.rollouts, State: [2]string{r.had.states[c.cycle], c.state}}
	f.figures(r.had.rows[c.cycle], c.stats)
	body := rollouts.Path(r.Run + "/samples/c{cycle:06}.fls").Of(c.cycle)
	b, err := samples.OpenBody(body)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Blind = "the run keeps no tokens of this cycle (--keep-samples)"
	case err != nil:
		return err
	default:
		if err := errors.Join(f.tokens(b, c), b.Close()); err != nil {
			return err
		}
	}
	f.Differs = f.differs()
	r.report.Cycles = append(r.report.Cycles, f)
	return nil
}

// figures pairs what depends on the seed alone.
func (f *cycleFinding) figures(had metrics.Row, got rl.Stats) {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if s, ok := metrics.Lookup(name); !ok || s.Wall {
			continue
		}
		if v, ok := had.Values[name]; ok {
			f.Figures = append(f.Figures, figurePair{name, jsonNumber(v), jsonNumber(got[name])})
		} else {
			f.Missing = append(f.Missing, name)
		}
	}
}

// tokens holds samples against a body of the run.
func (f *cycleFinding) tokens(b *samples.Body, c replayedCycle) error {
	if c.drawn {
		f.Draws = &drawPair{}
	}
	for _, s := range c.samples {
		i := b.At(uint32(s.Prompt.Group), uint16(s.Index))
		if i < 0 {
			if c.drawn {
				f.Draws.Samples++
				f.Draws.Missing++
			}
			continue
		}
		had, err := b.Sample(i)
		if err != nil {
			return err
		}
		f.Trainer.add(had.TrainLogProbs, s.TrainLogProbs)
		if c.drawn {
			f.Draws.Samples++
			same := slices.Equal(had.Response, s.Response) && slices.Equal(had.LogProbs, s.LogProbs) && had.Reward == s.Reward && had.Verdict == s.Verdict
			f.Draws.Differ += map[bool]int{false: 1}[same]
		}
	}
	return nil
}

func (f *cycleFinding) differs() bool {
	return slices.ContainsFunc(f.Figures, func(p figurePair) bool { return !p.same() }) || f.Trainer.Differ > 0 ||
		f.State[0] != "" && f.State[1] != "" && f.State[0] != f.State[1] || f.Draws != nil && f.Draws.Missing+f.Draws.Differ > 0
}

// verdict is an error where something differs and no setting was changed.
func (r *replayReport) verdict() error {
	var which []string
	for _, c := range r.Cycles {
		if c.Differs {
			which = append(which, fmt.Sprint(c.Cycle))
		}
	}
	if len(which) == 0 || len(r.Changed) > 0 {
		return nil
	}
	return fmt.Errorf("the replay differs from the run in cycle %s, with the same settings", strings.Join(which, ", "))
}
