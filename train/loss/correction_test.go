package loss

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A recipe is a correction in the words of its definition, every bound a number. The tests below follow it array by array, where the
// code goes token by token.
type recipe struct {
	level, mode         string // mode "" leaves the loss alone
	low, high           float64
	rsLevel             string // "" rejects nothing
	rsLow, rsHigh, veto float64
	normalize           bool
}

func each(x []float64, f func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = f(x[i])
	}
	return y
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// gaps returns trainer minus rollout, token by token.
func gaps(t Tokens) []float64 {
	d := make([]float64, len(t.Old))
	for i := range d {
		d[i] = float64(t.Old[i]) - float64(t.Rollout[i])
	}
	return d
}

// atLevel returns exp of the log weight of each token: its own, the sum, or the mean, held between -20 and 20.
func atLevel(level string, d []float64) []float64 {
	logs := d
	switch level {
	case "sequence":
		logs = each(d, func(float64) float64 { return sumOf(d) })
	case "geometric":
		logs = each(d, func(float64) float64 { return sumOf(d) / float64(len(d)) })
	}
	return each(logs, func(v float64) float64 { return math.Exp(math.Max(-20, math.Min(20, v))) })
}

// A reckoning is what a recipe makes of a batch: a row for each sample.
type reckoning struct {
	before, after, kept, final [][]float64
	vetoed                     []bool
	mean                       float64
}

func (r recipe) reckon(batch []Tokens) (out reckoning) {
	out.mean = 1
	for _, t := range batch {
		d := gaps(t)
		before := atLevel(r.level, d)
		after := each(before, func(w float64) float64 {
			switch {
			case r.mode == "truncate":
				return math.Min(w, r.high)
			case r.mode == "clip":
				return math.Max(r.low, math.Min(w, r.high))
			case r.mode == "mask" && (w < r.low || w > r.high):
				return 0
			case r.mode == "":
				return 1
			}
			return w
		})
		kept, vetoed := after, false
		if r.rsLevel != "" {
			judge := atLevel(r.rsLevel, d)
			for _, ratio := range atLevel("token", d) {
				vetoed = vetoed || ratio < r.veto
			}
			kept = make([]float64, len(after))
			for i := range kept {
				switch {
				case math.IsNaN(judge[i] + after[i]):
					kept[i] = math.NaN() // never passes for rejected
				case !vetoed && judge[i] >= r.rsLow && judge[i] <= r.rsHigh:
					kept[i] = after[i]
				}
			}
		}
		out.before, out.after, out.kept = append(out.before, before), append(out.after, after), append(out.kept, kept)
		out.vetoed = append(out.vetoed, vetoed)
	}
	if r.normalize {
		out.mean = meanOfRows(r.level, out.after)
	}
	for _, kept := range out.kept {
		out.final = append(out.final, each(kept, func(w float64) float64 { return w / out.mean }))
	}
	return out
}

// meanOfRows is over the tokens that have a weight, or over the samples that have one.
func meanOfRows(level string, rows [][]float64) float64 {
	var all []float64
	for _, row := range rows {
		if level != "token" && len(row) > 1 {
			row = row[:1]
		}
		for _, w := range row {
			if w != 0 {
				all = append(all, w)
			}
		}
	}
	if len(all) == 0 {
		return 1
	}
	return sumOf(all) / float64(len(all))
}

// A case is a recipe, and the settings that ask for it.
type corrected struct {
	name string
	c    Config
	r    recipe
}

// everyCorrection lists all methods, and of mis all levels, modes, ways to reject and normalisations, with bounds given and left to themselves.
func everyCorrection() []corrected {
	none, caps, pop := Default(), Default(), Default()
	none.IS = "none"
	caps.IS, caps.TISLow, caps.TISClip = "tis", 0.8, 1.25
	pop.IS, pop.TISLow, pop.TISClip = "icepop", 0.5, 1.5
	all := []corrected{
		{"none", none, recipe{level: "token"}},
		{"default", Default(), recipe{level: "token", mode: "clip", high: 2}},
		{"tis", caps, recipe{level: "token", mode: "clip", low: 0.8, high: 1.25}},
		{"icepop", pop, recipe{level: "token", mode: "mask", low: 0.5, high: 1.5}},
	}
	for _, level := range []string{"token", "sequence", "geometric"} {
		for _, mode := range []string{"truncate", "clip", "mask"} {
			for _, rs := range []string{"", "token", "sequence", "geometric"} {
				for bits := range 8 {
					all = append(all, misCase(level, mode, rs, bits&1 > 0, bits&2 > 0, bits&4 > 0))
				}
			}
		}
	}
	return all
}

