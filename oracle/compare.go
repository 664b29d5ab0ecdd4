package oracle

import (
	"math"
	"slices"
)

// maxAbs returns the largest absolute difference.
func maxAbs(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	m := 0.0
	for i := range got {
		m = max(m, math.Abs(got[i]-want[i]))
	}
	return m
}

// relative returns the norm of the difference over the norm of want; of the difference alone where want is 0.
func relative(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var d, n float64
	for i := range got {
		d += (got[i] - want[i]) * (got[i] - want[i])
		n += want[i] * want[i]
	}
	if n == 0 {
		return math.Sqrt(d)
	}
	return math.Sqrt(d / n)
}

// ofPeak returns the largest difference over the largest magnitude of want.
func ofPeak(got, want []float64) float64 {
	peak := 0.0
	for _, w := range want {
		peak = max(peak, math.Abs(w))
	}
	if peak == 0 {
		peak = 1
	}
	return maxAbs(got, want) / peak
}

// digest returns the four figures that stand for a tensor: norm, sum, sum of x[j]*sin(j+1), largest magnitude.
func digest(x []float64) [4]float64 {
	var d [4]float64
	for j, v := range x {
		d[0] += v * v
		d[1] += v
		d[2] += v * math.Sin(float64(j+1))
		d[3] = max(d[3], math.Abs(v))
	}
	d[0] = math.Sqrt(d[0])
	return d
}

// digestError returns the largest difference of two digests over the norm of want.
func digestError(got [4]float64, want []float64) float64 {
	e := 0.0
	for i := range got {
		e = max(e, math.Abs(got[i]-want[i]))
	}
	if want[0] == 0 {
		return e
	}
	return e / want[0]
}

// differing counts rows of k choices that are not the same sets; -1 stands for no choice.
func differing(got, want []int32, kGot, kWant int) int {
	wrong := 0
	for len(got) > 0 && len(want) > 0 {
		if !slices.Equal(set(got[:kGot]), set(want[:kWant])) {
			wrong++
		}
		got, want = got[kGot:], want[kWant:]
	}
	if len(got)+len(want) > 0 {
		wrong++
	}
	return wrong
}

func set(x []int32) []int32 {
	s := slices.DeleteFunc(slices.Clone(x), func(v int32) bool { return v < 0 })
	slices.Sort(s)
	return s
}
