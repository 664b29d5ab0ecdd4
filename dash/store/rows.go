package store

import (
	"math"
	"slices"

	"furlong/dash/api"
	"furlong/metrics/trend"
)

// An Ask says which rows are wanted.
type Ask struct {
	Keys     []string
	X        string   // axis: cycle, step, time, tokens; empty is cycle
	From, To float64  // of the axis; NaN is open
	Pixels   int      // 0 sends every row
	Average  int      // rows of the moving average; 0 none, -1 that of the plan
	Fit      []string // keys to fit
}

// maxKeys is how many series one answer may have.
const maxKeys = 200

// A laid point is a point with its place on the axis.
type laid struct {
	point
	x float64
}

// rows answers a, whose keys may name series that no row has. planned is the plan of the run.
func (t *table) rows(a Ask, planned int) (*api.Rows, error) {
	if len(a.Keys) > maxKeys {
		return nil, asked(Wrong, "%d keys asked for, want at most %d", len(a.Keys), maxKeys)
	}
	if err := t.warm(append(slices.Clone(a.Keys), stepTime)); err != nil {
		return nil, err
	}
	began := 0.0
	if a.X == "time" {
		began = t.begin()
	}
	where, err := t.axis(a.X, began)
	if err != nil {
		return nil, err
	}
	s := &selection{t: t, ask: a, all: t.lay(where)}
	s.cut()
	out := &api.Rows{
		Cols: map[string][]api.Number{}, Avg: map[string][]api.Number{}, Fit: map[string]api.Fit{}, Odd: map[string]int{},
		Gaps: [][2]int{}, Lost: [][2]int{}, Window: a.Average, Total: s.to - s.from,
	}
	if a.Average < 0 {
		out.Window = trend.Window(planned)
	}
	return out, s.fill(out)
}

