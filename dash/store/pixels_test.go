package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/dash/api"
	"furlong/metrics/run"
)

// A raster is a picture of a line: which pixels it passes through.
type raster struct {
	from, to, low, high float64
	wide, tall          int
	on                  []bool
}

func newRaster(from, to, low, high float64, wide, tall int) *raster {
	return &raster{from, to, low, high, wide, tall, make([]bool, wide*tall)}
}

// place returns where a point lies, in pixels.
func (r *raster) place(x, y float64) (float64, float64) {
	return (x - r.from) / (r.to - r.from) * float64(r.wide), (y - r.low) / (r.high - r.low) * float64(r.tall-1)
}

// fill paints a column between two heights.
func (r *raster) fill(column int, a, b float64) {
	if column < 0 || column >= r.wide {
		return
	}
	for y := int(math.Floor(min(a, b))); y <= int(math.Floor(max(a, b))); y++ {
		r.on[column*r.tall+y] = true
	}
}

// line paints every pixel that the line between two points passes through.
func (r *raster) line(x0, y0, x1, y1 float64) {
	ax, ay := r.place(x0, y0)
	bx, by := r.place(x1, y1)
	first, last := int(math.Floor(ax)), int(math.Floor(bx))
	if first == last {
		r.fill(first, ay, by)
		return
	}
	at := func(x float64) float64 { return ay + (by-ay)*(x-ax)/(bx-ax) }
	for c := first; c <= last; c++ {
		r.fill(c, at(max(ax, float64(c))), at(min(bx, float64(c+1))))
	}
}

// draw paints a line through points that ascend in x. It is broken where a value is not finite, and where broken says so of two neighbours.
func (r *raster) draw(x, y []float64, broken func(a, b float64) bool) {
	last := -1
	for i := range x {
		if math.IsNaN(y[i]) || math.IsInf(y[i], 0) {
			last = -1
			continue
		}
		if last < 0 || broken(x[last], x[i]) {
			r.line(x[i], y[i], x[i], y[i])
		} else {
			r.line(x[last], y[last], x[i], y[i])
		}
		last = i
	}
}

func (r *raster) differs(o *raster) (column, row int, yes bool) {
	for i := range r.on {
		if r.on[i] != o.on[i] {
			return i / r.tall, i % r.tall, true
		}
	}
	return 0, 0, false
}

// A wild is rows with spikes, with numbers that are missing or not finite, and with cycles that are.
type wild struct {
	cycles []float64
	gone   map[int]bool
	values map[string][]float64 // by row; NaN where there is none or it is not finite
}

func newWild(rng *rand.Rand, n int) (w wild, file string) {
	w = wild{gone: map[int]bool{}, values: map[string][]float64{}}
	var b strings.Builder
	level, holes := 0.0, 0.002+0.02*rng.Float64()
	for c := 1; c <= n; c++ {
		if rng.Float64() < holes/4 {
			for range 1 + rng.IntN(3) {
				w.gone[c] = true
				c++
			}
		}
		w.cycles = append(w.cycles, float64(c))
		fmt.Fprintf(&b, `{"kind":"cycle","cycle":%d,"attempt":1,"step":%d,"time":%d`, c, c, c)
		level += rng.NormFloat64()
		for _, key := range []string{"walk", "noise", "seldom"} {
			v, text := level, ""
			switch {
			case key == "noise":
				v = rng.NormFloat64()
			case key == "seldom" && c%10 != 0:
				v = math.NaN()
			}
			if rng.IntN(300) == 0 {
				v *= 40
			}
			if u := rng.Float64(); u < holes && key != "seldom" {
				v = math.NaN()
				text = []string{"", `"NaN"`, `"Infinity"`, "null"}[rng.IntN(4)]
			} else if !math.IsNaN(v) {
				text = string(api.Float(v))
			}
			w.values[key] = append(w.values[key], v)
			if text != "" {
				fmt.Fprintf(&b, `,%q:%s`, key, text)
			}
		}
		b.WriteString("}\n")
	}
	return w, b.String()
}

// broken reports whether a cycle between two is missing.
func (w wild) broken(a, b float64) bool {
	for c := int(a) + 1; c < int(b); c++ {
		if w.gone[c] {
			return true
		}
	}
	return false
}

// present leaves out the rows without a number.
func present(x, y []float64) (px, py []float64) {
	for i := range x {
		if !math.IsNaN(y[i]) {
			px, py = append(px, x[i]), append(py, y[i])
		}
	}
	return px, py
}

// The rows that are sent paint the same pixels as all rows, at any width, whole or zoomed.
func TestThinnedRowsPaintTheSamePixels(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for round := range 12 {
		w, file := newWild(rng, 2000+rng.IntN(3000))
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, run.RowsFile), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		r := open(t, dir)
		n := len(w.cycles)
		for _, px := range []int{40, 120, 300, 397} {
			from, to := w.cycles[0], w.cycles[n-1]
			if px == 120 {
				from, to = from+(to-from)*0.1*rng.Float64(), to-(to-from)*0.2*rng.Float64()
			}
			for _, keys := range [][]string{{"walk"}, {"walk", "noise", "seldom"}} {
				got, err := r.Rows(Ask{Keys: keys, From: from, To: to, Pixels: px})
				if err != nil {
					t.Fatal(err)
				}
				if got.Kept >= n/2 && px < 200 && len(keys) == 1 {
					t.Fatalf("round %d: %d of %d rows are sent for %d pixels", round, got.Kept, n, px)
				}
				for _, key := range keys {
					w.compare(t, fmt.Sprintf("round %d, %s, %d keys", round, key, len(keys)), key, got, newRaster(from, to, 0, 1, px, 1))
				}
			}
		}
	}
}

// compare paints a series from all rows and from those that were sent.
func (w wild) compare(t *testing.T, what, key string, got *api.Rows, plot *raster) {
	t.Helper()
	x, y := make([]float64, got.Kept), make([]float64, got.Kept)
	for i := range x {
		x[i], y[i] = float64(got.Cycle[i]), math.NaN()
		if v := number(got.Cols[key][i]); got.Cols[key][i] != "" && !math.IsInf(v, 0) {
			y[i] = v
		}
	}
	allX, allY, broken := w.cycles, w.values[key], w.broken
	if key == "seldom" { // measured now and then: joined
		allX, allY = present(allX, allY)
		x, y = present(x, y)
		broken = func(float64, float64) bool { return false }
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range allY {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	for _, tall := range []int{60, 228} {
		a, b := newRaster(plot.from, plot.to, low, high, plot.wide, tall), newRaster(plot.from, plot.to, low, high, plot.wide, tall)
		a.draw(allX, allY, broken)
		b.draw(x, y, broken)
		if c, row, yes := a.differs(b); yes {
			t.Fatalf("%s at %d x %d: pixel %d, %d is painted from all rows: %v, and from the %d that are sent: %v", what, plot.wide, tall, c, row, a.on[c*tall+row], got.Kept, b.on[c*tall+row])
		}
	}
}
