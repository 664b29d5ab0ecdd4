package cpu

import (
	"fmt"

	"furlong/kernels/cpu/asm"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Work of one score of a router: an exponential, a logarithm and two divisions.
const scoreCost = 80

// TopExperts chooses k experts for each token; see [furlong/kernels.MoE].
func (b *Backend) TopExperts(choice []int32, logits, bias *tensor.Tensor, k int) {
	rows, experts := logits.Shape[0], wide(logits)
	if !b.whole(experts) || !single(bias) || k > experts {
		b.Backend.TopExperts(choice, logits, bias, k)
		return
	}
	wantLen("top experts", "choice", len(choice), rows*k)
	if bias != nil {
		wantLen("top experts", "bias", bias.Len(), experts)
	}
	in, plus := logits.F32(), values(bias)
	b.each(rows, experts*scoreCost, func(lo, hi int, s *scratch) {
		scores := s.f32(experts)
		for t := lo; t < hi; t++ {
			asm.RootSoftplus(&scores[0], part(in, t*experts, experts), experts)
			if plus != nil {
				add(scores, scores, plus)
			}
			largest(choice[t*k:][:k], scores)
		}
	})
}

// largest sets choice to the indices of the largest scores, largest first; on equal scores the smaller index, NaN below
// all.
func largest(choice []int32, scores []float32) {
	n := 0
	for i, v := range scores {
		if n == len(choice) && (n == 0 || !above(v, scores[choice[n-1]])) {
			continue
		}
		n = min(n+1, len(choice))
		j := n - 1
		for ; j > 0 && above(v, scores[choice[j-1]]); j-- {
			choice[j] = choice[j-1]
		}
		choice[j] = int32(i)
	}
}

// above reports whether v ranks before w: larger, or a number where w is none.
func above(v, w float32) bool { return v > w || v == v && w != w }

// RouteWeights sets w to the chosen experts' shares; see [furlong/kernels.MoE].
func (b *Backend) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	if !b.isa.simd() {
		b.Backend.RouteWeights(w, logits, choice, factor)
		return
	}
	rows, k := routeDims("route weights", logits, w, choice)
	out, in, experts := w.F32(), logits.F32(), wide(logits)
	b.each(rows, k*scoreCost, func(lo, hi int, s *scratch) {
		x := chosen(in, choice, lo, hi, k, experts, s)
		asm.RootSoftplus(&x[0], &x[0], len(x))
		for t := lo; t < hi; t++ {
			slots := x[(t-lo)*k:][:k]
			sum := slotSum(slots)
			for j, v := range slots {
				out[t*k+j] = v * (float32(factor) / sum)
			}
		}
	})
}

// routeDims returns T and k of logits [T, E] and weights w [T, k].
func routeDims(kernel string, logits, w *tensor.Tensor, choice []int32) (rows, k int) {
	rows, k = logits.Shape[0], wide(w)
	want(kernel, "w", w, rows, k)
	wantLen(kernel, "choice", len(choice), rows*k)
	return rows, k
}

// chosen returns the logits of the chosen experts of tokens lo up to hi, zeros after them up to a whole vector.
func chosen(logits []float32, choice []int32, lo, hi, k, experts int, s *scratch) []float32 {
	n := (hi - lo) * k
	x := s.f32(max((n+7)&^7, 8))
	clear(x[n:])
	for i := range n {
		x[i] = logits[(lo+i/k)*experts:][:experts][choice[lo*k+i]]
	}
	return x
}

// slotSum returns the chain of additions over slots, plus 1e-20.
func slotSum(slots []float32) (sum float32) {
	for _, v := range slots {
		sum += v
	}
	return sum + 1e-20
}

// RouteWeightsBackward adds to dlogits; see [furlong/kernels.MoE].
func (b *Backend) RouteWeightsBackward(dlogits, dw, logits *tensor.Tensor, choice []int32, factor float64) {
	if !b.isa.simd() || dlogits == nil {
		b.Backend.RouteWeightsBackward(dlogits, dw, logits, choice, factor)
		return
	}
	const kernel = "route weights backward"
	rows, k := routeDims(kernel, logits, dw, choice)
	experts := wide(logits)
	want(kernel, "dlogits", dlogits, rows, experts)
	gl, gw, in := b.sums(dlogits), dw.F32(), logits.F32()
	b.each(rows, 2*k*scoreCost, func(lo, hi int, s *scratch) {
		x := chosen(in, choice, lo, hi, k, experts, s)
		score, sig := s.f32(len(x)), s.f32(len(x))
		asm.RootSoftplus(&score[0], &x[0], len(x))
		asm.Sigmoid(&sig[0], &x[0], len(x))
		for t := lo; t < hi; t++ {
			i := (t - lo) * k
			r := routed{x[i:][:k], score[i:][:k], sig[i:][:k]}
			r.back(gl[t*experts:][:experts], gw[t*k:][:k], choice[t*k:][:k], float32(factor))
		}
	})
}

