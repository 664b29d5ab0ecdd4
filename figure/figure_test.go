package figure

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the figures of testdata anew")

// ramp returns n numbers from a, so far apart.
func ramp(n int, a, step float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = a + step*float64(i)
	}
	return out
}

// wave returns n numbers around a level.
func wave(n int, level, high, turn float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level + high*math.Sin(turn*float64(i))
	}
	return out
}

func with(y []float64, v float64, at ...int) []float64 {
	y = slices.Clone(y)
	for _, i := range at {
		y[i] = v
	}
	return y
}

var nan = math.NaN()

// samples are figures of each kind of mark.
func samples() map[string]*Figure {
	x := ramp(60, 1, 1)
	fit := ramp(60, 0.42, 0.003)
	return map[string]*Figure{
		"reward": {
			Title: "Online reward", Value: "0.57", Desc: "It rises.", Y: Axis{Label: "mean of 256 samples"}, X: Axis{Whole: true}, Wide: 380, High: 290, Odd: []float64{33},
			Marks: []Mark{
				Span{Name: "lost", From: 20.5, To: 24.5},
				Line{Name: "per cycle", X: x, Y: with(wave(60, 0.5, 0.06, 1.7), nan, 20, 21, 22, 23, 32, 40, 42), Colour: Blue, Width: 1, Alpha: 0.5},
				Band{X: x, Lo: ramp(60, 0.40, 0.003), Hi: ramp(60, 0.44, 0.003), Colour: Slate},
				Line{Name: "fit +0.300 per 100", X: x, Y: fit, Colour: Slate, Dash: Dashed},
			},
		},
		"gap": {
			Title: "Train–rollout gap", Value: "0.089", Y: Axis{Label: "|Δ logprob|, nats", Log: true, Zero: true}, Wide: 380, High: 290,
			Marks: []Mark{
				Line{Name: "mean", X: x, Y: with(wave(60, 0.09, 0.01, 1), 0, 3, 4, 5), Colour: Teal},
				Line{Name: "p99", X: x, Y: with(wave(60, 0.4, 0.1, 1.3), 5, 37), Colour: Orange},
				Rule{X: 50, Text: "retried", Colour: Warn},
				Ticks{Name: "update", X: []float64{10, 20, 30}, Colour: Slate},
			},
		},
		"pass": {
			Title: "Held-out pass@k", Y: Axis{Label: "a unit that is far too long for the room beside the title of this figure"}, Value: "0.49", Wide: 380, High: 290,
			Marks: []Mark{
				Band{Name: "95 %", X: []float64{0, 20, 40}, Lo: []float64{0.3, 0.33, 0.4}, Hi: []float64{0.4, 0.43, 0.5}, Colour: Purple},
				Line{Name: "pass@1", X: []float64{0, 20, 40}, Y: []float64{0.35, 0.38, 0.45}, Colour: Purple, Dot: Disc},
				Line{Name: "8", X: []float64{0, 20, 40}, Y: []float64{0.6, 0.62, 0.7}, Colour: Purple, Dot: Square, End: "pass@8"},
				Level{Name: "baseline", Y: 0.5, Colour: Slate},
			},
		},
		"alone": {
			Title: "One evaluation", Wide: 380, High: 290, Y: Axis{Unit: Percent},
			Marks: []Mark{Band{X: []float64{0}, Lo: []float64{0.3}, Hi: []float64{0.4}, Colour: Purple}, Line{X: []float64{0}, Y: []float64{0.35}, Colour: Purple, Dot: Disc}},
		},
		"time": {
			Title: "Time by phase", Value: "4.3 s", Y: Axis{Label: "seconds a cycle", Zero: true}, Wide: 280, High: 236,
			Marks: []Mark{Bars{X: x, Each: 2, Parts: []Part{{Name: "rollout 60%", Y: wave(60, 2, 0.5, 1), Colour: Blue}, {Name: "train 39%", Y: with(wave(60, 1, 0.1, 2), nan, 7), Colour: Orange}, {Name: "idle 1%", Y: ramp(60, 0.02, 0), Colour: Idle}}}},
		},
		"staleness": {
			Title: "Staleness", Y: Axis{Label: "versions behind", Zero: true, Whole: true}, Wide: 280, High: 236,
			Marks: []Mark{Step{Name: "mean", X: x, Y: with(ramp(60, 1, 0), 2, 30, 31), Colour: Teal}, Dots{Name: "max", X: []float64{7, 7.001, 9}, Y: []float64{3, 3, nan}, Colour: Slate, Dot: Small}},
		},
		"heat": {Title: "Load of experts", Wide: 380, High: 200, X: Axis{Label: "expert", Whole: true}, Y: Axis{Ticks: []float64{}}, Marks: []Mark{Heat{Steps: [][]int{{0, 1, 2, 3}, {6, 5, -1, 4}}}}},
		"note": {Title: "Gap", Wide: 280, High: 236, Note: "0 in all 186 cycles: the same bits for 1,204,331 tokens."},
		"growth": {
			Title: "time < tokens", X: Axis{Label: "tokens & more", Log: true, Ticks: []float64{1, 10, 100}}, Y: Axis{Label: "µs", Log: true, Unit: Kilo},
			Marks: []Mark{Line{X: []float64{1, 10, 100}, Y: []float64{300, 400, 600}, Colour: Blue, Dot: Disc, End: "prompt"}, Line{X: []float64{1, 10, 100}, Y: []float64{300, 390, 600}, Colour: Orange, Dash: Dotted, End: "decode"}},
		},
		"empty": {},
	}
}

