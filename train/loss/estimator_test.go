package loss

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// with returns the defaults under an estimator, whitened where it must be.
func with(estimator string) Config {
	c := Default()
	c.Estimator = estimator
	c.Est.Whiten = estimator == Reinforce || estimator == Baseline
	return c
}

// group returns samples of one prompt with the given rewards, of n tokens each.
func group(n int, rewards ...float64) (out []Graded) {
	for _, r := range rewards {
		out = append(out, Graded{Reward: r, Tokens: n, Values: make([]float32, n)})
	}
	return out
}

func TestEstimateByHand(t *testing.T) {
	kl := with(RLOO)
	kl.Est.RewardKL, kl.KLType = 0.5, "k1"
	discount := with(Reinforce)
	discount.Est.Whiten, discount.Est.Gamma = false, 0.5
	gae := with(PPO)
	gae.Est.Gamma, gae.Est.Lambda = 1, 0.5
	for _, tt := range []struct {
		name  string
		c     Config
		batch []Graded
		want  [][]float64 // of tokens
	}{
		{"grpo", with(GRPO), group(1, 1, 0, 0, 0), [][]float64{{1.5}, {-.5}, {-.5}, {-.5}}},
		{"gspo", with(GSPO), group(1, 1, 0, 0, 0), [][]float64{{1.5}, {-.5}, {-.5}, {-.5}}},
		{"cispo", with(CISPO), group(1, 1, 0, 0, 0), [][]float64{{1.5}, {-.5}, {-.5}, {-.5}}},
		{"rloo", with(RLOO), group(2, 1, 0, 0, 0), [][]float64{{1, 1}, {-1. / 3, -1. / 3}, {-1. / 3, -1. / 3}, {-1. / 3, -1. / 3}}},
		{"rloo of two", with(RLOO), group(1, 3, 1), [][]float64{{2}, {-2}}},
		// KL of the first response 0.5 + 0.25: its reward is 1 - 0.375
		{"rloo with KL", kl, []Graded{{Reward: 1, Tokens: 2, Old: []float32{-1, -1}, Ref: []float32{-1.5, -1.25}}, {Tokens: 1, Old: []float32{-1}, Ref: []float32{-1}}}, [][]float64{{.625, .625}, {-.625}}},
		{"discounted", discount, group(3, 4), [][]float64{{1, 2, 4}}},
		// mean of (1, -1/3, ...) over tokens 0; of four tokens ±1 variance 4/3
		{"whitened baseline", with(Baseline), group(2, 1, 0), [][]float64{{math.Sqrt(.75), math.Sqrt(.75)}, {-math.Sqrt(.75), -math.Sqrt(.75)}}},
		// δ: 0+0.25-0.5 = -0.25 at the first, 1-0.25 = 0.75 at the last; A: -0.25+0.5*0.75 = 0.125
		{"ppo", gae, []Graded{{Reward: 1, Tokens: 2, Values: []float32{.5, .25}}}, [][]float64{{.125, .75}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.c.Estimate(tt.batch)
			for i, want := range tt.want {
				all := got[i].Tokens
				if all == nil {
					all = slices.Repeat([]float64{got[i].Mean}, tt.batch[i].Tokens)
				}
				if !slices.EqualFunc(all, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-5 }) {
					t.Errorf("sample %d has advantages %v, want %v", i, all, want)
				}
			}
		})
	}
	if r := gae.Estimate([]Graded{{Reward: 1, Tokens: 2, Values: []float32{.5, .25}}})[0].Returns; !slices.Equal(r, []float64{.625, 1}) {
		t.Errorf("returns are %v, want 0.625 and 1: advantage plus value", r)
	}
}

