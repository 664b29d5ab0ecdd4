package loss

import (
	"fmt"
	"math"
	"testing"
)

// plain is the policy loss alone: no importance cap, no KL.
func plain() Config {
	c := Default()
	c.UseTIS = false
	return c
}

// near says whether two numbers agree to the rounding of a logprob to float32, which is 1e-7 of a few nats.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

// ratioed returns n tokens whose ratio of new to old policy is r, each of weight 1/n.
func ratioed(n int, r, advantage float64) Tokens {
	t := Tokens{Entropy: make([]float32, n), Advantage: advantage, Weight: 1 / float64(n)}
	for range n {
		t.Old = append(t.Old, -2)
		t.New = append(t.New, float32(-2+math.Log(r)))
	}
	return t
}

// policy runs c on t alone.
func (t Tokens) policy(c Config) (s Sums, dlp, dent []float32) {
	dlp, dent = poisoned(len(t.New)), poisoned(len(t.New))
	c.Policy(t, dlp, dent, &s)
	return s, dlp, dent
}

func poisoned(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.NaN())
	}
	return x
}

func TestPolicy(t *testing.T) {
	const n = 4
	for _, tt := range []struct {
		name             string
		ratio, advantage float64
		dual             float64
		loss, grad, clip float64 // grad is of the whole loss, so n times what a token gets
	}{
		{"same policy", 1, 1, 0, -1, -1, 0},
		{"same policy, bad answer", 1, -1, 0, 1, 1, 0},
		{"no advantage", 1.1, 0, 0, 0, 0, 0},
		{"risen within the clip", 1.2, 1, 0, -1.2, -1.2, 0},
		{"risen beyond the clip", 1.5, 1, 0, -1.28, 0, 1},
		{"risen, bad answer", 1.5, -1, 0, 1.5, 1.5, 0},
		{"fallen within the clip", 0.9, -1, 0, 0.9, 0.9, 0},
		{"fallen beyond the clip", 0.5, -1, 0, 0.8, 0, 1},
		{"fallen, good answer", 0.5, 1, 0, -0.5, -0.5, 0},
		{"far, bad answer", 10, -1, 0, 10, 10, 0},
		{"far, bad answer, dual clip", 10, -1, 3, 3, 0, 0},
		{"dual clip out of reach", 1.5, -1, 3, 1.5, 1.5, 0},
		{"dual clip is not for good answers", 10, 1, 3, -1.28, 0, 1},
		{"twice the advantage", 1, 2, 0, -2, -2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := plain()
			c.EpsClipC = tt.dual
			s, dlp, dent := ratioed(n, tt.ratio, tt.advantage).policy(c)
			if !near(s.PG, tt.loss) || !near(s.Loss, tt.loss) || !near(s.ClipFrac, tt.clip) || !near(s.OIS, tt.ratio) {
				t.Errorf("loss %v (%v in all), clipped %v, ratio %v, want %v, %v, %v", s.PG, s.Loss, s.ClipFrac, s.OIS, tt.loss, tt.clip, tt.ratio)
			}
			for i := range n {
				if !near(float64(dlp[i]), tt.grad/n) || dent[i] != 0 {
					t.Errorf("token %d has gradient %v (entropy %v), want %v and 0", i, dlp[i], dent[i], tt.grad/n)
				}
			}
			if !s.Finite() || s.NonFinite != 0 || s.Samples != 1 || s.Tokens != n || !near(s.Weight, 1) {
				t.Errorf("sums are %+v, want 1 sample of %d tokens and weight 1, all finite", s, n)
			}
		})
	}
}

// A ratio whose exponent had to be bounded no longer depends on the logprob: nothing may pull at it.
func TestRatioBeyondItsBoundHasNoGradient(t *testing.T) {
	for _, gap := range []float32{25, -25} {
		tok := Tokens{New: []float32{-30}, Old: []float32{-30 - gap}, Entropy: []float32{0}, Advantage: -1, Weight: 1}
		s, dlp, _ := tok.policy(plain())
		if dlp[0] != 0 || !s.Finite() {
			t.Errorf("log ratio %v: gradient %v, loss %v, want 0 and a finite loss", gap, dlp[0], s.Loss)
		}
	}
}

// A product over 300 tokens of ratio 0.7 is 3e-47: whatever works a token at a time does not see it.
func TestLongAnswersStayFinite(t *testing.T) {
	const n = 300
	tok := ratioed(n, 0.7, 1)
	for _, o := range tok.Old {
		tok.Rollout = append(tok.Rollout, o-float32(math.Log(0.7)))
	}
	c := Default()
	c.EpsClip = 0.5
	s, dlp, _ := tok.policy(c)
	if !near(s.PG, -0.7*0.7) || !near(s.OIS, 0.7) || !near(s.TIS, 0.7) || !near(s.ESS, 1) {
		t.Errorf("loss %v, ratio %v, importance %v, effective size %v, want -0.49, 0.7, 0.7, 1", s.PG, s.OIS, s.TIS, s.ESS)
	}
	for i, g := range dlp {
		if !near(float64(g), -0.49/n) {
			t.Fatalf("token %d has gradient %v, want %v", i, g, -0.49/n)
		}
	}
}