func misCase(level, mode, rs string, normalize, bounds, veto bool) corrected {
	c := Default()
	c.IS = "mis"
	c.MIS.Level, c.MIS.Mode, c.MIS.Reject, c.MIS.Normalize, c.MIS.Upper, c.MIS.Veto = level, mode, rs != "", normalize, 1.6, 0
	r := recipe{level: level, mode: mode, low: 1 / 1.6, high: 1.6, rsLevel: rs, rsLow: 1 / 1.6, rsHigh: 1.6, normalize: normalize}
	if rs != "" {
		c.MIS.RSLevel = rs
	}
	if bounds {
		c.MIS.Lower, c.MIS.RSLower, c.MIS.RSUpper = At(0.9), At(0.25), At(3)
		r.low, r.rsLow, r.rsHigh = 0.9, 0.25, 3
	}
	if veto {
		c.MIS.Veto, r.veto = 0.3, 0.3
	}
	return corrected{fmt.Sprintf("mis, %s %s, reject by %q, normalise %v, bounds %v, veto %v", level, mode, rs, normalize, bounds, veto), c, r}
}

// drawn returns a batch whose samples are up to 12 tokens long and whose distances are small for some and large for others. One token in
// odd is impossible under the rollout engine, or more than certain, or no number.
func drawn(seed uint64, odd int) []Tokens {
	r := rand.New(rand.NewPCG(seed, 7))
	batch := make([]Tokens, 9)
	for k := range batch {
		t := &batch[k]
		*t = Tokens{Old: []float32{}, Rollout: []float32{}, Advantage: -1, Weight: 1 / float64(5+k)}
		width := math.Pow(10, -3+3.5*r.Float64())
		for range r.IntN(13) {
			old := float32(-3 * r.Float64())
			roll := old + float32(width*r.NormFloat64())
			if odd > 0 && r.IntN(odd) == 0 {
				roll = float32([]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1), math.NaN()}[r.IntN(6)])
			}
			t.Old, t.Rollout, t.Entropy = append(t.Old, old), append(t.Rollout, roll), append(t.Entropy, 1)
		}
		t.New = t.Old
	}
	return batch
}

func unclear(row []float64) bool { return slices.ContainsFunc(row, math.IsNaN) }

// On policy and at advantage -1 a token's gradient is what it weighs times what multiplies it.
func TestWeightsAreThoseOfTheDefinition(t *testing.T) {
	for _, cc := range everyCorrection() {
		for seed, odd := range []int{0, 0, 0, 3, 4, 4, 8, 12, 20, 60, 150, 400} {
			batch := drawn(uint64(seed), odd)
			want := cc.r.reckon(batch)
			mean := cc.c.MeanWeight(batch)
			if cc.r.normalize && !(math.Abs(mean-want.mean) <= 1e-12*want.mean) && !(math.IsNaN(mean) && math.IsNaN(want.mean)) || !cc.r.normalize && mean != 0 {
				t.Fatalf("%s, seed %d: mean weight is %v, want %v", cc.name, seed, mean, want.mean)
			}
			for k, tok := range batch {
				tok.Mean = mean
				checkSample(t, fmt.Sprintf("%s, seed %d, sample %d", cc.name, seed, k), cc, tok, want.final[k])
			}
		}
	}
}

func checkSample(t *testing.T, name string, cc corrected, tok Tokens, want []float64) {
	t.Helper()
	s, dlp, _ := tok.policy(cc.c)
	odd, bad := 0, cc.r.mode != "" && (unclear(gaps(tok)) || unclear(want)) // a number that is none spoils what is multiplied by it, rejected or not
	for _, v := range tok.Rollout {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			odd++
		}
	}
	if s.NonFinite != odd || s.Finite() == bad {
		t.Fatalf("%s: %d logprobs counted as not finite, finite is %v, want %d, %v: rollout %v", name, s.NonFinite, s.Finite(), odd, !bad, tok.Rollout)
	}
	if bad {
		return
	}
	rejected := 0
	for i, w := range want {
		if w == 0 {
			rejected++
		}
		if got := float64(dlp[i]) / tok.Weight; !(math.Abs(got-w) <= 2e-7*w) {
			t.Fatalf("%s, token %d: multiplied by %v, want %v: distances %v", name, i, got, w, gaps(tok))
		}
	}
	all := 0
	if rejected == len(want) && rejected > 0 {
		all = 1
	}
	if s.RejectedTokens != rejected || s.RejectedSamples != all {
		t.Fatalf("%s: %d tokens rejected, %d samples, want %d and %d", name, s.RejectedTokens, s.RejectedSamples, rejected, all)
	}
	if n := float64(len(want)) * tok.Weight; math.Abs(s.Weight-n) > 1e-12 {
		t.Fatalf("%s: denominator is %v, want that of all tokens, %v", name, s.Weight, n)
	}
}

