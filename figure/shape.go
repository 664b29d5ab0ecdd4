package figure

// A Point is a place on the picture, in pixels from its upper left corner.
type Point struct{ X, Y float64 }

// A Shape is a piece of a picture. It is one of three: a path of Lines, discs of a Radius around the points of Lines, or Text at a place.
type Shape struct {
	Lines  [][]Point // each is closed if the shape is filled
	Radius float64
	Fill   Colour
	Stroke Colour
	Width  float64
	Dash   Dash
	Alpha  float64 // 0 is opaque

	Text   string
	At     Point
	Anchor Anchor
	Size   float64
	Bold   bool
}

// A Dash is how a line is broken.
type Dash int

// The dashes.
const (
	Solid Dash = iota
	Dashed
	Dotted
)

// Lengths returns how much of a line is drawn and left out in turn, nil for all of it.
func (d Dash) Lengths() []float64 {
	switch d {
	case Dashed:
		return []float64{5, 3}
	case Dotted:
		return []float64{1.5, 2.5}
	}
	return nil
}

// An Anchor says which end of a text stands at its place.
type Anchor string

// The anchors.
const (
	Start  Anchor = "start"
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// A drawing is shapes in the order in which they are painted.
type drawing struct{ shapes []Shape }

func (d *drawing) add(s Shape) { d.shapes = append(d.shapes, s) }

func (d *drawing) text(x, y float64, anchor Anchor, size float64, bold bool, c Colour, text string) {
	d.add(Shape{Text: text, At: Point{x, y}, Anchor: anchor, Size: size, Bold: bold, Fill: c})
}

func (d *drawing) segment(x0, y0, x1, y1 float64, c Colour, width float64, dash Dash) {
	d.add(Shape{Lines: [][]Point{{{x0, y0}, {x1, y1}}}, Stroke: c, Width: width, Dash: dash})
}

func (d *drawing) rect(x0, y0, x1, y1 float64, c Colour, alpha float64) {
	d.add(Shape{Lines: [][]Point{box(x0, y0, x1, y1)}, Fill: c, Alpha: alpha})
}

func box(x0, y0, x1, y1 float64) []Point { return []Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} }

// cross adds an x around a place.
func (d *drawing) cross(x, y, r float64, c Colour) {
	d.add(Shape{Lines: [][]Point{{{x - r, y - r}, {x + r, y + r}}, {{x - r, y + r}, {x + r, y - r}}}, Stroke: c, Width: 1.5})
}

// width returns about how wide a text is drawn, on the wide side: fonts differ.
func width(text string, size float64, bold bool) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case r == 'i' || r == 'l' || r == 'j' || r == '.' || r == ',' || r == '\'' || r == '|' || r == ':':
			w += 0.34
		case r == ' ' || r == 't' || r == 'f' || r == 'r' || r == '(' || r == ')' || r == '[' || r == ']':
			w += 0.40
		case r == 'm' || r == 'w' || r == 'M' || r == 'W' || r == '%' || r == '@' || r == '→':
			w += 0.95
		case r >= 'A' && r <= 'Z':
			w += 0.70
		case r >= 0x1100:
			w += 1.05
		default:
			w += 0.62
		}
	}
	if bold {
		w *= 1.1
	}
	return w * size
}

// clip returns text, with an ellipsis for what does not fit into so many pixels; nothing where not even that does.
func clip(text string, size, room float64) string {
	if width(text, size, false) <= room {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if t := string(runes[:n]) + "…"; width(t, size, false) <= room {
			return t
		}
	}
	return ""
}