func TestGolden(t *testing.T) {
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			got := f.Inline()
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the figure is not %s; look at it, then go test ./figure -update", path)
			}
			if got != f.Inline() {
				t.Error("the same figure is another text")
			}
		})
	}
}

// An element of a figure.
type element struct {
	name string
	attr map[string]string
	text string
}

// parse reads a figure as XML.
func parse(t *testing.T, svg string) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, svg)
		}
		switch v := tok.(type) {
		case xml.StartElement:
			e := element{name: v.Name.Local, attr: map[string]string{}}
			for _, a := range v.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if n := len(all); n > 0 {
				all[n-1].text += strings.TrimSpace(string(v))
			}
		}
	}
}

func texts(all []element) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.text + "\n")
	}
	return b.String()
}

// Every figure is XML, has no script, no link, no number that is none, and no class without a rule.
func TestClean(t *testing.T) {
	css := CSS()
	for name, f := range samples() {
		for _, e := range parse(t, f.SVG()) {
			if e.name == "script" || e.name == "a" || e.name == "image" || e.name == "foreignObject" {
				t.Errorf("%s holds a %s", name, e.name)
			}
			for k, v := range e.attr {
				if strings.Contains(v, "NaN") || strings.Contains(v, "Inf") || strings.HasPrefix(k, "on") || k == "href" {
					t.Errorf("%s: %s has %s=%q", name, e.name, k, v)
				}
				for c := range strings.FieldsSeq(v) {
					if k == "class" && c != "figure" && !strings.Contains(css, "."+c+"{") {
						t.Errorf("%s: class %q has no rule", name, c)
					}
				}
			}
		}
	}
}

func TestHostile(t *testing.T) {
	bad := "<script>window.__x=1</script>\x00\u202e\xff\uffff\"'&"
	f := &Figure{Title: bad, Desc: bad, Value: bad, X: Axis{Label: bad}, Y: Axis{Label: bad}, Marks: []Mark{
		Line{Name: bad, End: bad, X: []float64{1, 2}, Y: []float64{1, 2}, Colour: Blue},
		Rule{X: 1, Text: bad, Colour: Warn},
		Bars{X: []float64{1}, Parts: []Part{{Name: bad, Y: []float64{1}, Colour: Blue}}},
	}}
	if svg := f.SVG(); strings.Contains(svg, "<script") || !strings.Contains(texts(parse(t, svg)), "<script>window.__x=1</script>") {
		t.Error("hostile text is not shown as text")
	}
	parse(t, (&Figure{Note: bad}).SVG())
}