// Logprobs that are the same bits have weight 1, exactly, and lose nothing.
func TestOnPolicyNothingIsCorrected(t *testing.T) {
	for _, cc := range everyCorrection() {
		batch := drawn(11, 0)
		for k := range batch {
			batch[k].Rollout, batch[k].Weight = batch[k].Old, 1
		}
		mean := cc.c.MeanWeight(batch)
		for _, tok := range batch {
			tok.Mean = mean
			s, dlp, _ := tok.policy(cc.c)
			for i, g := range dlp {
				if g != 1 {
					t.Fatalf("%s: token %d is multiplied by %v, want 1", cc.name, i, g)
				}
			}
			if s.TISUsed != float64(len(tok.Old)) || s.RejectedTokens != 0 || s.TISClipFrac != 0 {
				t.Errorf("%s: weights sum to %v of %d, %d rejected, %v bounded", cc.name, s.TISUsed, len(tok.Old), s.RejectedTokens, s.TISClipFrac)
			}
		}
	}
}

// Worked by hand: distances of a sample, and what multiplies its tokens.
func TestCorrectionsByHand(t *testing.T) {
	two, half := float32(math.Ln2), float32(-math.Ln2)
	inf := float32(math.Inf(1))
	mis := func(f func(m *MIS)) Config {
		c := Default()
		c.IS = "mis"
		c.MIS.Reject, c.MIS.Normalize = false, false
		f(&c.MIS)
		return c
	}
	icepop := Default()
	icepop.IS, icepop.TISLow = "icepop", 0.5
	fromOne, toOne := icepop, icepop
	fromOne.TISLow, toOne.TISClip = 1, 1
	for _, tt := range []struct {
		name string
		c    Config
		d    []float32
		want []float64
	}{
		{"tis caps", Default(), []float32{two, 2 * two, half, inf}, []float64{2, 2, .5, 2}},
		{"icepop masks", icepop, []float32{two / 2, 2 * two, half / 2, 2 * half, inf}, []float64{math.Sqrt2, 0, math.Sqrt(.5), 0, 0}},
		{"a bound is inside, the lower", fromOne, []float32{0, half}, []float64{1, 0}},
		{"a bound is inside, the upper", toOne, []float32{0, two}, []float64{1, 0}},
		{"tokens truncated", mis(func(*MIS) {}), []float32{3 * two, 3 * half}, []float64{2, .125}},
		{"tokens clipped, lower bound 1/2", mis(func(m *MIS) { m.Mode = clip }), []float32{3 * two, 3 * half}, []float64{2, .5}},
		{"a product", mis(func(m *MIS) { m.Level, m.Upper = Sequence, 8 }), []float32{two, two, half}, []float64{2, 2, 2}},
		{"a product of tokens that cancel", mis(func(m *MIS) { m.Level = Sequence }), []float32{5 * two, 5 * half}, []float64{1, 1}},
		{"a geometric mean", mis(func(m *MIS) { m.Level = Geometric }), []float32{2 * two, 0}, []float64{2, 2}},
		{"a sequence masked", mis(func(m *MIS) { m.Level, m.Mode = Sequence, mask }), []float32{two, two}, []float64{0, 0}},
		{"an impossible token makes a huge product", mis(func(m *MIS) { m.Level = Sequence }), []float32{inf, half}, []float64{2, 2}},
		{"tokens rejected", mis(func(m *MIS) { m.Reject = true }), []float32{2 * two, 0, 2 * half}, []float64{0, 1, 0}},
		{"a sequence rejected for its mean", mis(func(m *MIS) { m.Reject, m.RSLevel = true, Geometric }), []float32{3 * two, 3 * two}, []float64{0, 0}},
		{"wider bounds of rejection", mis(func(m *MIS) { m.Reject, m.RSUpper, m.RSLower = true, At(5), At(0.2) }), []float32{2 * two, 2 * half, 3 * half}, []float64{2, .25, 0}},
		{"one bad token vetoes all", mis(func(m *MIS) { m.Reject = true }), []float32{0, 0, 14 * half}, []float64{0, 0, 0}},
		{"not so bad", mis(func(m *MIS) { m.Reject = true }), []float32{0, 0, 13 * half}, []float64{1, 1, 0}},
		{"no veto", mis(func(m *MIS) { m.Reject, m.Veto = true, 0 }), []float32{0, 0, 14 * half}, []float64{1, 1, 0}},
		{"no veto without rejection", mis(func(*MIS) {}), []float32{0, 14 * half}, []float64{1, math.Exp2(-14)}},
	} {
		tok := Tokens{Advantage: -1, Weight: 1, Entropy: make([]float32, len(tt.d))}
		for _, d := range tt.d {
			tok.Old, tok.New, tok.Rollout = append(tok.Old, -1), append(tok.New, -1), append(tok.Rollout, -1-d)
		}
		_, dlp, _ := tok.policy(tt.c)
		for i, w := range tt.want {
			if !near(float64(dlp[i]), w) {
				t.Errorf("%s: tokens are multiplied by %v, want %v", tt.name, dlp, tt.want)
				break
			}
		}
	}
}

