package loss

import (
	"fmt"
	"math"
	"testing"
)

// away are log ratios of new to old policy away from all kinks: the clip's at log 0.8 = -0.223 and log 1.28 = 0.247, the dual clip's at
// log 3 = 1.099.
var away = []float32{-2, -0.75, -0.375, -0.125, 0, 0.125, 0.375, 0.75, 1.5, 2}

// Every correction, KL, clip and bonus together: the gradient is that of the loss, whatever is combined. Weights come of old and rollout,
// which differences in the policy leave alone, so rejected tokens must get none.
func TestGradientsOfEveryLoss(t *testing.T) {
	for n, cc := range everyCorrection() {
		for _, kind := range []string{"", "k1", "k2", "k3", "low_var_kl"} {
			c := cc.c
			c.Entropy = 0.01
			c.UseKL, c.KLType, c.Unbiased = kind != "", kind, n%2 == 1
			if c.UseKL {
				c.KLCoef = 0.25
			}
			if n%3 == 0 {
				c.EpsClipC = 3
			}
			for _, advantage := range []float64{1.5, -1.5} {
				tok := spread(advantage, away...)
				if n%4 == 0 {
					tok.Rollout[3] = float32(math.Inf(-1))
				}
				tok.Mean = c.MeanWeight([]Tokens{tok, spread(1, 0.125)})
				t.Run(fmt.Sprintf("%s, KL %q, advantage %v", cc.name, kind, advantage), func(t *testing.T) { checkGradients(t, c, tok) })
			}
		}
	}
}

// On both sides of the bound of off-policy masking, where the loss is smooth; and with the rollout engine's logprobs for old.
func TestGradientsOfMaskingAndRolloutForOld(t *testing.T) {
	for _, rollout := range []bool{false, true} {
		for _, delta := range []float64{0.125, 4} {
			for _, advantage := range []float64{1, -1} {
				c := plain()
				c.UseOPSM, c.OPSMDelta, c.UseRollout, c.Entropy = true, delta, rollout, 0.01
				c.UseKL, c.KLCoef, c.KLType, c.Unbiased = true, 0.5, "k2", true
				tok := spread(advantage, -2, -1.5, 0.125, 0, -0.125, 0.5)
				if rollout {
					tok.Old, tok.Rollout = tok.Rollout, tok.Old
				}
				t.Run(fmt.Sprintf("rollout %v, bound %v, advantage %v", rollout, delta, advantage), func(t *testing.T) {
					s, _, _ := tok.policy(c)
					if want := advantage < 0 && delta < 1; (s.OPSM > 0) != want {
						t.Fatalf("masked %v, want it to be %v", s.OPSM, want)
					}
					checkGradients(t, c, tok)
				})
			}
		}
	}
}

func TestGradientsOfTheSupervisedLoss(t *testing.T) {
	c := Default()
	c.Type = "sft_loss"
	tok := spread(1, away...)
	run := func() (s Sums, dlp, dent []float32) {
		dlp, dent = poisoned(len(away)), poisoned(len(away))
		c.Supervised(tok, dlp, dent, &s)
		return s, dlp, dent
	}
	_, dlp, dent := run()
	for i := range away {
		start := tok.New[i]
		tok.New[i] = start + step
		up, _, _ := run()
		tok.New[i] = start - step
		down, _, _ := run()
		tok.New[i] = start
		if want := (up.Loss - down.Loss) / (2 * step); math.Abs(float64(dlp[i])-want) > limit || dent[i] != 0 {
			t.Errorf("token %d has gradients %v and %v, want %v and 0", i, dlp[i], dent[i], want)
		}
	}
}
