package figure

import (
	"math"

	"furlong/metrics/trend"
)

// A Dot is what marks a point.
type Dot int

// The dots.
const (
	NoDot  Dot = iota
	Disc       // filled
	Square     // hollow
	Small      // a small disc
	Cross
)

// draw draws the dot around places.
func (d Dot) draw(p *plot, at []Point, c Colour) {
	if len(at) == 0 {
		return
	}
	switch d {
	case Disc:
		p.add(Shape{Lines: [][]Point{at}, Radius: 2.8, Fill: c})
	case Small:
		p.add(Shape{Lines: [][]Point{at}, Radius: 1.6, Fill: c})
	case Square:
		s := Shape{Fill: Panel, Stroke: c, Width: 1.4}
		for _, a := range at {
			s.Lines = append(s.Lines, box(a.X-2.6, a.Y-2.6, a.X+2.6, a.Y+2.6))
		}
		p.add(s)
	case Cross:
		for _, a := range at {
			p.cross(a.X, a.Y, 3.5, c)
		}
	}
}

// A Line joins points. It is broken where one has no place.
type Line struct {
	Name   string
	X, Y   []float64
	Colour Colour
	Width  float64 // 1.6 where it is 0
	Dash   Dash
	Dot    Dot
	Alpha  float64
	End    string // name at the right end of the line
}

func (l Line) extents(x, y *extent, logX, logY bool) {
	same(len(l.X), len(l.Y))
	x.add(logX, l.X...)
	y.add(logY, l.Y...)
}

func (l Line) key() key {
	return key{name: l.Name, colour: l.Colour, width: l.wide(), dash: l.Dash, dot: l.Dot, alpha: l.Alpha}
}

func (l Line) named() []string { return nonempty(l.End) }

func (l Line) wide() float64 {
	if l.Width == 0 {
		return 1.6
	}
	return l.Width
}

func (l Line) paint(p *plot) {
	if len(l.X) == 0 {
		return
	}
	var lines [][]Point
	var alone, dots []Point
	for _, r := range p.runs(l.X, l.Y) {
		if len(r) == 1 {
			alone = append(alone, r[0])
		} else {
			lines = append(lines, r)
		}
		dots = append(dots, r...)
	}
	if len(lines) > 0 {
		p.add(Shape{Lines: lines, Stroke: l.Colour, Width: l.wide(), Dash: l.Dash, Alpha: l.Alpha})
	}
	if l.Dot != NoDot {
		l.Dot.draw(p, dots, l.Colour)
	} else {
		Small.draw(p, alone, l.Colour)
	}
	if l.End != "" && len(dots) > 0 {
		p.ends = append(p.ends, ending{y: dots[len(dots)-1].Y, text: l.End, colour: l.Colour})
	}
}

// runs returns the points that follow each other without a break, thinned to what can be seen.
func (p *plot) runs(x, y []float64) (runs [][]Point) {
	var run []Point
	for _, i := range p.thin(x, y) {
		if !p.x.fits(x[i]) || !p.y.fits(y[i]) {
			if run != nil {
				runs = append(runs, run)
			}
			run = nil
			continue
		}
		run = append(run, Point{p.x.at(x[i]), p.y.at(y[i])})
	}
	if run != nil {
		runs = append(runs, run)
	}
	return runs
}

// thin returns which points to draw. Only lines over a linear axis are thinned.
func (p *plot) thin(x, y []float64) []int {
	if p.x.log {
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return trend.Thin(x, y, p.x.lo, p.x.hi, int(p.right-p.left))
}

// A Step is a line that holds each value until the next.
type Step struct {
	Name   string
	X, Y   []float64
	Colour Colour
}

func (s Step) extents(x, y *extent, logX, logY bool) {
	same(len(s.X), len(s.Y))
	x.add(logX, s.X...)
	y.add(logY, s.Y...)
}

func (s Step) key() key { return key{name: s.Name, colour: s.Colour, width: 1.6} }

func (s Step) paint(p *plot) {
	var lines [][]Point
	for _, r := range p.runs(s.X, s.Y) {
		var line []Point
		for i, at := range r {
			if i > 0 && at.Y != r[i-1].Y {
				line = append(line, Point{at.X, r[i-1].Y})
			}
			if i == 0 || i == len(r)-1 || at.Y != r[i-1].Y {
				line = append(line, at)
			}
		}
		if len(r) == 1 {
			Small.draw(p, r, s.Colour)
			continue
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		p.add(Shape{Lines: lines, Stroke: s.Colour, Width: 1.6})
	}
}

// A Band is the area between two lines.
type Band struct {
	Name      string
	X, Lo, Hi []float64
	Colour    Colour
}

const bandAlpha = 0.16

func (b Band) extents(x, y *extent, logX, logY bool) {
	same(len(b.X), len(b.Lo))
	same(len(b.X), len(b.Hi))
	x.add(logX, b.X...)
	y.add(logY, b.Lo...)
	y.add(logY, b.Hi...)
}

func (b Band) key() key { return key{name: b.Name, colour: b.Colour, alpha: 2 * bandAlpha} }

func (b Band) paint(p *plot) {
	var areas [][]Point
	var over, under []Point
	flush := func() {
		if len(over) == 1 { // an interval alone is a bar with ends
			x, y0, y1 := over[0].X, over[0].Y, under[0].Y
			p.add(Shape{Lines: [][]Point{{{x, y0}, {x, y1}}, {{x - 4, y0}, {x + 4, y0}}, {{x - 4, y1}, {x + 4, y1}}}, Stroke: b.Colour, Width: 1.2})
		} else if len(over) > 1 {
			area := over
			for i := range under {
				area = append(area, under[len(under)-1-i])
			}
			areas = append(areas, area)
		}
		over, under = nil, nil
	}
	for i := range b.X {
		if !p.x.fits(b.X[i]) || !p.y.fits(b.Lo[i]) || !p.y.fits(b.Hi[i]) {
			flush()
			continue
		}
		over = append(over, Point{p.x.at(b.X[i]), p.y.at(b.Hi[i])})
		under = append(under, Point{p.x.at(b.X[i]), p.y.at(b.Lo[i])})
	}
	flush()
	if len(areas) > 0 {
		p.add(Shape{Lines: areas, Fill: b.Colour, Alpha: bandAlpha})
	}
}

// Dots are points by themselves.
type Dots struct {
	Name   string
	X, Y   []float64
	Colour Colour
	Dot    Dot
}

func (d Dots) extents(x, y *extent, logX, logY bool) {
	same(len(d.X), len(d.Y))
	x.add(logX, d.X...)
	y.add(logY, d.Y...)
}

func (d Dots) key() key { return key{name: d.Name, colour: d.Colour, dot: d.Dot} }

func (d Dots) paint(p *plot) {
	var at []Point
	for i := range d.X {
		if p.x.fits(d.X[i]) && p.y.fits(d.Y[i]) {
			at = append(at, Point{p.x.at(d.X[i]), p.y.at(d.Y[i])})
		}
	}
	d.Dot.draw(p, seen(at), d.Colour)
}

// seen leaves out points that lie on one that is drawn, to half a pixel.
func seen(at []Point) (kept []Point) {
	type cell struct{ x, y int }
	taken := map[cell]bool{}
	for _, a := range at {
		c := cell{int(math.Round(2 * a.X)), int(math.Round(2 * a.Y))}
		if !taken[c] {
			kept = append(kept, a)
		}
		taken[c] = true
	}
	return kept
}

func same(a, b int) {
	if a != b {
		panic("figure: a mark has slices of different length")
	}
}

func nonempty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