// Ratios 1.11, 0.22, 2.23, 0.00005 and 1.35 in the window from 0.5 to 2: two tokens have a weight, and make the mean; all five stay in the loss's denominator.
func TestMeanIsOfWhatHasAWeight(t *testing.T) {
	c := Default()
	c.IS, c.MIS.Mode, c.MIS.Reject = "mis", mask, false
	tok := ratioed(5, 1, -1)
	for i, r := range []float64{1.11, 0.22, 2.23, 0.00005, 1.35} {
		tok.Rollout = append(tok.Rollout, tok.Old[i]-float32(math.Log(r)))
	}
	tok.Mean = c.MeanWeight([]Tokens{tok})
	if !near(tok.Mean, (1.11+1.35)/2) {
		t.Errorf("mean weight is %v, want 1.23", tok.Mean)
	}
	if s, _, _ := tok.policy(c); !near(s.PG, 2./5) || s.RejectedTokens != 3 {
		t.Errorf("loss is %v with %d tokens rejected, want 2/5 and 3", s.PG, s.RejectedTokens)
	}
}

// A batch of which nothing is kept divides by nothing, and is all zeros.
func TestEverythingMasked(t *testing.T) {
	c := Default()
	c.IS, c.MIS.Mode = "mis", mask
	tok := ratioed(3, 1, -1)
	tok.Rollout = []float32{-5, -6, -7}
	tok.Mean = c.MeanWeight([]Tokens{tok})
	s, dlp, _ := tok.policy(c)
	if tok.Mean != 1 || s.Loss != 0 || dlp[0] != 0 || !s.Finite() || s.RejectedTokens != 3 || s.RejectedSamples != 1 {
		t.Errorf("mean %v, loss %v, gradient %v, %d tokens and %d samples rejected, want 1, 0, 0, 3, 1", tok.Mean, s.Loss, dlp[0], s.RejectedTokens, s.RejectedSamples)
	}
}

// Rejection judges where a sample came from, not what it is worth: whatever the advantage and the policy in training, the same weight.
func TestWeightsDependOnOldAndRolloutAlone(t *testing.T) {
	for _, cc := range everyCorrection() {
		batch := drawn(3, 0)
		mean := cc.c.MeanWeight(batch)
		for _, tok := range batch {
			tok.Mean = mean
			was, _, _ := tok.policy(cc.c)
			tok.New, tok.Advantage = make([]float32, len(tok.Old)), 3
			for i := range tok.New {
				tok.New[i] = tok.Old[i] - 0.125
			}
			is, _, _ := tok.policy(cc.c)
			if was.TISUsed != is.TISUsed || was.RejectedTokens != is.RejectedTokens {
				t.Fatalf("%s: weights sum to %v and, after a step, to %v", cc.name, was.TISUsed, is.TISUsed)
			}
		}
	}
}

// Whether samples go through one by one, in halves or in another order: the mean is the batch's, so gradients are the same bits.
func TestNormalisationDoesNotSeeTheSplit(t *testing.T) {
	for _, level := range []string{Token, Sequence, Geometric} {
		c := Default()
		c.IS, c.MIS.Level, c.MIS.Upper = "mis", level, 1.5
		batch := drawn(5, 0)
		mean := c.MeanWeight(batch)
		for k := range batch {
			batch[k].Mean = mean
		}
		_, whole := together(c, batch)
		_, back := together(c, batch[4:])
		_, front := together(c, batch[:4])
		if fmt.Sprint(whole) != fmt.Sprint(append(front, back...)) {
			t.Errorf("%s: gradients depend on the split", level)
		}
		if part := c.MeanWeight(batch[:4]); part == mean {
			t.Errorf("%s: mean of a part is %v, as that of the whole: the test shows nothing", level, part)
		}
		backwards := make([]Tokens, len(batch))
		for k := range batch {
			backwards[len(batch)-1-k] = batch[k]
		}
		if other := c.MeanWeight(backwards); math.Abs(other-mean) > 1e-14*mean {
			t.Errorf("%s: mean is %v, in the other order %v", level, mean, other)
		}
	}
}
