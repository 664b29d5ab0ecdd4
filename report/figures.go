package report

import (
	"fmt"
	"math"
	"slices"

	"furlong/figure"
	"furlong/metrics/trend"
	"furlong/verdict"
)

// A Named figure has a name for files.
type Named struct {
	Name string
	*figure.Figure
}

// Pixels of a figure of the first row and of the second.
const (
	largeWide, largeHigh = 380, 290
	smallWide, smallHigh = 285, 236
)

// Figures draws the seven figures of a run.
func (r *Run) Figures() []Named {
	all := []Named{
		{"reward", r.reward()},
		{"gap", r.gap()},
		{"pass", r.pass()},
		{"truncated", r.truncated()},
		{"throughput", r.throughput()},
		{"time", r.clock()},
		{"staleness", r.staleness()},
	}
	for i, f := range all {
		f.Wide, f.High = largeWide, largeHigh
		if i > 2 {
			f.Wide, f.High = smallWide, smallHigh
		}
		f.X.Whole = true
		if f.X.Range == [2]float64{} {
			f.X.Range = r.range1()
		}
		if f.Note == "" {
			f.Marks = append(r.gone(i == 0), f.Marks...)
		}
	}
	return all
}

// range1 returns from where to where the axes of all figures go.
func (r *Run) range1() [2]float64 {
	first, last := r.data.span()
	if first == last {
		return [2]float64{first - 1, last + 1}
	}
	return [2]float64{first, last}
}

// gone marks where cycles have no row. One figure's key says what the marks are.
func (r *Run) gone(named bool) (marks []figure.Mark) {
	for i, s := range r.data.lost() {
		m := figure.Span{From: s[0], To: s[1]}
		if i == 0 && named {
			m.Name = "no rows"
		}
		marks = append(marks, m)
	}
	return marks
}

// few is up to how many rows points are marked.
const few = 60

func dots(n int) figure.Dot {
	if n <= few {
		return figure.Small
	}
	return figure.NoDot
}

func (r *Run) reward() *figure.Figure {
	name, title, label := "rollout/raw_reward", "Online reward", "mean of a cycle's samples"
	c := r.data.of(name)
	if c.N == 0 && r.data.of("train/loss").N > 0 {
		name, title, label = "train/loss", "Loss", "nats"
		c = r.data.of(name)
	}
	f := &figure.Figure{Title: title, Y: figure.Axis{Label: label}, Odd: c.Odd}
	if c.N == 0 {
		f.Note = "No reward yet. It comes with the first cycle's row."
		return f
	}
	last, _ := c.last()
	f.Value = verdict.Reward(last)
	w := trend.Window(r.Life.Status.Planned)
	f.Marks = []figure.Mark{
		figure.Line{Name: "per cycle", X: c.X, Y: c.Y, Colour: figure.Blue, Width: 1, Alpha: 0.55, Dot: dots(c.N)},
		figure.Line{Name: fmt.Sprintf("average of %d", w), X: c.X, Y: r.average(name, c, w), Colour: figure.Blue, Width: 2.2},
	}
	f.Desc = fmt.Sprintf("%s of %s cycles, from %s to %s.", title, verdict.Count(float64(c.N)), verdict.Reward(first(c)), f.Value)
	if l, ok := trend.Fit(c.X, c.Y); ok {
		f.Marks = append(f.Marks, fit(l, c.X)...)
		f.Desc += " Fit: " + verdict.Slope(l) + "."
	}
	return f
}

// average returns the moving average where the column has a value.
func (r *Run) average(name string, c column, w int) []float64 {
	var y []float64
	for _, row := range r.data.cycles {
		if v, ok := row.Values[name]; ok {
			y = append(y, v)
		}
	}
	smooth := trend.Average(y, w)
	at := map[float64]float64{}
	i := 0
	for _, row := range r.data.cycles {
		if _, ok := row.Values[name]; ok {
			at[float64(row.Cycle)] = smooth[i]
			i++
		}
	}
	out := make([]float64, len(c.X))
	for i, x := range c.X {
		if v, ok := at[x]; ok && trend.Finite(c.Y[i]) {
			out[i] = v
		} else {
			out[i] = math.NaN()
		}
	}
	return out
}

func first(c column) float64 {
	_, y := c.points()
	return y[0]
}

// fit draws a line and the interval of its mean.
func fit(l trend.Line, x []float64) []figure.Mark {
	from, to := x[0], x[len(x)-1]
	var at, y, lo, hi []float64
	for i := range 25 {
		v := from + (to-from)*float64(i)/24
		a, b := l.Band(v)
		at, y, lo, hi = append(at, v), append(y, l.At(v)), append(lo, a), append(hi, b)
	}
	name := "fit " + verdict.Signed(100*l.Slope, 3) + " per 100"
	if l.Flat() {
		name = "fit, flat within its interval"
	}
	return []figure.Mark{
		figure.Band{X: at, Lo: lo, Hi: hi, Colour: figure.Slate},
		figure.Line{Name: name, X: at, Y: y, Colour: figure.Slate, Width: 1.2, Dash: figure.Dashed},
	}
}

