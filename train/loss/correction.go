package loss

import "math"

// A rule is a correction with every bound filled in. The methods are one: tis clips token by token, icepop masks token by token, mis
// does what its settings say. The zero rule corrects nothing.
type rule struct {
	level     string // whose importance is the weight; "" is nobody's
	mode      string
	low, high float64
	normalize bool // weights are divided by their mean over the batch

	reject        bool
	rsLevel       string
	rsLow, rsHigh float64
	veto          float64 // a token ratio below it rejects the sequence; 0 is off
}

// Method returns the correction that is made, by either flag: none, tis, icepop or mis.
func (c Config) Method() string {
	switch {
	case c.Type == "sft_loss":
		return "none"
	case c.IS != "" && c.IS != "auto":
		return c.IS
	case c.UseTIS:
		return "tis"
	}
	return "none"
}

func (c Config) rule() rule {
	switch c.Method() {
	case "tis":
		return rule{level: Token, mode: clip, low: c.TISLow, high: c.TISClip}
	case "icepop":
		return rule{level: Token, mode: mask, low: c.TISLow, high: c.TISClip}
	case "mis":
		return c.MIS.rule()
	}
	return rule{}
}

// NeedsRollout returns the flag for which every sample must have the rollout engine's logprobs, or "".
func (c Config) NeedsRollout() string {
	switch m := c.Method(); {
	case c.Type == "sft_loss":
		return ""
	case c.UseRollout:
		return "--use-rollout-logprobs"
	case m == "tis":
		return "--use-tis"
	case m != "none":
		return "--is-correction " + m
	case c.Measure:
		return "--get-mismatch-metrics"
	}
	return ""
}

// NeedsBatch says whether the weights of one sample depend on the other samples of the step, so that the trainer must have scored them all
// before the first gradient.
func (c Config) NeedsBatch() bool { return c.rule().normalize }

// importance returns the ratio of trainer to rollout engine whose logarithm is d, with d bounded. NaN stays NaN.
func importance(d float64) float64 { return math.Exp(clamp(d, -ratioBound, ratioBound)) }

// logRatio returns the distance from the rollout engine's to the trainer's logprob of token i.
func (t *Tokens) logRatio(i int) float64 { return float64(t.Old[i]) - float64(t.Rollout[i]) }

// raw returns token i's own ratio of trainer to rollout engine.
func (t *Tokens) raw(i int) float64 { return importance(t.logRatio(i)) }

// whole returns the importance of a sample at a level: of the product of its tokens' ratios, or of their geometric mean. Distances are
// summed as they are, and the sum is bounded: infinite ones of both signs have no sum, and make NaN.
func (t *Tokens) whole(level string) float64 {
	sum := 0.0
	for i := range t.Old {
		sum += t.logRatio(i)
	}
	if level == Geometric {
		sum /= float64(len(t.Old))
	}
	return importance(sum)
}

// outside says whether x is out of bounds. NaN is not: nothing that is no number may pass for rejected, since it must spoil the step.
func outside(x, low, high float64) bool { return x < low || x > high }

// A judged sample is a sample under a rule: with the importance of the whole where a level asks for it.
type judged struct {
	rule
	t      *Tokens
	tis    float64 // importance at the rule's level, unless that is each token's
	rs     float64 // importance at the level of rejection, likewise
	vetoed bool
}

func (r rule) judge(t *Tokens) judged {
	j := judged{rule: r, t: t}
	if r.level == "" || t.Rollout == nil {
		return j
	}
	if r.level != Token {
		j.tis = t.whole(r.level)
	}
	if !r.reject {
		return j
	}
	if r.rsLevel != Token {
		j.rs = t.whole(r.rsLevel)
	}
	for i := range t.Old {
		j.vetoed = j.vetoed || t.raw(i) < r.veto
	}
	return j
}

// A weighing is what a rule makes of one token.
type weighing struct {
	before  float64 // importance at the rule's level
	bounded float64 // after the bounds; 0 where they mask it
	rs      float64 // importance at the level of rejection, where something is rejected
	used    float64 // after rejection; 0 if and only if the token is rejected
}

// token weighs token i, whose own ratio is raw.
func (j *judged) token(raw float64) weighing {
	if j.level == "" {
		return weighing{1, 1, 1, 1}
	}
	w := weighing{before: j.tis, rs: j.rs}
	if j.level == Token {
		w.before = raw
	}
	if j.rsLevel == Token {
		w.rs = raw
	}
	w.bounded = j.bound(w.before)
	w.used = w.bounded * j.keep(w.rs)
	return w
}

// keep returns 1 for what stays, 0 for what is rejected, and NaN where that cannot be told; times a weight that is NaN each of them is NaN.
func (j *judged) keep(rs float64) float64 {
	switch {
	case !j.reject:
		return 1
	case math.IsNaN(rs):
		return rs
	case j.vetoed || outside(rs, j.rsLow, j.rsHigh):
		return 0
	}
	return 1
}

// bound applies the rule's mode to the weight w.
func (r rule) bound(w float64) float64 {
	switch {
	case r.mode == truncate:
		return min(w, r.high)
	case r.mode == clip:
		return clamp(w, r.low, r.high)
	case r.mode == mask && outside(w, r.low, r.high):
		return 0
	}
	return w
}

// MeanWeight returns the mean by which the batch's weights are to be divided ([Tokens].Mean), read from Old and Rollout of all samples of
// the step; 0 where weights are not normalised. It is over the weights that the bounds left: of tokens, or at the other levels
// of samples. What rejection takes away stays in it, as it stays in the loss's denominator; what a mask takes away has no weight to count.
func (c Config) MeanWeight(batch []Tokens) float64 {
	r := c.rule()
	if !r.normalize {
		return 0
	}
	return r.mean(batch)
}

func (r rule) mean(batch []Tokens) float64 {
	sum, n := 0.0, 0
	for k := range batch {
		j := r.judge(&batch[k])
		for i := range j.one() {
			if w := j.token(j.t.raw(i)).bounded; w != 0 {
				sum += w
				n++
			}
		}
	}
	if n == 0 {
		return 1 // nothing has a weight, so nothing is divided
	}
	return sum / float64(n)
}

// one returns the number of weights that the sample has of its own: one a token, or one.
func (j *judged) one() int {
	switch {
	case j.t.Rollout == nil:
		return 0
	case j.level == Token:
		return len(j.t.Old)
	}
	return min(1, len(j.t.Old))
}
