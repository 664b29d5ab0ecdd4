package figure

import (
	"math"
	"slices"
	"strings"
)

// A Figure is marks over two axes.
type Figure struct {
	Title string
	Desc  string // what is to be seen, in a sentence, for who does not see it
	Value string // the newest value, at the right of the title
	X, Y  Axis
	Marks []Mark
	// Note is said in place of the plot, where there is nothing to draw.
	Note string
	Odd  []float64 // places on X whose value is not finite: a cross on the upper edge, counted in the key

	Wide, High float64 // pixels; 760 by 420 where they are 0
}

// A Mark is something to draw on a plot.
type Mark interface {
	// extents takes the mark's numbers into those that the axes show.
	extents(x, y *extent, logX, logY bool)
	// paint draws the mark.
	paint(p *plot)
	// key returns what the key says of the mark; without a name, nothing.
	key() key
}

// A key is a name and the line, disc or square beside it.
type key struct {
	name   string
	colour Colour
	width  float64 // of a line, 0 for a square
	dash   Dash
	dot    Dot
	alpha  float64
}

// A plot is the frame that marks are drawn in.
type plot struct {
	drawing
	x, y                     scale
	left, top, right, bottom float64
	ends                     []ending
}

// An ending is a name at the right of a plot, as high as what it names.
type ending struct {
	y      float64
	text   string
	colour Colour
	square bool
}

// Sizes of text.
const (
	titleSize = 13
	textSize  = 11
	lineHigh  = 15 // of a line of text
)

// Shapes returns the picture, in the order in which it is painted.
func (f *Figure) Shapes() (shapes []Shape, wide, high float64) {
	wide, high = f.size()
	p := &plot{}
	p.rect(0, 0, wide, high, Panel, 0)
	f.header(p, wide)
	top := f.keys(p, wide)
	if f.Note != "" {
		p.note(f.Note, wide, high, top)
		return p.shapes, wide, high
	}
	f.frame(p, wide, high, top)
	for _, m := range f.Marks {
		m.paint(p)
	}
	for _, x := range f.Odd {
		p.cross(min(max(p.x.at(x), p.left), p.right), p.top+4, 3.5, Warn)
	}
	p.endings()
	return p.shapes, wide, high
}

func (f *Figure) size() (wide, high float64) {
	if f.Wide == 0 || f.High == 0 {
		return 760, 420
	}
	return f.Wide, f.High
}

// header writes title, unit and newest value. The unit gives way where there is little room.
func (f *Figure) header(p *plot, wide float64) {
	right := wide - 10
	if f.Value != "" {
		p.text(right, 20, End, titleSize, true, Ink, f.Value)
		right -= width(f.Value, titleSize, true) + 10
	}
	p.text(10, 20, Start, titleSize, true, Ink, f.Title)
	at := 10 + width(f.Title, titleSize, true) + 6
	if unit := clip(f.Y.Label, textSize, right-at); unit != "" {
		p.text(at, 20, Start, textSize, false, Grey, unit)
	}
}

// keys writes the key and returns where the plot may begin.
func (f *Figure) keys(p *plot, wide float64) (top float64) {
	var all []key
	for _, m := range f.Marks {
		if k := m.key(); k.name != "" {
			all = append(all, k)
		}
	}
	if n := len(f.Odd); n > 0 {
		all = append(all, key{name: plural(n) + " not finite", colour: Warn, dot: Cross})
	}
	if _, y := f.extents(); y.flattened(f.Y) {
		all = append(all, key{name: "axis not from 0"})
	}
	if f.Note != "" {
		all = nil
	}
	x, y := 10.0, 38.0
	for i, k := range all {
		w := 22 + width(k.name, textSize, false)
		if k.colour == "" {
			w -= 20
		}
		if i > 0 && x+w > wide-8 {
			x, y = 10, y+lineHigh
		}
		k.draw(p, x, y)
		x += w + 12
	}
	if len(all) == 0 {
		y -= lineHigh
	}
	return y + 12
}

func plural(n int) string { return number(float64(n), 1) }

// draw draws a sample of the mark and its name.
func (k key) draw(p *plot, x, y float64) {
	mid := y - 4
	switch {
	case k.colour == "": // a word without a mark
		x -= 20
	case k.dot == Cross:
		p.cross(x+8, mid, 3.5, k.colour)
	case k.width > 0:
		p.add(Shape{Lines: [][]Point{{{x, mid}, {x + 16, mid}}}, Stroke: k.colour, Width: k.width, Dash: k.dash, Alpha: k.alpha})
		k.dot.draw(p, []Point{{x + 8, mid}}, k.colour)
	case k.dot != NoDot:
		k.dot.draw(p, []Point{{x + 8, mid}}, k.colour)
	default:
		p.rect(x+3, mid-4.5, x+13, mid+4.5, k.colour, k.alpha)
	}
	p.text(x+20, y, Start, textSize, false, Grey, k.name)
}

