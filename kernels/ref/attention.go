package ref

import (
	"fmt"
	"math"

	"furlong/kernels"
	"furlong/tensor"
)

// Attend does, for each query and head, with scale = 1/sqrt(D) and the rows of all views in order,
//
//	l[j] = Dot8(q, row[j])*scale, m = Max over sink and l
//	e[j] = exp(l[j]-m), Z = ((e[0] + e[1]) + ...) + exp(sink-m)
//	o = chain of FMA(e[j], row[j], o) from zero, then o*(1/Z)
//	lse = m + log(Z)
func (*Backend[F]) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	dim := attendDims("attend", q, sink, heads, views)
	check("attend", "o", o, q.Shape[0], heads*dim)
	check("attend", "lse", lse, q.Shape[0], heads)
	out, logs, queries, sinks := data[F](o), data[F](lse), data[F](q), widen[F](sink)
	for t := range q.Shape[0] {
		rows := seen[F](t, dim, views)
		for h := range heads {
			i := t*heads + h
			logs[i] = attendOne(out[i*dim:][:dim], queries[i*dim:][:dim], rows, sinks[h])
		}
	}
}

func attendOne[F Float](o, q []F, rows [][]F, sink F) (lse F) {
	l, m := make([]F, len(rows)), sink
	for j, row := range rows {
		l[j] = Dot8(q, row) * rootScale[F](len(q))
		m = Max(m, l[j])
	}
	var z F
	clear(o)
	for j, row := range rows {
		e := Exp(l[j] - m)
		z += e
		axpy(o, e, row)
	}
	z += Exp(sink - m)
	inv := 1 / z
	for i, v := range o {
		o[i] = v * inv
	}
	return m + Log(z)
}

// rootScale returns dim^(-1/2), rounded once from float64.
func rootScale[F Float](dim int) F { return F(1 / math.Sqrt(float64(dim))) }

// seen returns the rows that query t reads, view after view.
func seen[F Float](t, dim int, views []kernels.View) [][]F {
	var rows [][]F
	for _, v := range views {
		pool := data[F](v.Pool)
		for _, r := range v.At(t) {
			rows = append(rows, pool[int(r)*dim:][:dim])
		}
	}
	return rows
}

// AttendBackward recomputes l and then, for each query and head, with delta = Dot8(do, o),
//
//	p = exp(l-lse), g = (p*(Dot8(do, row)-delta))*scale
//	dq += chain of FMA(g, row, .) from zero over rows in order
//	drow = FMA(p, do, FMA(g, q, drow))
//	dsink = FMA(-exp(sink-lse), delta, dsink)
//
// Queries ascend, heads inside them, rows in view order inside those: that is the order of a row's chain and of the sink's.
func (*Backend[F]) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	const kernel = "attend backward"
	dim := attendDims(kernel, q, sink, heads, views)
	check(kernel, "do", do, q.Shape[0], heads*dim)
	check(kernel, "o", o, q.Shape[0], heads*dim)
	check(kernel, "lse", lse, q.Shape[0], heads)
	checkWanted(kernel, "dq", dq, q.Shape[0], heads*dim)
	checkWanted(kernel, "dsink", dsink, heads)
	checkLen(kernel, "dpool", len(dpool), len(views))
	for i, d := range dpool {
		checkWanted(kernel, fmt.Sprintf("dpool[%d]", i), d, views[i].Pool.Shape[0], dim)
		sums[F](d)
	}

	gq, gs, gy, out := sums[F](dq), sums[F](dsink), data[F](do), data[F](o)
	logs, queries, sinks := data[F](lse), data[F](q), widen[F](sink)
	acc := make([]F, dim)
	for t := range q.Shape[0] {
		rows, grads := seen[F](t, dim, views), seenGradients[F](t, dim, dpool, views)
		for h := range heads {
			i := t*heads + h
			dOut := gy[i*dim:][:dim]
			delta := Dot8(dOut, out[i*dim:][:dim])
			attendOneBackward(acc, grads, dOut, queries[i*dim:][:dim], rows, logs[i], delta)
			if dq != nil {
				add(gq[i*dim:][:dim], acc)
			}
			if dsink != nil {
				gs[h] = FMA(-Exp(sinks[h]-logs[i]), delta, gs[h])
			}
		}
	}
}

// attendOneBackward sets dq and adds to the gradients of rows; a nil one is skipped.
func attendOneBackward[F Float](dq []F, grads [][]F, do, q []F, rows [][]F, lse, delta F) {
	scale := rootScale[F](len(q))
	clear(dq)
	for j, row := range rows {
		p := Exp(F(Dot8(q, row)*scale) - lse)
		g := F(p*(Dot8(do, row)-delta)) * scale
		axpy(dq, g, row)
		if grads[j] != nil {
			axpy(grads[j], g, q)
			axpy(grads[j], p, do)
		}
	}
}

// seenGradients returns where the gradient of each row that query t reads goes; nil where it isn't wanted.
func seenGradients[F Float](t, dim int, dpool []*tensor.Tensor, views []kernels.View) [][]F {
	var rows [][]F
	for i, v := range views {
		for _, r := range v.At(t) {
			if dpool[i] == nil {
				rows = append(rows, nil)
				continue
			}
			rows = append(rows, data[F](dpool[i])[int(r)*dim:][:dim])
		}
	}
	return rows
}

// attendDims returns D after checking queries, sink and views.
func attendDims(kernel string, q, sink *tensor.Tensor, heads int, views []kernels.View) int {
	if heads < 1 || width(q)%heads != 0 {
		panic(fmt.Sprintf("%s: q is %s, want [T, %d*D]", kernel, dims(q.Shape), heads))
	}
	dim := width(q) / heads
	check(kernel, "sink", sink, heads)
	for i, v := range views {
		checkView(kernel, fmt.Sprintf("views[%d]", i), v, q.Shape[0], dim)
	}
	return dim
}