// at returns where a sample's line runs, run by run.
func linesOf(f *Figure, c Colour) (lines [][]Point) {
	shapes, _, _ := f.Shapes()
	for _, s := range shapes {
		if s.Stroke == c && s.Width != 0 && len(s.Lines) > 0 && len(s.Lines[0]) != 4 {
			lines = s.Lines // the last: the key has a sample of it first
		}
	}
	return lines
}

// A line stops where a number is missing, and a number alone is a point.
func TestGaps(t *testing.T) {
	f := samples()["reward"]
	var long []int
	for _, l := range linesOf(f, Blue) {
		long = append(long, len(l))
	}
	if want := []int{20, 8, 7, 17}; !slices.Equal(long, want) {
		t.Errorf("runs of %v points, want %v", long, want)
	}
	shapes, _, _ := f.Shapes()
	alone := 0
	for _, s := range shapes {
		if s.Radius > 0 && s.Fill == Blue {
			alone += len(s.Lines[0])
		}
	}
	if alone != 1 {
		t.Errorf("%d points stand alone, want 1", alone)
	}
}

// The line goes where the scale says, and a zero on a logarithmic axis into its lane.
func TestPlaces(t *testing.T) {
	f := &Figure{Y: Axis{Range: [2]float64{0, 10}}, Wide: 200, High: 200, Marks: []Mark{Line{X: []float64{0, 1, 2}, Y: []float64{0, 10, 5}, Colour: Blue}}}
	l := linesOf(f, Blue)[0]
	if l[1].Y >= l[0].Y || math.Abs((l[0].Y+l[1].Y)/2-l[2].Y) > 1e-9 || math.Abs((l[0].X+l[2].X)/2-l[1].X) > 1e-9 {
		t.Errorf("line runs through %v", l)
	}
	g := &Figure{Y: Axis{Log: true, Zero: true}, Wide: 200, High: 200, Marks: []Mark{Line{X: []float64{0, 1, 2}, Y: []float64{0, 0.1, 10}, Colour: Blue}}}
	l = linesOf(g, Blue)[0]
	if d := l[0].Y - l[1].Y; d < laneHigh {
		t.Errorf("zero lies %v pixels below the least number, want %d and more", d, laneHigh)
	}
	if !strings.Contains(texts(parse(t, g.SVG())), "\n0\n") {
		t.Error("the lane of zeros is not named")
	}
}

// The spike of one row is drawn to its height, however many rows there are.
func TestSpike(t *testing.T) {
	n := 10000
	f := &Figure{Y: Axis{Range: [2]float64{0, 10}}, Wide: 380, High: 290, Marks: []Mark{Line{X: ramp(n, 1, 1), Y: with(wave(n, 1, 0.2, 1), 9, 6543), Colour: Blue}}}
	l := linesOf(f, Blue)[0]
	top := math.Inf(1)
	for _, p := range l {
		top = min(top, p.Y)
	}
	low, high := l[0].Y, 0.0 // of 1: the wave begins there
	shapes, _, _ := f.Shapes()
	for _, s := range shapes {
		if s.Text == "10" {
			high = s.At.Y - 4
		}
	}
	if want := low + (high-low)*8/9; math.Abs(top-want) > 1e-6 || len(l) > 4*380 {
		t.Errorf("highest of %d points is at %v, want %v", len(l), top, want)
	}
}

