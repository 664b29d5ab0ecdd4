package bench

import "furlong/figure"

// SVG draws the time of a token against the length of its sequence; both axes are logarithmic. A work of linear time is a level line.
func (g *GrowthReport) SVG() string {
	var lengths []float64
	times := make([][]float64, 3)
	for _, p := range g.Points {
		lengths = append(lengths, float64(p.Context))
		for i, us := range []float64{p.PromptUS, p.DecodeUS, p.TrainUS} {
			times[i] = append(times[i], us)
		}
	}
	f := figure.Figure{
		Title: "Time of a token, by length of the sequence", Desc: "Microseconds a token of prompt, decoding and training, against tokens of the sequence; both axes are logarithmic.",
		X: figure.Axis{Label: "tokens", Log: true, Ticks: lengths}, Y: figure.Axis{Label: "microseconds a token", Log: true},
	}
	for i, name := range []string{"prompt", "decode", "train"} {
		c, dash := figure.Nth(i)
		f.Marks = append(f.Marks, figure.Line{X: lengths, Y: times[i], Colour: c, Dash: dash, Dot: figure.Disc, End: name})
	}
	return f.SVG()
}