// routed is one token's slots: logits, scores and sigmoids.
type routed struct{ x, score, sig []float32 }

// back adds to the logits' gradients, slots ascending.
func (r *routed) back(dlogits, dw []float32, choice []int32, factor float32) {
	sum := slotSum(r.score)
	var m float32
	for j, v := range r.score {
		m = ref.FMA(dw[j], v, m)
	}
	m /= sum
	for j, e := range choice {
		ds := (dw[j] - m) * (factor / sum)
		dlogits[e] = ref.FMA(ds, r.slope(j), dlogits[e])
	}
}

// slope returns the derivative of slot j's score.
func (r *routed) slope(j int) float32 {
	s := r.score[j]
	switch {
	case s == 0:
		return 0
	case r.x[j] > 20:
		return 1 / (s + s)
	}
	return r.sig[j] / (s + s)
}

// Dispatch copies tokens to their slots; see [furlong/kernels.MoE].
func (b *Backend) Dispatch(y, x *tensor.Tensor, rows []int32, k int) {
	dim := wide(x)
	want("dispatch", "y", y, y.Shape[0], dim)
	wantLen("dispatch", "rows", len(rows), x.Shape[0]*k)
	out, in := y.F32(), x.F32()
	b.columnsOf(len(rows), dim, func(lo, hi int, _ *scratch) {
		for i, r := range rows {
			copy(out[int(r)*dim:][lo:hi], in[i/k*dim:][lo:hi])
		}
	})
}

// columnsOf runs body over columns lo up to hi of n rows that may be named twice: what one row gets stays in
// order, and in one thread.
func (b *Backend) columnsOf(n, dim int, body func(lo, hi int, s *scratch)) {
	b.eachColumn(dim, 64, n*elementCost, body)
}

// Combine adds the slots of each token; see [furlong/kernels.MoE].
func (b *Backend) Combine(y, x *tensor.Tensor, rows []int32, k int) {
	dim := wide(x)
	if !b.whole(dim) || k < 1 {
		b.Backend.Combine(y, x, rows, k)
		return
	}
	slotDims("combine", x, y, rows, k)
	checkSlots("combine", rows, x.Shape[0])
	out, in := b.sums(y), x.F32()
	b.eachShort(y.Shape[0], (k+2)*dim*elementCost, func(lo, hi int, _ *scratch) {
		asm.Combine(part(out, lo*dim, (hi-lo)*dim), &in[0], part(rows, lo*k, (hi-lo)*k), k, hi-lo, dim)
	})
}

// slotDims checks slots [T*k, D] against tokens [T, D].
func slotDims(kernel string, slots, tokens *tensor.Tensor, rows []int32, k int) {
	t, dim := tokens.Shape[0], wide(tokens)
	want(kernel, "slots", slots, t*k, dim)
	wantLen(kernel, "rows", len(rows), t*k)
}

// checkSlots panics if a row does not exist: the assembly would read it.
func checkSlots(kernel string, rows []int32, n int) {
	for _, r := range rows {
		if uint(r) >= uint(n) {
			panic(fmt.Sprintf("%s: row %d of %d", kernel, r, n))
		}
	}
}

// DispatchAdd adds tokens to their slots; see [furlong/kernels.MoE].
func (b *Backend) DispatchAdd(y, x *tensor.Tensor, rows []int32, k int) {
	dim := wide(x)
	if !b.isa.simd() || k < 1 {
		b.Backend.DispatchAdd(y, x, rows, k)
		return
	}
	slotDims("dispatch add", y, x, rows, k)
	out, in := b.sums(y), x.F32()
	b.columnsOf(len(rows), dim, func(lo, hi int, _ *scratch) {
		for i, r := range rows {
			to := out[int(r)*dim:][lo:hi]
			add(to, to, in[i/k*dim:][lo:hi])
		}
	})
}
