package ref

import (
	"math"

	"furlong/tensor"
)

// Embed sets y[t,s] = table[ids[t]].
func (*Backend[F]) Embed(y, table *tensor.Tensor, ids []int32) {
	dim := width(table)
	streams := embedStreams("embed", y, len(ids), dim)
	out, rows := data[F](y), widen[F](table)
	for t, id := range ids {
		for s := range streams {
			copy(out[(t*streams+s)*dim:][:dim], rows[int(id)*dim:][:dim])
		}
	}
}

// EmbedBackward adds to dtable[ids[t]] the chain of additions from zero of dy[t,s] over ascending s; t ascending.
func (*Backend[F]) EmbedBackward(dtable, dy *tensor.Tensor, ids []int32) {
	if dtable == nil {
		return
	}
	dim := width(dtable)
	streams := embedStreams("embed backward", dy, len(ids), dim)
	out, in, acc := sums[F](dtable), data[F](dy), make([]F, dim)
	for t, id := range ids {
		clear(acc)
		for s := range streams {
			add(acc, in[(t*streams+s)*dim:][:dim])
		}
		add(out[int(id)*dim:][:dim], acc)
	}
}

// embedStreams returns S of y [T, S, D].
func embedStreams(kernel string, y *tensor.Tensor, rows, dim int) int {
	streams := max(1, width(y)/dim)
	check(kernel, "y", y, rows, streams, dim)
	return streams
}

// Gather sets y[r] = x[rows[r]].
func (*Backend[F]) Gather(y, x *tensor.Tensor, rows []int32) {
	dim := width(x)
	check("gather", "y", y, len(rows), dim)
	out, in := data[F](y), data[F](x)
	for r, from := range rows {
		copy(out[r*dim:][:dim], in[int(from)*dim:][:dim])
	}
}

// GatherBackward adds dy[r] to dx[rows[r]], r ascending.
func (*Backend[F]) GatherBackward(dx, dy *tensor.Tensor, rows []int32) {
	if dx == nil {
		return
	}
	dim := width(dx)
	check("gather backward", "dy", dy, len(rows), dim)
	out, in := sums[F](dx), data[F](dy)
	for r, to := range rows {
		add(out[int(to)*dim:][:dim], in[r*dim:][:dim])
	}
}

// LogProb does, for each row,
//
//	s = logit*scale, a = s - max, e = exp(a), Z = Sum8(e)
//	lp = a[next] - log(Z), lse = max + log(Z)
//	entropy = log(Z) - (lanes of FMA(e, a, .) as in Dot8, where e is not 0)/Z
func (*Backend[F]) LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	const kernel = "logprob"
	rows, vocab := logits.Shape[0], width(logits)
	check(kernel, "lp", lp, rows)
	checkWanted(kernel, "entropy", entropy, rows)
	check(kernel, "lse", lse, rows)
	checkLen(kernel, "next", len(next), rows)
	checkLen(kernel, "scale", len(scale), rows)
	toLP, toEntropy, toLSE, in := data[F](lp), data[F](entropy), data[F](lse), data[F](logits)
	a, e := make([]F, vocab), make([]F, vocab)
	for r := range rows {
		m := shifted(a, in[r*vocab:][:vocab], F(scale[r]))
		for i, v := range a {
			e[i] = Exp(v)
		}
		z := Sum8(e)
		logZ := Log(z)
		toLP[r] = a[next[r]] - logZ
		toLSE[r] = m + logZ
		if entropy == nil {
			continue
		}
		for i, v := range e {
			if v == 0 {
				a[i] = 0 // it may be -Inf
			}
		}
		toEntropy[r] = logZ - Dot8(e, a)/z
	}
}

// shifted sets a = x*scale - max and returns the maximum.
func shifted[F Float](a, x []F, scale F) F {
	m := F(math.Inf(-1))
	for i, v := range x {
		a[i] = v * scale
		m = Max(m, a[i])
	}
	for i, v := range a {
		a[i] = v - m
	}
	return m
}

// LogProbBackward sets, with l = logit*scale - lse, p = exp(l), and 1 at next,
//
//	g = dlp*(onehot - p)
//	g = FMA(-dentropy, p*(l+entropy), g)    with dentropy, where p is not 0
//	dlogits = g*scale
func (*Backend[F]) LogProbBackward(dlogits, dlp, dentropy, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	const kernel = "logprob backward"
	rows, vocab := logits.Shape[0], width(logits)
	check(kernel, "dlogits", dlogits, rows, vocab)
	check(kernel, "dlp", dlp, rows)
	check(kernel, "lse", lse, rows)
	if dentropy != nil {
		check(kernel, "dentropy", dentropy, rows)
		check(kernel, "entropy", entropy, rows)
	}
	checkLen(kernel, "next", len(next), rows)
	checkLen(kernel, "scale", len(scale), rows)
	out, in, gl, ge, logs, ent := data[F](dlogits), data[F](logits), data[F](dlp), data[F](dentropy), data[F](lse), data[F](entropy)
	for r := range rows {
		for i := range vocab {
			l := F(in[r*vocab+i]*F(scale[r])) - logs[r]
			p := Exp(l)
			var hot F
			if i == int(next[r]) {
				hot = 1
			}
			g := gl[r] * (hot - p)
			if dentropy != nil && p != 0 {
				g = FMA(-ge[r], F(p*(l+ent[r])), g)
			}
			out[r*vocab+i] = g * F(scale[r])
		}
	}
}
