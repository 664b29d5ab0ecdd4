package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/metrics/trend"
	"furlong/rl"
	"furlong/verdict"
)

// headline are the series that a cycle is told by when none was clicked, those that matter most first.
var headline = []string{
	"train/logp_diff/p99", gapMean, "train/logp_diff/max", rewardKey, truncAllKey, lenKey, entropyKey, "train/grad_norm", "train/loss", stepTime, "perf/rollout_time", invalidKey,
}

// movedMax is how many series a drawer lists.
const movedMax = 12

// unusual is from how many robust deviations on a series is said to have moved.
const unusual = 3

// Cycle answers one cycle looked at closely. key is the series that was clicked, or empty.
func (r *Run) Cycle(cycle int, key string) (*api.Cycle, error) {
	d := &drawer{r: r, out: &api.Cycle{Cycle: cycle, Versions: []string{}, Moved: []api.Moved{}, Samples: []api.Share{}, Events: []api.Event{}, Values: map[string]string{}, Rows: []api.RowAt{}}}
	if err := d.rows(key); err != nil {
		return nil, err
	}
	if err := d.shares(); err != nil {
		return nil, err
	}
	d.out.Sentence = d.sentence()
	return d.out, nil
}

// A drawer gathers what is known of one cycle.
type drawer struct {
	r     *Run
	out   *api.Cycle
	moved []moved // all of them, by |z|
	main  moved   // what the sentence is about
}

// moved is a series beside what it was in the rows before.
type moved struct {
	key             string
	value, usual, z float64
	number          api.Number
}

// rows reads what the table has.
func (d *drawer) rows(key string) error {
	r, t := d.r, d.r.table
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.lookRows(); err != nil {
		return err
	}
	i := t.find(int32(d.out.Cycle))
	if i == len(t.points) || int(t.points[i].cycle) != d.out.Cycle {
		return d.nothing(i)
	}
	p := t.points[i]
	l := t.live(p)
	d.out.Attempt, d.out.Step, d.out.Time, d.out.Served = int(l.attempt), int(l.step), l.time, verdict.Version(rl.Version(l.version))
	d.neighbours(i)
	if err := d.verbatim(p); err != nil {
		return r.broken(run.RowsFile, err)
	}
	d.compare(i)
	d.choose(key)
	d.events(p)
	return nil
}

// nothing says that there is no such cycle, and what there is.
func (d *drawer) nothing(i int) error {
	t := d.r.table
	a := asked(Missing, "cycle %d has no row", d.out.Cycle).in(run.RowsFile)
	if i > 0 && i < len(t.points) {
		return a.hint("rows go from cycle %d to cycle %d over this gap", t.points[i-1].cycle, t.points[i].cycle)
	}
	if n := len(t.points); n > 0 {
		return a.hint("the newest is %d", t.points[n-1].cycle)
	}
	return a.hint("there are no rows yet")
}

func (d *drawer) neighbours(i int) {
	points := d.r.table.points
	if i > 0 {
		c := int(points[i-1].cycle)
		d.out.Prev = &c
	}
	if i+1 < len(points) {
		c := int(points[i+1].cycle)
		d.out.Next = &c
	}
}

