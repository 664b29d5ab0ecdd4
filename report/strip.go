package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/metrics/samples"
	"furlong/metrics/trend"
	"furlong/rl"
	"furlong/verdict"
)

// A Cell is a token of a strip.
type Cell struct {
	Pieces []verdict.Piece
	Class  string // of its colour; empty for a gap below the first edge
	Title  string // its numbers, where the gap is not small
	Mark   string // the version that chose it, where another had chosen the token before
	Lines  int    // line feeds in it
	Skip   int    // tokens left out before it
}

// edges are the bins of |trainer - rollout|, nats: the same in every sample of every run, so that strips may be compared.
var edges = []float64{0.05, 0.2, 0.5, 1}

// shade names the colour of a gap: h1 to h4 where the trainer holds the token for likelier, l1 to l4 for less likely, odd where it cannot be said.
func shade(gap float64) string {
	if !trend.Finite(gap) {
		return "odd"
	}
	n := 0
	for n < len(edges) && math.Abs(gap) >= edges[n] {
		n++
	}
	switch {
	case n == 0:
		return ""
	case gap > 0:
		return fmt.Sprintf("h%d", n)
	}
	return fmt.Sprintf("l%d", n)
}

// longest is how many characters of one token are shown.
const longest = 80

// newShown makes the strip of a sample, of so many tokens at most: its beginning, its end, and what stands around the largest gap.
func newShown(why string, s *samples.Stored, tokens int) Shown {
	n := len(s.Response)
	out := Shown{Why: why, Stored: s, Left: n}
	version := versions(s.Versions, n)
	last := -1
	for _, i := range window(n, int(s.Row.GapPos), tokens) {
		c := cell(s, i)
		if c.Skip = i - last - 1; last < 0 {
			c.Skip = i
		}
		if i > 0 && version[i] != version[i-1] {
			c.Mark = verdict.Version(version[i])
		}
		out.Cells = append(out.Cells, c)
		out.Left--
		last = i
	}
	return out
}

// versions returns which version chose each of n tokens.
func versions(spans []rl.Span, n int) []rl.Version {
	var all []rl.Version
	for _, s := range spans {
		for range min(s.Tokens, n-len(all)) {
			all = append(all, s.Version)
		}
	}
	for len(all) < n {
		all = append(all, 0)
	}
	return all
}

// window returns which of n tokens are shown where there is room for so many: all, or a quarter at each end and half around the place.
func window(n, place, room int) []int {
	show := make([]bool, n)
	set := func(from, to int) {
		for i := max(from, 0); i < min(to, n); i++ {
			show[i] = true
		}
	}
	if n <= room {
		set(0, n)
	} else {
		set(0, room/4)
		set(place-room/4, place+room/4)
		set(n-room/4, n)
	}
	var all []int
	for i, s := range show {
		if s {
			all = append(all, i)
		}
	}
	return all
}

// cell makes the cell of a token of the response.
func cell(s *samples.Stored, i int) Cell {
	text := s.Texts[len(s.Prompt.Tokens)+i]
	c := Cell{Pieces: pieces(text), Lines: strings.Count(text, "\n")}
	if s.Mask != nil && !s.Mask[i] {
		c.Class = "masked"
		return c
	}
	if s.TrainLogProbs == nil {
		return c
	}
	rollout, trainer := float64(s.LogProbs[i]), float64(s.TrainLogProbs[i])
	gap := trainer - rollout
	if rollout == trainer {
		gap = 0 // also where both are without end
	}
	if c.Class = shade(gap); c.Class != "" {
		c.Title = fmt.Sprintf("token %s: rollout %s, trainer %s, difference %s nats", verdict.Count(float64(i)), verdict.Nats(rollout), verdict.Nats(trainer), verdict.Nats(gap))
	}
	return c
}

// pieces cuts a token's text for the page. A line feed is the sign ⏎, after which the page breaks the line.
func pieces(text string) []verdict.Piece {
	text = verdict.Short(text, longest)
	var all []verdict.Piece
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			all = append(all, verdict.Piece{Text: "⏎", Box: true})
		}
		all = append(all, verdict.Pieces(line)...)
	}
	return slices.Clip(all)
}
