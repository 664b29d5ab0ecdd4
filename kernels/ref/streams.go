package ref

import (
	"fmt"
	"slices"

	"furlong/tensor"
)

// Collapse sets y[t] to the chain of FMA(pre[t,j], x[t,j], .) from zero over ascending j.
func (*Backend[F]) Collapse(y, x, pre *tensor.Tensor) {
	rows, streams, dim := streamDims("collapse", x, pre)
	check("collapse", "y", y, rows, dim)
	out, in, weight := data[F](y), data[F](x), data[F](pre)
	for t := range rows {
		to := out[t*dim:][:dim]
		clear(to)
		for j := range streams {
			i := t*streams + j
			axpy(to, weight[i], in[i*dim:][:dim])
		}
	}
}

// CollapseBackward sets dx = FMA(pre, dy, dx) and adds Dot8(dy, x) to dpre.
func (*Backend[F]) CollapseBackward(dx, dpre, dy, x, pre *tensor.Tensor) {
	const kernel = "collapse backward"
	rows, streams, dim := streamDims(kernel, x, pre)
	check(kernel, "dy", dy, rows, dim)
	checkWanted(kernel, "dx", dx, rows, streams*dim)
	checkWanted(kernel, "dpre", dpre, rows, streams)
	gx, gp, gy, in, weight := sums[F](dx), sums[F](dpre), data[F](dy), data[F](x), data[F](pre)
	for t := range rows {
		out := gy[t*dim:][:dim]
		for j := range streams {
			i := t*streams + j
			if dx != nil {
				axpy(gx[i*dim:][:dim], weight[i], out)
			}
			if dpre != nil {
				gp[i] += Dot8(out, in[i*dim:][:dim])
			}
		}
	}
}

// Expand sets y[t,k] to the chain that starts from post[t,k]*o[t] and goes on with FMA(comb[t,j,k], x[t,j], .) over ascending j.
// A token's old streams are copied first, since y may be x.
func (*Backend[F]) Expand(y, x, o, post, comb *tensor.Tensor) {
	rows, streams, dim := expandDims("expand", x, o, post, comb)
	check("expand", "y", y, rows, streams*dim)
	out, in, sub, p, c := data[F](y), data[F](x), data[F](o), data[F](post), data[F](comb)
	old := make([]F, streams*dim)
	for t := range rows {
		copy(old, in[t*streams*dim:])
		for k := range streams {
			to := out[(t*streams+k)*dim:][:dim]
			for i, v := range sub[t*dim:][:dim] {
				to[i] = p[t*streams+k] * v
			}
			for j := range streams {
				axpy(to, c[(t*streams+j)*streams+k], old[j*dim:][:dim])
			}
		}
	}
}

// ExpandBackward adds
//
//	to do[t] the chain of FMA(post[k], dy[k], .) from zero over ascending k
//	to dx[t,j] the chain of FMA(comb[j,k], dy[k], .) from zero over ascending k
//	to dpost[t,k] Dot8(dy[k], o), to dcomb[t,j,k] Dot8(dy[k], x[j])
func (*Backend[F]) ExpandBackward(dx, do, dpost, dcomb, dy, x, o, post, comb *tensor.Tensor) {
	const kernel = "expand backward"
	rows, streams, dim := expandDims(kernel, x, o, post, comb)
	check(kernel, "dy", dy, rows, streams*dim)
	checkWanted(kernel, "dx", dx, rows, streams*dim)
	checkWanted(kernel, "do", do, rows, dim)
	checkWanted(kernel, "dpost", dpost, rows, streams)
	checkWanted(kernel, "dcomb", dcomb, rows, streams, streams)
	gy, in, sub, p, c := slices.Clone(data[F](dy)), data[F](x), data[F](o), data[F](post), data[F](comb) // dx may lie there
	gx, gs, gp, gc := sums[F](dx), sums[F](do), sums[F](dpost), sums[F](dcomb)
	acc := make([]F, dim)
	for t := range rows {
		dOut, at := gy[t*streams*dim:][:streams*dim], t*streams
		if do != nil {
			weigh(acc, p[at:][:streams], dOut)
			add(gs[t*dim:][:dim], acc)
		}
		for j := range streams {
			if dx != nil {
				weigh(acc, c[(at+j)*streams:][:streams], dOut)
				add(gx[(at+j)*dim:][:dim], acc)
			}
			if dpost != nil {
				gp[at+j] += Dot8(dOut[j*dim:][:dim], sub[t*dim:][:dim])
			}
			for k := 0; dcomb != nil && k < streams; k++ {
				gc[(at+j)*streams+k] += Dot8(dOut[k*dim:][:dim], in[(at+j)*dim:][:dim])
			}
		}
	}
}

// weigh sets y to the chain of FMA(w[k], rows[k], .) from zero over ascending k.
func weigh[F Float](y, w, rows []F) {
	clear(y)
	for k, v := range w {
		axpy(y, v, rows[k*len(y):][:len(y)])
	}
}

// streamDims returns T, S and D of streams x and one weight a stream.
func streamDims(kernel string, x, weight *tensor.Tensor) (rows, streams, dim int) {
	rows, streams = x.Shape[0], width(weight)
	check(kernel, "weights", weight, rows, streams)
	if streams < 1 || width(x)%streams != 0 {
		panic(fmt.Sprintf("%s: x is %s, want [%d, %d, D]", kernel, dims(x.Shape), rows, streams))
	}
	return rows, streams, width(x) / streams
}

func expandDims(kernel string, x, o, post, comb *tensor.Tensor) (rows, streams, dim int) {
	rows, streams, dim = streamDims(kernel, x, post)
	check(kernel, "o", o, rows, dim)
	check(kernel, "comb", comb, rows, streams, streams)
	return rows, streams, dim
}