func TestBars(t *testing.T) {
	b := Bars{X: []float64{1, 2, 3, 4, 6}, Each: 2, Parts: []Part{{Y: []float64{1, 3, 5, 7, 9}}, {Y: []float64{0, 0, nan, 2, 1}}}}
	var got []float64
	for _, s := range b.stacks() {
		got = append(got, s.from, s.parts[0], s.parts[1])
	}
	if want := []float64{0.5, 2, 0, 2.5, 6, 2, 4.5, 9, 1}; !slices.Equal(got, want) {
		t.Errorf("bars are %v, want %v", got, want)
	}
	if PerBar(50, 170) != 1 || PerBar(100, 170) != 2 || PerBar(10000, 170) != 177 {
		t.Error("bars are too narrow or too wide")
	}
}

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		name string
		axis Axis
		data []float64
		want string // ticks
	}{
		{"linear", Axis{}, []float64{0.21, 0.69}, "0.2 0.3 0.4 0.5 0.6 0.7"},
		{"negative", Axis{}, []float64{-3, 40}, "0 10 20 30 40"},
		{"one number", Axis{}, []float64{7}, "6.8 7.0 7.2"},
		{"nothing", Axis{}, nil, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{"from zero", Axis{Zero: true, Unit: Percent}, []float64{0.2, 0.6}, "0% 20% 40% 60%"},
		{"not from zero", Axis{Zero: true, Unit: Percent}, []float64{0.5, 0.6}, "50% 52% 54% 56% 58% 60%"},
		{"only zero", Axis{Zero: true}, []float64{0, 0}, "0.0 0.1 0.2 0.3 0.4 0.5"},
		{"whole", Axis{Zero: true, Whole: true}, []float64{0, 2}, "0 1 2"},
		{"thousands", Axis{Zero: true, Unit: Kilo}, []float64{0, 18300}, "0 5k 10k 15k"},
		{"decades", Axis{Log: true}, []float64{0.03, 250}, "0.1 1 10 100"},
		{"many decades", Axis{Log: true}, []float64{1e-9, 1}, "1e−9 1e−7 1e−5 0.001 0.1"},
		{"within a decade", Axis{Log: true}, []float64{300, 600}, "300 400 500 600 700"},
		{"small", Axis{}, []float64{1e-5, 3e-5}, "1e−5 1.5e−5 2e−5 2.5e−5 3e−5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := nothing()
			e.add(tt.axis.Log, tt.data...)
			s := newScale(tt.axis, e, 210, 0, 34)
			var got []string
			for _, v := range s.ticks {
				got = append(got, s.label(v))
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("ticks %s, want %s", g, tt.want)
			}
			for _, v := range tt.data {
				if at := s.at(v); at < 0 || at > 210 || !s.fits(v) {
					t.Errorf("%v lies at %v, outside of 0 to 210", v, at)
				}
			}
		})
	}
}

func TestNamesMakeRoom(t *testing.T) {
	for _, tt := range []struct{ at, want []float64 }{
		{[]float64{100, 101, 50, 99}, []float64{114, 129, 50, 99}},
		{[]float64{195, 196}, []float64{185, 200}},
		{nil, nil},
	} {
		if got := apart(tt.at, 10, 200); !slices.Equal(got, tt.want) {
			t.Errorf("names at %v, want %v", got, tt.want)
		}
	}
}

func TestMarksOfDifferentLengthPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two X and one Y are drawn")
		}
	}()
	(&Figure{Marks: []Mark{Line{X: []float64{1, 2}, Y: []float64{1}}}}).SVG()
}

// Series colours keep their distance from the panel, and each curve of many has a look of its own.
func TestColours(t *testing.T) {
	type look struct {
		c Colour
		d Dash
	}
	seen := map[look]bool{}
	for i := range 18 {
		c, d := Nth(i)
		if seen[look{c, d}] {
			t.Errorf("curve %d looks like another", i)
		}
		seen[look{c, d}] = true
	}
	for _, dark := range []bool{false, true} {
		for _, c := range []Colour{Blue, Orange, Teal, Purple, Olive, Slate} {
			if r := contrast(c, Panel, dark); r < 3 {
				t.Errorf("%s on the panel has a contrast of %.2f, want 3 and more (dark %v)", c, r, dark)
			}
		}
		for _, c := range []Colour{Ink, Grey, Warn} {
			if r := contrast(c, Panel, dark); r < 4.5 {
				t.Errorf("text in %s has a contrast of %.2f, want 4.5 and more (dark %v)", c, r, dark)
			}
		}
	}
}

// contrast is that of WCAG 2.
func contrast(a, b Colour, dark bool) float64 {
	x, y := luminance(a, dark), luminance(b, dark)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c Colour, dark bool) float64 {
	rgb := c.RGB(dark)
	l := 0.0
	for i, v := range []uint8{rgb.R, rgb.G, rgb.B} {
		s := float64(v) / 255
		if s <= 0.04045 {
			s /= 12.92
		} else {
			s = math.Pow((s+0.055)/1.055, 2.4)
		}
		l += s * []float64{0.2126, 0.7152, 0.0722}[i]
	}
	return l
}
