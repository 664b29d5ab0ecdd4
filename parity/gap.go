package parity

import (
	"math"
	"slices"
)

// A pair is a token's logprobs under both sides.
type pair struct{ a, b float32 }

// finite reports whether both are numbers.
func (p pair) finite() bool { return number(p.a) && number(p.b) }

func number(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// gap returns a - b in float64, which float32 numbers subtract in without rounding that matters.
func (p pair) gap() float64 { return float64(p.a) - float64(p.b) }

// same reports whether both are the same number to the bit.
func (p pair) same() bool { return p.finite() && math.Float32bits(p.a) == math.Float32bits(p.b) }

// gapOf sums pairs up. Of no finite pair there are no figures: they are NaN.
func gapOf(pairs []pair) Gap {
	g := Gap{Tokens: len(pairs)}
	var sizes []float64
	sum, signed, exact, half, two := 0.0, 0.0, 0, 0, 0
	for _, p := range pairs {
		if !p.finite() {
			g.NonFinite++
			continue
		}
		d := p.gap()
		size := math.Abs(d)
		sizes = append(sizes, size)
		sum, signed = sum+size, signed+d
		exact += count(p.same())
		half += count(size > 0.5)
		two += count(size > 2)
	}
	slices.Sort(sizes)
	n := float64(len(sizes))
	g.Mean, g.Signed, g.Exact = Figure(sum/n), Figure(signed/n), Figure(float64(exact)/float64(len(pairs)))
	g.Over05, g.Over2 = Figure(float64(half)/n), Figure(float64(two)/n)
	g.P50, g.P95, g.P99, g.P999, g.Max = quantile(sizes, .5), quantile(sizes, .95), quantile(sizes, .99), quantile(sizes, .999), quantile(sizes, 1)
	return g
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// quantile returns the smallest of sorted values that at least a share q of them does not exceed.
func quantile(sorted []float64, q float64) Figure {
	n := len(sorted)
	if n == 0 {
		return Figure(math.NaN())
	}
	// The product may lie a rounding above a whole number, which would skip a value.
	rank := int(math.Ceil(q*float64(n) - 1e-9))
	return Figure(sorted[min(n, max(1, rank))-1])
}

// divergences returns the estimates k1 and k3 of KL(A||B), and the ratio of probabilities, over the finite pairs.
func divergences(pairs []pair) (k1, k3 Figure, r Ratio) {
	n, one, three, mean := 0.0, 0.0, 0.0, 0.0
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range pairs {
		if !p.finite() {
			continue
		}
		d := p.gap()
		ratio := math.Exp(-d)
		n++
		one += d
		three += math.Expm1(-d) + d
		mean += ratio
		least, most = min(least, ratio), max(most, ratio)
	}
	if n == 0 {
		nan := Figure(math.NaN())
		return nan, nan, Ratio{nan, nan, nan}
	}
	return Figure(one / n), Figure(three / n), Ratio{Figure(mean / n), Figure(least), Figure(most)}
}

// correlation returns Pearson's correlation of the probabilities, NaN where a side's do not vary.
func correlation(pairs []pair) Figure {
	n, ma, mb := 0.0, 0.0, 0.0
	for _, p := range pairs {
		if p.finite() {
			n++
			ma += math.Exp(float64(p.a))
			mb += math.Exp(float64(p.b))
		}
	}
	ma, mb = ma/n, mb/n
	aa, bb, ab := 0.0, 0.0, 0.0
	for _, p := range pairs {
		if p.finite() {
			x, y := math.Exp(float64(p.a))-ma, math.Exp(float64(p.b))-mb
			aa, bb, ab = aa+x*x, bb+y*y, ab+x*y
		}
	}
	if !(aa > 0 && bb > 0) {
		return Figure(math.NaN())
	}
	return Figure(ab / math.Sqrt(aa*bb))
}