func (r *Run) gap() *figure.Figure {
	mean, p99 := r.data.of("train/logp_diff/mean"), r.data.of("train/logp_diff/p99")
	f := &figure.Figure{Title: "Train–rollout gap", Y: figure.Axis{Label: "|Δ logprob|, nats", Log: true, Zero: true}, Odd: mean.Odd}
	if mean.N == 0 && len(mean.Odd) == 0 {
		f.Note = "Not measured: no row has the logprobs of both engines."
		return f
	}
	last, _ := mean.last()
	f.Value = verdict.Nats(last)
	for _, s := range r.Sentences() {
		if s.ID == "honest" {
			f.Desc = s.String()
		}
	}
	if peak := r.data.of("train/logp_diff/max"); peak.N > 0 && len(peak.Odd) == 0 && !slices.ContainsFunc(peak.Y, func(v float64) bool { return v > 0 }) {
		f.Note = fmt.Sprintf("0 in all %s cycles: the same bits for %s tokens.", verdict.Count(float64(peak.N)), verdict.Count(r.data.sum("train/tokens")))
		return f
	}
	f.Marks = append([]figure.Mark{
		figure.Line{Name: "mean", X: mean.X, Y: mean.Y, Colour: figure.Teal},
		figure.Line{Name: "p99", X: p99.X, Y: p99.Y, Colour: figure.Orange},
	}, r.updates()...)
	return f
}

// updates marks when the engine took up new weights, and with a word each update that did not go as it should.
func (r *Run) updates() (marks []figure.Mark) {
	version := r.data.of("update/version")
	var at []float64
	last := math.NaN()
	for i, v := range version.Y {
		if trend.Finite(v) {
			if v != last {
				at = append(at, version.X[i])
			}
			last = v
		}
	}
	span := r.range1()
	switch {
	case len(at) == 0:
	case len(at) == version.N:
		marks = append(marks, figure.Word{Text: "update after each cycle"})
	case float64(len(at))*4 <= largeWide-60:
		marks = append(marks, figure.Ticks{Name: "update", X: at, Colour: figure.Slate})
	default:
		marks = append(marks, figure.Word{Text: fmt.Sprintf("update after each %.2g cycles", (span[1]-span[0])/float64(len(at)))})
	}
	return append(marks, r.faults()...)
}

// faults names the first dozen of updates that were refused, sent again or not attested. An engine that attests nothing at all is the verdict's business.
func (r *Run) faults() (marks []figure.Mark) {
	attests := r.data.sum("update/attested") > 0
	for _, row := range r.data.cycles {
		word := ""
		switch attested, ok := row.Values["update/attested"]; {
		case ok && attests && attested == 0:
			word = "unattested"
		case row.Values["update/refused"] > 0:
			word = "refused"
		case row.Values["update/retries"] > 0:
			word = "retried"
		}
		if word != "" && len(marks) < 12 {
			marks = append(marks, figure.Rule{X: float64(row.Cycle), Text: word, Colour: figure.Warn})
		}
	}
	return marks
}

// passLooks are how pass@k is drawn, by the place of k.
var passLooks = []struct {
	dash figure.Dash
	dot  figure.Dot
}{{figure.Solid, figure.Disc}, {figure.Dotted, figure.NoDot}, {figure.Dashed, figure.NoDot}, {figure.Solid, figure.Square}}

func (r *Run) pass() *figure.Figure {
	f := &figure.Figure{Title: "Held-out pass@k"}
	sets := r.data.sets()
	if len(sets) == 0 {
		f.Note = "No evaluation yet."
		if n, ok := r.number("eval-interval"); ok && n > 0 {
			f.Note = fmt.Sprintf("No evaluation yet; one comes every %s cycles.", verdict.Count(n))
		}
		return f
	}
	set := sets[0]
	f.Y.Label = verdict.Visible(set)
	if len(sets) > 1 {
		f.Y.Label += fmt.Sprintf(", first of %d sets", len(sets))
	}
	ks := shownKs(r.data.ks(set))
	for i, k := range ks {
		c := r.data.eval(set, fmt.Sprintf("pass@%d", k))
		lo, hi := r.data.eval(set, fmt.Sprintf("pass@%d_lo", k)), r.data.eval(set, fmt.Sprintf("pass@%d_hi", k))
		look := passLooks[min(i, len(passLooks)-1)]
		if i == len(ks)-1 && i > 0 {
			look = passLooks[len(passLooks)-1]
		}
		if c.N > few/2 {
			look.dot = figure.NoDot
		}
		if (i == 0 || i == len(ks)-1) && len(lo.X) == len(c.X) && len(hi.X) == len(c.X) {
			f.Marks = append(f.Marks, figure.Band{X: c.X, Lo: lo.Y, Hi: hi.Y, Colour: figure.Purple})
		}
		f.Marks = append(f.Marks, figure.Line{Name: passName(i, k), X: c.X, Y: c.Y, Colour: figure.Purple, Dash: look.dash, Dot: look.dot, Width: 1.8})
		if last, ok := c.last(); ok && i == 0 {
			f.Value = verdict.Reward(last)
			f.Desc = fmt.Sprintf("pass@1 of %s evaluations, from %s to %s.", verdict.Count(float64(c.N)), verdict.Reward(first(c)), f.Value)
		}
	}
	f.Marks = append(f.Marks, figure.Word{Text: "band: 95 %, problems resampled"})
	return f
}