// verbatim copies the numbers of the rows as the file has them.
func (d *drawer) verbatim(p point) error {
	t := d.r.table
	for at, l := range t.lines {
		if int(l.cycle) != d.out.Cycle {
			continue
		}
		kind := string(metrics.Cycle)
		if l.eval {
			kind = string(metrics.Eval)
		}
		live := int32(at) == p.row || int32(at) == p.evals
		d.out.Rows = append(d.out.Rows, api.RowAt{Kind: kind, Attempt: int(l.attempt), Offset: l.offset, Bytes: int(l.bytes), Live: live})
	}
	for _, at := range []int32{p.evals, p.row} { // the row of the cycle comes last and wins
		if at < 0 {
			continue
		}
		raw, err := t.text(at)
		if err != nil {
			return err
		}
		if err := metrics.Fields(raw, func(key, value []byte) error {
			d.out.Values[string(key)] = string(value)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// compare holds every series against the rows before. Only columns that are in memory are looked at: others are not on any chart.
func (d *drawer) compare(i int) {
	t := d.r.table
	_ = t.warm(headline)
	for _, c := range t.cols {
		v := c.value(t.points[i])
		if c.cold || isAbsent(v) {
			continue
		}
		var past []float64
		for j := i - 1; j >= 0 && len(past) < before; j-- {
			if w := c.value(t.points[j]); !isAbsent(w) && trend.Finite(w) {
				past = append(past, w)
			}
		}
		if len(past) < 5 {
			continue
		}
		m := moved{key: c.name, value: v, number: t.numberOf(c.name, t.points[i])}
		s, _ := metrics.Lookup(c.name)
		if m.usual, m.z = robust(past, v, resolutionOf(s.Unit)); math.IsNaN(m.z) {
			m.z = math.Inf(1) // not a number is as unusual as can be
		}
		d.moved = append(d.moved, m)
	}
	slices.SortStableFunc(d.moved, func(a, b moved) int {
		return cmp.Or(cmp.Compare(math.Abs(b.z), math.Abs(a.z)), cmp.Compare(a.key, b.key))
	})
}

// choose finds what the sentence is about: the series that was clicked, else that of the headline which moved most. The others are listed.
func (d *drawer) choose(key string) {
	for _, m := range d.moved {
		if m.key == key || key == "" && slices.Contains(headline, m.key) {
			d.main = m
			break
		}
	}
	if d.main.key == "" {
		d.main.key = key
	}
	d.out.Key = d.main.key
	for _, m := range d.moved {
		if len(d.out.Moved) == movedMax || math.Abs(m.z) < unusual {
			break
		}
		s, _ := metrics.Lookup(m.key)
		o := api.Moved{Key: m.key, Unit: s.Unit, Value: m.number, Usual: api.Float(m.usual), Z: api.Float(m.z)}
		if f := m.value / m.usual; trend.Finite(f) && f > 0 {
			o.Factor = api.Float(f)
		}
		d.out.Moved = append(d.out.Moved, o)
	}
}

// sentence says in words what the series did.
func (d *drawer) sentence() string {
	m := d.main
	if m.number == "" {
		if m.key == "" {
			return fmt.Sprintf("Cycle %d: there are not enough rows before it to say what is usual.", d.out.Cycle)
		}
		return fmt.Sprintf("Cycle %d: %s was not measured, or there are not enough rows before it.", d.out.Cycle, verdict.Visible(m.key))
	}
	name := words(m.key)
	switch {
	case !trend.Finite(m.value):
		return fmt.Sprintf("%s is %s, usually %s.", name, spoken(m.key, m.value), spoken(m.key, m.usual))
	case math.Abs(m.z) < unusual:
		return fmt.Sprintf("%s %s is as usual (%s).", name, spoken(m.key, m.value), spoken(m.key, m.usual))
	}
	way := "rose to"
	if m.z < 0 {
		way = "fell to"
	}
	text := fmt.Sprintf("%s %s %s, usually %s", name, way, spoken(m.key, m.value), spoken(m.key, m.usual))
	if f := m.value / m.usual; trend.Finite(f) && f >= 1.5 {
		text += fmt.Sprintf(" (%s times)", verdict.Significant(f, 2))
	}
	if few := d.few(); few != "" {
		text += ": " + few
	}
	return text + "."
}

// events lists what happened in the cycle, by time.
func (d *drawer) events(p point) {
	r, l := d.r, d.r.table.live(p)
	t0, t1 := l.time-r.usual(), l.time
	spans, _, _ := r.spans(d.out.Cycle) // the page of the time says what is wrong with them
	for i, s := range spans {
		if i == 0 || s.T0 < t0 {
			t0 = s.T0
		}
		t1 = max(t1, s.T1)
		d.span(s)
	}
	for _, a := range r.alarms.all {
		if a.Cycle == d.out.Cycle && a.Kind == run.Raised {
			d.out.Events = append(d.out.Events, api.Event{Kind: "alarm", Time: a.Time, Text: a.Text, Href: a.Link})
		}
	}
	for _, m := range r.happened() {
		if m.Cycle == d.out.Cycle {
			d.out.Events = append(d.out.Events, api.Event{Kind: "update", Time: l.time, Text: m.Text})
		}
	}
	for _, line := range r.logBetween(t0, t1, 20) {
		d.out.Events = append(d.out.Events, api.Event{Kind: "log", Time: line.Time, Text: line.Level + " " + line.Msg, Href: "/log"})
	}
	slices.SortStableFunc(d.out.Events, func(a, b api.Event) int { return cmp.Compare(a.Time, b.Time) })
}

// span makes an event of a span that stands for one.
func (d *drawer) span(s run.Span) {
	e := api.Event{Time: s.T0, Took: api.Float(math.Round((s.T1-s.T0)*1e3) / 1e3), Text: s.Name, Href: fmt.Sprintf("/time?c=%d", s.Cycle)}
	switch {
	case s.WaitsFor != "":
		e.Kind, e.Text = "wait", fmt.Sprintf("%s waits for %s", s.Lane, s.WaitsFor)
	case s.Lane == "update" || s.Lane == "eval" || s.Lane == "save":
		e.Kind = s.Lane
	default:
		return
	}
	d.out.Events = append(d.out.Events, e)
}

// logBetween returns lines of the log from one time to another, the last if there are more.
func (r *Run) logBetween(t0, t1 float64, limit int) []api.LogLine {
	f, err := disk.OpenIn(r.root, run.LogFile)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	var out []api.LogLine
	from := searchLog(f, info.Size(), t0)
	_ = eachLine(f, from, min(info.Size(), from+(4<<20)), func(offset int64, raw []byte, whole bool) bool {
		l, ok := (LogAsk{Level: -8}).line(offset, raw)
		if !whole || !ok || l.Time > t1 {
			return !whole || l.Time <= t1
		}
		if l.Time >= t0 {
			out = append(out, l)
		}
		return true
	})
	return out[max(0, len(out)-limit):]
}

// shareOf says what of a sample a series is the mean of, and how much the sample weighs; nil where no samples stand behind a series.
func shareOf(key string) func(r *samples.Row) (x, weight float64) {
	tokens := func(r *samples.Row) float64 { return float64(r.ResponseLen) }
	flag := func(f samples.Flags) func(*samples.Row) (float64, float64) {
		return func(r *samples.Row) (float64, float64) { return float64(one(r.Flags&f != 0)), 1 }
	}
	switch key {
	case gapMean, "train/train_rollout_logprob_abs_diff":
		return func(r *samples.Row) (float64, float64) { return float64(r.GapMean), tokens(r) }
	case rewardKey, "rollout/rewards":
		return func(r *samples.Row) (float64, float64) { return float64(r.Reward), 1 }
	case truncKey, truncAllKey:
		return flag(samples.Truncated)
	case repeatKey:
		return flag(samples.Repeated)
	case garbledKey:
		return flag(samples.Garbled)
	case lenKey, "rollout/response_lengths":
		return func(r *samples.Row) (float64, float64) { return tokens(r), 1 }
	case entropyKey:
		return func(r *samples.Row) (float64, float64) { return float64(r.Entropy), tokens(r) }
	case invalidKey:
		return func(r *samples.Row) (float64, float64) { return float64(one(r.Verdict == rl.Invalid)), 1 }
	}
	return nil
}
