package loss

import (
	"math"
	"testing"
)

// A wrong answer that has become less likely by more than the bound, a token on average, is no longer pushed down; anything else is trained.
func TestOffPolicyMasking(t *testing.T) {
	c := plain()
	c.UseOPSM, c.OPSMDelta, c.EpsClip, c.EpsClipHigh = true, 0.25, 0.9, 9
	for _, tt := range []struct {
		name      string
		moved     []float32 // of each token's logprob
		advantage float64
		masked    float64
	}{
		{"far down", []float32{-0.5, -0.25}, -1, 1},
		{"far down, right answer", []float32{-0.5, -0.25}, 1, 0},
		{"far down, no advantage", []float32{-0.5, -0.25}, 0, 0},
		{"at the bound", []float32{-0.25, -0.25}, -1, 0},
		{"one token far, the mean is not", []float32{-2, 1.75}, -1, 0},
		{"far up", []float32{0.5, 0.75}, -1, 0},
		{"in place", []float32{0, 0}, -1, 0},
	} {
		tok := Tokens{Entropy: []float32{1, 1}, Advantage: tt.advantage, Weight: .5}
		for _, d := range tt.moved {
			tok.Old, tok.New = append(tok.Old, -1), append(tok.New, -1+d)
		}
		s, dlp, _ := tok.policy(c)
		if s.OPSM != tt.masked || (s.PG == 0) != (tt.masked == 1 || tt.advantage == 0) {
			t.Errorf("%s: %v masked with loss %v, want %v", tt.name, s.OPSM, s.PG, tt.masked)
		}
		if tt.masked == 1 && (dlp[0] != 0 || dlp[1] != 0 || s.RejectedTokens != 0 || s.Weight != 1) {
			t.Errorf("%s: gradients %v, %d rejected, denominator %v, want zeros, 0 and 1", tt.name, dlp, s.RejectedTokens, s.Weight)
		}
	}
	tok := ratioed(2, 0.5, -1)
	tok.New[1] = float32(math.NaN())
	if s, _, _ := tok.policy(c); s.Finite() {
		t.Error("a logprob that is NaN passes for masked")
	}
}

// Entropy and KL are of the policy in training, and stay where the policy term goes.
func TestMaskingLeavesRegularisers(t *testing.T) {
	c := klOnly("k2", false)
	c.UseOPSM, c.Entropy = true, 0.5
	tok := apart(2, -1)
	tok.Advantage = -1
	s, dlp, dent := tok.policy(c)
	if s.OPSM != 1 || s.PG != 0 || s.KL != 2 || dlp[0] != 2 || dent[0] != -.5 {
		t.Errorf("masked %v, policy loss %v, KL %v, gradients %v %v, want 1, 0, 2, 2, -0.5", s.OPSM, s.PG, s.KL, dlp[0], dent[0])
	}
}

// With the rollout engine's logprobs for old the ratio is against them, and the gap is still the one between trainer and rollout engine.
func TestRolloutForOld(t *testing.T) {
	c := plain()
	c.UseRollout = true
	tok := ratioed(2, 1, -1)
	tok.Rollout = []float32{-2.125, -1.75}
	s, dlp, _ := tok.policy(c)
	if want := (math.Exp(.125) + math.Exp(-.25)) / 2; !near(s.OIS, want) {
		t.Errorf("ratio is %v, want %v", s.OIS, want)
	}
	// The second ratio, 0.78, is below the clip at 0.8.
	if !near(float64(dlp[0]), math.Exp(.125)/2) || dlp[1] != 0 || s.ClipFrac != .5 || !near(s.PG, (math.Exp(.125)+.8)/2) {
		t.Errorf("gradients %v, loss %v, clipped %v, want exp(1/8)/2 and 0, (exp(1/8)+0.8)/2, 1/2", dlp, s.PG, s.ClipFrac)
	}
	if !near(s.GapAbs, (.125+.25)/2) || s.TISUsed != 1 || !near(s.PPOKL, -(.125-.25)/2) {
		t.Errorf("gap %v, weight %v, KL %v, want 0.1875, 1, 0.0625", s.GapAbs, s.TISUsed, s.PPOKL)
	}
}

// A token impossible under rollout has a ratio beyond its bound: it is counted, and nothing pulls at it. One that is no number spoils the step.
func TestRolloutForOldNotFinite(t *testing.T) {
	c := plain()
	c.UseRollout = true
	for _, tt := range []struct {
		roll   float64
		finite bool
	}{{math.Inf(-1), true}, {math.Inf(1), true}, {math.NaN(), false}} {
		tok := ratioed(2, 1, 1)
		tok.Rollout = []float32{-2, float32(tt.roll)}
		s, dlp, _ := tok.policy(c)
		if s.NonFinite != 1 || s.Finite() != tt.finite || dlp[1] != 0 || dlp[0] != -.5 {
			t.Errorf("rollout %v: %d not finite, finite is %v, gradients %v, want 1, %v, -0.5 and 0", tt.roll, s.NonFinite, s.Finite(), dlp, tt.finite)
		}
	}
}

// Masking looks at what the ratio looks at: with the rollout engine's logprobs a wrong answer may be too far off in the first step.
func TestMaskingAgainstRollout(t *testing.T) {
	c := plain()
	c.UseOPSM = true
	tok := ratioed(2, 1, -1)
	tok.Rollout = []float32{-1.5, -1.75}
	if s, _, _ := tok.policy(c); s.OPSM != 0 {
		t.Errorf("%v masked against the trainer, want 0", s.OPSM)
	}
	c.UseRollout = true
	if s, _, _ := tok.policy(c); s.OPSM != 1 {
		t.Errorf("%v masked against the rollout engine, want 1", s.OPSM)
	}
}
