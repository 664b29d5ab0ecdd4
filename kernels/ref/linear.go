package ref

import (
	"fmt"

	"furlong/tensor"
)

// Linear sets y[t,n] = sum over k of x[t,k]*w[n,k], one chain of FMA from zero over ascending k, in each of the groups.
func (*Backend[F]) Linear(y, x, w *tensor.Tensor, groups int) {
	n, k := blocks("linear", w, groups)
	rows := x.Shape[0]
	check("linear", "x", x, rows, groups*k)
	check("linear", "y", y, rows, groups*n)
	kn, in, out := prepared[F]("linear", w), data[F](x), data[F](y)
	for t := range rows {
		for g := range groups {
			product(out[(t*groups+g)*n:][:n], in[(t*groups+g)*k:][:k], kn[g*n:], groups*n)
		}
	}
}

// product sets y[n] = sum over k of x[k]*kn[k*stride+n].
func product[F Float](y, x, kn []F, stride int) {
	clear(y)
	for k, v := range x {
		axpy(y, v, kn[k*stride:][:len(y)])
	}
}

// blocks returns N and K of a weight [groups*N, K].
func blocks(kernel string, w *tensor.Tensor, groups int) (n, k int) {
	if len(w.Shape) != 2 || groups < 1 || w.Shape[0]%groups != 0 {
		panic(fmt.Sprintf("%s: w is %s, want [%d*N, K]", kernel, dims(w.Shape), groups))
	}
	return w.Shape[0] / groups, w.Shape[1]
}

// LinearBackward adds to dx[t,k] the sum over n of dy[t,n]*w[n,k], a chain from zero over ascending n, and to dw[n,k] the sum
// over t of dy[t,n]*x[t,k], a chain from what is there over ascending t.
func (*Backend[F]) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	n, k := blocks("linear backward", w, groups)
	rows := dy.Shape[0]
	check("linear backward", "dy", dy, rows, groups*n)
	check("linear backward", "x", x, rows, groups*k)
	checkWanted("linear backward", "dx", dx, rows, groups*k)
	checkWanted("linear backward", "dw", dw, groups*n, k)
	prepared[F]("linear backward", w)
	gx, gw, gy, in, weight := sums[F](dx), sums[F](dw), data[F](dy), data[F](x), widen[F](w)
	acc := make([]F, k)
	for t := range rows {
		for g := range groups {
			at, block := (t*groups+g)*k, g*n*k
			out := gy[(t*groups+g)*n:][:n]
			if dx != nil {
				inputGradient(gx[at:][:k], acc, out, weight[block:][:n*k])
			}
			if dw != nil {
				weightGradient(gw[block:][:n*k], out, in[at:][:k])
			}
		}
	}
}

// inputGradient adds dy·w to dx for one row. acc is scratch, as long as dx.
func inputGradient[F Float](dx, acc, dy, w []F) {
	clear(acc)
	for n, v := range dy {
		axpy(acc, v, w[n*len(acc):][:len(acc)])
	}
	add(dx, acc)
}

// weightGradient adds dyᵀ·x to dw for one row.
func weightGradient[F Float](dw, dy, x []F) {
	for n, v := range dy {
		axpy(dw[n*len(x):][:len(x)], v, x)
	}
}

// add sets y = y + x.
func add[F Float](y, x []F) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}

// ExpertLinear is Linear for the rows off[e] up to off[e+1] with w[e]. off runs from 0 to all rows.
func (*Backend[F]) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	experts, n, k := expertDims("expert linear", w, off, x.Shape[0])
	check("expert linear", "x", x, x.Shape[0], k)
	check("expert linear", "y", y, x.Shape[0], n)
	kn, in, out := prepared[F]("expert linear", w), data[F](x), data[F](y)
	for e := range experts {
		for r := int(off[e]); r < int(off[e+1]); r++ {
			product(out[r*n:][:n], in[r*k:][:k], kn[e*n*k:][:n*k], n)
		}
	}
}

// ExpertLinearBackward is LinearBackward for each expert's rows.
func (*Backend[F]) ExpertLinearBackward(dx, dw, dy, x, w *tensor.Tensor, off []int32) {
	rows := dy.Shape[0]
	experts, n, k := expertDims("expert linear backward", w, off, rows)
	check("expert linear backward", "dy", dy, rows, n)
	check("expert linear backward", "x", x, rows, k)
	checkWanted("expert linear backward", "dx", dx, rows, k)
	checkWanted("expert linear backward", "dw", dw, experts, n, k)
	prepared[F]("expert linear backward", w)
	gx, gw, gy, in, weight := sums[F](dx), sums[F](dw), data[F](dy), data[F](x), widen[F](w)
	acc := make([]F, k)
	for e := range experts {
		block := e * n * k
		for r := int(off[e]); r < int(off[e+1]); r++ {
			if dx != nil {
				inputGradient(gx[r*k:][:k], acc, gy[r*n:][:n], weight[block:][:n*k])
			}
			if dw != nil {
				weightGradient(gw[block:][:n*k], gy[r*n:][:n], in[r*k:][:k])
			}
		}
	}
}

// expertDims returns E, N and K of a weight [E, N, K] after checking that off cuts rows into E runs.
func expertDims(kernel string, w *tensor.Tensor, off []int32, rows int) (experts, n, k int) {
	if len(w.Shape) != 3 {
		panic(fmt.Sprintf("%s: w is %s, want [E, N, K]", kernel, dims(w.Shape)))
	}
	experts = w.Shape[0]
	checkLen(kernel, "off", len(off), experts+1)
	if off[0] != 0 || int(off[experts]) != rows {
		panic(fmt.Sprintf("%s: off runs from %d to %d, want 0 to %d", kernel, off[0], off[experts], rows))
	}
	return experts, w.Shape[1], w.Shape[2]
}
