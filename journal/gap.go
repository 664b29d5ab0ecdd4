package journal

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/rl"
)

// What a gap has to do to be an alarm. docs/alarms.md says what the constants do on noise and on planted faults; the tests show it.
const (
	// A drift is a slope so many standard errors above zero: a chance of 1e-8 a look where the noise is normal and the window 50 cycles. Thousands of
	// cycles are looked at, through several windows each, and noise has longer tails.
	driftErrors = 7
	// One that was raised stays until no window shows this much.
	driftCalm = 3
	// The rise over the window matters from half of where it began: less comes and goes as the policy learns.
	driftShare = 0.5
	// So many cycles are kept.
	longest = 400

	// A jump is so many spreads above the level, and at least twice the level. The mean alone would not do: a few tokens of 10 nats, which come where
	// a router's choice flips, move it as far. So the 99th percentile must show it too.
	jumpMean, jumpTail = 8, 5
	levelCycles        = 20
	levelLeast         = 10
)

// windows are the cycles over which a drift is looked for: short ones find a steep one soon, long ones find a slow one at all. The first is longer than
// the time in which a young policy's gap finds its level.
var windows = []int{50, 100, 200, longest}

// A figure is a series that is watched.
type figure struct {
	name, words string
	floor       float64 // nats; a rise below it moves no importance ratio by as much as anybody would notice
	of          []float64
}

// A gapWatch follows the gap from cycle to cycle. It reads no clock: the same cycles, the same findings.
type gapWatch struct {
	mean, tail figure
	calm       [2][]float64 // mean and tail of the cycles that the level is made of
	jumped     int          // cycles in a row above the level
	drifting   bool
}

func newGapWatch() *gapWatch {
	return &gapWatch{
		mean: figure{name: "train/logp_diff/mean", words: "mean gap", floor: 5e-4},
		tail: figure{name: "train/logp_diff/p99", words: "99th percentile of the gap", floor: 5e-3},
	}
}

// see takes in a cycle and returns what it says of a drift and of a jump, in words, "" for nothing. A cycle without a finite gap is passed over.
func (g *gapWatch) see(s rl.Stats) (drift, jump string) {
	mean, known := s[g.mean.name]
	tail := s[g.tail.name]
	if !known || !finite(mean) || !finite(tail) {
		return "", ""
	}
	g.mean.add(mean)
	g.tail.add(tail)
	return g.drift(), g.jump(mean, tail)
}

func finite(v float64) bool { return v-v == 0 }

func (f *figure) add(v float64) {
	f.of = append(f.of, v)
	if n := len(f.of) - longest; n > 0 {
		f.of = slices.Delete(f.of, 0, n)
	}
}

// drift looks for a rise of either figure over each window.
func (g *gapWatch) drift() string {
	sure := float64(driftErrors)
	if g.drifting {
		sure = driftCalm
	}
	var found []string
	for _, f := range []*figure{&g.mean, &g.tail} {
		if text := f.drift(sure); text != "" {
			found = append(found, text)
		}
	}
	g.drifting = len(found) > 0
	return strings.Join(found, "; ")
}

// drift reports the shortest window over which f rises.
func (f *figure) drift(sure float64) string {
	for _, w := range windows {
		if w > len(f.of) {
			break
		}
		l := fit(f.of[len(f.of)-w:])
		if l.surely(sure) && l.rise() >= max(f.floor, driftShare*math.Abs(l.start)) {
			return fmt.Sprintf("the %s rises: from %.3g to %.3g nats over the last %d cycles, %.2g a cycle with a standard error of %.2g", f.words, max(0, l.start), l.start+l.rise(), w, l.slope, l.se)
		}
	}
	return ""
}

// jump holds a cycle against the level. Cycles that jump don't count into it, until so many have come in a row that they are the level.
func (g *gapWatch) jump(mean, tail float64) (text string) {
	if len(g.calm[0]) >= levelLeast {
		m, t := levelOf(g.calm[0]), levelOf(g.calm[1])
		if m.jumps(mean, jumpMean, g.mean.floor) && t.jumps(tail, jumpTail, g.tail.floor) {
			text = fmt.Sprintf("the gap has jumped: its mean is %.3g nats and was %.3g (median of %d cycles), %.0f times its usual spread above; its 99th percentile is %.3g and was %.3g",
				mean, m.median, len(g.calm[0]), m.above(mean), tail, t.median)
		}
	}
	if text == "" {
		g.settle(mean, tail)
		return ""
	}
	if g.jumped++; g.jumped >= levelCycles {
		w := len(g.mean.of) - levelCycles
		g.calm = [2][]float64{slices.Clone(g.mean.of[w:]), slices.Clone(g.tail.of[w:])}
		g.jumped = 0
	}
	return text
}

// jumps reports whether v is so many spreads above l, at least twice l, and off by twice what is noticed at all.
func (l level) jumps(v, spreads, floor float64) bool {
	return l.above(v) > spreads && v-l.median >= max(2*floor, l.median)
}

// settle counts a cycle into the level.
func (g *gapWatch) settle(mean, tail float64) {
	g.jumped = 0
	for i, v := range []float64{mean, tail} {
		g.calm[i] = append(g.calm[i], v)
		if n := len(g.calm[i]) - levelCycles; n > 0 {
			g.calm[i] = slices.Delete(g.calm[i], 0, n)
		}
	}
}
