package trend

import "math"

// Student returns the quantile of Student's distribution that 95 % of the mass lies within, either side of 0. df is at least 1 and need not be whole.
func Student(df float64) float64 {
	lo, hi := 1.0, 16.0 // 1.96 for many degrees, 12.7 for one
	for range 60 {
		mid := (lo + hi) / 2
		if outside(mid, df) > 0.05 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// outside returns the mass of Student's distribution beyond t on both sides: the regularised incomplete beta function of df/(df+t²) with df/2 and 1/2.
func outside(t, df float64) float64 {
	a, b, x := df/2, 0.5, df/(df+t*t)
	all, _ := math.Lgamma(a + b)
	ga, _ := math.Lgamma(a)
	gb, _ := math.Lgamma(b)
	front := math.Exp(all - ga - gb + a*math.Log(x) + b*math.Log1p(-x))
	if x < (a+1)/(a+b+2) {
		return front * fraction(a, b, x) / a
	}
	return 1 - front*fraction(b, a, 1-x)/b
}

// fraction evaluates the continued fraction of the incomplete beta function by Lentz's method.
func fraction(a, b, x float64) float64 {
	const tiny = 1e-300
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1), tiny)
	value := d
	for m := 1.0; m < 1000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		step := 1.0
		for _, term := range []float64{even, odd} {
			d = 1 / away(1+term*d, tiny)
			c = away(1+term/c, tiny)
			step = c * d
			value *= step
		}
		if math.Abs(step-1) < 1e-15 {
			break
		}
	}
	return value
}

// away returns v, or something else where v is too near 0 to divide by.
func away(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}
