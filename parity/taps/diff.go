package taps

import (
	"math"
	"slices"

	"furlong/tensor"
)

// A Diff is how far two sides differ at one boundary.
type Diff struct {
	Layer int // -1 outside the blocks
	Name  string
	First int // position of row 0; number of the window where Rate is above 1
	Rate  int // tokens that a row stands for

	Errors []float64 // of each row: relative; nats of logprobs; margins of choices that differ, 0 of those that do not
	At     int       // the row of the largest, -1 where all are 0
	Abs    float64   // largest difference of two elements
	Size   float64   // root of the mean square of what was recorded
	Same   bool      // no element differs
	Gain   float64   // by which factor less 1 the judge's are larger throughout, least squares: rounding leaves none
	Shift  float64   // by how much the judge's are larger on average, over Size
	Terms  int       // about how many terms the longest sum has that an element is made of: its rounding grows with that
	More   int       // of logprobs: rows of which the judge's is higher
	Less   int       // and lower

	// Spans are the boundaries, in order, whose recorded values are missing, so that this one's difference covers what they make, too.
	Spans []string

	// Of choices: the rows whose sets differ. Their errors say by how much the judge prefers its own choice, over the size of what its scores are summed
	// from: +Inf where no score speaks for the other, as in a layer that takes experts from a table. Plain has no scores: errors are 1.
	Differ []int

	// Problem says why values could not be compared, or not be put in the judge's place, where that is itself a finding: shapes, or a choice that is
	// impossible. Skipped says why nothing could be compared for want of something else. "" for none.
	Problem, Skipped string
}

// Title returns the name of the boundary as files use it: L3.attn_out.
func (d *Diff) Title() string { return Title(d.Layer, d.Name) }

// Boundary returns where the difference is.
func (d *Diff) Boundary() Boundary { b, _ := BoundaryOf(d.Name); return b }

// Worst returns the largest error, 0 without rows.
func (d *Diff) Worst() float64 {
	if d.At < 0 {
		return 0
	}
	return d.Errors[d.At]
}

// Mean returns the mean error over rows, 0 without rows.
func (d *Diff) Mean() float64 {
	sum := 0.0
	for _, e := range d.Errors {
		sum += e
	}
	return sum / math.Max(1, float64(len(d.Errors)))
}

// Position returns the position of the token that row i stands for: of a window the one that closes it.
func (d *Diff) Position(i int) int { return (d.First+i+1)*d.Rate - 1 }

// Above returns the rows whose error is above a limit, in order. Rows of choices that differ by no more than the limit are not among them.
func (d *Diff) Above(limit float64) (at []int) {
	for i, e := range d.Errors {
		if !(e <= limit) {
			at = append(at, i)
		}
	}
	return at
}

// A Bin is the errors of rows whose positions lie in From up to To.
type Bin struct {
	From, To    int
	Rows        int
	Mean, Worst float64
}

// Bins returns the errors by position: 0-63, 64-127, 128-255 and on, doubling. Bins without rows are left out.
func (d *Diff) Bins() []Bin {
	var bins []Bin
	for i, e := range d.Errors {
		from, to := 0, 64
		for pos := d.Position(i); pos >= to; {
			from, to = to, 2*to
		}
		if len(bins) == 0 || bins[len(bins)-1].From != from {
			bins = append(bins, Bin{From: from, To: to})
		}
		b := &bins[len(bins)-1]
		b.Rows++
		b.Mean += (e - b.Mean) / float64(b.Rows)
		b.Worst = math.Max(b.Worst, e)
	}
	return bins
}

// smallRow is the share of a tap's median row below which a row counts as that long: where terms cancel, an error is not to be held
// against what is left of them. The median, since single rows of real models are a thousand times as long as others.
const smallRow = 0.5

// see sets errors, sizes and the worst row from rows a, as computed, and b, as recorded, each of width w; of logprobs in nats.
func (d *Diff) see(a, b []float32, w int, nats bool) {
	n := len(b) / w
	sizes := make([]float64, n)
	for i := range sizes {
		sizes[i] = norm(b[i*w:][:w])
	}
	floor := smallRow * median(sizes)
	d.Size = norm(b) / math.Sqrt(math.Max(1, float64(len(b))))
	d.Errors, d.Same, d.At = make([]float64, n), true, -1
	d.trend(a, b)
	for i := range n {
		x, y := a[i*w:][:w], b[i*w:][:w]
		sum := d.distance(x, y)
		if sum == 0 {
			continue
		}
		e := math.Sqrt(sum)
		if !nats {
			e = over1(e, math.Max(sizes[i], floor))
		}
		d.set(i, e)
		if nats && x[0] > y[0] {
			d.More++
		} else if nats {
			d.Less++
		}
	}
}

// trend sets what is common to all elements: a's over b's.
func (d *Diff) trend(a, b []float32) {
	var shift, along, size float64
	for i, v := range a {
		if finite(v) && finite(b[i]) {
			e, y := float64(v)-float64(b[i]), float64(b[i])
			shift, along, size = shift+e, along+e*y, size+y*y
		}
	}
	if size > 0 {
		d.Gain, d.Shift = along/size, shift/math.Sqrt(size*float64(len(a)))
	}
}

// over1 divides; what is not 0 over 0 is infinite.
func over1(e, by float64) float64 {
	if e == 0 {
		return 0
	}
	return e / by
}

// set sets the error of row i.
func (d *Diff) set(i int, e float64) {
	d.Errors[i] = e
	if e != 0 && (d.At < 0 || e > d.Errors[d.At]) {
		d.At = i
	}
}

// distance returns the sum of squares of x - y, +Inf where one of them is no number and the other another one.
func (d *Diff) distance(x, y []float32) (sum float64) {
	for j, v := range x {
		if v == y[j] || v != v && y[j] != y[j] {
			continue
		}
		d.Same = false
		e := math.Abs(float64(v) - float64(y[j]))
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		d.Abs = math.Max(d.Abs, e)
		sum += e * e
	}
	return sum
}

// median returns the middle of x, 0 for nothing.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	y := slices.Sorted(slices.Values(x))
	return y[len(y)/2]
}

// norm returns the root of the sum of squares of what is a number.
func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		if finite(v) {
			sum += float64(v) * float64(v)
		}
	}
	return math.Sqrt(sum)
}

// put writes rows of width w over those of x from row first on. Rows that hold something else than numbers are left out: from them nothing
// would follow.
func put(x *tensor.Tensor, first int, rows []float32, w int) {
	for i := 0; i < len(rows); i += w {
		row := rows[i:][:w]
		if allFinite(row) {
			putRow(x, first*w+i, row)
		}
	}
}

func allFinite(row []float32) bool {
	for _, v := range row {
		if !finite(v) {
			return false
		}
	}
	return true
}
