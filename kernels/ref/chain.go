package ref

import "math"

// The loops below are FMA over slices. They hold its quick way inside, because the compiler doesn't inline the whole.

// doubtful reports whether a float64 sum may round to float32 otherwise than the exact sum does; see [FMA].
func doubtful(s float64) bool {
	bits := math.Float64bits(s)
	return bits&(1<<29-1) == 1<<28 || bits<<1 < normal32
}

// axpy sets y[i] = FMA(a, x[i], y[i]): one link of len(x) chains.
func axpy[F Float](y []F, a F, x []F) {
	y = y[:len(x)]
	if wide[F]() {
		for i, v := range x {
			y[i] = F(math.FMA(float64(a), float64(v), float64(y[i])))
		}
		return
	}
	for i, v := range x {
		s := float64(float64(a)*float64(v)) + float64(y[i])
		if doubtful(s) {
			y[i] = FMA(a, v, y[i])
			continue
		}
		y[i] = F(s)
	}
}

// Dot8 returns the sum of a[i]*b[i]: element i in lane i&7, each lane a chain of FMA from zero over ascending i, then [Fold8].
func Dot8[F Float](a, b []F) F {
	var sum [8]F
	b = b[:len(a)]
	for i, v := range a {
		c := sum[i&7]
		if s := float64(float64(v)*float64(b[i])) + float64(c); !wide[F]() && !doubtful(s) {
			sum[i&7] = F(s)
			continue
		}
		sum[i&7] = FMA(v, b[i], c)
	}
	return Fold8(&sum)
}
