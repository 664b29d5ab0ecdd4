package eval

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Range holds 95 % of what the same problems would have given with other draws: the noise of decoding alone.
//
// Each problem's answers are drawn again with replacement. Three corrections make it an honest range at small n. Drawn answers repeat, so
// the mean of what they give is taken off each problem. The spread of n answers underestimates that of the policy by the factor
// sqrt((n-1)/n), which is divided out. And n answers of a problem that are all wrong, or all right, are not the proof that others would be:
// for pass@k the share of right answers is drawn towards that of the set, with the weight of one answer. A problem of one sample says nothing
// of its spread; with one among them there is no range. Where the answers of every problem agree, as at temperature 0, it has no width.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// decodings is how often answers are drawn again for a range. Its ends are off by a twentieth of its width or less.
const decodings = 2_000

// A lottery is what one problem may give: values with the chance of each or a smaller one, the last of which is 1.
type lottery struct {
	values, upTo []float64
	even         bool // all have the same chance
}

// passLotteries returns what pass@k of each problem becomes when its answers are drawn again.
func passLotteries(problems []Problem, k int) []lottery {
	share, agree := 0.0, true
	for _, p := range problems {
		share += float64(p.C) / float64(p.N) / float64(len(problems))
		agree = agree && (p.C == 0 || p.C == p.N)
	}
	out := make([]lottery, len(problems))
	for i, p := range problems {
		chance := (float64(p.C) + share) / float64(p.N+1)
		if agree {
			chance = float64(p.C) / float64(p.N)
		}
		out[i] = passLottery(p, k, chance)
	}
	return out
}

// passLottery returns what pass@k of a problem becomes when each of its answers is right with a chance.
func passLottery(p Problem, k int, right float64) lottery {
	var l lottery
	sum := 0.0
	for c := range p.N + 1 {
		chance := binomial(p.N, c, right)
		if chance == 0 {
			continue
		}
		v, err := PassAtK(p.N, c, k)
		if err != nil {
			panic(err) // the caller has computed the same of p
		}
		sum += chance
		l.values, l.upTo = append(l.values, v), append(l.upTo, sum)
	}
	l.upTo[len(l.upTo)-1] = 1
	return l
}

// binomial returns the chance of c right among n where each is with chance p.
func binomial(n, c int, p float64) float64 {
	switch p {
	case 0:
		return float64(b2i(c == 0))
	case 1:
		return float64(b2i(c == n))
	}
	return math.Exp(logChoose(n, c) + float64(c)*math.Log(p) + float64(n-c)*math.Log1p(-p))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// logChoose returns the logarithm of C(n, c).
func logChoose(n, c int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(c) - lg(n-c)
}

// redraws is how often the votes of a problem are drawn again: majorities have no table of chances as counts of right answers have.
const redraws = 200

// majLotteries returns maj@k of each problem, and what it becomes when their answers are drawn again.
func majLotteries(problems []Problem, k int, r *rand.PCG) (values []float64, all []lottery, err error) {
	seen := map[string]float64{}
	for _, p := range problems {
		right, wrong, silent := p.tally()
		v, err := MajAtK(right, wrong, silent, k)
		if err != nil {
			return nil, nil, fmt.Errorf("problem %s: %w", p.ID, err)
		}
		l, err := majLottery(p, k, r, seen)
		if err != nil {
			return nil, nil, fmt.Errorf("problem %s: %w", p.ID, err)
		}
		values, all = append(values, v), append(all, l)
	}
	return values, all, nil
}

// majLottery returns what maj@k of a problem becomes when its answers are drawn again. Majorities of equal votes are looked up in seen.
func majLottery(p Problem, k int, r *rand.PCG, seen map[string]float64) (lottery, error) {
	right, wrong, silent := p.tally()
	l := lottery{even: true}
	for i := range redraws {
		counts := redrawn(append([]int{right, silent}, wrong...), r)
		slices.Sort(counts[2:])
		key := make([]byte, 0, 64)
		for _, c := range append([]int{k}, counts...) {
			key = binary.AppendUvarint(key, uint64(c)) //nolint:gosec // counts are not negative
		}
		v, ok := seen[string(key)]
		if !ok {
			var err error
			if v, err = MajAtK(counts[0], counts[2:], counts[1], k); err != nil {
				return l, err
			}
			seen[string(key)] = v
		}
		l.values, l.upTo = append(l.values, v), append(l.upTo, float64(i+1)/redraws)
	}
	return l, nil
}

// redrawn returns as many draws with replacement as counts has in all, by kind.
func redrawn(counts []int, r *rand.PCG) []int {
	n := 0
	for _, c := range counts {
		n += c
	}
	out := make([]int, len(counts))
	for range n {
		at := int(uniform(r) * float64(n))
		kind := 0
		for at >= counts[kind] {
			at -= counts[kind]
			kind++
		}
		out[kind]++
	}
	return out
}

// mean returns the lottery's expectation.
func (l lottery) mean() float64 {
	sum, before := 0.0, 0.0
	for i, v := range l.values {
		sum += v * (l.upTo[i] - before)
		before = l.upTo[i]
	}
	return sum
}

// draw returns one value.
func (l lottery) draw(r *rand.PCG) float64 {
	u := uniform(r)
	if l.even {
		return l.values[int(u*float64(len(l.values)))]
	}
	for i, most := range l.upTo {
		if u < most {
			return l.values[i]
		}
	}
	return l.values[len(l.values)-1]
}

// uniform returns a number from 0 up to, not including, 1.
func uniform(r *rand.PCG) float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// noise returns the range around value that so many draws of the problems' lotteries give, nil where a problem has one sample only.
func noise(problems []Problem, lotteries []lottery, value float64, times int, r *rand.PCG) *Range {
	type stake struct {
		lottery
		mean, stretch float64
	}
	var stakes []stake
	for i, l := range lotteries {
		if problems[i].N < 2 {
			return nil
		}
		if len(l.values) > 1 { // the others never change
			n := float64(problems[i].N)
			stakes = append(stakes, stake{l, l.mean(), math.Sqrt(n / (n - 1))})
		}
	}
	all := make([]float64, times)
	for i := range all {
		sum := 0.0
		for _, s := range stakes {
			sum += s.stretch * (s.draw(r) - s.mean)
		}
		all[i] = value + sum/float64(len(problems))
	}
	slices.Sort(all)
	low, high := tails(all)
	return &Range{max(0, min(low, value)), min(1, max(high, value))}
}
