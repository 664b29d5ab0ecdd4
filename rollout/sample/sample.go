package sample

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"furlong/rl"
)

// Names are what the parameters of sampling are called where they come from. Those that cannot come from there need none.
type Names struct {
	Temperature, TopP, TopK, MinP, MaxTokens                                string
	MinTokens, RepetitionPenalty, FrequencyPenalty, PresencePenalty, Biased string
}

// Wire are the names of the parameters that people send.
var Wire = Names{
	"temperature", "top_p", "top_k", "min_p", "max_new_tokens",
	"min_new_tokens", "repetition_penalty", "frequency_penalty", "presence_penalty", "logit_bias",
}

// Validate reports everything that is wrong with s, by the names of n.
func Validate(s rl.Sampling, n Names) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1) {
		bad("%s is %v, want 0 or more", n.Temperature, s.Temperature)
	}
	if !(s.TopP > 0 && s.TopP <= 1) {
		bad("%s is %v, want more than 0 and at most 1", n.TopP, s.TopP)
	}
	if s.TopK < 0 {
		bad("%s is %d, want 0 (all) or more", n.TopK, s.TopK)
	}
	if !(s.MinP >= 0 && s.MinP <= 1) {
		bad("%s is %v, want 0 to 1", n.MinP, s.MinP)
	}
	if s.MaxTokens < 1 {
		bad("%s is %d, want at least 1", n.MaxTokens, s.MaxTokens)
	}
	if s.MinTokens < 0 || s.MinTokens > max(0, s.MaxTokens) {
		bad("%s is %d, want 0 to %s (%d)", n.MinTokens, s.MinTokens, n.MaxTokens, s.MaxTokens)
	}
	return errors.Join(append(errs, validateMoves(s, n))...)
}

// validateMoves looks at what moves logits.
func validateMoves(s rl.Sampling, n Names) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(s.RepetitionPenalty >= 0) || math.IsInf(s.RepetitionPenalty, 1) {
		bad("%s is %v, want more than 0 (or 0 for none)", n.RepetitionPenalty, s.RepetitionPenalty)
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{n.FrequencyPenalty, s.FrequencyPenalty}, {n.PresencePenalty, s.PresencePenalty}} {
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			bad("%s is %v, want a finite number", p.name, p.value)
		}
	}
	for i, b := range s.Bias {
		if math.IsNaN(float64(b.Add)) || math.IsInf(float64(b.Add), 1) {
			bad("%s of token %d is %v, want a number", n.Biased, b.Token, b.Add)
		}
		if i > 0 && s.Bias[i-1].Token >= b.Token {
			bad("%s of token %d comes after that of token %d, want ascending ones", n.Biased, b.Token, s.Bias[i-1].Token)
		}
	}
	return errors.Join(errs...)
}

// Truncates reports whether s draws from less than the whole distribution. Temperature 0 draws nothing.
func Truncates(s rl.Sampling) bool {
	return s.Temperature > 0 && (s.TopK > 0 || s.TopP < 1 || s.MinP > 0)
}

// Uniform returns the number in [0, 1) that decides token i under a seed.
func Uniform(seed uint64, i int) float64 {
	return float64(rl.MixSeed(0, seed, uint64(i)*0x9e3779b97f4a7c15)>>11) * 0x1p-53
}

// A Drawer draws tokens. It keeps its scratch memory; one goroutine uses it.
type Drawer struct {
	w       []float64 // of each token, relative to the likeliest
	kept    []int32
	allowed []bool // by a constraint
}

// Draw returns token i of a response, and its logprob under the truncated distribution where [Truncates] says there is one.
func (d *Drawer) Draw(logits []float32, s rl.Sampling, i int) (token int32, truncated float32, err error) {
	best, err := Likeliest(logits)
	if err != nil || s.Temperature <= 0 {
		return best, 0, err
	}
	sum := d.weigh(logits, logits[best], float64(s.InvTemperature()))
	u := Uniform(s.Seed, i)
	if !Truncates(s) {
		return d.pick(u * sum), 0, nil
	}
	d.truncate(s, sum)
	sum = 0
	for _, t := range d.kept {
		sum += d.w[t]
	}
	token = d.pickKept(u * sum)
	return token, float32(math.Log(d.w[token] / sum)), nil
}

// Likeliest returns the first token with the largest logit.
func Likeliest(logits []float32) (int32, error) {
	top, best := float32(math.Inf(-1)), -1
	for i, l := range logits {
		if l <= top {
			continue
		}
		if !(l <= math.MaxFloat32) { // NaN comes here too, since it compares with nothing
			return 0, fmt.Errorf("%w: logit of token %d is %v", rl.ErrBroken, i, l)
		}
		top, best = l, i
	}
	if best < 0 {
		return 0, fmt.Errorf("%w: none of %d logits is one", rl.ErrBroken, len(logits))
	}
	return int32(best), nil
}

// pick returns the first token at which the sum of weights exceeds x.
func (d *Drawer) pick(x float64) (token int32) {
	sum := 0.0
	for i, w := range d.w {
		if w == 0 {
			continue
		}
		token = int32(i)
		if sum += w; sum > x {
			break
		}
	}
	return token
}

func (d *Drawer) pickKept(x float64) (token int32) {
	sum := 0.0
	for _, token = range d.kept {
		if sum += d.w[token]; sum > x {
			break
		}
	}
	return token
}

// truncate sets kept to the tokens that s keeps, likeliest first.
func (d *Drawer) truncate(s rl.Sampling, sum float64) {
	d.candidates(s, sum)
	slices.SortFunc(d.kept, func(a, b int32) int {
		if c := cmp.Compare(d.w[b], d.w[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	before := 0.0
	for n, t := range d.kept {
		if s.TopK > 0 && n == s.TopK || before > s.TopP*sum || d.w[t] < s.MinP {
			d.kept = d.kept[:n]
			return
		}
		before += d.w[t]
	}
}

// candidates sets kept to all tokens above some bar, low enough that truncation keeps none below it: sorting a few is
// cheaper than sorting a vocabulary.
func (d *Drawer) candidates(s rl.Sampling, sum float64) {
	for bar := 1.0 / 16; ; bar /= 16 {
		mass := 0.0
		d.kept = d.kept[:0]
		for t, w := range d.w {
			if w >= bar {
				d.kept = append(d.kept, int32(t))
				mass += w
			}
		}
		if s.TopK > 0 && len(d.kept) >= s.TopK || mass > s.TopP*sum || bar <= s.MinP || bar < 1e-27 {
			return
		}
	}
}
