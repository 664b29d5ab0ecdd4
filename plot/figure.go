package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// A Curve is a line through points, in the order given.
type Curve struct {
	Name string
	X, Y []float64
	Dots bool // mark the points
}

// A Figure is curves over two axes.
type Figure struct {
	Title, X, Y string // what the axes show, with units
	LogX, LogY  bool
	XTicks      []float64 // ascending; the axis spans them. nil for round numbers around the curves
	Curves      []Curve
}

// The picture, in pixels: the frame of the curves, and the whole.
const (
	left, top, right, bottom = 70, 40, 600, 360
	wide, high               = 760, 420
	lineHigh                 = 14 // of a line of text
)

// colours tell curves apart, in order, also to most of those who see few colours.
var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2"}

// SVG returns the picture.
func (f *Figure) SVG() string {
	x := f.axis(f.LogX, left, right, func(c Curve) []float64 { return c.X })
	if len(f.XTicks) > 1 {
		x.lo, x.hi, x.ticks = f.XTicks[0], f.XTicks[len(f.XTicks)-1], f.XTicks
	}
	y := f.axis(f.LogY, bottom, top, func(c Curve) []float64 { return c.Y })
	d := &drawing{}
	d.line(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, wide, high)
	d.line(`<rect width="%d" height="%d" fill="white"/>`, wide, high)
	d.text(left, 24, "start", f.Title)
	d.frame(x, y)
	d.text((left+right)/2, bottom+40, "middle", f.X)
	d.line(`<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %d)">%s</text>`, (top+bottom)/2, (top+bottom)/2, html.EscapeString(f.Y))
	ends := make([]float64, len(f.Curves))
	for i, c := range f.Curves {
		ends[i] = d.curve(c, colours[i%len(colours)], x, y)
	}
	for i, at := range apart(ends) {
		d.line(`<text x="%d" y="%.1f" fill="%s">%s</text>`, right+10, at+4, colours[i%len(colours)], html.EscapeString(f.Curves[i].Name))
	}
	d.line("</svg>")
	return d.b.String()
}

// axis returns an axis that holds one coordinate of all points.
func (f *Figure) axis(log bool, from, to float64, of func(Curve) []float64) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range f.Curves {
		for _, v := range of(c) {
			if fits(v, log) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	return newAxis(lo, hi, log, from, to)
}

// fits reports whether a number has a place on an axis.
func fits(v float64, log bool) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0) }

// A drawing grows line by line.
type drawing struct{ b strings.Builder }

func (d *drawing) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *drawing) text(x, y float64, anchor, s string) {
	d.line(`<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(s))
}

// frame draws the ticks of both axes.
func (d *drawing) frame(x, y axis) {
	for _, v := range y.ticks {
		d.line(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, left, right, y.at(v), y.at(v))
		d.text(left-6, y.at(v)+4, "end", fmt.Sprintf("%.4g", v))
	}
	for _, v := range x.ticks {
		d.line(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#999"/>`, x.at(v), x.at(v), bottom, bottom+4)
		d.text(x.at(v), bottom+18, "middle", fmt.Sprintf("%.6g", v))
	}
	d.line(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#999"/>`, left, right, bottom, bottom)
}

// curve draws c, interrupted where a point has no place, and returns the height at which it ends.
func (d *drawing) curve(c Curve, colour string, x, y axis) (end float64) {
	end = bottom
	var run []string
	flush := func() {
		if len(run) > 1 {
			d.line(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>`, strings.Join(run, " "), colour)
		}
		run = nil
	}
	for i, v := range c.Y {
		if !fits(v, y.log) || !fits(c.X[i], x.log) {
			flush()
			continue
		}
		end = y.at(v)
		run = append(run, fmt.Sprintf("%.1f,%.1f", x.at(c.X[i]), end))
		if c.Dots {
			d.line(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x.at(c.X[i]), end, colour)
		}
	}
	flush()
	return end
}

// apart moves heights down until each has a line to itself, in their order from the top.
func apart(at []float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(math.Copysign(1, at[i]-at[j])) })
	out := slices.Clone(at)
	for n := 1; n < len(order); n++ {
		out[order[n]] = max(out[order[n]], out[order[n-1]]+lineHigh)
	}
	return out
}
