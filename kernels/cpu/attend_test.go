package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// TestAttendLong has queries that read more rows than one call of assembly goes through.
func TestAttendLong(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const queries, heads, dim, rows = 2, 4, 64, 3001
	pool, q, sink, do := random(r, rows, dim), random(r, queries, heads*dim), random(r, heads), random(r, queries, heads*dim)
	v := kernels.View{Pool: pool, Lo: []int32{0, 3}, Hi: []int32{rows - 1, rows}}
	for i := range rows {
		v.Rows = append(v.Rows, int32(i))
	}
	o, lse := poisoned(queries, heads*dim), poisoned(queries, heads)
	ref.New[float32]().Attend(o, lse, q, sink, heads, v)
	against(t, "long", []*tensor.Tensor{o, lse}, func(k kernels.Backend, out []*tensor.Tensor) {
		k.Attend(out[0], out[1], q, sink, heads, v)
	})
	grads := []*tensor.Tensor{random(r, queries, heads*dim), random(r, heads), random(r, rows, dim)}
	against(t, "long backward", grads, func(k kernels.Backend, g []*tensor.Tensor) {
		k.AttendBackward(g[0], g[1], g[2:], do, o, lse, q, sink, heads, v)
	})
}

// closed is what each of rows tokens, in sequences of benchSeq, sees of the windows of m tokens that have closed.
func closed(pool *tensor.Tensor, rows, m int) kernels.View {
	v := kernels.View{Pool: pool}
	for t := range rows {
		first := t / benchSeq * (benchSeq / m)
		v.Lo, v.Hi = append(v.Lo, int32(first)), append(v.Hi, int32(first+(t%benchSeq+1)/m))
	}
	for i := range v.Hi[rows-1] {
		v.Rows = append(v.Rows, i)
	}
	return v
}

// drawn is up to k of the rows of each query of v, in order.
func drawn(r *rand.Rand, v kernels.View, k int) kernels.View {
	c := kernels.View{Pool: v.Pool}
	for t := range v.Lo {
		rows := slices.Clone(v.At(t))
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		rows = rows[:min(k, len(rows))]
		slices.Sort(rows)
		c.Lo = append(c.Lo, int32(len(c.Rows)))
		c.Rows = append(c.Rows, rows...)
		c.Hi = append(c.Hi, int32(len(c.Rows)))
	}
	return c
}

// BenchmarkAttend is attention as the layers of a small model have it: a window, and besides all windows that have closed, or a choice.
func BenchmarkAttend(b *testing.B) {
	const d, rows = benchHeadDim, 8 * benchSeq
	g := benchInputs{rand.New(rand.NewPCG(1, 2))}
	near, far, dnear, dfar := g.of(rows, d), g.of(rows/4, d), g.of(rows, d), g.of(rows/4, d)
	window := sliding(near, rows, benchWindow)
	for _, l := range []struct {
		name  string
		views []kernels.View
	}{
		{"window", []kernels.View{window}},
		{"closed", []kernels.View{window, closed(far, rows, 32)}},
		{"chosen", []kernels.View{window, drawn(g.r, closed(far, rows, 4), 16)}},
	} {
		q, o, do, dq := g.of(rows, benchHeads*d), g.of(rows, benchHeads*d), g.of(rows, benchHeads*d), g.of(rows, benchHeads*d)
		lse, sink, dsink := g.of(rows, benchHeads), g.of(benchHeads), g.of(benchHeads)
		dpool := []*tensor.Tensor{dnear, dfar}[:len(l.views)]
		for _, x := range []benched{
			{"forward", 0, func(k *Backend) { k.Attend(o, lse, q, sink, benchHeads, l.views...) }},
			{"backward", 0, func(k *Backend) { k.AttendBackward(dq, dsink, dpool, do, o, lse, q, sink, benchHeads, l.views...) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", l.name, x.name), func(b *testing.B) {
				k := New(1)
				defer k.Close()
				for b.Loop() {
					x.run(k)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(reads(l.views)), "ns/row")
			})
		}
	}
}

// reads counts the rows that all queries read.
func reads(views []kernels.View) (n int) {
	for _, v := range views {
		for t := range v.Lo {
			n += int(v.Hi[t] - v.Lo[t])
		}
	}
	return n
}
