package loss

import (
	"math"
	"testing"
)

// step is a power of two, so that moving a logprob by it rounds nothing but the last bit; differences of the fourth order with it
// leave 1e-7 of what the derivatives are here, and the gradient is float32, which leaves 6e-8.
const (
	step  = 1.0 / 64
	limit = 2e-6
)

// slope returns the derivative of the loss as x moves.
func slope(c Config, t Tokens, x *float32) float64 {
	start := *x
	at := func(n float32) float64 {
		*x = start + n*step
		s, _, _ := t.policy(c)
		*x = start
		return s.Loss
	}
	return (8*(at(1)-at(-1)) - (at(2) - at(-2))) / (12 * step)
}

// checkGradients compares gradients with differences, for each token's logprob and entropy.
func checkGradients(t *testing.T, c Config, tok Tokens) {
	t.Helper()
	_, dlp, dent := tok.policy(c)
	for i := range tok.New {
		for _, g := range []struct {
			of  string
			got float32
			x   *float32
		}{{"logprob", dlp[i], &tok.New[i]}, {"entropy", dent[i], &tok.Entropy[i]}} {
			if want := slope(c, tok, g.x); !(math.Abs(float64(g.got)-want) <= limit*max(1, math.Abs(want))) {
				t.Errorf("token %d, %s %v (old %v, reference %v): gradient is %v, want %v", i, g.of, *g.x, tok.Old[i], tok.Ref, g.got, want)
			}
		}
	}
}

// spread returns tokens whose log ratios are the given ones. They are powers of two and sums of few, so exact in float32.
func spread(advantage float64, logRatios ...float32) Tokens {
	t := Tokens{Advantage: advantage, Weight: 1 / float64(len(logRatios))}
	for i, d := range logRatios {
		old := -0.5 * float32(i+1)
		t.Old = append(t.Old, old)
		t.New = append(t.New, old+d)
		t.Rollout = append(t.Rollout, old+0.25*float32(i%3-1))
		t.Ref = append(t.Ref, old-0.5+0.25*float32(i))
		t.Entropy = append(t.Entropy, 0.25*float32(i))
	}
	return t
}

// Log ratios away from the kinks: the clip's at log 0.8 = -0.223 and log 1.28 = 0.247, the dual clip's at log 3 = 1.099.
func TestGradientsOfThePolicyLoss(t *testing.T) {
	ratios := []float32{-2, -0.75, -0.375, -0.125, 0, 0.125, 0.375, 0.75, 1.5, 2}
	entropy, dual, importance, low := plain(), plain(), Default(), Default()
	entropy.Entropy = 0.01
	dual.EpsClipC = 3
	low.TISLow, low.TISClip = 0.9, 1.1
	for name, c := range map[string]Config{"clip": plain(), "entropy": entropy, "dual clip": dual, "importance": importance, "importance, both caps": low} {
		for _, advantage := range []float64{1.5, -1.5, 0} {
			t.Run(name, func(t *testing.T) { checkGradients(t, c, spread(advantage, ratios...)) })
		}
	}
}

// Where the exponent of the ratio is bounded the loss is flat.
func TestGradientsBeyondTheBound(t *testing.T) {
	for _, advantage := range []float64{1, -1} {
		checkGradients(t, plain(), spread(advantage, -25, -21, 21, 25))
	}
}

// What does not depend on the policy's logprob must not get a gradient: the weight is a constant of the cycle.
func TestTheImportanceWeightIsAFactor(t *testing.T) {
	tok := spread(1, 0, 0.125, -0.125)
	_, without, _ := tok.policy(plain())
	for i := range tok.Rollout {
		tok.Rollout[i] = tok.Old[i] - 0.5
	}
	_, with, _ := tok.policy(Default())
	for i := range with {
		if want := float64(without[i]) * math.Exp(0.5); !near(float64(with[i]), want) {
			t.Errorf("token %d has gradient %v, want exp(0.5) times %v", i, with[i], without[i])
		}
	}
}
