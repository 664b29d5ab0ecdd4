package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"furlong/rl"
)

// A Result is one evaluation, complete: settings, figures, and what became of each problem.
type Result struct {
	Set      string       `json:"set"`
	Versions []rl.Version `json:"versions"` // that chose tokens, the oldest first
	Samples  int          `json:"samples_per_prompt"`
	Sampling rl.Sampling  `json:"sampling"` // its seed is the evaluation's

	Scores         []Score  `json:"scores"`
	Invalid        int      `json:"invalid"`
	FirstInvalid   string   `json:"first_invalid,omitempty"`
	TruncatedShare float64  `json:"truncated_share"`
	MeanTokens     float64  `json:"mean_tokens"`
	PassAt1Whole   *float64 `json:"pass_at_1_not_truncated,omitempty"` // missing where every response was cut off

	Problems []Problem `json:"problems"`
}

// A Score is pass@K.
type Score struct {
	K int `json:"k"`
	Interval
	Problems int `json:"problems"` // that have K judged samples or more; the others are left out of this score
}

// Summarize works out the figures of graded samples, of which n were asked for each prompt. The seed is that of the
// intervals.
func Summarize(samples []*rl.Sample, n int, seed uint64) (*Result, error) {
	problems, err := Group(samples)
	if err != nil {
		return nil, err
	}
	r := &Result{Samples: n, Problems: problems, Versions: versions(samples)}
	r.count(samples)
	if len(samples) == r.Invalid {
		return nil, fmt.Errorf("none of %d samples could be judged; the first: %s", len(samples), r.FirstInvalid)
	}
	for k := 1; k <= n; k *= 2 {
		s, err := score(problems, k, seed)
		if err != nil {
			return nil, err
		}
		if s.Problems > 0 {
			r.Scores = append(r.Scores, s)
		}
	}
	return r, nil
}

// score returns pass@k over the problems that have enough samples.
func score(problems []Problem, k int, seed uint64) (Score, error) {
	enough := slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.N < k })
	if len(enough) == 0 {
		return Score{K: k}, nil
	}
	v, err := PassAt(enough, k, seed)
	return Score{k, v, len(enough)}, err
}

// count fills in the shares and means over all samples.
func (r *Result) count(samples []*rl.Sample) {
	var all Problem
	for _, p := range r.Problems {
		all.Invalid += p.Invalid
		all.Truncated += p.Truncated
		all.WholeN += p.WholeN
		all.WholeC += p.WholeC
		all.Tokens += p.Tokens
	}
	r.Invalid = all.Invalid
	if i := slices.IndexFunc(samples, func(s *rl.Sample) bool { return s.Verdict == rl.Invalid }); i >= 0 {
		r.FirstInvalid = fmt.Sprintf("problem %s: %s", samples[i].Prompt.ID, samples[i].Why)
	}
	if n := float64(len(samples)); n > 0 {
		r.TruncatedShare, r.MeanTokens = float64(all.Truncated)/n, float64(all.Tokens)/n
	}
	if all.WholeN > 0 {
		share := float64(all.WholeC) / float64(all.WholeN)
		r.PassAt1Whole = &share
	}
}

// versions returns the versions that chose tokens of samples, each once, the oldest first.
func versions(samples []*rl.Sample) (all []rl.Version) {
	for _, s := range samples {
		for _, span := range s.Versions {
			if !slices.Contains(all, span.Version) {
				all = append(all, span.Version)
			}
		}
	}
	slices.SortFunc(all, func(a, b rl.Version) int { return a.Count() - b.Count() })
	return all
}

// ErrNoScore says that too few samples of every problem were judged.
var ErrNoScore = errors.New("no problem has enough judged samples")

// PassAt returns the score for k.
func (r *Result) PassAt(k int) (Interval, error) {
	for _, s := range r.Scores {
		if s.K == k {
			return s.Interval, nil
		}
	}
	return Interval{}, fmt.Errorf("pass@%d: %w", k, ErrNoScore)
}

// String returns the result in one line.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d problems x %d", r.Set, len(r.Problems), r.Samples)
	for _, s := range r.Scores {
		fmt.Fprintf(&b, ", pass@%d %v", s.K, s.Interval)
		if s.Problems < len(r.Problems) {
			fmt.Fprintf(&b, " (%d problems)", s.Problems)
		}
	}
	fmt.Fprintf(&b, ", truncated %.1f %%, mean response %.1f tokens", 100*r.TruncatedShare, r.MeanTokens)
	if r.Invalid > 0 {
		fmt.Fprintf(&b, ", %d invalid (%s)", r.Invalid, r.FirstInvalid)
	}
	return b.String()
}
