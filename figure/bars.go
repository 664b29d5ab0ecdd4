package figure

import (
	"math"

	"furlong/metrics/trend"
)

// Bars are stacks: in each place of X the Parts one above the other.
type Bars struct {
	X     []float64 // ascending whole numbers
	Parts []Part    // from below
	Each  int       // of how many neighbouring X a bar is the mean; 1 where it is 0
}

// A Part is one layer of the stacks.
type Part struct {
	Name   string
	Y      []float64 // one for each X; what is not finite counts nothing
	Colour Colour
}

func (b Bars) extents(x, y *extent, logX, logY bool) {
	if len(b.X) == 0 {
		return
	}
	x.add(logX, b.X[0]-0.5, b.X[len(b.X)-1]+0.5)
	y.add(logY, 0)
	for _, s := range b.stacks() {
		sum := 0.0
		for _, v := range s.parts {
			sum += v
		}
		y.add(logY, sum)
	}
}

// A stack is one bar: where it begins, and how high each part is.
type stack struct {
	from  float64
	parts []float64
}

// stacks returns the bars.
func (b Bars) stacks() (all []stack) {
	n := float64(max(1, b.Each))
	slot := func(i int) float64 { return math.Floor((b.X[i] - b.X[0]) / n) }
	for at := 0; at < len(b.X); {
		end := at
		for end < len(b.X) && slot(end) == slot(at) {
			end++
		}
		s := stack{from: b.X[0] + slot(at)*n - 0.5}
		for _, part := range b.Parts {
			same(len(b.X), len(part.Y))
			s.parts = append(s.parts, max(0, mean(part.Y[at:end])))
		}
		all = append(all, s)
		at = end
	}
	return all
}

func (b Bars) key() key { return key{} }

func (b Bars) named() (names []string) {
	for _, p := range b.Parts {
		names = append(names, nonempty(p.Name)...)
	}
	return names
}

// PerBar returns of how many places a bar is the mean, so that bars are three pixels wide or more on a plot so wide.
func PerBar(places int, wide float64) int { return max(1, int(math.Ceil(3*float64(places)/wide))) }

func (b Bars) paint(p *plot) {
	all := b.stacks()
	wide := float64(max(1, b.Each)) * (p.x.at(1) - p.x.at(0))
	shapes := make([]Shape, len(b.Parts))
	total := make([]float64, len(b.Parts)) // heights of all bars together, for the names
	for _, s := range all {
		left := p.x.at(s.from)
		right, sum := min(left+wide, p.right), 0.0
		for k, v := range s.parts {
			if v > 0 {
				shapes[k].Lines = append(shapes[k].Lines, box(left, p.y.at(sum+v), right-min(1, wide/4), p.y.at(sum)))
			}
			sum += v
			total[k] += v
		}
	}
	for k, s := range shapes {
		if len(s.Lines) > 0 {
			s.Fill = b.Parts[k].Colour
			p.add(s)
		}
	}
	b.names(p, total, float64(len(all)))
}

// names has each part named at the right, as high as it usually is.
func (b Bars) names(p *plot, total []float64, bars float64) {
	sum := 0.0
	for k, part := range b.Parts {
		if part.Name != "" && bars > 0 {
			p.ends = append(p.ends, ending{y: p.y.at((sum + total[k]/2) / bars), text: part.Name, colour: part.Colour, square: true})
		}
		sum += total[k]
	}
}

// mean returns the mean of the finite ones, 0 without any.
func mean(y []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range y {
		if trend.Finite(v) {
			sum += v
			n++
		}
	}
	return sum / max(1, n)
}

// A Heat is a table of cells, the first row on top, shaded by their step of [Heats].
type Heat struct {
	Steps [][]int // [row][column]; -1 is a cross: nothing there at all
}

