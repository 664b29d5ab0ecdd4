package bench

import (
	"slices"
	"time"
)

// A Report is what a run has to say.
type Report struct {
	Date    time.Time     `json:"date"`
	Build   Build         `json:"build"`
	Machine Machine       `json:"machine"`
	Model   ModelInfo     `json:"model"`
	Runs    int           `json:"runs"`
	Rates   Rates         `json:"rates"`
	Results []Result      `json:"results"`
	Growth  *GrowthReport `json:"growth,omitempty"`
	Memory  []Held        `json:"memory,omitempty"`
}

// A Build says which program was measured. Revision is "" where the build did not record it.
type Build struct {
	Revision string `json:"revision"`
	Changed  *bool  `json:"changed"` // since the revision; null when not known
	Go       string `json:"go"`
}

// A Result is one work of one shape.
type Result struct {
	Work     string  `json:"work"`
	Shape    string  `json:"shape"`
	Tokens   int     `json:"tokens"` // of one run
	Steps    int     `json:"steps"`  // of one run
	Rate     Spread  `json:"tokens_per_s"`
	StepMS   float64 `json:"ms_per_step"` // of the median run
	FloorRun float64 `json:"floor_tokens_per_s"`
	Share    float64 `json:"floor_share"` // of the floor's rate that the median run reaches

	// The same with a floor for each run, by the better of the matrix rates right before and right after it: the median of these shares.
	// Score and train alone have it: generation would begin with cold caches.
	ShareThen float64 `json:"floor_share_then,omitempty"`

	Peak int64 `json:"peak_bytes"`

	Peer   float64 `json:"peer_tokens_per_s,omitempty"`   // published for this work; see docs/performance.md
	Target float64 `json:"target_tokens_per_s,omitempty"` // wanted of this work

	runs  runs
	needs []Need
	look  int // the last one before it, counted from 1: the next one is behind it
}

// A Spread sums up the runs of a work.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	return Spread{Median: s[len(s)/2], Min: s[0], Max: s[len(s)-1]}
}

// newResult sums up runs of so many tokens each.
func newResult(work, shape string, tokens, steps int, all runs, needs []Need) Result {
	rates := make([]float64, len(all.seconds))
	for i, s := range all.seconds {
		rates[i] = float64(tokens) / s
	}
	r := Result{Work: work, Shape: shape, Tokens: tokens, Steps: steps, Rate: spreadOf(rates), Peak: memory().peak, runs: all, needs: needs}
	r.StepMS = 1000 * float64(tokens) / r.Rate.Median / float64(steps)
	return r
}

// hold compares r with what the machine could do at best before and after it, and each run with what it could right before and after that.
func (r *Result) hold(rates Rates) {
	r.FloorRun = float64(r.Tokens) / r.floor(rates)
	r.Share = r.Rate.Median / r.FloorRun
	var then []float64
	for i, m := range r.runs.matrix {
		floor := r.floor(Rates{Matrix: Rate{Best: m}, Copy: rates.Copy})
		then = append(then, floor/r.runs.seconds[i])
	}
	if len(then) > 0 {
		r.ShareThen = spreadOf(then).Median
	}
}

// floor returns the least seconds of a run by some rates.
func (r *Result) floor(rates Rates) (s float64) {
	for _, n := range r.needs {
		s += n.Seconds(rates)
	}
	return s
}

// A GrowthReport is time against length.
type GrowthReport struct {
	Points []GrowthPoint `json:"points"`
	// The power of the length with which the whole time grows, by least squares over the logarithms: 1 is linear.
	PromptPower float64 `json:"prompt_power"`
	DecodePower float64 `json:"decode_power"`
	TrainPower  float64 `json:"train_power"`
}

// A GrowthPoint is the median time of a token at one length.
type GrowthPoint struct {
	Context  int     `json:"context"`
	PromptUS float64 `json:"prompt_us_per_token"`
	DecodeUS float64 `json:"decode_us_per_token"`
	TrainUS  float64 `json:"train_us_per_token"`
	Peak     int64   `json:"peak_bytes"`
}

// Held is the memory held after a cycle, garbage collected.
type Held struct {
	Cycle    int   `json:"cycle"`
	Resident int64 `json:"resident_bytes"`
	Peak     int64 `json:"peak_bytes"` // of the cycle
}
