package bench

import (
	"fmt"
	"math"
	"strings"
)

// A curve is one line of a plot.
type curve struct {
	name, color string
	y           []float64
}

// The plot, in pixels: the frame of the curves, and the whole.
const (
	left, top, right, bottom = 70, 40, 560, 340
	plotWide, plotHigh       = 680, 400
)

// SVG draws the time of a token against the length of its sequence; both axes are logarithmic. A work of linear time is a level line.
func (g *GrowthReport) SVG() string {
	var x []float64
	curves := []curve{{name: "prompt", color: "#1f77b4"}, {name: "decode", color: "#d62728"}, {name: "train", color: "#2ca02c"}}
	for _, p := range g.Points {
		x = append(x, float64(p.Context))
		for i, us := range []float64{p.PromptUS, p.DecodeUS, p.TrainUS} {
			curves[i].y = append(curves[i].y, us)
		}
	}
	return plot(x, curves)
}

func plot(x []float64, curves []curve) string {
	lo, hi := math.Inf(1), 0.0
	for _, c := range curves {
		for _, v := range c.y {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	lo, hi = math.Pow(10, math.Floor(math.Log10(lo))), math.Pow(10, math.Ceil(math.Log10(hi)))
	atX := scale(x[0], x[len(x)-1], left, right)
	atY := scale(lo, hi, bottom, top)

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWide, plotHigh)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWide, plotHigh)
	label(&b, left, 24, "start", "microseconds a token, by length of the sequence")
	for v := lo; v <= hi*1.01; v *= 10 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, right, atY(v), atY(v))
		label(&b, left-6, atY(v)+4, "end", fmt.Sprintf("%g", v))
	}
	for _, v := range x {
		label(&b, atX(v), bottom+18, "middle", fmt.Sprintf("%g", v))
	}
	label(&b, (left+right)/2, bottom+40, "middle", "tokens")
	for _, c := range curves {
		c.draw(&b, x, atX, atY)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scale returns the map from lo..hi, by their logarithms, to pixels.
func scale(lo, hi, from, to float64) func(float64) float64 {
	return func(v float64) float64 { return from + (to-from)*math.Log(v/lo)/math.Log(hi/lo) }
}

func (c curve) draw(b *strings.Builder, x []float64, atX, atY func(float64) float64) {
	var points []string
	for i, v := range c.y {
		points = append(points, fmt.Sprintf("%.1f,%.1f", atX(x[i]), atY(v)))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", atX(x[i]), atY(v), c.color)
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), c.color)
	label(b, right+10, atY(c.y[len(c.y)-1])+4, "start", c.name)
}

func label(b *strings.Builder, x, y float64, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, text)
}
