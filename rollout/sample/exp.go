package sample

import (
	"math"
	"slices"
)

// Drawing needs V exponentials a token, to a precision far below that of the logits. e^x is 2^(k/steps) * e^(f*ln2/steps): y = x*steps/ln2
// is cut into the whole number k and f, at most a half. The first factor is an entry of exp2Table, with k/steps added to its
// exponent; the entries have their own k taken off there. For the second, two terms are within 6e-11.
const (
	stepBits = 9
	steps    = 1 << stepBits
	perStep  = math.Ln2 / steps
	whole    = 0x1.8p52     // adding it leaves the nearest whole number in the low bits
	farthest = 60 / perStep // below e^-60 a weight is 0
)

var exp2Table = func() (t [steps]uint64) {
	for j := range t {
		t[j] = math.Float64bits(math.Exp2(float64(j)/steps)) - uint64(j)<<(52-stepBits)
	}
	return t
}()

// weigh sets the weight of each token to e^((logit-top)*scale) and returns their sum. No logit is above top.
func (d *Drawer) weigh(logits []float32, top float32, scale float64) (sum float64) {
	d.w = slices.Grow(d.w[:0], len(logits))[:len(logits)]
	w := d.w[:len(logits)]
	scale /= perStep
	for i, l := range logits {
		y := float64(l-top) * scale
		if y < -farthest {
			w[i] = 0
			continue
		}
		t := y + whole
		k := math.Float64bits(t)
		f := y - (t - whole)
		s := math.Float64frombits(exp2Table[k%steps] + k<<(52-stepBits))
		e := s + s*(f*(perStep+f*(perStep*perStep/2)))
		w[i] = e
		sum += e
	}
	return sum
}
