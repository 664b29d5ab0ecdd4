package loss

import "math"

// Tokens are one sample's response under the policies that take part.
type Tokens struct {
	New     []float32 // the policy in training
	Old     []float32 // the trainer before the cycle's first step; equal to New in that step
	Rollout []float32 // the engine that sampled; read when importance is corrected or measured
	Ref     []float32 // the reference, when KL is used
	Entropy []float32 // of the policy in training

	Advantage  float64   // of every token
	Advantages []float64 // of each token by itself; nil where all have Advantage
	Spared     []bool    // tokens that have no policy term, from Config.Spared; nil for none
	Weight     float64   // of each token, from Config.Weights
	Mean       float64   // of the importance weights of the whole step, from Config.MeanWeight; 0 where they are not normalised
}

// Sums gathers the weighted sums of a step: its loss and its diagnostics, over all micro-batches. [Sums.Mean] makes means of them.
type Sums struct {
	Loss, PG, KL, Entropy      float64
	ClipFrac, PPOKL            float64
	TIS, TISAbs                float64 // importance ratio of each token by itself
	TISUsed, TISClipFrac       float64 // what multiplied the loss; where a bound changed it
	OPSM                       float64 // masked as too far off policy
	Spared                     float64 // by Config.Spared
	OIS                        float64 // ratio of new to old
	GapAbs, GapKL              float64 // trainer (old) against rollout
	ESS                        float64 // plain sum over samples
	Weight                     float64 // of all tokens: 1 in the mean modes
	Samples, Tokens, NonFinite int
	RejectedTokens             int // whose policy term the correction took away
	RejectedSamples            int // which lost that of every token
	nonFiniteLoss              bool
}

// Mean returns a weighted sum as a mean over tokens, which is not the same where weights do not sum to 1 (seq-mean-token-sum).
func (s *Sums) Mean(sum float64) float64 { return sum / s.Weight }

// ratioBound keeps exp within what float64 and a gradient can bear: |log ratio| at most 20.
const ratioBound = 20

func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }

// ratio returns exp(a-b), its exponent bounded, and the derivative in a, which is 0 beyond the bound.
func ratio(a, b float64) (r, dr float64) {
	d := clamp(a-b, -ratioBound, ratioBound)
	r = math.Exp(d)
	if d != a-b {
		return r, 0
	}
	return r, r
}

// advantage returns the advantage of token i.
func (t *Tokens) advantage(i int) float64 {
	if t.Advantages != nil {
		return t.Advantages[i]
	}
	return t.Advantage
}

// Policy adds one sample to s and writes the gradient of the loss with respect to each token's logprob and entropy.
func (c Config) Policy(t Tokens, dlp, dent []float32, s *Sums) {
	sumW, sumW2 := 0.0, 0.0
	j, rejected := c.rule().judge(&t), s.RejectedTokens
	at := c.standing(t)
	for i := range t.New {
		w := c.token(&j, i, &at, dlp, dent, s)
		sumW += w
		sumW2 += w * w
	}
	n := len(t.New)
	if at.whole && n > 0 {
		shareOut(dlp, at.pull)
	}
	if n > 0 {
		s.ESS += sumW * sumW / (float64(n) * math.Max(sumW2, 1e-8))
		s.Samples++
		s.Tokens += n
		if s.RejectedTokens-rejected == n {
			s.RejectedSamples++
		}
	}
}

// before returns the logprobs that the ratio and the clip compare with: the trainer's, or the rollout engine's.
func (c Config) before(t *Tokens) []float32 {
	if c.UseRollout {
		return t.Rollout
	}
	return t.Old
}

// A standing is what a sample as a whole says of its tokens, and gathers from them.
type standing struct {
	far   bool    // it must not be pushed down
	whole bool    // its tokens share one ratio
	r, dr float64 // that ratio, and its derivative in the mean of its tokens' distances
	pull  float64 // sum over tokens of the loss's derivative in that mean
}

func (c Config) standing(t Tokens) standing {
	s := standing{far: c.farOff(t), whole: c.Estimator == GSPO}
	if s.whole {
		s.r, s.dr = c.wholeRatio(&t)
	}
	return s
}

// farOff says whether a sample is so far off policy that tokens of it with a negative advantage must not be pushed down: its tokens have become less
// likely by more than a bound, on average. A mean that is no number masks nothing, and spoils the step.
func (c Config) farOff(t Tokens) bool {
	if !c.UseOPSM {
		return false
	}
	sum := 0.0
	for i, old := range c.before(&t) {
		sum += float64(old) - float64(t.New[i])
	}
	return sum/float64(len(t.New)) > c.OPSMDelta
}

// token does Policy for token i and returns the ratio of new to old. A token whose logprobs are not finite is counted, and makes
// the step one that must not be taken.
func (c Config) token(j *judged, i int, at *standing, dlp, dent []float32, s *Sums) float64 {
	t := j.t
	s.Weight += t.Weight
	lp, own := float64(t.New[i]), float64(t.Old[i])
	if !finite(lp) || !finite(own) {
		s.NonFinite++
		s.nonFiniteLoss = true
		dlp[i], dent[i] = 0, 0
		return 0
	}
	old := float64(c.before(t)[i])
	r, dr := ratio(lp, old)
	loss, grad, clipped := c.surrogate(at, r, dr, lp, t.advantage(i))
	loss, grad = at.mask(t, i, loss, grad, s)
	w := j.importance(i, s)
	loss, grad = loss*w, grad*w
	if at.whole {
		at.pull += t.Weight * grad
		grad = 0
	}

	kl, dkl := c.kl(t, i, r, dr, s)
	ent := float64(t.Entropy[i])
	s.PG += t.Weight * loss
	s.KL += t.Weight * kl
	s.Entropy += t.Weight * ent
	s.Loss += t.Weight * (loss - c.Entropy*ent + c.KLCoef*kl)
	s.PPOKL += t.Weight * (old - lp)
	s.OIS += t.Weight * r
	if clipped {
		s.ClipFrac += t.Weight
	}
	dlp[i] = float32(t.Weight * (grad + c.KLCoef*dkl))
	dent[i] = float32(-t.Weight * c.Entropy)
	return r
}

