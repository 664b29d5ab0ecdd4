package bench

import "furlong/plot"

// SVG draws the time of a token against the length of its sequence; both axes are logarithmic. A work of linear time is a level line.
func (g *GrowthReport) SVG() string {
	var lengths []float64
	curves := []plot.Curve{{Name: "prompt", Dots: true}, {Name: "decode", Dots: true}, {Name: "train", Dots: true}}
	for _, p := range g.Points {
		lengths = append(lengths, float64(p.Context))
		for i, us := range []float64{p.PromptUS, p.DecodeUS, p.TrainUS} {
			curves[i].X, curves[i].Y = append(curves[i].X, float64(p.Context)), append(curves[i].Y, us)
		}
	}
	f := plot.Figure{Title: "time of a token, by length of the sequence", X: "tokens", Y: "microseconds a token", LogX: true, LogY: true, XTicks: lengths, Curves: curves}
	return f.SVG()
}
