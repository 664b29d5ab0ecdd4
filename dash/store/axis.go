package store

import (
	"math"
	"slices"

	"furlong/metrics/run"
)

// tokensKey counts the tokens trained on.
const tokensKey = "train/tokens_total"

// axis returns where points lie on an axis. NaN is nowhere.
func (t *table) axis(name string, began float64) (func(p point) float64, error) {
	switch name {
	case "", "cycle":
		return func(p point) float64 { return float64(p.cycle) }, nil
	case "step":
		return func(p point) float64 { return t.live(p).step }, nil
	case "time":
		return func(p point) float64 { return t.live(p).time - began }, nil
	case "tokens":
		return t.tokens()
	}
	return nil, asked(Wrong, "x is %q, want cycle, step, time or tokens", name)
}

// tokens lays points along the tokens trained so far. Evaluations without a row of their cycle lie where the cycle before does.
func (t *table) tokens() (func(p point) float64, error) {
	if err := t.warm([]string{tokensKey}); err != nil {
		return nil, err
	}
	c := t.column(tokensKey)
	if c == nil {
		return nil, asked(Missing, "rows have no %s, so there is no axis of tokens", tokensKey).in(run.RowsFile)
	}
	return func(p point) float64 {
		if v := c.value(p); !isAbsent(v) {
			return v
		}
		i, _ := slices.BinarySearchFunc(t.points, p.cycle, func(q point, c int32) int { return int(q.cycle) - int(c) })
		for i--; i >= 0; i-- {
			if v := c.value(t.points[i]); !isAbsent(v) {
				return v
			}
		}
		if p.cycle == 0 {
			return 0
		}
		return math.NaN()
	}, nil
}

// begin returns when the first attempt began, as far as rows tell: the time of the first less what its cycle took.
func (t *table) begin() float64 {
	first := math.Inf(1)
	if t.warm([]string{stepTime}) != nil {
		return 0
	}
	c := t.column(stepTime)
	for i, l := range t.lines {
		if l.attempt != t.lines[0].attempt {
			break
		}
		took := 0.0
		if c != nil {
			if v := c.at(int32(i)); v > 0 {
				took = v
			}
		}
		first = min(first, l.time-took)
	}
	if math.IsInf(first, 0) {
		return 0
	}
	return first
}
