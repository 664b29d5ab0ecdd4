package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"furlong/metrics"
	"furlong/metrics/trend"
	"furlong/verdict"
)

// columns are the rows of a run, series by series.
type columns struct {
	cycles []metrics.Row // of cycles, by cycle
	evals  []metrics.Row
}

func newColumns(rows []metrics.Row) (c columns) {
	for _, r := range rows {
		if r.Kind == metrics.Cycle {
			c.cycles = append(c.cycles, r)
		} else {
			c.evals = append(c.evals, r)
		}
	}
	return c
}

// span returns the first and the last cycle that has a row of either kind.
func (c columns) span() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, rows := range [][]metrics.Row{c.cycles, c.evals} {
		if n := len(rows); n > 0 {
			first, last = min(first, float64(rows[0].Cycle)), max(last, float64(rows[n-1].Cycle))
		}
	}
	if first > last {
		return 0, 1
	}
	return first, last
}

// A column is one series over the cycles, with NaN where a line must break: a row without it, one that is not finite, and cycles without rows.
type column struct {
	X, Y []float64
	Odd  []float64 // cycles in which it is not finite
	N    int       // cycles in which it is finite
}

// of returns a series of the cycles.
func (c columns) of(name string) (col column) {
	for i, r := range c.cycles {
		x := float64(r.Cycle)
		if i > 0 && r.Cycle > c.cycles[i-1].Cycle+1 {
			col.X, col.Y = append(col.X, x-1), append(col.Y, math.NaN())
		}
		v, ok := r.Values[name]
		switch {
		case !ok:
			v = math.NaN()
		case !trend.Finite(v):
			col.Odd = append(col.Odd, x)
			v = math.NaN()
		default:
			col.N++
		}
		col.X, col.Y = append(col.X, x), append(col.Y, v)
	}
	return col
}

// points returns the finite values alone.
func (col column) points() (x, y []float64) {
	for i, v := range col.Y {
		if trend.Finite(v) {
			x, y = append(x, col.X[i]), append(y, v)
		}
	}
	return x, y
}

// last returns the newest finite value.
func (col column) last() (float64, bool) {
	_, y := col.points()
	if len(y) == 0 {
		return 0, false
	}
	return y[len(y)-1], true
}

// eval returns a figure of a held-out set, in the evaluations that have it.
func (c columns) eval(set, figure string) (col column) {
	name := "eval/" + set + "-" + figure
	for _, r := range c.evals {
		if v, ok := r.Values[name]; ok {
			col.X, col.Y = append(col.X, float64(r.Cycle)), append(col.Y, v)
			if trend.Finite(v) {
				col.N++
			}
		}
	}
	return col
}

// sets returns the names of the held-out sets, by name.
func (c columns) sets() []string {
	found := map[string]bool{}
	for _, r := range c.evals {
		for name := range r.Values {
			if set, ok := strings.CutSuffix(strings.TrimPrefix(name, "eval/"), "-pass@1"); ok {
				found[set] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ks returns for which k pass@k of a set is known.
func (c columns) ks(set string) (ks []int) {
	for _, r := range c.evals {
		for name := range r.Values {
			if k, ok := strings.CutPrefix(name, "eval/"+set+"-pass@"); ok {
				if n, err := strconv.Atoi(k); err == nil && n > 0 {
					ks = append(ks, n)
				}
			}
		}
	}
	slices.Sort(ks)
	return slices.Compact(ks)
}

// lost returns the stretches of cycles that have no row between rows.
func (c columns) lost() (spans [][2]float64) {
	for i := 1; i < len(c.cycles); i++ {
		if a, b := c.cycles[i-1].Cycle, c.cycles[i].Cycle; b > a+1 {
			spans = append(spans, [2]float64{float64(a) + 0.5, float64(b) - 0.5})
		}
	}
	return spans
}

// sum adds up the finite values of a series of the cycles.
func (c columns) sum(name string) float64 {
	total := 0.0
	for _, r := range c.cycles {
		if v := r.Values[name]; trend.Finite(v) {
			total += v
		}
	}
	return total
}

// setting returns a setting as text, "" where there is none.
func (r *Run) setting(name string) string {
	s, ok := r.Settings[name]
	if !ok || s.Value == nil {
		return ""
	}
	if f, ok := s.Value.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(s.Value)
}

// number returns a setting as a number.
func (r *Run) number(name string) (float64, bool) {
	v, err := strconv.ParseFloat(r.setting(name), 64)
	return v, err == nil
}

// part is one part of the trainer's clock.
type part struct{ series, name string }

// parts returns the parts of the clock in the order in which a cycle goes through them.
func (r *Run) parts() []part {
	rollout := "waiting for rollout"
	if r.setting("loop") == "sync" || r.setting("loop") == "" {
		rollout = "rollout" // the trainer has nothing to do meanwhile
	}
	return []part{
		{"perf/rollout_wait_time", rollout},
		{"perf/reward_wait_time", "reward"},
		{"perf/train_time", "train"},
		{"perf/update_weights_time", "update"},
		{"perf/eval_time", "eval"},
		{"perf/save_model_time", "save"},
		{"perf/other_time", "other"},
	}
}

// newest returns the newest row of a cycle that has a series.
func (c columns) newest(prefix string) (metrics.Row, bool) {
	for _, r := range slices.Backward(c.cycles) {
		for name := range r.Values {
			if strings.HasPrefix(name, prefix) {
				return r, true
			}
		}
	}
	return metrics.Row{}, false
}

// reward prints a number of the page's tables, what is missing as a dash.
func reward(v float64, ok bool) string {
	if !ok || math.IsNaN(v) {
		return verdict.Missing
	}
	return verdict.Table(v)
}
