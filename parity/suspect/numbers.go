package suspect

import (
	"math"

	"furlong/dtype"
	"furlong/tensor"
)

// get returns element i of a tensor of a float format.
func get(t *tensor.Tensor, i int) float64 {
	switch t.Type {
	case dtype.F64:
		return t.F64()[i]
	case dtype.BF16:
		return float64(dtype.FromBF16(t.BF16()[i]))
	}
	return float64(t.F32()[i])
}

// set sets element i of an F32 or F64 tensor.
func set(t *tensor.Tensor, i int, v float64) {
	if t.Type == dtype.F64 {
		t.F64()[i] = v
		return
	}
	t.F32()[i] = float32(v)
}

// remake sets every element to f of it.
func remake(t *tensor.Tensor, f func(v float64) float64) {
	for i := range t.Len() {
		set(t, i, f(get(t, i)))
	}
}

// remade returns a copy of which every element is f of t's.
func remade(t *tensor.Tensor, f func(v float64) float64) *tensor.Tensor {
	y := t.Clone()
	remake(y, f)
	return y
}

// toBF16 rounds to BF16.
func toBF16(v float64) float64 { return float64(dtype.FromBF16(dtype.ToBF16(float32(v)))) }

// constant returns a tensor like t, of which every element is v.
func constant(t *tensor.Tensor, v float64) *tensor.Tensor {
	return remade(t, func(float64) float64 { return v })
}

// permuted returns a copy of t, row by row: element i of a row of n is element from(i) of t's.
func permuted(t *tensor.Tensor, n int, from func(i int) int) *tensor.Tensor {
	y := t.Clone()
	for i := range t.Len() {
		set(y, i, get(t, i/n*n+from(i%n)))
	}
	return y
}

// swapped is a permutation that swaps the two halves of n.
func swapped(n int) func(int) int { return func(i int) int { return (i + n/2) % n } }

// dot returns the product of n elements of a from i on with those of b from j on.
func dot(a *tensor.Tensor, i int, b *tensor.Tensor, j, n int) (sum float64) {
	if a.Type == dtype.F32 && b.Type == dtype.F32 {
		other := b.F32()[j:][:n]
		for c, v := range a.F32()[i:][:n] {
			sum += float64(v) * float64(other[c])
		}
		return sum
	}
	for c := range n {
		sum += get(a, i+c) * get(b, j+c)
	}
	return sum
}

// meanSquare returns the mean of the squares of n elements from i on.
func meanSquare(t *tensor.Tensor, i, n int) float64 { return dot(t, i, t, i, n) / float64(n) }

// rootSoftplus is what an expert's logit counts.
func rootSoftplus(x float64) float64 {
	if x > 30 {
		return math.Sqrt(x)
	}
	return math.Sqrt(math.Log1p(math.Exp(x)))
}

func between(lo, x, hi float64) float64 { return math.Max(lo, math.Min(x, hi)) }
