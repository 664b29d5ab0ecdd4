package ref

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// A Backend runs every kernel in F, on the calling goroutine. It holds nothing: any number of goroutines may share one.
// Activations, gradients and maps are tensors of F; weights may be F32, BF16,
// quantised or, when F is float64, F64.
type Backend[F Float] struct{}

var (
	_ kernels.Backend = (*Backend[float32])(nil)
	_ kernels.Backend = (*Backend[float64])(nil)
)

// New returns a backend that computes in F.
func New[F Float]() *Backend[F] { return &Backend[F]{} }

// Name returns "ref", or "ref64" when F is float64.
func (*Backend[F]) Name() string {
	if wide[F]() {
		return "ref64"
	}
	return "ref"
}

// Split returns b alone, which has one thread to share.
func (b *Backend[F]) Split(int) []kernels.Backend { return []kernels.Backend{b} }

// panels are a weight's values in F, each [N, K] of it turned to [K, N], so that a product walks along n.
type panels[F Float] struct {
	kn  []F
	mem *tensor.Tensor // whose elements kn are
}

func newPanels[F Float](n int) *panels[F] {
	t := dtype.F32
	if wide[F]() {
		t = dtype.F64
	}
	mem := tensor.New(t, n)
	return &panels[F]{data[F](mem), mem}
}

// Memory returns the values, turned.
func (p *panels[F]) Memory() [][]byte { return [][]byte{p.mem.Mem} }

// Prepare stores w's values in F, turned, in w.Layout. The last two axes of w are [N, K].
func (*Backend[F]) Prepare(w *tensor.Tensor) {
	p, ok := w.Layout.(*panels[F])
	if !ok || len(p.kn) != w.Len() {
		p = newPanels[F](w.Len())
	}
	values := widen[F](w)
	n, k := w.Shape[len(w.Shape)-2], w.Dim()
	for at := 0; at < len(values); at += n * k {
		turn(p.kn[at:][:n*k], values[at:][:n*k], n, k)
	}
	w.Layout = p
}

// turn sets y [k, n] to x [n, k] turned.
func turn[F Float](y, x []F, n, k int) {
	for i := range n {
		for j, v := range x[i*k:][:k] {
			y[j*n+i] = v
		}
	}
}

// prepared returns what Prepare made of w.
func prepared[F Float](kernel string, w *tensor.Tensor) []F {
	p, ok := w.Layout.(*panels[F])
	if !ok || len(p.kn) != w.Len() {
		panic(kernel + ": weight " + dims(w.Shape) + " was not prepared")
	}
	return p.kn
}

// data returns the elements of a tensor of F; the slice shares its memory. A nil tensor has none.
func data[F Float](t *tensor.Tensor) []F {
	if t == nil {
		return nil
	}
	if wide[F]() {
		return any(t.F64()).([]F)
	}
	return any(t.F32()).([]F)
}

// sums returns the elements of a gradient, zeros if it was fresh.
func sums[F Float](t *tensor.Tensor) []F {
	x := data[F](t)
	if t != nil && t.Fresh {
		clear(x)
		t.Fresh = false
	}
	return x
}

// widen returns t's values in F. It copies those of a narrower format; a wider one panics.
func widen[F Float](t *tensor.Tensor) []F {
	switch {
	case t.Quantised():
		return dequantised[F](t)
	case t.Type == dtype.BF16:
		return convert[F](t.BF16(), dtype.FromBF16)
	case t.Type == dtype.F32 && wide[F]():
		return convert[F](t.F32(), func(v float32) float32 { return v })
	}
	return data[F](t)
}

func convert[F Float, E any](x []E, f func(E) float32) []F {
	y := make([]F, len(x))
	for i, v := range x {
		y[i] = F(f(v))
	}
	return y
}
