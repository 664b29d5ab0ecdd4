package loss

import "math"

// Tokens are one sample's response under the policies that take part.
type Tokens struct {
	New     []float32 // the policy in training
	Old     []float32 // the trainer before the cycle's first step; equal to New in that step
	Rollout []float32 // the engine that sampled; read when importance is capped or measured
	Ref     []float32 // the reference, when KL is used
	Entropy []float32 // of the policy in training

	Advantage float64
	Weight    float64 // of each token, from Config.Weights
}

// Sums gathers the weighted sums of a step: its loss and its diagnostics, over all micro-batches. [Sums.Mean] makes means of them.
type Sums struct {
	Loss, PG, KL, Entropy      float64
	ClipFrac, PPOKL            float64
	TIS, TISAbs                float64 // importance ratio before the cap
	TISUsed, TISClipFrac       float64 // what multiplied the loss
	OIS                        float64 // ratio of new to old
	GapAbs, GapKL              float64 // trainer (old) against rollout
	ESS                        float64 // plain sum over samples
	Weight                     float64 // of all tokens: 1 in the mean modes
	Samples, Tokens, NonFinite int
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

// Policy adds one sample to s and writes the gradient of the loss with respect to each token's logprob and entropy.
func (c Config) Policy(t Tokens, dlp, dent []float32, s *Sums) {
	sumW, sumW2 := 0.0, 0.0
	for i := range t.New {
		w := c.token(t, i, dlp, dent, s)
		sumW += w
		sumW2 += w * w
	}
	n := len(t.New)
	if n > 0 {
		s.ESS += sumW * sumW / (float64(n) * math.Max(sumW2, 1e-8))
		s.Samples++
		s.Tokens += n
	}
}

// token does Policy for token i and returns the ratio of new to old. A token whose logprobs are not finite is counted, and makes
// the step one that must not be taken.
func (c Config) token(t Tokens, i int, dlp, dent []float32, s *Sums) float64 {
	s.Weight += t.Weight
	lp, old := float64(t.New[i]), float64(t.Old[i])
	if !finite(lp) || !finite(old) {
		s.NonFinite++
		s.nonFiniteLoss = true
		dlp[i], dent[i] = 0, 0
		return 0
	}
	r, dr := ratio(lp, old)
	loss, grad, clipped := c.clippedLoss(r, dr, t.Advantage)
	w := c.importance(t, i, s)
	loss, grad = loss*w, grad*w

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

// importance returns the capped weight of token i, trainer against rollout, and adds it and the ratio before the cap to s. Without
// rollout logprobs (supervised data) it is 1. A token that the rollout engine held for impossible (-Inf) gets the cap; a logprob
// that is no number spoils the loss, and the step is not taken.
func (c Config) importance(t Tokens, i int, s *Sums) float64 {
	if t.Rollout == nil {
		return 1
	}
	old, roll := float64(t.Old[i]), float64(t.Rollout[i])
	if !finite(roll) {
		s.NonFinite++
	}
	d := clamp(old-roll, -ratioBound, ratioBound)
	raw := math.Exp(d)
	used := 1.0
	if c.UseTIS {
		used = clamp(raw, c.TISLow, c.TISClip)
		if used != raw {
			s.TISClipFrac += t.Weight
		}
	}
	s.GapAbs += t.Weight * math.Abs(old-roll)
	s.GapKL += t.Weight * clamp(math.Expm1(d)-d, -10, 10)
	s.TIS += t.Weight * raw
	s.TISAbs += t.Weight * math.Abs(raw-1)
	s.TISUsed += t.Weight * used
	return used
}

// kl returns the estimate of KL(policy || reference) at token i and its gradient with respect to lp. r is the ratio of new to old
// policy and dr its derivative.
func (c Config) kl(t Tokens, i int, r, dr float64, s *Sums) (kl, grad float64) {
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
	if c.KLType == "low_var_kl" && math.Abs(kl) > 10 {
		return clamp(kl, -10, 10), 0
	}
	return kl, grad
}

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
