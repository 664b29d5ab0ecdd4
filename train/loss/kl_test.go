package loss

import (
	"math"
	"testing"
)

// klOnly returns the loss that is nothing but the KL.
func klOnly(kind string, unbiased bool) Config {
	c := plain()
	c.UseKL, c.KLCoef, c.KLType, c.Unbiased = true, 1, kind, unbiased
	return c
}

// apart returns one token whose logprob is d above the reference's, and e above the old policy's.
func apart(d, e float32) Tokens {
	return Tokens{New: []float32{-32}, Old: []float32{-32 - e}, Ref: []float32{-32 - d}, Entropy: []float32{0}, Weight: 1}
}

func TestKLEstimators(t *testing.T) {
	k3 := func(d float64) float64 { return math.Exp(-d) - 1 + d }
	for _, tt := range []struct {
		kind     string
		d        float32
		kl, grad float64
	}{
		{"k1", 0, 0, 1},
		{"k1", 2, 2, 1},
		{"k1", -3, -3, 1},
		{"k2", 0, 0, 0},
		{"k2", 2, 2, 2},
		{"k2", -3, 4.5, -3},
		{"k3", 0, 0, 0},
		{"k3", 2, k3(2), 1 - math.Exp(-2)},
		{"k3", -3, k3(-3), 1 - math.Exp(3)},
		{"k3", 25, k3(25), 1 - math.Exp(-25)},
		{"low_var_kl", 0, 0, 0},
		{"low_var_kl", 2, k3(2), 1 - math.Exp(-2)},
		{"low_var_kl", -1, k3(-1), 1 - math.Exp(1)},
		{"low_var_kl", -3, 10, 0},  // k3 is 16.1
		{"low_var_kl", 12, 10, 0},  // k3 is 11
		{"low_var_kl", 30, 10, 0},  // beyond the bound of the exponent
		{"low_var_kl", -30, 10, 0}, // exp(30) without it
	} {
		s, dlp, _ := apart(tt.d, 0).policy(klOnly(tt.kind, false))
		if !near(s.KL, tt.kl) || !near(s.Loss, tt.kl) || !near(float64(dlp[0]), tt.grad) {
			t.Errorf("%s at %v: %v (loss %v) with gradient %v, want %v and %v", tt.kind, tt.d, s.KL, s.Loss, dlp[0], tt.kl, tt.grad)
		}
	}
}

func TestGradientsOfTheKL(t *testing.T) {
	for _, kind := range []string{"k1", "k2", "k3", "low_var_kl"} {
		for _, unbiased := range []bool{false, true} {
			for _, d := range []float32{-4, -3, -1.5, -0.5, 0, 0.5, 3, 8, 14, 24} {
				for _, e := range []float32{0, 0.5, -0.75, 22, -22} {
					if e > 20 && d == 0 {
						continue // a weight of exp(20) makes the minimum so narrow that differences step over it
					}
					c := klOnly(kind, unbiased)
					if tok := apart(d, e); steep(c, tok) {
						checkRelative(t, c, tok)
					} else {
						checkGradients(t, c, tok)
					}
				}
			}
		}
	}
}

// steep says whether the KL is so large that only relative differences mean something.
func steep(c Config, tok Tokens) bool {
	s, _, _ := tok.policy(c)
	return math.Abs(s.KL) > 10
}

func checkRelative(t *testing.T, c Config, tok Tokens) {
	t.Helper()
	s, dlp, _ := tok.policy(c)
	got, want := float64(dlp[0]), slope(c, tok, &tok.New[0])
	if !(math.Abs(got-want) <= limit*math.Abs(s.KL)) {
		t.Errorf("%s, unbiased %v, %v above the reference: gradient is %v, want %v", c.KLType, c.Unbiased, tok.New[0]-tok.Ref[0], got, want)
	}
}

// The mean of ratio times estimator over the old policy is the KL itself, for each estimator that is unbiased under the new one: here
// over both tokens of a coin.
func TestUnbiasedKLIsTheKL(t *testing.T) {
	policy, old, ref := []float64{.7, .3}, []float64{.5, .5}, []float64{.4, .6}
	want := 0.0
	for i, p := range policy {
		want += p * math.Log(p/ref[i])
	}
	for _, kind := range []string{"k1", "k3", "low_var_kl"} {
		var s Sums
		for i := range policy {
			tok := Tokens{
				New: []float32{ln(policy[i])}, Old: []float32{ln(old[i])}, Ref: []float32{ln(ref[i])}, Entropy: []float32{0}, Weight: old[i],
			}
			klOnly(kind, true).Policy(tok, make([]float32, 1), make([]float32, 1), &s)
		}
		if !near(s.KL, want) {
			t.Errorf("%s: mean is %v, want %v", kind, s.KL, want)
		}
	}
}

func ln(p float64) float32 { return float32(math.Log(p)) }

// With coefficient 0 the KL is measured and pulls at nothing.
func TestMeasuredKL(t *testing.T) {
	c := klOnly("k2", false)
	c.KLCoef = 0
	s, dlp, _ := apart(2, 0).policy(c)
	if s.KL != 2 || s.Loss != 0 || dlp[0] != 0 {
		t.Errorf("KL %v, loss %v, gradient %v, want 2, 0, 0", s.KL, s.Loss, dlp[0])
	}
}

// A reference that holds a token for impossible is counted; where the estimator is bounded the step goes on, else it must not.
func TestImpossibleUnderTheReference(t *testing.T) {
	for _, tt := range []struct {
		kind   string
		ref    float64
		finite bool
	}{
		{"low_var_kl", math.Inf(-1), true}, {"k1", math.Inf(-1), false}, {"k3", math.Inf(-1), false}, {"low_var_kl", math.NaN(), false},
	} {
		tok := apart(0, 0)
		tok.Ref[0] = float32(tt.ref)
		s, _, _ := tok.policy(klOnly(tt.kind, false))
		if s.Finite() != tt.finite || s.NonFinite != 1 {
			t.Errorf("%s, reference %v: finite is %v with %d tokens counted, want %v and 1", tt.kind, tt.ref, s.Finite(), s.NonFinite, tt.finite)
		}
	}
}
