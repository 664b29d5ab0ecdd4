package raster

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"furlong/figure"
)

// largest is how many pixels a picture may have on a side.
const largest = 16384

// A picture is shapes on their way into pixels.
type picture struct {
	image *image.RGBA
	scale float64
	ras   vector.Rasterizer
}

// PNG returns the figure in light colours as the bytes of a PNG file, with so many pixels for each of the figure's.
func PNG(f *figure.Figure, scale float64) ([]byte, error) {
	shapes, wide, high := f.Shapes()
	w, h := int(math.Ceil(wide*scale)), int(math.Ceil(high*scale))
	if w < 1 || h < 1 || w > largest || h > largest {
		return nil, fmt.Errorf("figure %q: picture is %d by %d pixels, want 1 to %d", f.Title, w, h, largest)
	}
	p := &picture{image: image.NewRGBA(image.Rect(0, 0, w, h)), scale: scale}
	for _, s := range shapes {
		if err := p.shape(s); err != nil {
			return nil, fmt.Errorf("figure %q: %w", f.Title, err)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p.image); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.Title, err)
	}
	return b.Bytes(), nil
}

func (p *picture) shape(s figure.Shape) error {
	if s.Text != "" {
		return p.text(s)
	}
	if s.Fill != "" {
		p.fill(s)
	}
	if s.Stroke != "" {
		p.stroke(s)
	}
	return nil
}

// fill fills discs or closed lines.
func (p *picture) fill(s figure.Shape) {
	p.begin()
	for _, line := range s.Lines {
		if s.Radius > 0 {
			for _, at := range line {
				p.disc(at, s.Radius)
			}
			continue
		}
		p.polygon(line)
	}
	p.paint(s.Fill, s.Alpha)
}

func (p *picture) begin() {
	b := p.image.Bounds()
	p.ras.Reset(b.Dx(), b.Dy())
}

// paint lays the colour where the shapes since begin are.
func (p *picture) paint(c figure.Colour, alpha float64) {
	rgb := c.RGB(false)
	if alpha > 0 {
		rgb.A = uint8(math.Round(255 * alpha))
	}
	p.ras.DrawOp = draw.Over
	p.ras.Draw(p.image, p.image.Bounds(), image.NewUniform(color.NRGBA(rgb)), image.Point{})
}

// polygon adds a closed line. All run the same way round: where two overlap, the rasterizer would take an opposite one away.
func (p *picture) polygon(line []figure.Point) {
	if len(line) < 3 {
		return
	}
	area := 0.0
	for i, a := range line {
		b := line[(i+1)%len(line)]
		area += a.X*b.Y - b.X*a.Y
	}
	at := func(i int) (float32, float32) {
		if area < 0 {
			i = len(line) - 1 - i
		}
		return float32(line[i].X * p.scale), float32(line[i].Y * p.scale)
	}
	p.ras.MoveTo(at(0))
	for i := 1; i < len(line); i++ {
		p.ras.LineTo(at(i))
	}
	p.ras.ClosePath()
}

func (p *picture) disc(at figure.Point, r float64) {
	n := max(8, int(math.Ceil(4*math.Sqrt(r*p.scale)))*2)
	line := make([]figure.Point, n)
	for i := range line {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		line[i] = figure.Point{X: at.X + r*cos, Y: at.Y + r*sin}
	}
	p.polygon(line)
}

// stroke draws lines as wide as they are: a box for each segment, and a disc where two meet.
func (p *picture) stroke(s figure.Shape) {
	p.begin()
	half := s.Width / 2
	for _, line := range s.Lines {
		if s.Fill != "" { // the edge of an area
			line = append(slices.Clip(line), line[0])
		}
		for _, piece := range dashed(line, s.Dash.Lengths()) {
			for i, at := range piece {
				if i > 0 {
					p.segment(piece[i-1], at, half)
				}
				if i > 0 && i < len(piece)-1 && half*p.scale > 0.6 {
					p.disc(at, half)
				}
			}
		}
	}
	p.paint(s.Stroke, s.Alpha)
}

func (p *picture) segment(a, b figure.Point, half float64) {
	dx, dy := b.X-a.X, b.Y-a.Y
	long := math.Hypot(dx, dy)
	if long == 0 {
		return
	}
	nx, ny := -dy/long*half, dx/long*half
	p.polygon([]figure.Point{{X: a.X + nx, Y: a.Y + ny}, {X: b.X + nx, Y: b.Y + ny}, {X: b.X - nx, Y: b.Y - ny}, {X: a.X - nx, Y: a.Y - ny}})
}

// dashed cuts a line into the pieces that are drawn.
func dashed(line []figure.Point, lengths []float64) (pieces [][]figure.Point) {
	if lengths == nil || len(line) == 0 {
		return [][]figure.Point{line}
	}
	piece := []figure.Point{line[0]}
	k, left := 0, lengths[0] // of the dash or gap that is under way
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		for {
			long := math.Hypot(b.X-a.X, b.Y-a.Y)
			if long <= left {
				left -= long
				piece = append(piece, b)
				break
			}
			a = figure.Point{X: a.X + (b.X-a.X)*left/long, Y: a.Y + (b.Y-a.Y)*left/long}
			if k%2 == 0 {
				pieces = append(pieces, append(piece, a))
			}
			k++
			piece, left = []figure.Point{a}, lengths[k%len(lengths)]
		}
	}
	if k%2 == 0 && len(piece) > 1 {
		pieces = append(pieces, piece)
	}
	return pieces
}

// fonts are the two that the binary holds.
var fonts = sync.OnceValues(func() ([2]*opentype.Font, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return [2]*opentype.Font{}, err
	}
	bold, err := opentype.Parse(gobold.TTF)
	return [2]*opentype.Font{regular, bold}, err
})

func (p *picture) text(s figure.Shape) error {
	both, err := fonts()
	if err != nil {
		return err
	}
	f := both[0]
	if s.Bold {
		f = both[1]
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: s.Size * p.scale, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return err
	}
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(s.Fill.RGB(false)), Face: face}
	x := fixed.Int26_6(s.At.X * p.scale * 64)
	switch s.Anchor {
	case figure.Middle:
		x -= d.MeasureString(s.Text) / 2
	case figure.End:
		x -= d.MeasureString(s.Text)
	}
	d.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(s.At.Y * p.scale * 64)}
	d.DrawString(s.Text)
	return face.Close()
}
