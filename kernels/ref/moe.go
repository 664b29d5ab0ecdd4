package ref

import (
	"fmt"

	"furlong/tensor"
)

// TopExperts chooses the k largest of sqrt(softplus(logit)) + bias, largest first; on equal values the smaller expert, NaN below all.
func (*Backend[F]) TopExperts(choice []int32, logits, bias *tensor.Tensor, k int) {
	rows, experts := logits.Shape[0], width(logits)
	checkLen("top experts", "choice", len(choice), rows*k)
	checkWanted("top experts", "bias", bias, experts)
	if k > experts {
		panic(fmt.Sprintf("top experts: logits is %s, want at least %d experts", dims(logits.Shape), k))
	}
	in, scores := data[F](logits), make([]F, experts)
	for t := range rows {
		for e, l := range in[t*experts:][:experts] {
			scores[e] = RootSoftplus(l)
		}
		if bias != nil {
			add(scores, widen[F](bias))
		}
		for j, e := range descending(scores)[:k] {
			choice[t*k+j] = int32(e)
		}
	}
}

// A router holds the scores of one token's slots.
type router[F Float] struct {
	s   []F // sqrt(softplus(logit)) at the chosen experts
	sum F   // chain of additions over slots, + 1e-20
}

func (r *router[F]) read(logits []F, choice []int32) {
	r.s, r.sum = r.s[:0], 0
	for _, e := range choice {
		s := RootSoftplus(logits[e])
		r.s = append(r.s, s)
		r.sum += s
	}
	r.sum += 1e-20
}

// RouteWeights sets w[j] = s[j]*(factor/sum), sum = ((s[0] + s[1]) + ...) + 1e-20.
func (*Backend[F]) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	rows, experts, k := routeDims("route weights", logits, w, choice)
	out, in := data[F](w), data[F](logits)
	var r router[F]
	for t := range rows {
		r.read(in[t*experts:][:experts], choice[t*k:][:k])
		for j, s := range r.s {
			out[t*k+j] = s * (F(factor) / r.sum)
		}
	}
}

// RouteWeightsBackward adds, with m = (chain of FMA(dw[j], s[j], .) from zero)/sum and ds = (dw[j]-m)*(factor/sum),
//
//	dlogits[e] = FMA(ds, sigmoid(logit)/(s+s), dlogits[e])    slots ascending
//
// Above a logit of 20 the sigmoid is 1, as softplus is the identity there; where s is 0 nothing is added.
func (*Backend[F]) RouteWeightsBackward(dlogits, dw, logits *tensor.Tensor, choice []int32, factor float64) {
	if dlogits == nil {
		return
	}
	const kernel = "route weights backward"
	rows, experts, k := routeDims(kernel, logits, dw, choice)
	check(kernel, "dlogits", dlogits, rows, experts)
	gl, gw, in := sums[F](dlogits), data[F](dw), data[F](logits)
	var r router[F]
	for t := range rows {
		r.read(in[t*experts:][:experts], choice[t*k:][:k])
		var m F
		for j, s := range r.s {
			m = FMA(gw[t*k+j], s, m)
		}
		m /= r.sum
		for j, s := range r.s {
			at := t*experts + int(choice[t*k+j])
			ds := (gw[t*k+j] - m) * (F(factor) / r.sum)
			gl[at] = FMA(ds, rootSoftplusSlope(in[at], s), gl[at])
		}
	}
}

// rootSoftplusSlope returns the derivative of sqrt(softplus(x)), whose value is s.
func rootSoftplusSlope[F Float](x, s F) F {
	switch {
	case s == 0:
		return 0
	case x > 20:
		return 1 / (s + s)
	}
	return Sigmoid(x) / (s + s)
}

// routeDims returns T, E and k of logits [T, E] and weights w [T, k].
func routeDims(kernel string, logits, w *tensor.Tensor, choice []int32) (rows, experts, k int) {
	rows, experts, k = logits.Shape[0], width(logits), width(w)
	check(kernel, "w", w, rows, k)
	checkLen(kernel, "choice", len(choice), rows*k)
	return rows, experts, k
}

// Dispatch sets y[rows[t*k+j]] = x[t].
func (*Backend[F]) Dispatch(y, x *tensor.Tensor, rows []int32, k int) {
	dim := width(x)
	check("dispatch", "y", y, y.Shape[0], dim)
	checkLen("dispatch", "rows", len(rows), x.Shape[0]*k)
	out, in := data[F](y), data[F](x)
	for i, r := range rows {
		copy(out[int(r)*dim:][:dim], in[i/k*dim:][:dim])
	}
}

// Combine adds to y[t] the chain of additions from zero of x[rows[t*k+j]] over ascending j.
func (*Backend[F]) Combine(y, x *tensor.Tensor, rows []int32, k int) {
	dim := slotDims("combine", x, y, rows, k)
	out, in, acc := sums[F](y), data[F](x), make([]F, dim)
	for t := range y.Shape[0] {
		clear(acc)
		for _, r := range rows[t*k:][:k] {
			add(acc, in[int(r)*dim:][:dim])
		}
		add(out[t*dim:][:dim], acc)
	}
}

// DispatchAdd adds x[t] to y[rows[t*k+j]].
func (*Backend[F]) DispatchAdd(y, x *tensor.Tensor, rows []int32, k int) {
	dim := slotDims("dispatch add", y, x, rows, k)
	out, in := sums[F](y), data[F](x)
	for i, r := range rows {
		add(out[int(r)*dim:][:dim], in[i/k*dim:][:dim])
	}
}

// slotDims returns D after checking slots [T*k, D] against tokens [T, D].
func slotDims(kernel string, slots, tokens *tensor.Tensor, rows []int32, k int) int {
	t, dim := tokens.Shape[0], width(tokens)
	check(kernel, "slots", slots, t*k, dim)
	checkLen(kernel, "rows", len(rows), t*k)
	return dim
}
