package ref

import (
	"fmt"

	"furlong/tensor"
)

// RMSNorm sets y = (x*rho)*w, rho = 1/sqrt(Dot8(x, x)/dim + eps), for each run of dim.
func (*Backend[F]) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	runs := normRuns("rms norm", x, w, dim)
	check("rms norm", "y", y, x.Shape[0], width(x))
	out, in, weight := data[F](y), data[F](x), normWeight[F](w)
	for r := range runs {
		row, to := in[r*dim:][:dim], out[r*dim:][:dim]
		rho := rootMean(row, F(eps))
		for i, v := range row {
			to[i] = times(v*rho, weight, i)
		}
	}
}

// rootMean returns (mean(x*x) + eps)^(-1/2).
func rootMean[F Float](x []F, eps F) F { return 1 / Sqrt(Dot8(x, x)/F(len(x))+eps) }

// times returns v*w[i], or v when there is no w.
func times[F Float](v F, w []F, i int) F {
	if w == nil {
		return v
	}
	return v * w[i]
}

// RMSNormBackward adds, with a = dy*w and c = (Dot8(a, x)/dim*rho)*rho,
//
//	dx = FMA(rho, FMA(-c, x, a), dx)
//	dw = FMA(dy, x*rho, dw)    over ascending runs
func (*Backend[F]) RMSNormBackward(dx, dw, dy, x, w *tensor.Tensor, dim int, eps float64) {
	runs := normRuns("rms norm backward", x, w, dim)
	check("rms norm backward", "dy", dy, x.Shape[0], width(x))
	checkWanted("rms norm backward", "dx", dx, x.Shape[0], width(x))
	checkWanted("rms norm backward", "dw", dw, dim)
	gx, gw, gy, in, weight := sums[F](dx), sums[F](dw), data[F](dy), data[F](x), normWeight[F](w)
	a := make([]F, dim)
	for r := range runs {
		row, out := in[r*dim:][:dim], gy[r*dim:][:dim]
		rho := rootMean(row, F(eps))
		if dx != nil {
			for i, v := range out {
				a[i] = times(v, weight, i)
			}
			normGradient(gx[r*dim:][:dim], a, row, rho)
		}
		if dw != nil {
			for i, v := range out {
				gw[i] = FMA(v, F(row[i]*rho), gw[i])
			}
		}
	}
}

// normGradient adds rho*a - x*rho^3*mean(a*x) to dx.
func normGradient[F Float](dx, a, x []F, rho F) {
	c := Dot8(a, x) / F(len(x)) * rho * rho
	for i, v := range x {
		dx[i] = FMA(rho, FMA(-c, v, a[i]), dx[i])
	}
}

// normRuns returns how many runs of dim x holds.
func normRuns(kernel string, x, w *tensor.Tensor, dim int) int {
	checkWanted(kernel, "w", w, dim)
	if dim < 1 || width(x)%dim != 0 {
		panic(fmt.Sprintf("%s: x is %s, want runs of %d", kernel, dims(x.Shape), dim))
	}
	return x.Len() / dim
}

func normWeight[F Float](w *tensor.Tensor) []F {
	if w == nil {
		return nil
	}
	return widen[F](w)
}
