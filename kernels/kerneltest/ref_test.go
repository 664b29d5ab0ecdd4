package kerneltest

import (
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

func TestRef(t *testing.T) { Run(t, ref.New[float32]()) }

func TestRefThreads(t *testing.T) {
	RunThreads(t, func(int) kernels.Backend { return ref.New[float32]() })
}

// TestBits pins the bits of the contract: a digest of all results of a family. It changes when a formula does, and when a compiler
// fuses what must stay apart (GOAMD64=v3, arm64).
func TestBits(t *testing.T) {
	want := map[string]uint64{
		"linear":    0xe97d702bf76b0b11,
		"norm":      0xfcdc26bf90ba9c2f,
		"attention": 0x285c92e2893287bd,
		"compress":  0xe6997a02d27851f4,
		"hyper":     0x2184cbceedeab2a1,
		"moe":       0xd29b17fd17886945,
		"head":      0x3cbf905289f82703,
		"codes":     0x3fbf58c98b50f4e9,

		"kept scores": 0xd39ad7293092ccde,

		"rows of sixteens": 0x6c0dc33e49240ad0,
	}
	k := ref.New[float32]()
	for _, f := range families(k) {
		h := fnv.New64a()
		for _, c := range f.calls {
			r := c.all(t, k)
			for _, x := range append(r.out, r.grad...) {
				h.Write(canonical(x).Mem)
			}
		}
		if got := h.Sum64(); got != want[f.name] {
			t.Errorf("digest of %s is %#016x, want %#016x", f.name, got, want[f.name])
		}
	}
}

// canonical returns x with one NaN for all.
func canonical(x *tensor.Tensor) *tensor.Tensor {
	y := x.Clone()
	for i, v := range y.F32() {
		if v != v {
			y.F32()[i] = float32(math.NaN())
		}
	}
	return y
}

// A tally counts complaints.
type tally int

func (*tally) Helper()                 {}
func (n *tally) Errorf(string, ...any) { *n++ }

// Each of these backends breaks one rule; the suite must say so.

type unfused struct{ kernels.Backend }

func (unfused) Linear(y, x, w *tensor.Tensor, groups int) {
	n, k := w.Shape[0]/groups, w.Shape[1]
	for i := range y.F32() {
		t, row := i/w.Shape[0], i%w.Shape[0]
		var sum float32
		for j := range k {
			sum += float32(x.F32()[(t*groups+row/n)*k+j] * w.F32()[row*k+j])
		}
		y.F32()[i] = sum
	}
}

type overwriting struct{ kernels.Backend }

func (b overwriting) RoPEBackward(dx, dy, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if dx != nil {
		b.RoPE(dx, dy, cos, sin, dim, !inverse)
	}
}

// A summing backend makes a batch's gradient first, and adds it to what is there.
type summing struct{ kernels.Backend }

func (b summing) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	if dw == nil {
		b.Backend.LinearBackward(dx, nil, dy, x, w, groups)
		return
	}
	batch := tensor.New(dw.Type, dw.Shape...)
	b.Backend.LinearBackward(dx, batch, dy, x, w, groups)
	b.Add(dw, dw, batch)
}

// A crowd norms the rows of a large batch with a little more eps.
type crowd struct{ kernels.Backend }

func (b crowd) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if x.Shape[0] > 8 {
		eps += 1e-5
	}
	b.Backend.RMSNorm(y, x, w, dim, eps)
}

type careless struct{ kernels.Backend }

func (careless) Add(y, a, b *tensor.Tensor) {
	for i := range min(len(y.F32()), len(a.F32()), len(b.F32())) {
		y.F32()[i] = a.F32()[i] + b.F32()[i]
	}
}

// A sorting backend reads rows in the order of pages.
type sorting struct{ kernels.Backend }

func (b sorting) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	for i, v := range views {
		views[i].Rows = slices.Clone(v.Rows)
		for t := range v.Lo {
			slices.Sort(views[i].At(t))
		}
	}
	b.Backend.Attend(o, lse, q, sink, heads, views...)
}

type scribbling struct{ kernels.Backend }

func (b scribbling) SwiGLU(y, gu, w *tensor.Tensor, limit float64) {
	b.Backend.SwiGLU(y, gu, w, limit)
	clear(gu.F32())
}

func TestSuiteSees(t *testing.T) {
	good := ref.New[float32]()
	calls := func(calls []call) func(reporter, kernels.Backend) {
		return func(r reporter, b kernels.Backend) {
			for _, c := range calls {
				c.check(r, b)
				c.checkShapes(r, b)
			}
		}
	}
	g := newGen(1)
	x, w := g.normal(1, 13, 31), g.normal(1, 9, 31)
	norm := calls([]call{rmsNorm(x, nil, 31)})
	for _, tt := range []struct {
		name string
		b    kernels.Backend
		f    func(reporter, kernels.Backend)
	}{
		{"a product that is not fused", unfused{good}, calls([]call{linear(x, w, 1)})},
		{"a gradient that is overwritten", overwriting{good}, calls(rope(g, 5, 1, 8, 2, false))},
		{"a gradient summed apart", summing{good}, calls([]call{linearBackward(g, x, w, 1)})},
		{"a norm that looks at the batch", crowd{good}, norm},
		{"shapes unchecked", careless{good}, calls(rowCalls(g))},
		{"rows in page order", sorting{good}, testPages},
		{"an input overwritten", scribbling{good}, calls([]call{swiglu(g.normal(1, 5, 18), nil, 0)})},
	} {
		var clean, broken tally
		tt.f(&clean, good)
		tt.f(&broken, tt.b)
		if clean != 0 || broken == 0 {
			t.Errorf("%s: %d complaints, want some; %d about the backend it was made from, want none", tt.name, broken, clean)
		}
	}

	var invariance tally
	c := rmsNorm(x, nil, 31)
	c.checkAlone(&invariance, crowd{good}, c.all(&invariance, crowd{good}), 3, 4)
	c.checkCut(&invariance, crowd{good}, c.all(&invariance, crowd{good}), 6)
	if invariance != 2 {
		t.Errorf("a norm that looks at the batch: %d complaints of a row alone and of a cut, want 2", invariance)
	}
}
