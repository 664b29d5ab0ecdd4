package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		lo, hi float64
		want   []float64
	}{
		{0, 1, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{0.21, 0.69, []float64{0.2, 0.3, 0.4, 0.5, 0.6, 0.7}},
		{-3, 40, []float64{-10, 0, 10, 20, 30, 40}},
		{7, 7, []float64{6.4, 6.6, 6.8, 7, 7.2, 7.4, 7.6}},
	} {
		a := newAxis(tt.lo, tt.hi, false, 0, 1)
		if len(a.ticks) != len(tt.want) {
			t.Errorf("%v to %v: ticks %v, want %v", tt.lo, tt.hi, a.ticks, tt.want)
			continue
		}
		for i, v := range a.ticks {
			if math.Abs(v-tt.want[i]) > 1e-9 {
				t.Errorf("%v to %v: ticks %v, want %v", tt.lo, tt.hi, a.ticks, tt.want)
			}
		}
		if a.lo > tt.lo || a.hi < tt.hi {
			t.Errorf("%v to %v do not fit on %v to %v", tt.lo, tt.hi, a.lo, a.hi)
		}
	}
}

func TestDecades(t *testing.T) {
	a := newAxis(0.03, 250, true, 0, 100)
	if want := []float64{0.01, 0.1, 1, 10, 100, 1000}; !slices.Equal(a.ticks, want) {
		t.Errorf("ticks %v, want %v", a.ticks, want)
	}
	if got := a.at(1); math.Abs(got-40) > 1e-9 {
		t.Errorf("1 lies at %v, want 40", got)
	}
	if one := newAxis(1, 1, true, 0, 100); one.lo == one.hi {
		t.Error("an axis of one number has no length")
	}
}

func TestNamesMakeRoom(t *testing.T) {
	if got, want := apart([]float64{100, 101, 50, 99}), []float64{113, 127, 50, 99}; !slices.Equal(got, want) {
		t.Errorf("names at %v, want %v", got, want)
	}
}

// The picture is XML with every name, and a curve stops where a number has no place.
func TestSVG(t *testing.T) {
	f := &Figure{
		Title: "a < b", X: "cycle", Y: "nats", LogY: true,
		Curves: []Curve{
			{Name: "one & two", X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 2, 0, 4, 5}, Dots: true},
			{Name: "nothing", X: []float64{0, 1}, Y: []float64{math.NaN(), math.Inf(1)}},
		},
	}
	svg := f.SVG()
	d := xml.NewDecoder(strings.NewReader(svg))
	text, lines, dots := "", 0, 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := tok.(type) {
		case xml.CharData:
			text += string(v)
		case xml.StartElement:
			switch v.Name.Local {
			case "polyline":
				lines++
			case "circle":
				dots++
			}
		}
	}
	for _, want := range []string{"a < b", "one & two", "nothing", "cycle", "nats"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if lines != 2 || dots != 4 {
		t.Errorf("%d lines and %d dots, want 2 and 4", lines, dots)
	}
	if svg != f.SVG() {
		t.Error("the same figure is another text")
	}
}

func TestEmpty(t *testing.T) {
	if svg := (&Figure{}).SVG(); strings.Contains(svg, "NaN") || !strings.HasSuffix(svg, "</svg>\n") {
		t.Errorf("an empty figure is %s", svg)
	}
}
