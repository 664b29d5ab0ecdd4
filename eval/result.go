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
	Origin

	Intervals    Method    `json:"intervals"`
	Scores       []Score   `json:"scores"`             // pass@k
	Majority     []Score   `json:"majority,omitempty"` // maj@k; none where answers are not known
	NoMajority   string    `json:"no_majority,omitempty"`
	Mean         *Score    `json:"mean,omitempty"`        // right answers among Samples: pass@1 by another name; K is Samples
	MeanReward   *float64  `json:"mean_reward,omitempty"` // over problems, of judged samples; not from rows
	Solved       int       `json:"solved"`                // problems with a right answer
	Invalid      int       `json:"invalid"`
	FirstInvalid string    `json:"first_invalid,omitempty"`
	Unjudged     []string  `json:"unjudged_problems,omitempty"` // of which no sample could be judged: they are in no figure
	Truncated    *float64  `json:"truncated_share,omitempty"`
	MeanTokens   *float64  `json:"mean_tokens,omitempty"`
	Lengths      *Lengths  `json:"response_length,omitempty"`         // tokens
	PassAt1Whole *float64  `json:"pass_at_1_not_truncated,omitempty"` // missing where every response was cut off
	Problems     []Problem `json:"problems"`
}

// An Origin is what else decides an evaluation besides how tokens are drawn.
type Origin struct {
	Data    string `json:"data,omitempty"`    // file
	Grader  string `json:"grader,omitempty"`  // --rm-type
	Prompts string `json:"prompts,omitempty"` // SHA-256 of ids, texts and labels, in their order
}

// A Method says how intervals were made.
type Method struct {
	Level     float64 `json:"level"`
	Resamples int     `json:"resamples"`                  // of problems
	Decode    int     `json:"decode_resamples,omitempty"` // of answers
	Seed      uint64  `json:"seed"`
}

// A Score is a figure for K: pass@K, maj@K, mean@K. Its interval is over problems, Decode over draws.
type Score struct {
	K int `json:"k"`
	Interval
	Decode   *Range `json:"decode,omitempty"`
	Problems int    `json:"problems"` // that have K judged samples or more; the others are left out of this score
}

// Lengths are those of responses.
type Lengths struct {
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	Min    int     `json:"min"`
	Max    int     `json:"max"`
}

// lengthsOf returns the figures of at least one length.
func lengthsOf(all []int) *Lengths {
	s := slices.Sorted(slices.Values(all))
	n, sum := len(s), 0
	for _, v := range s {
		sum += v
	}
	return &Lengths{float64(sum) / float64(n), float64(s[(n-1)/2]+s[n/2]) / 2, s[0], s[n-1]}
}

// Summarize works out the figures of graded samples, of which n were asked for each prompt. The seed is that of the
// intervals.
func Summarize(samples []*rl.Sample, n int, seed uint64) (*Result, error) {
	problems, err := Group(samples)
	if err != nil {
		return nil, err
	}
	r := &Result{Samples: n, Problems: problems, Versions: versions(samples)}
	r.lengths(samples)
	r.reward()
	if i := slices.IndexFunc(samples, func(s *rl.Sample) bool { return s.Verdict == rl.Invalid }); i >= 0 {
		r.FirstInvalid = fmt.Sprintf("problem %s: %s", samples[i].Prompt.ID, samples[i].Why)
	}
	return r, r.figures(Powers(n), seed)
}

// reward fills in the mean reward.
func (r *Result) reward() {
	sum, n := 0.0, 0
	for _, p := range r.Problems {
		if p.N > 0 {
			sum, n = sum+p.Reward/float64(p.N), n+1
		}
	}
	if n > 0 {
		mean := sum / float64(n)
		r.MeanReward = &mean
	}
}

// Powers returns 1, 2, 4, ... up to n.
func Powers(n int) (ks []int) {
	for k := 1; k <= n; k *= 2 {
		ks = append(ks, k)
	}
	return ks
}