// Where there is nothing to tell apart there is no direction: advantages are 0, not the rounding of a mean.
func TestNothingToTellApart(t *testing.T) {
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO, Baseline} {
		for _, r := range []float64{0, 0.1, 1. / 3, -7, 1e300} {
			for n := 1; n < 8; n++ {
				for i, a := range with(estimator).Estimate(group(3, slices.Repeat([]float64{r}, n)...)) {
					if a.Mean != 0 || slices.ContainsFunc(a.Tokens, func(v float64) bool { return v != 0 }) {
						t.Fatalf("%s: sample %d of %d with reward %v has advantages %v %v, want 0", estimator, i, n, r, a.Mean, a.Tokens)
					}
				}
			}
		}
	}
	for _, batch := range [][]Graded{group(1, 5), group(4, .1, .1, .1)} { // one token; tokens all alike
		for _, a := range with(Reinforce).Estimate(batch) {
			if a.Mean != 0 {
				t.Errorf("whitened advantages of equal rewards are %v, want 0", a.Tokens)
			}
		}
	}
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO, Reinforce, Baseline, PPO} {
		if got := with(estimator).Estimate(nil); len(got) != 0 {
			t.Errorf("%s: no samples have %v", estimator, got)
		}
		if got := with(estimator).Estimate(group(0, 1, 0)); len(got) != 2 || len(got[0].Tokens) != 0 {
			t.Errorf("%s: samples without tokens have %v", estimator, got)
		}
	}
}

// A reward that is no number must not pass for one: what its group or, whitened, its batch gets is none either.
func TestNoNumberIsNotHidden(t *testing.T) {
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO, Reinforce, Baseline, PPO} {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			c := with(estimator)
			got := c.Estimate(group(2, 1, bad, 0))
			if finite(got[1].Mean) {
				t.Errorf("%s: reward %v has advantage %v", estimator, bad, got[1].Mean)
			}
			if c.Est.Whiten && finite(got[0].Mean) {
				t.Errorf("%s: beside reward %v an advantage is %v", estimator, bad, got[0].Mean)
			}
		}
	}
}

// random returns groups of samples of random lengths with all that any estimator reads.
func random(seed uint64) (out []Graded) {
	r := rand.New(rand.NewPCG(seed, 1))
	series := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(-3 * r.Float64())
		}
		return x
	}
	for g := range 1 + r.IntN(4) {
		for range 1 + r.IntN(5) {
			n := 1 + r.IntN(9)
			out = append(out, Graded{Group: int64(g), Reward: float64(r.IntN(5)) / 4, Tokens: n, Old: series(n), Ref: series(n), Teacher: series(n), Values: series(n)})
		}
	}
	return out
}

// Every estimator with every extra against a reference written straight from the definitions: sums over all later tokens in place of recursions.
func TestEstimateAgainstAReference(t *testing.T) {
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO, Reinforce, Baseline, PPO} {
		for bits := range 16 {
			c := Default()
			c.Estimator, c.NoStd, c.Est.Distill, c.Est.Whiten = estimator, bits&1 > 0, bits&2 > 0, bits&4 > 0
			c.Est.Gamma, c.Est.Lambda, c.Est.DistillCoef, c.KLType = 0.9, 0.7, 0.5, "k3"
			if bits&8 > 0 && !c.divided() {
				c.Est.RewardKL = 0.25
			}
			for seed := range uint64(20) {
				batch := random(seed)
				got, want := c.Estimate(batch), defined(c, batch)
				for i, a := range got {
					for tok := range batch[i].Tokens {
						v := a.Mean
						if a.Tokens != nil {
							v = a.Tokens[tok]
						}
						if !(math.Abs(v-want[i][tok]) < 1e-9*max(1, math.Abs(v))) {
							t.Fatalf("%s, case %b, seed %d: sample %d, token %d has %v, want %v", estimator, bits, seed, i, tok, v, want[i][tok])
						}
					}
				}
			}
		}
	}
}

