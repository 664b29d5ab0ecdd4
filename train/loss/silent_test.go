package loss

import (
	"fmt"
	"testing"
)

// Where Silent says that a sample has no gradient it has none, under every estimator, correction and kind of policy term; and it says so only where the loss
// has no other term.
func TestSilent(t *testing.T) {
	for n, cc := range everyCorrection() {
		for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO} {
			c := cc.c
			c.Estimator = estimator
			c.UseKL, c.UseOPSM, c.UseRollout = n%2 == 1, n%3 == 1, n%5 == 1
			if n%3 == 0 {
				c.EpsClipC = 3
			}
			for _, tokens := range [][]float64{nil, make([]float64, len(away))} {
				tok := spread(0, away...)
				tok.Advantages = tokens
				tok.Mean = c.MeanWeight([]Tokens{tok, spread(1, 0.125)})
				if !c.Silent(tok.Advantage, tok.Advantages) {
					t.Fatalf("%s, %s: not silent without an advantage", cc.name, estimator)
				}
				_, dlp, dent := tok.policy(c)
				for i := range dlp {
					if dlp[i] != 0 || dent[i] != 0 {
						t.Errorf("%s, %s: gradients of token %d are %v and %v, want none", cc.name, estimator, i, dlp[i], dent[i])
					}
				}
			}
		}
	}
}

func TestNotSilent(t *testing.T) {
	entropy, kl, supervised := Default(), Default(), Default()
	entropy.Entropy = 1e-9
	kl.UseKL, kl.KLCoef = true, 1e-9
	supervised.Type = "sft_loss"
	for i, tt := range []struct {
		c         Config
		advantage float64
		tokens    []float64
	}{
		{Default(), 1e-300, nil},
		{Default(), -1, nil},
		{Default(), 0, []float64{0, 0, 1e-9}},
		{entropy, 0, nil},
		{kl, 0, nil},
		{supervised, 0, nil},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if tt.c.Silent(tt.advantage, tt.tokens) {
				t.Error("silent, want a gradient")
			}
		})
	}
}