// lengths fills in how long responses are.
func (r *Result) lengths(samples []*rl.Sample) {
	var all []int
	cut := 0
	for _, s := range samples {
		all = append(all, len(s.Response))
		cut += b2i(s.Stop == rl.StopLength)
	}
	if len(all) > 0 {
		r.measure(all, &cut)
	}
}

// measure takes in the lengths of all responses, and how many were cut off; either may be nil.
func (r *Result) measure(lengths []int, cut *int) {
	if lengths != nil {
		r.Lengths = lengthsOf(lengths)
		r.MeanTokens = &r.Lengths.Mean
	}
	if cut != nil {
		share := float64(*cut) / float64(len(r.Problems)*r.Samples)
		r.Truncated = &share
	}
}

// figures works out what follows from the problems, for each k.
func (r *Result) figures(ks []int, seed uint64) error {
	r.Intervals = Method{0.95, resamples, decodings, seed}
	r.count()
	if len(r.Unjudged) == len(r.Problems) {
		return fmt.Errorf("none of %d samples could be judged; the first: %s", r.Invalid, r.FirstInvalid)
	}
	for _, k := range ks {
		s, err := passScore(r.Problems, k, seed)
		if err != nil {
			return err
		}
		if s.Problems > 0 {
			r.Scores = append(r.Scores, s)
		}
	}
	mean, err := r.mean(seed)
	if err != nil {
		return err
	}
	mean.K = r.Samples
	r.Mean = &mean
	return r.majorities(ks, seed)
}

// For works the figures out anew, for these k. None may be beyond the samples of a problem.
func (r *Result) For(ks []int) error {
	if k := slices.Max(ks); k > r.Samples {
		return fmt.Errorf("pass@%d: k is %d, want 1 to %d, the samples of a problem of set %s", k, k, r.Samples, r.Set)
	}
	r.Scores, r.Majority, r.NoMajority, r.Mean = nil, nil, "", nil
	return r.figures(ks, r.Intervals.Seed)
}

// mean returns pass@1.
func (r *Result) mean(seed uint64) (Score, error) {
	for _, s := range r.Scores {
		if s.K == 1 {
			return s, nil
		}
	}
	return passScore(r.Problems, 1, seed)
}

// majorities works out maj@k where answers are known, or says why not.
func (r *Result) majorities(ks []int, seed uint64) error {
	for _, p := range r.Problems {
		switch {
		case !p.voted():
			r.NoMajority = "answers are not known"
			return nil
		case p.N > mostVotes:
			r.NoMajority = fmt.Sprintf("problem %s has %d judged samples, want at most %d", p.ID, p.N, mostVotes)
			return nil
		}
	}
	for _, k := range ks {
		s, err := majScore(r.Problems, k, seed)
		if err != nil {
			return err
		}
		if s.Problems > 0 {
			r.Majority = append(r.Majority, s)
		}
	}
	return nil
}

// count fills in the counts over all problems.
func (r *Result) count() {
	var all Problem
	r.Solved, r.Unjudged = 0, nil
	for _, p := range r.Problems {
		all.Invalid += p.Invalid
		all.WholeN += p.WholeN
		all.WholeC += p.WholeC
		r.Solved += b2i(p.C > 0)
		if p.N == 0 {
			r.Unjudged = append(r.Unjudged, p.ID)
		}
	}
	r.Invalid = all.Invalid
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
	if r.Truncated != nil {
		fmt.Fprintf(&b, ", truncated %.1f %%", 100**r.Truncated)
	}
	if r.MeanTokens != nil {
		fmt.Fprintf(&b, ", mean response %.1f tokens", *r.MeanTokens)
	}
	if r.Invalid > 0 {
		fmt.Fprintf(&b, ", %d invalid (%s)", r.Invalid, r.FirstInvalid)
	}
	return b.String()
}