// defined returns the advantages of all tokens, by definition.
func defined(c Config, batch []Graded) [][]float64 {
	kl := func(g Graded, t int) float64 {
		ratio := math.Exp(float64(g.Ref[t]) - float64(g.Old[t]))
		return c.Est.RewardKL * (ratio - 1 - math.Log(ratio))
	}
	var all [][]float64
	for i, g := range batch {
		mean, others, square, n, m := 0.0, 0.0, 0.0, 0.0, 0.0
		for k, h := range batch {
			if h.Group != g.Group {
				continue
			}
			r := h.Reward
			for t := range h.Tokens {
				if c.Estimator == RLOO {
					r -= kl(h, t)
				}
			}
			mean, square, n = mean+r, square+r*r, n+1
			if k != i {
				others, m = others+r, m+1
			}
		}
		mean /= n
		std := math.Sqrt(math.Max(0, (square-n*mean*mean)/(n-1)))
		var tokens []float64
		for t := range g.Tokens {
			a := 0.0
			switch c.Estimator {
			case RLOO:
				if m > 0 {
					own := g.Reward
					for u := range g.Tokens {
						own -= kl(g, u)
					}
					a = own - others/m
				}
			case Reinforce:
				for u := t; u < g.Tokens; u++ {
					earned := -kl(g, u)
					if u == g.Tokens-1 {
						earned += g.Reward
					}
					a += math.Pow(c.Est.Gamma, float64(u-t)) * earned
				}
			case Baseline:
				a = g.Reward - mean - kl(g, t)
			case PPO:
				for u := t; u < g.Tokens; u++ {
					after, earned := 0.0, -kl(g, u)
					if u == g.Tokens-1 {
						earned += g.Reward
					} else {
						after = float64(g.Values[u+1])
					}
					a += math.Pow(c.Est.Gamma*c.Est.Lambda, float64(u-t)) * (earned + c.Est.Gamma*after - float64(g.Values[u]))
				}
			default:
				a = g.Reward - mean
				if !c.NoStd && n > 1 && std > 1e-12 {
					a /= std + 1e-6
				}
			}
			if c.Est.Distill {
				a -= c.Est.DistillCoef * (float64(g.Old[t]) - float64(g.Teacher[t]))
			}
			tokens = append(tokens, a)
		}
		all = append(all, tokens)
	}
	if c.Est.Whiten {
		flat := slices.Concat(all...)
		mean, variance := 0.0, 0.0
		for _, v := range flat {
			mean += v / float64(len(flat))
		}
		for _, v := range flat {
			variance += (v - mean) * (v - mean) / float64(len(flat)-1)
		}
		for _, tokens := range all {
			for t := range tokens {
				if slices.Max(flat)-slices.Min(flat) < 1e-12 {
					tokens[t] = 0
					continue
				}
				tokens[t] = (tokens[t] - mean) / math.Sqrt(variance+1e-8)
			}
		}
	}
	return all
}

// Sums of squares would lose all digits here: a batch far from 0 with a small spread.
func TestWhiteningFarFromZero(t *testing.T) {
	c := with(Reinforce)
	got := c.Estimate(group(1, 1e9, 1e9+1, 1e9+2))
	for i, want := range []float64{-1, 0, 1} {
		if math.Abs(got[i].Mean-want) > 1e-6 {
			t.Errorf("sample %d has %v, want %v", i, got[i].Mean, want)
		}
	}
}

// The order of a batch, and what other groups are in it, changes nothing that is not whitened.
func TestGroupsAreApart(t *testing.T) {
	for _, estimator := range []string{GRPO, GSPO, CISPO, RLOO} {
		batch := random(7)
		whole := with(estimator).Estimate(batch)
		for i := range batch {
			var own []Graded
			at := 0
			for k, g := range batch {
				if g.Group == batch[i].Group {
					if k == i {
						at = len(own)
					}
					own = append(own, g)
				}
			}
			if alone := with(estimator).Estimate(own)[at]; fmt.Sprint(alone) != fmt.Sprint(whole[i]) {
				t.Errorf("%s: sample %d has %v in the batch, %v with its group alone", estimator, i, whole[i], alone)
			}
		}
	}
}
