package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"furlong/figure"
)

func decode(t *testing.T, f *figure.Figure, scale float64) image.Image {
	t.Helper()
	raw, err := PNG(f, scale)
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func is(m image.Image, x, y float64, c figure.Colour) bool {
	r, g, b, _ := m.At(int(x), int(y)).RGBA()
	want := c.RGB(false)
	near := func(a uint32, b uint8) bool { return math.Abs(float64(a>>8)-float64(b)) < 24 }
	return near(r, want.R) && near(g, want.G) && near(b, want.B)
}

func sample() *figure.Figure {
	return &figure.Figure{
		Title: "Gap", Value: "1.0", Wide: 380, High: 290, Y: figure.Axis{Label: "nats", Range: [2]float64{0, 10}},
		Marks: []figure.Mark{
			figure.Span{From: 3, To: 4},
			figure.Line{Name: "mean", X: []float64{0, 10}, Y: []float64{2, 2}, Colour: figure.Teal, Width: 3},
			figure.Line{Name: "p99", X: []float64{0, 10}, Y: []float64{8, 8}, Colour: figure.Orange, Width: 3, Dash: figure.Dashed},
			figure.Dots{X: []float64{5}, Y: []float64{5}, Colour: figure.Purple, Dot: figure.Disc},
			figure.Bars{X: []float64{9}, Parts: []figure.Part{{Y: []float64{1}, Colour: figure.Blue}}},
		},
	}
}

// The picture is not blank, and its lines run where the shapes say.
func TestPNG(t *testing.T) {
	f := sample()
	m := decode(t, f, 2)
	colours := map[color.Color]bool{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			colours[m.At(x, y)] = true
		}
	}
	if len(colours) <= 8 || m.Bounds().Dx() != 760 || m.Bounds().Dy() != 580 {
		t.Errorf("%d colours on %v, want more than 8 on 760 by 580", len(colours), m.Bounds())
	}
	shapes, _, _ := f.Shapes()
	found := 0
	for _, s := range shapes {
		switch {
		case s.Radius > 0 && s.Fill == figure.Purple:
			found++
			if at := s.Lines[0][0]; !is(m, 2*at.X, 2*at.Y, figure.Purple) {
				t.Errorf("no disc at %v", at)
			}
		case s.Stroke == figure.Teal && s.Width == 3 && s.Lines[0][1].X > 100:
			found++
			a, b := s.Lines[0][0], s.Lines[0][1]
			for k := 0.05; k < 1; k += 0.09 {
				if x := a.X + k*(b.X-a.X); !is(m, 2*x, 2*a.Y, figure.Teal) {
					t.Errorf("no line at %v, %v", x, a.Y)
				}
			}
		case s.Stroke == figure.Orange && s.Lines[0][1].X > 100:
			found++
			on, off := 0, 0
			for x := s.Lines[0][0].X + 1; x < s.Lines[0][1].X-1; x++ {
				if is(m, 2*x, 2*s.Lines[0][0].Y, figure.Orange) {
					on++
				} else {
					off++
				}
			}
			if on < off || off < 20 {
				t.Errorf("a dashed line is drawn at %d places and not at %d", on, off)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d of the marks looked for, want 3", found)
	}
}

// Text is there: a title darkens the pixels above the plot.
func TestText(t *testing.T) {
	with, without := decode(t, &figure.Figure{Title: "Furlong", Wide: 200, High: 100, Note: "x"}, 1), decode(t, &figure.Figure{Wide: 200, High: 100, Note: "x"}, 1)
	dark := func(m image.Image) (n int) {
		for y := range 24 {
			for x := range 100 {
				if r, _, _, _ := m.At(x, y).RGBA(); r < 0x8000 {
					n++
				}
			}
		}
		return n
	}
	if a, b := dark(with), dark(without); a < 60 || b != 0 {
		t.Errorf("%d dark pixels with a title and %d without", a, b)
	}
}

// A polygon that runs the other way round does not take away the one below it.
func TestOverlap(t *testing.T) {
	p := &picture{image: image.NewRGBA(image.Rect(0, 0, 20, 20)), scale: 1}
	box := []figure.Point{{X: 2, Y: 2}, {X: 18, Y: 2}, {X: 18, Y: 18}, {X: 2, Y: 18}}
	back := []figure.Point{{X: 2, Y: 18}, {X: 18, Y: 18}, {X: 18, Y: 2}, {X: 2, Y: 2}}
	p.fill(figure.Shape{Lines: [][]figure.Point{box, back}, Fill: figure.Blue})
	if !is(p.image, 10, 10, figure.Blue) {
		t.Error("two boxes over each other are a hole")
	}
}

func TestDashes(t *testing.T) {
	pieces := dashed([]figure.Point{{X: 0}, {X: 4}, {X: 20}}, []float64{5, 3})
	var got []float64
	for _, p := range pieces {
		got = append(got, p[0].X, p[len(p)-1].X)
	}
	want := []float64{0, 5, 8, 13, 16, 20}
	for i := range want {
		if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-9 {
			t.Fatalf("dashes from and to %v, want %v", got, want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	if _, err := PNG(sample(), 1000); err == nil {
		t.Error("a picture of 380,000 pixels is made")
	}
}