// One heavy token leaves an effective size of one token.
func TestEffectiveSampleSize(t *testing.T) {
	tok := ratioed(4, 1, 1)
	tok.New[0] += 15
	s, _, _ := tok.policy(plain())
	if math.Abs(s.ESS-0.25) > 1e-3 { // e^15 against three ones
		t.Errorf("effective size is %v, want 1/4", s.ESS)
	}
}

func TestNonFiniteLogprobs(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, tt := range []struct {
		name     string
		new, old float32
	}{
		{"new is NaN", nan, -1}, {"old is NaN", -1, nan}, {"new is impossible", inf, -1}, {"old is impossible", -1, inf}, {"both are", inf, inf},
	} {
		tok := Tokens{New: []float32{-1, tt.new}, Old: []float32{-1, tt.old}, Entropy: []float32{1, 1}, Advantage: 1, Weight: .5}
		s, dlp, dent := tok.policy(plain())
		if s.Finite() || s.NonFinite != 1 {
			t.Errorf("%s: finite is %v with %d tokens counted, want false and 1", tt.name, s.Finite(), s.NonFinite)
		}
		if dlp[1] != 0 || dent[1] != 0 || dlp[0] != -.5 {
			t.Errorf("%s: gradients %v %v, want -0.5 and 0", tt.name, dlp, dent)
		}
	}
}

// Infinite entropy or a NaN reward must not pass either.
func TestNonFiniteLoss(t *testing.T) {
	c := plain()
	tok := ratioed(2, 1, 1)
	tok.Entropy[1] = float32(math.NaN())
	if s, _, _ := tok.policy(c); s.Finite() {
		t.Errorf("loss of an entropy that is NaN is finite: %+v", s)
	}
	if s, _, _ := ratioed(2, 1, math.NaN()).policy(c); s.Finite() {
		t.Errorf("loss of an advantage that is NaN is finite: %+v", s)
	}
}

func TestEmptySampleCountsNothing(t *testing.T) {
	s, _, _ := Tokens{Advantage: 1, Weight: 1}.policy(Default())
	if s != (Sums{}) {
		t.Errorf("an empty sample gives %+v, want nothing", s)
	}
	Default().Supervised(Tokens{Weight: 1}, nil, nil, &s)
	if s != (Sums{}) {
		t.Errorf("an empty example gives %+v, want nothing", s)
	}
}

func TestSupervised(t *testing.T) {
	c := Default()
	c.Type = "sft_loss"
	tok := Tokens{New: []float32{-1, -3}, Entropy: []float32{.5, 1.5}, Weight: .5}
	dlp, dent := poisoned(2), poisoned(2)
	var s Sums
	c.Supervised(tok, dlp, dent, &s)
	if s.Loss != 2 || s.Entropy != 1 || s.Samples != 1 || s.Tokens != 2 || s.Weight != 1 || !s.Finite() {
		t.Errorf("sums are %+v, want loss 2, entropy 1, one sample of two tokens", s)
	}
	for i := range dlp {
		if dlp[i] != -.5 || dent[i] != 0 {
			t.Errorf("token %d has gradients %v and %v, want -0.5 and 0", i, dlp[i], dent[i])
		}
	}
	tok.New[1] = float32(math.Inf(-1))
	c.Supervised(tok, dlp, dent, &s)
	if s.Finite() || s.NonFinite != 1 {
		t.Errorf("an impossible token: finite is %v with %d counted, want false and 1", s.Finite(), s.NonFinite)
	}
}

func ExampleConfig_Policy() {
	c := Default()
	rewards := []float64{1, 0, 0, 0}
	weights := c.Weights([]int{2, 2, 2, 2}, 8)
	advantages := c.Advantages(rewards)

	// The first answer, as policy, trainer and rollout engine see its two tokens.
	t := Tokens{
		New: []float32{-1, -2}, Old: []float32{-1, -2}, Rollout: []float32{-1, -4}, Entropy: []float32{0, 0},
		Advantage: advantages[0], Weight: weights[0],
	}
	var s Sums
	dlp, dent := make([]float32, 2), make([]float32, 2)
	c.Policy(t, dlp, dent, &s)
	fmt.Printf("advantage %.4f, weight %.4f\n", t.Advantage, t.Weight)
	fmt.Printf("gradients %.4f %.4f\n", dlp[0], dlp[1])
	fmt.Printf("importance %.4f, used %.4f\n", s.Mean(s.TIS), s.Mean(s.TISUsed))
	// Output:
	// advantage 1.5000, weight 0.1250
	// gradients -0.1875 -0.3750
	// importance 4.1945, used 1.5000
}
