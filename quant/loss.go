package quant

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"furlong/dtype"
	"furlong/tensor"
)

// A Loss is what a change of format cost: how many numbers differ, and by how much.
type Loss struct {
	Numbers int     `json:"numbers"`
	Changed int     `json:"changed"`
	Max     float64 `json:"max"` // largest absolute difference; +Inf where one of the two is no number
	Sum     float64 `json:"sum"` // of the absolute differences
}

// Exact reports whether nothing was lost.
func (l Loss) Exact() bool { return l.Changed == 0 }

// Mean returns the mean absolute difference.
func (l Loss) Mean() float64 { return l.Sum / float64(max(l.Numbers, 1)) }

// Add adds the loss of other numbers.
func (l *Loss) Add(m Loss) {
	l.Numbers, l.Changed = l.Numbers+m.Numbers, l.Changed+m.Changed
	l.Max, l.Sum = max(l.Max, m.Max), l.Sum+m.Sum
}

// String says it in a few words.
func (l Loss) String() string {
	if l.Exact() {
		return "exact"
	}
	return fmt.Sprintf("%d of %d numbers changed, by at most %.3g, %.3g in the mean", l.Changed, l.Numbers, l.Max, l.Mean())
}

// compareElements is what a goroutine compares at a time.
const compareElements = 1 << 20

// Compare returns what lies between two tensors of one shape, each F32, BF16 or quantised. Zeros of either sign are equal, and so
// are NaNs. The sum is added up in one order, whatever the number of processors.
func Compare(a, b *tensor.Tensor) (total Loss) {
	if !slices.Equal(a.Shape, b.Shape) {
		panic(fmt.Sprintf("quant: compare %v with %v", a, b))
	}
	readA, readB := rowReader(a), rowReader(b)
	if a.Len() == 0 {
		return Loss{}
	}
	rows, per := a.Len()/a.Dim(), max(1, compareElements/a.Dim())
	parts := make([]Loss, ceil(rows, per))
	var wait sync.WaitGroup
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		wait.Go(func() {
			x, y := make([]float32, a.Dim()), make([]float32, a.Dim())
			for i := int(next.Add(1)) - 1; i < len(parts); i = int(next.Add(1)) - 1 {
				for r := i * per; r < min((i+1)*per, rows); r++ {
					readA(x, r)
					readB(y, r)
					parts[i].Add(difference(x, y))
				}
			}
		})
	}
	wait.Wait()
	for _, l := range parts {
		total.Add(l)
	}
	return total
}

func difference(x, y []float32) Loss {
	l := Loss{Numbers: len(x)}
	for i, v := range x {
		if v == y[i] || v != v && y[i] != y[i] {
			continue
		}
		l.Changed++
		d := math.Abs(float64(v) - float64(y[i]))
		if d != d {
			d = math.Inf(1)
		}
		l.Max, l.Sum = max(l.Max, d), l.Sum+d
	}
	return l
}

// rowReader returns a function that sets x to the numbers of a row, all axes but the last counted as one.
func rowReader(t *tensor.Tensor) func(x []float32, row int) {
	cols := t.Dim()
	switch {
	case t.Quantised():
		f := frameOf(t)
		return func(x []float32, row int) { f.row(x, t, row) }
	case t.Type == dtype.F32:
		return func(x []float32, row int) { copy(x, t.F32()[row*cols:]) }
	case t.Type == dtype.BF16:
		return func(x []float32, row int) {
			for i, b := range t.BF16()[row*cols:][:cols] {
				x[i] = dtype.FromBF16(b)
			}
		}
	}
	panic(fmt.Sprintf("quant: %v has no numbers to compare, want F32, BF16 or codes", t))
}

// row sets x to the numbers of a row of q.
func (f frame) row(x []float32, q *tensor.Tensor, row int) {
	band := row/f.rows*f.perPart + row%f.rows/f.block.Rows
	for j := range f.wide {
		s := scaleAt(q, band*f.wide+j)
		left, right := f.columns(j)
		for i := left; i < right; i++ {
			x[i] = codeAt(q, row*f.cols+i) * s
		}
	}
}

func scaleAt(q *tensor.Tensor, i int) float32 {
	if q.Scale.Type == dtype.F32 {
		return q.Scale.F32()[i]
	}
	return dtype.FromE8M0(q.Scale.Mem[i])
}
