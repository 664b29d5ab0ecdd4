package loss

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
)

// overTokens is the mean of x over all tokens of the batch, weighed as the loss weighs them.
func overTokens(batch []Tokens, x [][]float64) float64 {
	sum, weight := 0.0, 0.0
	for k, t := range batch {
		sum += t.Weight * sumOf(x[k])
		weight += t.Weight * float64(len(x[k]))
	}
	return sum / weight
}

// shareOf is overTokens of 1 where a row's number is so.
func shareOf(batch []Tokens, x [][]float64, is func(float64) bool) float64 {
	marks := make([][]float64, len(x))
	for k := range x {
		marks[k] = each(x[k], func(v float64) float64 {
			if is(v) {
				return 1
			}
			return 0
		})
	}
	return overTokens(batch, marks)
}

func above(b float64) func(float64) bool { return func(v float64) bool { return v > b } }
func below(b float64) func(float64) bool { return func(v float64) bool { return v < b } }

// levelsOf returns the importance of every token of the batch at a level.
func levelsOf(level string, batch []Tokens) (x [][]float64) {
	for _, t := range batch {
		x = append(x, atLevel(level, gaps(t)))
	}
	return x
}

// wantFigures are the definitions in the table of metrics.
func wantFigures(batch []Tokens) map[string]float64 {
	token, product := levelsOf("token", batch), levelsOf("sequence", batch)
	var kl, k3, square [][]float64
	var diffs, abs, ratios, train, roll, expTrain, expRoll, chi []float64
	for k, t := range batch {
		d := gaps(t)
		kl = append(kl, each(d, func(v float64) float64 { return -v }))
		k3 = append(k3, each(d, func(v float64) float64 { return math.Exp(math.Max(-20, math.Min(20, v))) - 1 - v }))
		square = append(square, each(token[k], func(v float64) float64 { return v * v }))
		n, mt, mr := float64(len(d)), 0.0, 0.0
		for i := range d {
			mt -= float64(t.Old[i]) / n
			mr -= float64(t.Rollout[i]) / n
		}
		train, roll, expTrain, expRoll = append(train, mt), append(roll, mr), append(expTrain, math.Exp(mt)), append(expRoll, math.Exp(mr))
		diffs, abs, ratios = append(diffs, mt-mr), append(abs, math.Abs(mt-mr)), append(ratios, math.Exp(mt-mr))
		chi = append(chi, product[k][0]*product[k][0]-1)
	}
	mean := func(x []float64) float64 { return sumOf(x) / float64(len(x)) }
	return map[string]float64{
		"training_log_ppl": mean(train), "training_ppl": mean(expTrain), "rollout_log_ppl": mean(roll), "rollout_ppl": mean(expRoll),
		"log_ppl_diff": mean(diffs), "log_ppl_abs_diff": mean(abs), "ppl_ratio": mean(ratios), "chi2_seq": mean(chi),
		"kl": overTokens(batch, kl), "k3_kl": overTokens(batch, k3), "chi2_token": overTokens(batch, square) - 1,
	}
}

// wantOf are those of the figures of a mis correction.
func wantOf(r recipe, batch []Tokens) map[string]float64 {
	does := r.reckon(batch)
	w := wantFigures(batch)
	w["tis_weight_before_bound"], w["tis_weight_after_bound"] = overTokens(batch, does.before), overTokens(batch, does.after)
	w["is_ratio_mean_after_tis_rs"], w["is_ratio_mean_final"] = overTokens(batch, does.kept), overTokens(batch, does.final)
	w["rejected_fraction"] = shareOf(batch, does.kept, func(v float64) bool { return v == 0 })
	switch r.mode {
	case "truncate":
		w["tis_truncate_fraction"] = shareOf(batch, does.before, above(r.high))
	default:
		w["tis_"+r.mode+"_fraction_low"] = shareOf(batch, does.before, below(r.low))
		w["tis_"+r.mode+"_fraction_high"] = shareOf(batch, does.before, above(r.high))
	}
	if r.rsLevel != "" {
		judge := levelsOf(r.rsLevel, batch)
		w["rs_mask_fraction_low"], w["rs_mask_fraction_high"] = shareOf(batch, judge, below(r.rsLow)), shareOf(batch, judge, above(r.rsHigh))
	}
	if r.rsLevel != "" && r.veto > 0 {
		n := 0.0
		for _, v := range does.vetoed {
			if v {
				n++
			}
		}
		w["rs_catastrophic_seq_fraction"] = n / float64(len(batch))
		w["rs_catastrophic_token_fraction"] = shareOf(batch, levelsOf("token", batch), below(r.veto))
	}
	if r.normalize {
		w["batch_norm_factor"] = does.mean
	}
	left := slices.DeleteFunc(slices.Concat(does.final...), func(v float64) bool { return v == 0 })
	if len(left) > 0 {
		w["is_ratio_min_final"], w["is_ratio_max_final"] = slices.Min(left), slices.Max(left)
	}
	return w
}

