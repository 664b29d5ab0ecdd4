package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"sort"

	"furlong/figure"
	"furlong/parity"
)

// A strip is the response of a sequence, token by token.
type strip struct {
	*parity.SequenceRow
	Mean, Most parity.Figure // of |gap|, nats
	Odd        int           // tokens of which a side's logprob is no number
	Open       bool
	Cells      []cell
}

// A cell is a token of a strip.
type cell struct{ Text, Class, Title string }

// steps are the depths of colour, nats: gaps above the first get the first colour. Float32 rounding stays below it.
var steps = []float64{2e-5, 1e-3, 0.01, 0.1, 0.5, 2}

// shade names the colour of a gap: g0 for none to speak of, a1 to a6 where A holds the token for likelier, b1 to b6 where B does, bad where
// that cannot be said.
func shade(gap float64) string {
	if !finite(gap) {
		return "bad"
	}
	n := 0
	for n < len(steps) && math.Abs(gap) > steps[n] {
		n++
	}
	switch {
	case n == 0:
		return "g0"
	case gap > 0:
		return fmt.Sprintf("a%d", n)
	}
	return fmt.Sprintf("b%d", n)
}

func legend() []cell {
	var out []cell
	for _, side := range []float64{-1, 1} {
		for i := range steps {
			at := steps[i]
			if side < 0 {
				at = steps[len(steps)-1-i]
			}
			out = append(out, cell{Text: fmt.Sprintf("> %g", at), Class: shade(side * at * 1.0001)})
		}
		if side < 0 {
			out = append(out, cell{Text: "equal up to rounding", Class: "g0"})
		}
	}
	return append(out, cell{Text: "no number", Class: "bad"})
}

// strips returns the strips of sequences, up to the limit of tokens, and how many sequences have none. That with the largest gap is open.
func strips(all []parity.SequenceRow) (out []strip, hidden int) {
	tokens, worst := 0, -1
	for i := range all {
		if tokens += len(all[i].Response); tokens > stripTokens && i > 0 {
			hidden = len(all) - i
			break
		}
		out = append(out, newStrip(&all[i]))
		if worst < 0 || weight(out[i]) > weight(out[worst]) {
			worst = i
		}
	}
	if worst >= 0 {
		out[worst].Open = true
	}
	return out, hidden
}

func weight(s strip) float64 {
	if s.Odd > 0 {
		return math.Inf(1)
	}
	return float64(s.Most)
}

func newStrip(r *parity.SequenceRow) strip {
	s := strip{SequenceRow: r}
	sum := 0.0
	for t := range r.Texts {
		gap := float64(r.A[t]) - float64(r.B[t])
		if finite(gap) {
			sum += math.Abs(gap)
			s.Most = max(s.Most, parity.Figure(math.Abs(gap)))
		} else {
			s.Odd++
		}
		s.Cells = append(s.Cells, cell{show(r.Texts[t]), shade(gap), title(r, t, gap)})
	}
	s.Mean = parity.Figure(sum / float64(max(1, len(r.Texts)-s.Odd)))
	return s
}

// title says what there is to know of a token.
func title(r *parity.SequenceRow, t int, gap float64) string {
	s := fmt.Sprintf("position %d, token %d\nA %v\nB %v\nA − B %s nats", t, r.Response[t], r.A[t], r.B[t], nats(parity.Figure(gap)))
	if t < len(r.Generated) {
		s += fmt.Sprintf("\nA as it drew it %v", r.Generated[t])
	}
	return s
}

// spread draws which share of the tokens has a gap above x.
func spread(all []parity.SequenceRow) template.HTML {
	f := figure.Figure{
		Title: "Share of tokens with a gap above x", Desc: "Share of the tokens of which both sides differ by more than x nats, against x; both axes are logarithmic.",
		X: figure.Axis{Label: "|gap|, nats", Log: true}, Y: figure.Axis{Label: "share of tokens", Log: true},
	}
	scored := survival(all, func(r *parity.SequenceRow) parity.Figures { return r.A })
	drawn := survival(all, func(r *parity.SequenceRow) parity.Figures { return r.Generated })
	scored.End, drawn.End = "A scores − B", "A draws − B"
	if len(scored.X) > 0 {
		scored.Colour, scored.Dash = figure.Nth(0)
		f.Marks = append(f.Marks, scored)
	}
	if len(drawn.X) > 0 && !slices.Equal(drawn.X, scored.X) {
		drawn.Colour, drawn.Dash = figure.Nth(len(f.Marks))
		f.Marks = append(f.Marks, drawn)
	}
	if len(f.Marks) == 0 {
		return ""
	}
	return template.HTML(f.SVG()) //nolint:gosec // our own drawing, whose texts are escaped
}

// most points of a curve: more cannot be seen.
const curvePoints = 400

// survival returns, for gaps x of tokens, the share of all tokens whose gap is at least x.
func survival(all []parity.SequenceRow, a func(*parity.SequenceRow) parity.Figures) (c figure.Line) {
	var gaps []float64
	total := 0
	for i := range all {
		for t, lp := range a(&all[i]) {
			total++
			if gap := math.Abs(float64(lp) - float64(all[i].B[t])); finite(gap) && gap > 0 {
				gaps = append(gaps, gap)
			}
		}
	}
	sort.Float64s(gaps)
	step := max(1, len(gaps)/curvePoints)
	for i := range gaps {
		if i%step == 0 || i == len(gaps)-1 {
			c.X = append(c.X, gaps[i])
			c.Y = append(c.Y, float64(len(gaps)-i)/float64(total))
		}
	}
	c.X, c.Y = slices.Clip(c.X), slices.Clip(c.Y)
	return c
}