// mask takes the policy term away from tokens that must not be pushed down, and from those that are spared.
func (at *standing) mask(t *Tokens, i int, loss, grad float64, s *Sums) (float64, float64) {
	if at.far && t.advantage(i) < 0 {
		loss, grad = 0, 0
		s.OPSM += t.Weight
	}
	if t.Spared != nil && t.Spared[i] {
		loss, grad = 0, 0
		s.Spared += t.Weight
	}
	return loss, grad
}

// surrogate returns the policy loss of a token whose own ratio is r, whose logprob is lp, at advantage a; its gradient with respect to what the ratio depends on (the
// logprob, or the whole response's mean distance); and whether the clip decided.
func (c Config) surrogate(at *standing, r, dr, lp, a float64) (loss, grad float64, clipped bool) {
	switch {
	case at.whole:
		return c.clippedLoss(at.r, at.dr, a)
	case c.Estimator == CISPO:
		w := clamp(r, 1-c.EpsClip, 1+c.EpsClipHigh) // a constant: no gradient goes through it
		return -w * a * lp, -w * a, w != r
	}
	return c.clippedLoss(r, dr, a)
}

// clippedLoss returns the surrogate loss at advantage a of the ratio r = exp(lp-old), whose derivative is dr; its gradient with respect
// to lp; and whether the clip decided.
func (c Config) clippedLoss(r, dr, a float64) (loss, grad float64, clipped bool) {
	plain := -r * a
	bound := -clamp(r, 1-c.EpsClip, 1+c.EpsClipHigh) * a
	loss, grad = plain, -dr*a
	if bound > plain {
		loss, grad, clipped = bound, 0, true
	}
	if c.EpsClipC > 1 && a < 0 && loss > -c.EpsClipC*a {
		loss, grad = -c.EpsClipC*a, 0
	}
	return loss, grad, clipped
}

// importance returns what multiplies the policy term of token i, and adds it and the token's own ratio to s. Without
// rollout logprobs (supervised data) it is 1. A token that the rollout engine held for impossible (-Inf) has the largest ratio there is; a logprob
// that is no number spoils the loss, and the step is not taken.
func (j *judged) importance(i int, s *Sums) float64 {
	t := j.t
	if t.Rollout == nil {
		return 1
	}
	if !finite(float64(t.Rollout[i])) {
		s.NonFinite++
	}
	d, raw := t.logRatio(i), t.raw(i)
	b := clamp(d, -ratioBound, ratioBound)
	w := j.token(raw)
	if w.bounded != w.before {
		s.TISClipFrac += t.Weight
	}
	if w.used == 0 {
		s.RejectedTokens++
	}
	if t.Mean != 0 {
		w.used /= t.Mean
	}
	s.GapAbs += t.Weight * math.Abs(d)
	s.GapKL += t.Weight * clamp(math.Expm1(b)-b, -10, 10)
	s.TIS += t.Weight * raw
	s.TISAbs += t.Weight * math.Abs(raw-1)
	s.TISUsed += t.Weight * w.used
	return w.used
}

// kl returns the estimate of KL(policy || reference) at token i and its gradient with respect to lp. r is the ratio of new to old
// policy and dr its derivative.
func (c Config) kl(t *Tokens, i int, r, dr float64, s *Sums) (kl, grad float64) {
	if !c.UseKL {
		return 0, 0
	}
	ref := float64(t.Ref[i])
	if !finite(ref) {
		s.NonFinite++
	}
	kl, grad = estimate(c.KLType, float64(t.New[i])-ref)
	if c.Unbiased {
		kl, grad = r*kl, dr*kl+r*grad
	}
	if c.KLType == "low_var_kl" && math.Abs(kl) > klBound {
		return clamp(kl, -klBound, klBound), 0
	}
	return kl, grad
}

// klBound bounds low_var_kl either way.
const klBound = 10

// estimate returns a KL estimator of d = lp - ref and its derivative in d.
func estimate(kind string, d float64) (kl, grad float64) {
	switch kind {
	case "k1":
		return d, 1
	case "k2":
		return d * d / 2, d
	case "low_var_kl":
		if b := clamp(d, -ratioBound, ratioBound); b != d {
			return math.Expm1(-b) + b, 0
		}
	}
	return math.Expm1(-d) + d, 1 - math.Exp(-d)
}

// Supervised adds one sample of the maximum-likelihood loss to s: minus the weighted sum of logprobs.
func (c Config) Supervised(t Tokens, dlp, dent []float32, s *Sums) {
	for i, v := range t.New {
		if !finite(float64(v)) {
			s.NonFinite++
			s.nonFiniteLoss = true
		}
		s.Weight += t.Weight
		s.Loss -= t.Weight * float64(v)
		s.Entropy += t.Weight * float64(t.Entropy[i])
		dlp[i], dent[i] = float32(-t.Weight), 0
	}
	if n := len(t.New); n > 0 {
		s.Samples++
		s.Tokens += n
	}
}

// Finite says whether every number that the loss came from was finite.
func (s *Sums) Finite() bool { return !s.nonFiniteLoss && finite(s.Loss) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
