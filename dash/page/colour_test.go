package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// A colour is sRGB, 0 to 1.
type colour [3]float64

var pair = regexp.MustCompile(`--([a-z0-9-]+): light-dark\(#([0-9A-F]{6}), #([0-9A-F]{6})\);`)

// table reads the colours of style.css: one map a theme.
func table(t *testing.T) map[string]map[string]colour {
	t.Helper()
	out := map[string]map[string]colour{"light": {}, "dark": {}}
	for _, m := range pair.FindAllStringSubmatch(string(read(FS, "style.css")), -1) {
		out["light"][m[1]], out["dark"][m[1]] = hex(t, m[2]), hex(t, m[3])
	}
	if len(out["light"]) < 30 {
		t.Fatalf("style.css has %d colours of the form --name: light-dark(#RRGGBB, #RRGGBB), want at least 30", len(out["light"]))
	}
	return out
}

func hex(t *testing.T, s string) (c colour) {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c {
		c[i] = float64(v>>(16-8*i)&255) / 255
	}
	return c
}

// linear undoes the transfer function of sRGB.
func (c colour) linear() (l colour) {
	for i, v := range c {
		if l[i] = v / 12.92; v > 0.04045 {
			l[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return l
}

func (c colour) times(m [9]float64) (out colour) {
	for i := range out {
		out[i] = m[3*i]*c[0] + m[3*i+1]*c[1] + m[3*i+2]*c[2]
	}
	return out
}

// contrast is that of WCAG 2: 1 to 21.
func contrast(a, b colour) float64 {
	luminance := func(c colour) float64 {
		l := c.linear()
		return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2] + 0.05
	}
	x, y := luminance(a), luminance(b)
	return max(x, y) / min(x, y)
}

// oklab is Björn Ottosson's space of 2020, from linear sRGB.
func oklab(l colour) colour {
	lms := l.times([9]float64{0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376, 0.6299787005})
	for i, v := range lms {
		lms[i] = math.Cbrt(max(v, 0))
	}
	return lms.times([9]float64{0.2104542553, 0.7936177850, -0.0040720468, 1.9779984951, -2.4285922050, 0.4505937099, 0.0259040371, 0.7827717662, -0.8086757660})
}

// sights are simulations of full severity on linear sRGB, by Machado, Oliveira and Fernandes (2009).
var sights = map[string][9]float64{
	"normal": {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protan": {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deutan": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritan": {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

var series = []string{"blue", "orange", "teal", "purple", "olive", "slate"}

// TestSeriesAreToldApart holds the smallest distance between two series colours, for every kind of sight.
func TestSeriesAreToldApart(t *testing.T) {
	least := map[string]float64{"light normal": 16.4, "light protan": 14.9, "light deutan": 14.9, "light tritan": 13.4, "dark normal": 17.9, "dark protan": 15.8, "dark deutan": 15.1, "dark tritan": 13.9}
	for theme, colours := range table(t) {
		for sight, matrix := range sights {
			got, who := nearest(colours, matrix)
			if want := least[theme+" "+sight]; got < want {
				t.Errorf("%s, %s sight: %s are %.1f apart, want %.1f", theme, sight, who, got, want)
			}
		}
	}
}

func nearest(colours map[string]colour, matrix [9]float64) (least float64, who string) {
	least = math.Inf(1)
	for i, a := range series {
		for _, b := range series[:i] {
			x, y := oklab(colours[a].linear().times(matrix)), oklab(colours[b].linear().times(matrix))
			d := 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
			if d < least {
				least, who = d, a+" and "+b
			}
		}
	}
	return least, who
}

// TestContrasts holds every pair of text and ground that the styles make to AA, and lines to 3.
func TestContrasts(t *testing.T) {
	const text, mark = 4.5, 3.0
	pairs := []struct {
		front, back string
		least       float64
	}{
		{"bin-text", "high-1", text},
		{"bin-text", "high-2", text},
		{"bin-text-3", "high-3", text},
		{"bin-text-4", "high-4", text},
		{"bin-text", "low-1", text},
		{"bin-text", "low-2", text},
		{"bin-text-3", "low-3", text},
		{"bin-text-4", "low-4", text},
		{"ink", "heat-0", text},
		{"ink", "heat-1", text},
		{"ink", "heat-2", text},
		{"bin-text", "heat-1", text},
		{"bin-text", "heat-2", text},
		{"on-heat-3", "heat-3", text},
		{"on-heat-4", "heat-4", text},
		{"bin-text-4", "heat-5", text},
		{"bin-text-4", "heat-6", text},
		{"ink", "idle", text},
		{"on-blue", "blue", text},
		{"on-orange", "orange", text},
		{"on-teal", "teal", text},
		{"on-purple", "purple", text},
		{"on-olive", "olive", text},
		{"on-slate", "slate", text},
		{"panel", "link", text},
		{"panel", "ink", text},
		{"purple", "panel", 3.9},
		{"idle-line", "panel", mark},
		{"edge", "panel", mark},
		{"edge", "page", mark},
	}
	for _, back := range []string{"panel", "page", "hover", "chosen"} {
		for _, front := range []string{"ink", "grey", "link", "ok", "warn", "bad"} {
			pairs = append(pairs, struct {
				front, back string
				least       float64
			}{front, back, text})
		}
	}
	for _, s := range series {
		pairs = append(pairs, struct {
			front, back string
			least       float64
		}{s, "panel", mark})
	}
	for theme, colours := range table(t) {
		for _, p := range pairs {
			if got := contrast(known(t, colours, p.front), known(t, colours, p.back)); got < p.least {
				t.Errorf("%s: %s on %s has contrast %.2f, want %.1f", theme, p.front, p.back, got, p.least)
			}
		}
	}
}

func known(t *testing.T, colours map[string]colour, name string) colour {
	t.Helper()
	c, ok := colours[name]
	if !ok {
		t.Fatalf("style.css has no --%s", name)
	}
	return c
}

// TestColourArithmetic holds the measures to what is known of them.
func TestColourArithmetic(t *testing.T) {
	white, black := colour{1, 1, 1}, colour{}
	if got := fmt.Sprintf("%.2f", contrast(white, black)); got != "21.00" {
		t.Errorf("contrast of white on black is %s, want 21.00", got)
	}
	if l := oklab(white.linear()); math.Abs(l[0]-1) > 1e-6 || math.Abs(l[1]) > 1e-6 || math.Abs(l[2]) > 1e-6 {
		t.Errorf("white is %v in OKLab, want 1 0 0", l)
	}
	if got := contrast(hex(t, "0158D9"), white); math.Abs(got-6.2) > 0.05 {
		t.Errorf("contrast of 0158D9 on white is %.2f, want 6.2", got)
	}
}
