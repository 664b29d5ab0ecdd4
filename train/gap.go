package train

import (
	"math"
	"slices"

	"furlong/rl"
	"furlong/train/loss"
)

// The gap of a token is its logprob by the trainer minus that by the rollout engine. Logprobs that are not finite have none: they are counted, and never
// average away. All of this is linear in the tokens, so that it costs next to nothing beside a pass over them.

// diagnose writes how the trainer's logprobs differ from the rollout engine's, over the tokens that train.
func diagnose(stats rl.Stats, samples []*rl.Sample) {
	var g gaps
	for _, s := range samples {
		g.sample(s)
	}
	if g.tokens == 0 {
		return
	}
	g.nonFinite(stats)
	meanLogProbs(stats, samples, g.tokens)
	if len(g.far) == 0 {
		return
	}
	spread(stats, g.far)
	stats["train/logp_diff/signed"] = g.signed / float64(len(g.far))
	stats["train/logp_diff/frac_exact"] = float64(g.exact) / float64(g.tokens)
	means(stats, "train/logp_diff/by_position/", positions[:], g.byPosition[:])
	means(stats, "train/logp_diff/by_prob/", probabilities[:], g.byProb[:])
}

// gaps gathers the gaps of a batch.
type gaps struct {
	tokens, exact               int
	far                         []float64 // |gap| of each token that has one
	signed                      float64
	rollout, trainer, reference int // logprobs that are not finite
	byPosition                  [len(positions)]bucket
	byProb                      [len(probabilities)]bucket
}

func (g *gaps) sample(s *rl.Sample) {
	for _, lp := range unmasked(s, s.RefLogProbs) {
		g.reference += one(!isNumber(lp))
	}
	g.far = slices.Grow(g.far, len(s.LogProbs))
	for i, roll := range s.LogProbs {
		if !trains(s, i) {
			continue
		}
		train := s.TrainLogProbs[i]
		g.tokens++
		g.exact += one(math.Float32bits(train) == math.Float32bits(roll))
		g.rollout += one(!isNumber(roll))
		g.trainer += one(!isNumber(train))
		if !isNumber(roll) || !isNumber(train) {
			continue
		}
		d := float64(train) - float64(roll)
		g.signed += d
		d = math.Abs(d)
		g.far = append(g.far, d)
		g.byPosition[positionBin(i)].add(d)
		g.byProb[probabilityBin(roll)].add(d)
	}
}

func isNumber(v float32) bool { return v-v == 0 }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *gaps) nonFinite(stats rl.Stats) {
	for name, n := range map[string]int{"rollout": g.rollout, "trainer": g.trainer, "reference": g.reference} {
		stats["train/nonfinite_tokens/"+name] = float64(n)
	}
}

// spread writes mean, quantiles and tails of absolute differences, whose order it changes.
func spread(stats rl.Stats, diffs []float64) {
	n := float64(len(diffs))
	sum, half, two := 0.0, 0, 0
	for _, d := range diffs {
		sum += d
		half += one(d > 0.5)
		two += one(d > 2)
	}
	q := quantiles(diffs, .5, .95, .99, .999, 1)
	for name, v := range map[string]float64{
		"mean": sum / n, "p50": q[0], "p95": q[1], "p99": q[2], "p999": q[3], "max": q[4], "frac_gt_0.5": float64(half) / n, "frac_gt_2": float64(two) / n,
	} {
		stats["train/logp_diff/"+name] = v
	}
}

// ratios writes the importance ratios of trainer to rollout engine, raw, and as the loss used them after the correction. All tokens count alike.
func ratios(stats rl.Stats, c loss.Config, batch []loss.Tokens) {
	var raw, used []float64
	mean := c.MeanWeight(batch)
	for _, t := range batch {
		t.Mean = mean
		used = c.Used(used, t)
		for i, roll := range t.Rollout {
			raw = append(raw, math.Exp(float64(t.Old[i])-float64(roll)))
		}
	}
	for name, of := range map[string][]float64{"raw": raw, "used": used} {
		if len(of) == 0 {
			continue
		}
		sum, least := 0.0, math.Inf(1)
		for _, r := range of {
			sum += r
			least = min(least, r)
		}
		q := quantiles(of, .99, 1)
		prefix := "train/ratio/" + name + "_"
		stats[prefix+"mean"], stats[prefix+"min"], stats[prefix+"p99"], stats[prefix+"max"] = sum/float64(len(of)), least, q[0], q[1]
	}
}