// answeredOnly leaves out samples without tokens, over which no mean is.
func answeredOnly(batch []Tokens) []Tokens {
	return slices.DeleteFunc(batch, func(t Tokens) bool { return len(t.Old) == 0 })
}

func checkFigures(t *testing.T, name string, got, want map[string]float64) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Fatalf("%s: figures are %v, want %v", name, g, w)
	}
	for _, n := range slices.Sorted(maps.Keys(want)) {
		// Sums are taken in another order; 1e-10 is what 1 - exp leaves of small numbers.
		if g, w := got[n], want[n]; !(math.Abs(g-w) <= 1e-10*max(1, math.Abs(w))) && g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Errorf("%s: %s is %v, want %v", name, n, g, w)
		}
	}
}

func TestFiguresAreThoseOfTheTable(t *testing.T) {
	for _, cc := range everyCorrection() {
		for seed, odd := range []int{0, 0, 0, 0} {
			batch := answeredOnly(drawn(uint64(100+seed), odd))
			want := wantFigures(batch)
			if cc.c.Method() == "mis" {
				want = wantOf(cc.r, batch)
			}
			checkFigures(t, fmt.Sprintf("%s, batch %d", cc.name, seed), cc.c.Mismatch(batch), want)
		}
	}
}

// Measuring says what the correction would do, whichever is made.
func TestMeasuredIsWhatWouldBeDone(t *testing.T) {
	for _, cc := range everyCorrection() {
		if cc.c.Method() != "mis" {
			continue
		}
		batch := drawn(21, 0)
		want := cc.c.Mismatch(batch)
		for _, method := range []string{"none", "tis"} {
			c := cc.c
			c.IS, c.Measure = method, true
			if got := c.Mismatch(batch); !maps.Equal(got, want) {
				t.Errorf("%s, measured under %s: %v, want %v", cc.name, method, got, want)
			}
			if got := c.MeanWeight(batch); got != 0 {
				t.Errorf("%s, measured under %s: weights are divided by %v", cc.name, method, got)
			}
		}
	}
}

// The mean of what multiplied the loss is one figure, whether the loss or the whole batch says it.
func TestFiguresAndLossAgree(t *testing.T) {
	for _, cc := range everyCorrection() {
		if cc.c.Method() != "mis" {
			continue
		}
		batch := drawn(22, 0)
		figures, mean := cc.c.Mismatch(batch), cc.c.MeanWeight(batch)
		var s Sums
		for _, tok := range batch {
			tok.Mean = mean
			cc.c.Policy(tok, poisoned(len(tok.Old)), poisoned(len(tok.Old)), &s)
		}
		if got, want := figures["is_ratio_mean_final"], s.Mean(s.TISUsed); !near(got, want) {
			t.Errorf("%s: mean is %v, want %v", cc.name, got, want)
		}
	}
}

// What is not finite shows in the figures, and never passes for a rejected token.
func TestFiguresOfWhatIsNotFinite(t *testing.T) {
	c := Default()
	c.IS = "mis"
	tok := ratioed(2, 1, -1)
	tok.Rollout = []float32{-2, float32(math.NaN())}
	got := c.Mismatch([]Tokens{tok})
	for _, name := range []string{"kl", "k3_kl", "chi2_token", "rollout_ppl", "is_ratio_mean_final", "tis_weight_after_bound", "batch_norm_factor"} {
		if !math.IsNaN(got[name]) {
			t.Errorf("%s of a logprob that is NaN is %v, want NaN", name, got[name])
		}
	}
	if _, ok := got["is_ratio_max_final"]; ok || got["rejected_fraction"] != 0 {
		t.Errorf("largest weight is %v and %v rejected, want none and 0", got["is_ratio_max_final"], got["rejected_fraction"])
	}
	tok.Rollout[1] = float32(math.Inf(-1))
	got = c.Mismatch([]Tokens{tok})
	if !math.IsInf(got["kl"], -1) || got["rs_mask_fraction_high"] != .5 || got["rejected_fraction"] != .5 || got["batch_norm_factor"] != 1.5 {
		t.Errorf("an impossible token gives %v, want KL -Inf, half rejected, and a mean weight of (1+2)/2", got)
	}
}

func TestNoFiguresWithoutRollout(t *testing.T) {
	if got := Default().Mismatch([]Tokens{{Old: []float32{-1}, Weight: 1}, {Rollout: []float32{}}}); len(got) != 0 {
		t.Errorf("figures of no comparison: %v", got)
	}
}
