package loss

import (
	"math"
	"testing"
)

func TestImportanceCap(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, tt := range []struct {
		name           string
		train, rollout float32
		low            float64
		raw, used      float64
		nonFinite      int
	}{
		{"same policy", -0.5, -0.5, 0, 1, 1, 0},
		{"likelier under the trainer", -1, -1.5, 0, math.Exp(.5), math.Exp(.5), 0},
		{"capped", -1, -9, 0, math.Exp(8), 2, 0},
		{"likelier under rollout", -9, -1, 0, math.Exp(-8), math.Exp(-8), 0},
		{"lower cap", -9, -1, 0.5, math.Exp(-8), 0.5, 0},
		{"beyond the bound of the exponent", -1, -60, 0, math.Exp(20), 2, 0},
		{"impossible under rollout", -1, inf, 0, math.Exp(20), 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			c.TISLow = tt.low
			tok := Tokens{New: []float32{tt.train}, Old: []float32{tt.train}, Rollout: []float32{tt.rollout}, Entropy: []float32{0}, Advantage: -1, Weight: 1}
			s, dlp, _ := tok.policy(c)
			if !near(s.TIS, tt.raw) || !near(s.TISUsed, tt.used) || !near(s.TISAbs, math.Abs(tt.raw-1)) || s.NonFinite != tt.nonFinite {
				t.Errorf("ratio %v, used %v, distance %v, %d not finite, want %v, %v, %v, %d",
					s.TIS, s.TISUsed, s.TISAbs, s.NonFinite, tt.raw, tt.used, math.Abs(tt.raw-1), tt.nonFinite)
			}
			if !near(s.PG, tt.used) || !near(float64(dlp[0]), tt.used) || !s.Finite() {
				t.Errorf("loss %v with gradient %v, want both %v", s.PG, dlp[0], tt.used)
			}
			clipped := 0.0
			if tt.raw != tt.used {
				clipped = 1
			}
			if s.TISClipFrac != clipped {
				t.Errorf("share capped is %v, want %v", s.TISClipFrac, clipped)
			}
		})
	}
}

// What the cap hides must stay visible: the mean ratio before it and after it are two figures.
func TestRawAndUsedImportance(t *testing.T) {
	c := Default()
	c.TISClip = 5
	tok := ratioed(3, 1, 1)
	for i, r := range []float64{0.607, 12.18, 0.819} {
		tok.Rollout = append(tok.Rollout, tok.Old[i]-float32(math.Log(r)))
	}
	s, _, _ := tok.policy(c)
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"ratio", s.Mean(s.TIS), (0.607 + 12.18 + 0.819) / 3},
		{"weight used", s.Mean(s.TISUsed), (0.607 + 5 + 0.819) / 3},
		{"share capped", s.Mean(s.TISClipFrac), 1. / 3},
	} {
		if !near(f.got, f.want) {
			t.Errorf("%s is %v, want %v", f.name, f.got, f.want)
		}
	}
}

// Without the correction the mismatch is measured all the same.
func TestImportanceWithoutCorrection(t *testing.T) {
	tok := ratioed(2, 1, -1)
	tok.Rollout = []float32{-2.5, -1.5}
	s, dlp, _ := tok.policy(plain())
	if !near(s.TIS, math.Cosh(.5)) || s.TISUsed != 1 || s.PG != 1 || dlp[0] != .5 {
		t.Errorf("ratio %v, used %v, loss %v, gradient %v, want cosh(0.5), 1, 1, 0.5", s.TIS, s.TISUsed, s.PG, dlp[0])
	}
	if s.GapAbs != .5 || !near(s.GapKL, math.Cosh(.5)-1) {
		t.Errorf("gap %v, its KL %v, want 0.5 and cosh(0.5)-1", s.GapAbs, s.GapKL)
	}
}

func TestImportanceOfNaN(t *testing.T) {
	tok := ratioed(2, 1, 1)
	tok.Rollout = []float32{-2, float32(math.NaN())}
	if s, _, _ := tok.policy(Default()); s.Finite() || s.NonFinite != 1 {
		t.Errorf("finite is %v with %d tokens counted, want false and 1", s.Finite(), s.NonFinite)
	}
	s, _, _ := tok.policy(plain())
	if !s.Finite() || s.NonFinite != 1 || !math.IsNaN(s.GapAbs) {
		t.Errorf("without correction: finite is %v with %d tokens counted and gap %v, want true, 1, NaN", s.Finite(), s.NonFinite, s.GapAbs)
	}
}
