package store

import (
	"math"
	"sort"

	"furlong/dash/api"
	"furlong/metrics/samples"
)

// A histogram counts a column of the rows that a filter finds. Its edges depend on all rows and not on the filter, so that bars stay where they are.
type histogram struct {
	api.Hist
	name   string
	column samples.Column
	edges  []float64
	width  float64 // of equal bins; 0 for others
}

// bins is how many bars a histogram has.
const bins = 20

// gapEdges are those of gaps: zero to 1e-6, then three bars a decade up to 100.
var gapEdges = func() []float64 {
	e := []float64{0}
	for i := range 25 {
		e = append(e, math.Pow(10, float64(i-18)/3))
	}
	return e
}()

// histograms returns empty ones for the rows that are there.
func (x *sampleIndex) histograms() []*histogram {
	return []*histogram{x.equal("reward", samples.ColReward), x.equal("len", samples.ColResponseLen), {name: "gap", column: samples.ColGapMean, edges: gapEdges, Hist: hist(gapEdges)}}
}

func hist(edges []float64) api.Hist {
	h := api.Hist{Counts: make([]int, max(len(edges)-1, 0)), Edges: []api.Number{}}
	for _, e := range edges {
		h.Edges = append(h.Edges, api.Float(e))
	}
	return h
}

// equal returns a histogram of equal bins from the least to the greatest finite value.
func (x *sampleIndex) equal(name string, c samples.Column) *histogram {
	lo, hi := x.extremes(c)
	h := &histogram{name: name, column: c}
	switch {
	case lo > hi:
	case lo == hi:
		h.edges = []float64{lo, hi}
	default:
		n := bins
		if c == samples.ColResponseLen && hi-lo < bins {
			n = int(hi - lo)
		}
		h.width = (hi - lo) / float64(n)
		for i := range n {
			h.edges = append(h.edges, lo+float64(i)*h.width)
		}
		h.edges = append(h.edges, hi)
	}
	h.Hist = hist(h.edges)
	return h
}

// extremes returns the least and the greatest finite value of a column over all rows.
func (x *sampleIndex) extremes(c samples.Column) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	take := func(v float64) {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	for i := range x.segments {
		s := &x.segments[i]
		if s.chunk == nil {
			for j := range s.rows {
				take(c.Value(s.columns[c], j))
			}
			continue
		}
		for b := range s.blocks() {
			z := s.chunk.Zone(c, b)
			take(z.Min)
			take(z.Max)
		}
	}
	return lo, hi
}

func (h *histogram) count(data []byte, rows []int) {
	n := len(h.Counts)
	for _, i := range rows {
		v := h.column.Value(data, i)
		if n == 0 || math.IsNaN(v) || v < h.edges[0] || v > h.edges[n] {
			h.Odd++
			continue
		}
		h.Counts[h.bin(v)]++
	}
}

// bin returns where a value within the edges belongs. The guess of equal bins is held against the edges, so that what the edges say is true.
func (h *histogram) bin(v float64) int {
	n := len(h.Counts)
	if h.width == 0 {
		return max(min(sort.Search(n, func(i int) bool { return h.edges[i+1] > v }), n-1), 0)
	}
	b := min(int((v-h.edges[0])/h.width), n-1)
	for b > 0 && v < h.edges[b] {
		b--
	}
	for b < n-1 && v >= h.edges[b+1] {
		b++
	}
	return b
}
