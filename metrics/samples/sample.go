package samples

import (
	"fmt"
	"math"

	"furlong/rl"
)

// A Sample is a sample with what only the loop knows about it.
type Sample struct {
	*rl.Sample
	Mask    []bool    // which response tokens train; nil: all
	Ratio   []float32 // importance ratio that was used for each response token; nil: none was
	Dropped bool      // generated, but not in the batch
}

// A Batch is what one body holds: the samples of a cycle, or those of one evaluation after it.
type Batch struct {
	Cycle   int
	Eval    string // name of the evaluation; empty for the samples of the loop
	Samples []Sample
}

// check reports what a body could not hold.
func (s *Sample) check() error {
	n := len(s.Response)
	for _, c := range []struct {
		what      string
		len, want int
		may       bool // may be absent
	}{
		{"rollout logprobs", len(s.LogProbs), n, false},
		{"logprobs after truncation", len(s.TruncLogProbs), n, s.TruncLogProbs == nil},
		{"trainer logprobs", len(s.TrainLogProbs), n, s.TrainLogProbs == nil},
		{"reference logprobs", len(s.RefLogProbs), n, s.RefLogProbs == nil},
		{"entropies", len(s.Entropy), n, s.Entropy == nil},
		{"ratios", len(s.Ratio), n, s.Ratio == nil},
		{"mask", len(s.Mask), n, s.Mask == nil},
		{"tokens of version runs", runTokens(s.Versions), n, false},
	} {
		if c.len != c.want && !c.may {
			return fmt.Errorf("group %d sample %d: %d %s, want %d, the response's length", s.Prompt.Group, s.Index, c.len, c.what, c.want)
		}
	}
	if g := s.Prompt.Group; g < 0 || g > math.MaxUint32 {
		return fmt.Errorf("group %d, want 0 to %d", g, uint32(math.MaxUint32))
	}
	if s.Index < 0 || s.Index > math.MaxUint16 {
		return fmt.Errorf("group %d sample %d, want 0 to %d", s.Prompt.Group, s.Index, math.MaxUint16)
	}
	return nil
}

func runTokens(runs []rl.Span) int {
	n := 0
	for _, r := range runs {
		n += r.Tokens
	}
	return n
}

// row returns what the index keeps of s.
func (s *Sample) row(cycle uint32, set uint8, eval bool) Row {
	r := Row{
		Cycle: cycle, Group: uint32(s.Prompt.Group), Slot: uint16(s.Index), Verdict: s.Verdict, Set: set, Flags: s.flags(eval),
		Reward: float32(s.Reward), Advantage: float32(s.Advantage), PromptLen: uint32(len(s.Prompt.Tokens)), ResponseLen: uint32(len(s.Response)),
		Version: s.Oldest(), Entropy: mean(s.Entropy),
	}
	r.Span = span(s.Versions, r.Version)
	r.GapMean, r.GapMax, r.GapPos = s.gap()
	return r
}

func (s *Sample) flags(eval bool) Flags {
	var f Flags
	for _, c := range []struct {
		flag Flags
		on   bool
	}{
		{Truncated, s.Stop == rl.StopLength},
		{Aborted, s.Stop == rl.StopAbort},
		{Masked, s.masked()},
		{Dropped, s.Dropped},
		{Repeated, Repeats(s.Text)},
		{Garbled, IsGarbled(s.Text)},
		{Mixed, mixed(s.Versions)},
		{Eval, eval},
	} {
		if c.on {
			f |= c.flag
		}
	}
	return f
}

// masked reports a mask that lets no token train.
func (s *Sample) masked() bool {
	for _, m := range s.Mask {
		if m {
			return false
		}
	}
	return s.Mask != nil
}

func mixed(runs []rl.Span) bool {
	for _, r := range runs {
		if r.Version != runs[0].Version {
			return true
		}
	}
	return false
}

// span returns how many publications lie between oldest and the newest version.
func span(runs []rl.Span, oldest rl.Version) uint16 {
	newest := oldest.Count()
	for _, r := range runs {
		newest = max(newest, r.Version.Count())
	}
	return uint16(min(newest-oldest.Count(), math.MaxUint16))
}

// gap returns mean and maximum of |trainer - rollout| over the tokens that train, or over all if none does, and the first place of
// the maximum. A difference that is not finite counts as infinite in the maximum and not in the mean. Without scores all is NaN.
func (s *Sample) gap() (mean, largest float32, pos uint32) {
	largest = float32(math.NaN())
	sum, n, all := 0.0, 0, s.masked()
	for i := range s.TrainLogProbs {
		if !all && s.Mask != nil && !s.Mask[i] {
			continue
		}
		d := s.gapAt(i)
		if !math.IsInf(d, 1) {
			sum += d
			n++
		}
		if f := float32(d); !(f <= largest) {
			largest, pos = f, uint32(i)
		}
	}
	return float32(sum / float64(n)), largest, pos
}

// gapAt returns |trainer - rollout| of a response token; what is not a number is infinite.
func (s *Sample) gapAt(i int) float64 {
	d := math.Abs(float64(s.TrainLogProbs[i]) - float64(s.LogProbs[i]))
	if math.IsNaN(d) {
		return math.Inf(1)
	}
	return d
}

// mean returns the mean of v, NaN for none.
func mean(v []float32) float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x)
	}
	return float32(sum / float64(len(v)))
}
