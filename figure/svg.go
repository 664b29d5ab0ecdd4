package figure

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// SVG returns the picture as a file by itself, with its own colours for light and dark.
func (f *Figure) SVG() string { return f.svg("<style>" + CSS() + "</style>\n") }

// Inline returns the picture for a page that has the rules of [CSS].
func (f *Figure) Inline() string { return f.svg("") }

func (f *Figure) svg(style string) string {
	shapes, wide, high := f.Shapes()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 %s %s" role="img">`+"\n", short(wide), short(high))
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(f.Title))
	if f.Desc != "" {
		fmt.Fprintf(&b, "<desc>%s</desc>\n", escape(f.Desc))
	}
	b.WriteString(style)
	for _, s := range shapes {
		s.svg(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// escape makes text fit for XML: what XML cannot hold at all becomes the replacement character.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == 0xfffe || r == 0xffff {
			return 0xfffd
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
}

func (s Shape) svg(b *strings.Builder) {
	switch {
	case s.Text != "":
		s.svgText(b)
	case s.Radius > 0:
		for _, at := range s.Lines[0] {
			fmt.Fprintf(b, `<circle%s cx="%s" cy="%s" r="%s"/>`+"\n", s.paint(), short(at.X), short(at.Y), short(s.Radius))
		}
	case len(s.Lines) > 0:
		fmt.Fprintf(b, `<path%s d="%s"/>`+"\n", s.paint(), s.path())
	}
}

func (s Shape) svgText(b *strings.Builder) {
	anchor, weight := "", ""
	if s.Anchor != Start {
		anchor = fmt.Sprintf(` text-anchor="%s"`, s.Anchor)
	}
	if s.Bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(b, `<text%s x="%s" y="%s" font-size="%s"%s%s>%s</text>`+"\n", s.paint(), short(s.At.X), short(s.At.Y), short(s.Size), anchor, weight, escape(s.Text))
}

// paint returns the attributes of colour and line.
func (s Shape) paint() string {
	var class []string
	if s.Stroke != "" {
		class = append(class, "s-"+string(s.Stroke))
	}
	if s.Fill != "" {
		class = append(class, "f-"+string(s.Fill))
	}
	attr := fmt.Sprintf(` class="%s"`, strings.Join(class, " "))
	if s.Stroke != "" {
		attr += fmt.Sprintf(` stroke-width="%s" stroke-linejoin="round"`, short(s.Width))
		if s.Fill == "" {
			attr += ` fill="none"`
		}
	}
	if d := s.Dash.Lengths(); d != nil {
		attr += fmt.Sprintf(` stroke-dasharray="%s %s"`, short(d[0]), short(d[1]))
	}
	if s.Alpha > 0 {
		attr += fmt.Sprintf(` opacity="%s"`, short(s.Alpha))
	}
	return attr
}

// path returns the lines as path data, relative to the point before, to two decimals.
func (s Shape) path() string {
	var b strings.Builder
	for _, line := range s.Lines {
		var px, py int // hundredths of a pixel, so that roundings don't add up
		for i, at := range line {
			x, y := hundredths(at.X), hundredths(at.Y)
			letter := "l"
			if i == 0 {
				letter, px, py = "M", 0, 0
			}
			b.WriteString(letter + short(float64(x-px)/100))
			if y >= py {
				b.WriteByte(' ')
			}
			b.WriteString(short(float64(y-py) / 100))
			px, py = x, y
		}
		if s.Fill != "" {
			b.WriteByte('z')
		}
	}
	return b.String()
}

func hundredths(v float64) int {
	n, _ := strconv.Atoi(strings.Replace(strconv.FormatFloat(v, 'f', 2, 64), ".", "", 1))
	return n
}

// short prints v with at most two decimals.
func short(v float64) string {
	s := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}