// frame makes the scales and draws grid and ticks.
func (f *Figure) frame(p *plot, wide, high, top float64) {
	x, y := f.extents()
	p.top, p.bottom = top, high-24
	if f.X.Label != "" {
		p.bottom -= lineHigh
	}
	p.y = newScale(f.Y, y, p.bottom, p.top, 28)
	p.left = 14 + p.widest()
	p.right = wide - 12 - f.roomForEndings()
	f.X.Tight = true
	p.x = newScale(f.X, x, p.left, p.right, 58)
	p.grid()
	if f.X.Label != "" {
		p.text((p.left+p.right)/2, high-8, Middle, textSize, false, Grey, f.X.Label)
	}
}

// extents returns what the axes have to show.
func (f *Figure) extents() (x, y extent) {
	x, y = nothing(), nothing()
	for _, m := range f.Marks {
		m.extents(&x, &y, f.X.Log, f.Y.Log)
	}
	x.add(f.X.Log, f.Odd...)
	return x, y
}

// widest returns how wide the widest number at the left is.
func (p *plot) widest() float64 {
	w := 18.0
	for _, v := range p.y.ticks {
		w = max(w, width(p.y.label(v), textSize, false))
	}
	return w
}

func (f *Figure) roomForEndings() float64 {
	room := 0.0
	for _, m := range f.Marks {
		if e, ok := m.(interface{ named() []string }); ok {
			for _, n := range e.named() {
				room = max(room, 18+width(n, textSize, false))
			}
		}
	}
	return room
}

func (p *plot) grid() {
	for _, v := range p.y.ticks {
		if at := p.y.at(v); at >= p.top-1 && at <= p.bottom+1 {
			p.segment(p.left, at, p.right, at, Grid, 1, Solid)
			p.text(p.left-6, at+4, End, textSize, false, Grey, p.y.label(v))
		}
	}
	if !math.IsNaN(p.y.lane) {
		p.segment(p.left, p.y.lane, p.right, p.y.lane, Grid, 1, Solid)
		p.text(p.left-6, p.y.lane+4, End, textSize, false, Grey, "0")
		p.segment(p.left-3, p.y.from+5, p.left+3, p.y.from+1, Grey, 1, Solid) // the axis is broken here
		p.segment(p.left-3, p.y.from+9, p.left+3, p.y.from+5, Grey, 1, Solid)
	}
	for _, v := range p.x.ticks {
		at := p.x.at(v)
		p.segment(at, p.bottom, at, p.bottom+4, Grey, 1, Solid)
		p.text(at, p.bottom+16, Middle, textSize, false, Grey, p.x.label(v))
	}
}

// note writes text in the middle of where the plot would be.
func (p *plot) note(text string, wide, high, top float64) {
	lines := wrap(text, 12, wide-48)
	y := (top+high)/2 - float64(len(lines)-1)*9
	for _, l := range lines {
		p.text(wide/2, y, Middle, 12, false, Grey, l)
		y += 18
	}
}

// wrap breaks text between words so that each line fits.
func wrap(text string, size, room float64) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && width(line+" "+word, size, false) > room {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// endings writes the names at the right, each on a line of its own.
func (p *plot) endings() {
	at := make([]float64, len(p.ends))
	for i, e := range p.ends {
		at[i] = e.y
	}
	for i, y := range apart(at, p.top+6, p.bottom) {
		e := p.ends[i]
		x := p.right + 8
		if e.square {
			p.rect(x, y-4, x+8, y+4, e.colour, 0)
			p.text(x+12, y+4, Start, textSize, false, Ink, e.text)
			continue
		}
		p.segment(x, y, x+8, y, e.colour, 2, Solid)
		p.text(x+11, y+4, Start, textSize, false, Ink, e.text)
	}
}

// apart moves heights until each has a line to itself, in their order from the top: down, and up again where that leaves the plot.
func apart(at []float64, top, bottom float64) []float64 {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if at[i] < at[j] {
			return -1
		}
		return int(one(at[i] > at[j]))
	})
	out := slices.Clone(at)
	low := top
	for _, i := range order {
		out[i] = max(out[i], low)
		low = out[i] + lineHigh
	}
	high := bottom
	for _, i := range slices.Backward(order) {
		out[i] = min(out[i], high)
		high = out[i] - lineHigh
	}
	return out
}