func meanLogProbs(stats rl.Stats, samples []*rl.Sample, tokens int) {
	var train, roll, ent float64
	for _, s := range samples {
		for i := range s.LogProbs {
			if !trains(s, i) {
				continue
			}
			train += float64(s.TrainLogProbs[i])
			roll += float64(s.LogProbs[i])
			ent += float64(s.Entropy[i])
		}
	}
	n := float64(tokens)
	stats["rollout/log_probs"], stats["rollout/rollout_log_probs"], stats["rollout/entropy"] = train/n, roll/n, ent/n
}

// A bucket is a mean in the making.
type bucket struct {
	sum float64
	n   int
}

func (b *bucket) add(v float64) { b.sum, b.n = b.sum+v, b.n+1 }

// means writes the means of buckets that hold something.
func means(stats rl.Stats, prefix string, names []string, all []bucket) {
	for i, b := range all {
		if b.n > 0 {
			stats[prefix+names[i]] = b.sum / float64(b.n)
		}
	}
}

// positions are the bins of places in a response, by powers of four: the first place of each.
var positions = [...]string{"0", "1", "4", "16", "64", "256", "1024", "4096", "16384"}

func positionBin(i int) int {
	bin := 0
	for lo := 1; i >= lo && bin < len(positions)-1; lo *= 4 {
		bin++
	}
	return bin
}

// probabilities are the bins of a token's probability under the rollout engine: differences live where it is small.
var probabilities = [...]string{"lt_0.01", "lt_0.1", "lt_0.5", "lt_0.9", "ge_0.9"}

// steps are the logarithms of the bins' borders.
var steps = [...]float64{math.Log(0.01), math.Log(0.1), math.Log(0.5), math.Log(0.9)}

func probabilityBin(lp float32) int {
	for bin, border := range steps {
		if float64(lp) < border {
			return bin
		}
	}
	return len(steps)
}

// quantiles returns the values of x below which shares of it lie, for ascending shares, and changes the order of x. It puts in place only what it
// returns: sorting everything would cost more than all the rest of the diagnosis.
func quantiles(x []float64, shares ...float64) []float64 {
	out := make([]float64, len(shares))
	from := 0
	for i, q := range shares {
		at := min(len(x)-1, int(q*float64(len(x))))
		out[i] = nth(x[from:], at-from)
		from = at
	}
	return out
}

// nth returns what would be x[n] if x were sorted, NaN first, and puts what is less before it and what is greater behind it.
func nth(x []float64, n int) float64 {
	for len(x) > 32 {
		lo, hi := partition(x)
		switch {
		case n < lo:
			x = x[:lo]
		case n < hi:
			return x[n]
		default:
			x, n = x[hi:], n-hi
		}
	}
	slices.Sort(x)
	return x[n]
}

// partition puts x in three parts, and returns where the middle one, of values equal to one of x, begins and ends.
func partition(x []float64) (lo, hi int) {
	v := x[len(x)/2]
	if a, b := x[0], x[len(x)-1]; (a < v) != (a < b) { // a is between the others
		v = a
	} else if (b < v) != (b < a) {
		v = b
	}
	hi = len(x)
	for i := 0; i < hi; {
		switch {
		case x[i] < v || x[i] != x[i] && v == v:
			x[i], x[lo] = x[lo], x[i]
			lo, i = lo+1, i+1
		case x[i] > v || v != v && x[i] == x[i]:
			hi--
			x[i], x[hi] = x[hi], x[i]
		default:
			i++
		}
	}
	return lo, hi
}