// lay puts the points that have a place on the axis in its order. Only a run that went back in time has another order than that of its cycles.
func (t *table) lay(where func(point) float64) []laid {
	all := make([]laid, 0, len(t.points))
	for _, p := range t.points {
		if x := where(p); trend.Finite(x) {
			all = append(all, laid{p, x})
		}
	}
	slices.SortStableFunc(all, func(a, b laid) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	return all
}

// A selection is the rows that an answer is about.
type selection struct {
	t        *table
	ask      Ask
	all      []laid
	from, to int // of the range, within all
}

// cut finds the range asked for.
func (s *selection) cut() {
	s.to = len(s.all)
	for s.from < s.to && s.all[s.from].x < s.ask.From { // false for NaN
		s.from++
	}
	for s.to > s.from && s.all[s.to-1].x > s.ask.To {
		s.to--
	}
}

func (s *selection) fill(out *api.Rows) error {
	var cols []*column
	for _, k := range s.ask.Keys {
		if c := s.t.column(k); c != nil {
			cols = append(cols, c)
		}
	}
	keep := s.thin(cols)
	out.Kept = len(keep)
	points := make([]point, len(keep))
	out.X, out.Cycle, out.Attempt = make([]api.Number, len(keep)), make([]int, len(keep)), make([]int, len(keep))
	for i, at := range keep {
		p := s.all[at]
		points[i] = p.point
		out.X[i], out.Cycle[i], out.Attempt[i] = api.Float(p.x), int(p.cycle), int(s.t.live(p.point).attempt)
	}
	again, err := s.t.foreign(points, s.ask.Keys)
	if err != nil {
		return err
	}
	for _, k := range s.ask.Keys {
		numbers := make([]api.Number, len(points))
		if c := s.t.column(k); c != nil {
			for i, p := range points {
				numbers[i] = s.t.number(c, p, again)
			}
			s.about(out, c, keep)
		}
		out.Cols[k] = numbers
	}
	s.gaps(out)
	if len(s.all) > 0 {
		out.From, out.To = api.Float(s.all[0].x), api.Float(s.all[len(s.all)-1].x)
	}
	return nil
}

// thin returns which of all rows are sent, in order: those that a plot so wide needs for any of the series.
func (s *selection) thin(cols []*column) []int {
	if n := s.to - s.from; s.ask.Pixels <= 0 || n <= 4*s.ask.Pixels {
		from, to := s.from, s.to
		if s.ask.Pixels > 0 { // lines go on to the edge of the plot
			from, to = max(from-1, 0), min(to+1, len(s.all))
		}
		keep := make([]int, 0, to-from)
		for i := from; i < to; i++ {
			keep = append(keep, i)
		}
		return keep
	}
	lo, hi := s.ask.From, s.ask.To
	if math.IsNaN(lo) {
		lo = s.all[0].x
	}
	if math.IsNaN(hi) {
		hi = s.all[len(s.all)-1].x
	}
	need := make([]bool, len(s.all))
	for _, c := range cols {
		at, x, y := s.drawn(c)
		for _, i := range trend.Thin(x, y, lo, hi, s.ask.Pixels) {
			if at[i] >= 0 {
				need[at[i]] = true
			}
		}
	}
	var keep []int
	for i, n := range need {
		if n {
			keep = append(keep, i)
		}
	}
	return keep
}

// series returns the values of a column at all rows, NaN where there is none, or at those that have one only, with their places.
func (s *selection) series(c *column, present bool) (at []int, x, y []float64) {
	for i, p := range s.all {
		v := c.value(p.point)
		if isAbsent(v) && present {
			continue
		}
		at, x, y = append(at, i), append(x, p.x), append(y, v)
	}
	return at, x, y
}

// drawn returns the values of a column as they are drawn: where cycles are missing, and the series is one of every cycle, stands a row that breaks the line, whose place is -1.
func (s *selection) drawn(c *column) (at []int, x, y []float64) {
	if c.every() > 1 {
		return s.series(c, true)
	}
	last := int32(math.MinInt32)
	for i, p := range s.all {
		if p.row >= 0 {
			if last >= 0 && p.cycle > last+1 {
				at, x, y = append(at, -1), append(x, p.x), append(y, math.NaN())
			}
			last = p.cycle
		}
		at, x, y = append(at, i), append(x, p.x), append(y, c.value(p.point))
	}
	return at, x, y
}

// about adds the average and the fit of a series, and how often it is not finite.
func (s *selection) about(out *api.Rows, c *column, keep []int) {
	at, x, y := s.series(c, true)
	inside := func(i int) bool { return at[i] >= s.from && at[i] < s.to }
	for i, v := range y {
		if inside(i) && !trend.Finite(v) {
			out.Odd[c.name]++
		}
	}
	if out.Window > 0 {
		avg := make([]float64, len(s.all))
		for i := range avg {
			avg[i] = math.NaN()
		}
		for i, v := range trend.Average(y, out.Window) {
			avg[at[i]] = v
		}
		for _, i := range keep {
			out.Avg[c.name] = append(out.Avg[c.name], api.Measured(avg[i]))
		}
	}
	if slices.Contains(s.ask.Fit, c.name) {
		lo, hi := 0, len(at)
		for lo < hi && at[lo] < s.from {
			lo++
		}
		for hi > lo && at[hi-1] >= s.to {
			hi--
		}
		if f, ok := fit(x[lo:hi], y[lo:hi]); ok {
			out.Fit[c.name] = f
		}
	}
}

// bandPoints is how many points of a band are sent: it bends, but not much.
const bandPoints = 33

// fit is the line through a range as the answer says it.
func fit(x, y []float64) (api.Fit, bool) {
	l, ok := trend.Fit(x, y)
	if !ok {
		return api.Fit{}, false
	}
	lo, hi := l.Interval()
	first, last := trend.Thirds(y)
	f := api.Fit{
		N: l.N, Slope: api.Float(l.Slope), Lo: api.Float(lo), Hi: api.Float(hi), Intercept: api.Float(l.At(0)), R: api.Float(l.R), First: api.Float(first), Last: api.Float(last),
	}
	from, to := x[0], x[len(x)-1]
	for _, at := range []float64{from, to} {
		f.Line = append(f.Line, [2]api.Number{api.Float(at), api.Float(l.At(at))})
	}
	for i := range bandPoints {
		at := from + (to-from)*float64(i)/(bandPoints-1)
		lo, hi := l.Band(at)
		f.Band = append(f.Band, [3]api.Number{api.Float(at), api.Float(lo), api.Float(hi)})
	}
	return f, true
}

// gaps lists the cycles of the range that have no row, and which of them a crash took: those between two attempts.
func (s *selection) gaps(out *api.Rows) {
	var last *laid
	for i := s.from; i < s.to; i++ {
		p := &s.all[i]
		if p.row < 0 { // evaluations alone are no cycle
			continue
		}
		if last != nil && p.cycle > last.cycle+1 {
			gap := [2]int{int(last.cycle) + 1, int(p.cycle) - 1}
			out.Gaps = append(out.Gaps, gap)
			if s.t.crashed(last.point, p.point) {
				out.Lost = append(out.Lost, gap)
			}
		}
		last = p
	}
}

// crashed reports whether an earlier attempt than the one that wrote next had come as far as last.
func (t *table) crashed(last, next point) bool {
	attempt := t.lines[next.row].attempt
	if t.lines[last.row].attempt < attempt {
		return true
	}
	return slices.ContainsFunc(t.again, func(r repeat) bool {
		l := t.lines[r.old]
		return !l.eval && l.cycle == last.cycle && l.attempt < attempt
	})
}

// every returns the usual distance in cycles between values.
func (c *column) every() int {
	if c.n < 2 || c.final <= c.first {
		return 1
	}
	return max(1, int(math.Round(float64(c.final-c.first)/float64(c.n-1))))
}