func (h Heat) extents(x, y *extent, _, _ bool) {
	if len(h.Steps) > 0 {
		x.add(false, -0.5, float64(len(h.Steps[0]))-0.5)
		y.add(false, -0.5, float64(len(h.Steps))-0.5)
	}
}

func (h Heat) key() key { return key{} }

func (h Heat) paint(p *plot) {
	shapes := make([]Shape, len(Heats))
	rows := float64(len(h.Steps))
	var crosses []Point
	for r, row := range h.Steps {
		top := p.top + (p.bottom-p.top)*float64(r)/rows
		low := p.top + (p.bottom-p.top)*float64(r+1)/rows
		for c, step := range row {
			left, right := p.x.at(float64(c)-0.5), p.x.at(float64(c)+0.5)
			gap := min(1, (right-left)/6)
			if step < 0 {
				crosses = append(crosses, Point{(left + right) / 2, (top + low) / 2})
				step = 0
			}
			shapes[step].Lines = append(shapes[step].Lines, box(left, top, right-gap, low-min(1, (low-top)/6)))
		}
	}
	for i, s := range shapes {
		if len(s.Lines) > 0 {
			s.Fill = Heats[i]
			p.add(s)
		}
	}
	Cross.draw(p, crosses, Warn)
}

// A Rule is a vertical line over the whole height, with a word.
type Rule struct {
	X      float64
	Text   string
	Colour Colour
}

func (r Rule) extents(x, _ *extent, logX, _ bool) { x.add(logX, r.X) }
func (r Rule) key() key                           { return key{} }

func (r Rule) paint(p *plot) {
	x := p.x.at(r.X)
	p.segment(x, p.top, x, p.bottom, r.Colour, 1, Dotted)
	if wide := width(r.Text, 10, false); x+wide+6 > p.right {
		p.text(x-3, p.top+9, End, 10, false, r.Colour, r.Text)
		return
	}
	p.text(x+3, p.top+9, Start, 10, false, r.Colour, r.Text)
}

// A Level is a horizontal line over the whole width, with a name in the key.
type Level struct {
	Name   string
	Y      float64
	Colour Colour
}

func (l Level) extents(_, y *extent, _, logY bool) { y.add(logY, l.Y) }
func (l Level) key() key {
	return key{name: l.Name, colour: l.Colour, width: 1.2, dash: Dashed}
}

func (l Level) paint(p *plot) {
	if p.y.fits(l.Y) {
		p.segment(p.left, p.y.at(l.Y), p.right, p.y.at(l.Y), l.Colour, 1.2, Dashed)
	}
}

// Ticks are short lines at the foot of the plot.
type Ticks struct {
	Name   string
	X      []float64
	Colour Colour
}

func (t Ticks) extents(*extent, *extent, bool, bool) {}
func (t Ticks) key() key                             { return key{name: t.Name, colour: t.Colour, width: 1} }

func (t Ticks) paint(p *plot) {
	s := Shape{Stroke: t.Colour, Width: 1}
	for _, x := range t.X {
		s.Lines = append(s.Lines, []Point{{p.x.at(x), p.bottom - 4}, {p.x.at(x), p.bottom}})
	}
	if len(s.Lines) > 0 {
		p.add(s)
	}
}

// A Span is an area of the whole height behind the marks: rows that are missing.
type Span struct {
	Name     string
	From, To float64
}

func (s Span) extents(*extent, *extent, bool, bool) {}
func (s Span) key() key                             { return key{name: s.Name, colour: Grey, alpha: bandAlpha} }

func (s Span) paint(p *plot) {
	from, to := p.x.at(s.From), p.x.at(s.To)
	p.rect(max(from, p.left), p.top, min(max(to, from+1), p.right), p.bottom, Grey, bandAlpha)
}

// A Word is said in the key, and nothing is drawn.
type Word struct{ Text string }

func (w Word) extents(*extent, *extent, bool, bool) {}
func (w Word) paint(*plot)                          {}
func (w Word) key() key                             { return key{name: w.Text} }