func passName(i, k int) string {
	if i == 0 {
		return fmt.Sprintf("pass@%d", k)
	}
	return fmt.Sprint(k)
}

// shownKs returns 1, 2, 4 and 8, or where they are not known the first four.
func shownKs(ks []int) []int {
	var usual []int
	for _, k := range ks {
		if k == 1 || k == 2 || k == 4 || k == 8 {
			usual = append(usual, k)
		}
	}
	if len(usual) > 0 {
		return usual
	}
	return ks[:min(len(ks), 4)]
}

func (r *Run) truncated() *figure.Figure {
	c := r.data.of("rollout/truncated_ratio")
	f := &figure.Figure{Title: "Truncated", Y: figure.Axis{Label: "share of answers", Unit: figure.Percent, Zero: true}, Odd: c.Odd}
	if n, ok := r.number("rollout-max-response-len"); ok {
		f.Y.Label = fmt.Sprintf("cut at %s tokens", verdict.Count(n))
	}
	sets := r.data.sets()
	if c.N == 0 && len(sets) == 0 {
		f.Note = "Not measured yet."
		return f
	}
	if last, ok := c.last(); ok {
		f.Value = verdict.Share(last)
		f.Desc = fmt.Sprintf("Share of the training answers that were cut: %s in the last cycle.", f.Value)
	}
	f.Marks = []figure.Mark{figure.Line{Name: "training", X: c.X, Y: c.Y, Colour: figure.Olive}}
	if len(sets) > 0 {
		held := r.data.eval(sets[0], "truncated_ratio")
		l := figure.Line{Name: "held-out", X: held.X, Y: held.Y, Colour: figure.Purple, Dot: figure.Disc}
		if held.N > few/2 {
			l.Dot = figure.NoDot
		}
		f.Marks = append(f.Marks, l)
	}
	return f
}

func (r *Run) throughput() *figure.Figure {
	f := &figure.Figure{Title: "Throughput", Y: figure.Axis{Label: "tokens a second", Unit: figure.Kilo, Foot: true}}
	for _, s := range []struct {
		name, series string
		colour       figure.Colour
	}{{"rollout, a device", "perf/tokens_per_gpu_per_sec", figure.Blue}, {"train", "perf/actor_train_tok_per_s", figure.Orange}} {
		c := r.data.of(s.series)
		if c.N == 0 {
			continue
		}
		last, _ := c.last()
		if f.Value == "" {
			f.Value = verdict.Rate(last)
		}
		f.Desc += fmt.Sprintf("%s: %s tokens a second in the last cycle. ", s.name, verdict.Rate(last))
		f.Marks = append(f.Marks, figure.Line{Name: s.name, X: c.X, Y: c.Y, Colour: s.colour})
	}
	if len(f.Marks) == 0 {
		f.Note = "Not measured yet."
	}
	return f
}

// phaseColours are the colours of the parts of the clock, in their order.
var phaseColours = []figure.Colour{figure.Blue, figure.Olive, figure.Orange, figure.Teal, figure.Purple, figure.Slate, figure.Idle}

func (r *Run) clock() *figure.Figure {
	f := &figure.Figure{Title: "Time by phase", Y: figure.Axis{Label: "seconds a cycle", Foot: true}}
	if r.data.of("perf/step_time").N == 0 {
		f.Note = "Not measured yet."
		return f
	}
	f.Value = verdict.Seconds(verdict.Usual(r.verdict))
	first, last := r.data.span()
	f.X.Range = [2]float64{first - 0.5, last + 0.5}
	b := figure.Bars{Each: figure.PerBar(int(last-first)+1, smallWide-140)}
	for _, row := range r.data.cycles {
		b.X = append(b.X, float64(row.Cycle))
	}
	total := r.data.sum("perf/step_time")
	for i, p := range r.parts() {
		sum := r.data.sum(p.series)
		if sum == 0 {
			continue
		}
		part := figure.Part{Colour: phaseColours[i]}
		if p.series == "perf/rollout_wait_time" && p.name != "rollout" {
			part.Colour = figure.Idle
		}
		for _, row := range r.data.cycles {
			part.Y = append(part.Y, row.Values[p.series])
		}
		if sum >= 0.005*total {
			part.Name = phaseName(p.name) + " " + verdict.Share(sum/total)
		}
		f.Desc += fmt.Sprintf("%s %s, ", p.name, verdict.Share(sum/total))
		b.Parts = append(b.Parts, part)
	}
	f.Desc += "of " + verdict.Seconds(total) + " in all."
	f.Marks = []figure.Mark{b}
	if b.Each > 1 {
		f.Marks = append(f.Marks, figure.Word{Text: fmt.Sprintf("a bar is %d cycles", b.Each)})
	}
	if busy := r.data.of("perf/rollout_time"); r.data.sum("perf/overlap_ratio") > 0 && busy.N > 0 {
		f.Marks = append(f.Marks, figure.Step{Name: "rollout busy", X: busy.X, Y: busy.Y, Colour: figure.Blue})
	}
	return f
}

// phaseName shortens what has no room beside the bars.
func phaseName(name string) string {
	if name == "waiting for rollout" {
		return "waiting"
	}
	return name
}

func (r *Run) staleness() *figure.Figure {
	mean, peak := r.data.of("rollout/staleness/mean"), r.data.of("rollout/staleness/max")
	f := &figure.Figure{Title: "Staleness", Y: figure.Axis{Label: "versions behind", Foot: true, Whole: true}, Odd: mean.Odd}
	if mean.N == 0 {
		f.Note = "Not measured yet."
		return f
	}
	last, _ := mean.last()
	f.Value = verdict.Significant(last, 2)
	if last == math.Round(last) {
		f.Value = verdict.Count(last)
	}
	higher := figure.Dots{Name: "max, if higher", Colour: figure.Slate, Dot: figure.Small}
	for i, v := range peak.Y {
		if i < len(mean.Y) && v > mean.Y[i] {
			higher.X, higher.Y = append(higher.X, peak.X[i]), append(higher.Y, v)
		}
	}
	f.Desc = fmt.Sprintf("Versions by which trained tokens are behind: %s on average in the last cycle.", f.Value)
	f.Marks = []figure.Mark{figure.Step{Name: "mean", X: mean.X, Y: mean.Y, Colour: figure.Teal}}
	if len(higher.X) > 0 {
		f.Marks = append(f.Marks, higher)
	}
	if bound, ok := r.number("max-weight-staleness"); ok && bound >= 0 && r.setting("loop") != "sync" {
		f.Marks = append(f.Marks, figure.Level{Name: "bound", Y: bound, Colour: figure.Slate})
	}
	f.Marks = append(f.Marks, figure.Word{Text: "newest row " + verdict.Version(r.verdict.Newest.Version)})
	return f
}

// Load draws how many tokens each expert got in the last cycle, against its fair share. It is nil where that is not known.
func (r *Run) Load() *figure.Figure {
	e := r.Experts
	if e == nil || e.Layers == 0 || e.Experts == 0 || e.Layers*e.Experts > 20000 {
		return nil
	}
	f := &figure.Figure{
		Title: "Load of experts", Wide: 900, High: max(120, min(520, 66+float64(e.Layers)*max(8, min(26, 400/float64(e.Layers))))),
		X: figure.Axis{Label: "expert", Whole: true}, Y: figure.Axis{Label: fmt.Sprintf("tokens over the fair share, cycle %s; a layer a row, the first on top", verdict.Count(float64(e.Cycle))), Ticks: []float64{}},
		Desc: fmt.Sprintf("Tokens of %d experts in each of %d layers.", e.Experts, e.Layers),
	}
	h := figure.Heat{}
	for l := range e.Layers {
		h.Steps = append(h.Steps, loads(e.Tokens[l*e.Experts:(l+1)*e.Experts]))
	}
	f.Marks = []figure.Mark{h, figure.Word{Text: "from an eighth, light, to eight times, dark; a cross got none"}}
	return f
}

// loads returns the step of each expert of a layer: its load from an eighth of the fair share to eight times it, by powers of two; -1 for none at all.
func loads(tokens []uint32) []int {
	sum := 0.0
	for _, n := range tokens {
		sum += float64(n)
	}
	out := make([]int, len(tokens))
	for i, n := range tokens {
		if n == 0 || sum == 0 {
			out[i] = -1
			continue
		}
		load := math.Log2(float64(n) * float64(len(tokens)) / sum)
		out[i] = min(max(int(math.Round(load))+3, 0), len(figure.Heats)-1)
	}
	return out
}
