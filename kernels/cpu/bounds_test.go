//go:build linux && amd64

package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// A fence is memory between two pages that nobody may touch.
type fence []byte

// newFences returns fences around some pages each.
func newFences(t *testing.T, n, pages int) (out []fence) {
	size := syscall.Getpagesize()
	for range n {
		m, err := syscall.Mmap(-1, 0, (pages+2)*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Munmap(m); err != nil {
				t.Error(err)
			}
		})
		for _, page := range [][]byte{m[:size], m[len(m)-size:]} {
			if err := syscall.Mprotect(page, syscall.PROT_NONE); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, m[size:len(m)-size])
	}
	return out
}

// cut returns n bytes that end where a fence does, or begin where it begins.
func (f fence) cut(n int, end bool) []byte {
	if end {
		f = f[len(f)-n:]
	}
	return f[:n]
}

// bounds are operands at one end of their memory.
type bounds struct {
	isa    isa
	fences []fence
	end    bool
	r      *rand.Rand
}

// f32 returns n random numbers in the i-th fence.
func (b *bounds) f32(i, n int) []float32 {
	x := (&tensor.Tensor{Type: dtype.F32, Mem: b.fences[i].cut(4*n, b.end)}).F32()
	for k := range x {
		x[k] = float32(b.r.NormFloat64())
	}
	return x
}

// rows returns n numbers below limit in the i-th fence.
func (b *bounds) rows(i, n, limit int) []int32 {
	x := (&tensor.Tensor{Type: dtype.I32, Mem: b.fences[i].cut(4*n, b.end)}).I32()
	for k := range x {
		x[k] = int32(b.r.IntN(limit))
	}
	return x
}

// inBounds fails the test if f touches what lies behind a fence.
func inBounds(t *testing.T, what string, f func()) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			t.Fatalf("%s: %v", what, e)
		}
	}()
	f()
}

// Rows of every small number and widths of every number of vectors that loops take at once, and their rests, are read and written up to
// their ends and no further.
func TestBounds(t *testing.T) {
	if !asm.Available() {
		t.Skip("the assembly is not for this machine")
	}
	b := &bounds{fences: newFences(t, 12, 20), r: rand.New(rand.NewPCG(1, 2))}
	sets := []isa{avx2}
	if asm.Wide() {
		sets = append(sets, avx512)
	}
	for i := range 2 * len(sets) {
		b.isa, b.end = sets[i/2], i%2 == 1
		for iters := 1; iters <= 3; iters++ {
			inBounds(t, fmt.Sprintf("maps of %d rounds, %v, at the end %v", iters, b.isa, b.end), func() { b.hyper(iters) })
		}
		for _, vecs := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 17} {
			for n := 1; n <= 8; n++ {
				what := fmt.Sprintf("%d rows of %d vectors, %v, at the end %v", n, vecs, b.isa, b.end)
				inBounds(t, "attention of "+what, func() { b.attend(n, 8*vecs) })
				inBounds(t, "gradients of "+what, func() { b.attendGrad(n, 8*vecs) })
				inBounds(t, "norm of "+what, func() { b.norm(n, 8*vecs) })
				inBounds(t, "streams of "+what, func() { b.streams(n, 8*vecs) })
				inBounds(t, "gates of "+what, func() { b.swiglu(n, 8*vecs) })
			}
		}
	}
}

const boundsPool = 5 // rows

func (b *bounds) attend(n, dim int) {
	q, pool, rows := b.f32(0, group*dim), b.f32(1, boundsPool*dim), b.rows(2, n, boundsPool)
	e := b.f32(3, (n+n%2)*group)
	for left := range 5 {
		next := b.rows(4, max(left, 1), boundsPool)
		b.isa.scores(e, q, b.f32(5, group*dim), pool, rows, dim, 1, &next[0], left)
	}
	m, z, s := b.f32(0, group), b.f32(4, group), b.f32(5, group)
	if b.isa == avx512 {
		asm.SoftmaxWide(&b.f32(3, n*group)[0], &m[0], &z[0], &s[0], &b.f32(6, group)[0], n)
	} else {
		asm.Softmax(&e[0], &m[0], &z[0], &s[0], &b.f32(6, group)[0], n)
	}
	o := b.f32(0, group*dim)
	values, queryGrad := asm.Values, asm.QueryGrad
	if b.isa.takes(dim) {
		values, queryGrad = asm.ValuesWide, asm.QueryGradWide
	}
	for from := range 2 {
		e := b.f32(3, n*group)
		values(&o[0], &e[0], &pool[0], &rows[0], n, dim, group, from)
		e = b.f32(3, (n-1)*2*group+2*group-1)
		queryGrad(&o[0], &e[0], &pool[0], &rows[0], n, dim, 2*group, from)
	}
}

func (b *bounds) attendGrad(n, dim int) {
	grad, stand := asm.AttendGrad, n+n%2
	if b.isa == avx512 {
		grad, stand = asm.AttendGradWide, n
	}
	l, dp := b.f32(0, stand*group), b.f32(1, stand*group)
	grad(&b.f32(2, (2*n-1)*2*group)[0], &l[0], &dp[0], &b.f32(3, group)[0], &b.f32(4, group)[0], 1, n, 4*group)
	rows := b.rows(5, n, 1)
	for i := range rows {
		rows[i] = int32(i)
	}
	for heads := 1; heads <= 9; heads++ {
		q, do, drow, c := b.f32(0, heads*dim), b.f32(1, heads*dim), b.f32(2, n*dim), b.f32(3, n*heads*2)
		for _, vecs := range []int{min(2, dim/8), dim / 8} { // the last stripe, or all
			at, rowGrads := dim-8*vecs, asm.RowGrads
			if b.isa.takes(8 * vecs) {
				rowGrads, vecs = asm.RowGradsWide, vecs/2
			}
			rowGrads(&drow[at], &q[at], &do[at], &c[0], &rows[0], n, heads, 4*dim, 8*heads, vecs)
		}
	}
}

func (b *bounds) norm(n, dim int) {
	y, x, dy, w, rho := b.f32(0, n*dim), b.f32(1, n*dim), b.f32(2, n*dim), b.f32(3, dim), b.f32(4, n)
	asm.Rho(&rho[0], &x[0], n, dim, 1e-6)
	either(b.isa.takes(dim), asm.ScaleRowsWide, asm.ScaleRows)(&y[0], &x[0], &w[0], &rho[0], n, dim)
	asm.NormGrad(&y[0], &dy[0], &x[0], &w[0], &rho[0], n, dim)
	asm.NormGradFirst(&y[0], &dy[0], &x[0], &w[0], &rho[0], n, dim)
	asm.AxpyRows(&y[0], &x[0], &rho[0], n, dim)
	asm.DotRows(&rho[0], &x[0], &y[0], n, dim)
}

func (b *bounds) streams(n, dim int) {
	y, x, o, post, comb := b.f32(0, n*4*dim), b.f32(1, n*4*dim), b.f32(2, n*dim), b.f32(3, n*4), b.f32(4, n*16)
	dots, collapse, expand := asm.ExpandDots, asm.Collapse, asm.Expand
	grad, out, gradFirst, outFirst := asm.ExpandGrad, asm.ExpandOut, asm.ExpandGradFirst, asm.ExpandOutFirst
	if b.isa.takes(dim) {
		dots, collapse, expand = asm.ExpandDotsWide, asm.CollapseWide, asm.ExpandWide
		grad, out, gradFirst, outFirst = asm.ExpandGradWide, asm.ExpandOutWide, asm.ExpandGradFirstWide, asm.ExpandOutFirstWide
	}
	dots(&post[0], &comb[0], &y[0], &x[0], &o[0], n, dim)
	collapse(&o[0], &x[0], &post[0], n, dim)
	expand(&y[0], &x[0], &o[0], &post[0], &comb[0], n, dim)
	grad(&x[0], &y[0], &comb[0], n, dim)
	out(&o[0], &y[0], &post[0], n, dim)
	gradFirst(&x[0], &y[0], &comb[0], n, dim)
	outFirst(&o[0], &y[0], &post[0], n, dim)
}

func (b *bounds) swiglu(n, dim int) {
	gu, w, y := b.f32(0, 2*n*dim), b.f32(1, n), b.f32(2, n*dim)
	dgu, dw := b.f32(3, 2*n*dim), b.f32(4, n)
	gate, grad, first := asm.SwiGLU, asm.SwiGLUGrad, asm.SwiGLUGradFirst
	if b.isa.takes(dim) {
		gate, grad, first = asm.SwiGLUWide, asm.SwiGLUGradWide, asm.SwiGLUGradFirstWide
	}
	gate(&y[0], &gu[0], &w[0], n, dim, 1)
	grad(&dgu[0], &dw[0], &y[0], &gu[0], &w[0], n, dim, 1)
	first(&dgu[0], &dw[0], &y[0], &gu[0], &w[0], n, dim, 1)
}

func (b *bounds) hyper(iters int) {
	if b.isa == avx512 {
		b.maps(16, iters, asm.HyperMapWide, asm.HyperMapGradWide)
	} else {
		b.maps(8, iters, asm.HyperMap, asm.HyperMapGrad)
	}
}

func (b *bounds) maps(n, iters int, f mapFunc, grad mapGradFunc) {
	pre, post, comb, z, rho := b.f32(0, n*numStreams), b.f32(1, n*numStreams), b.f32(2, n*combSize), b.f32(3, n*mapWidth), b.f32(4, n)
	base, scale, tmp := b.f32(5, mapWidth), b.f32(6, 3), b.f32(7, mapMemory(n, iters))
	f(&pre[0], &post[0], &comb[0], &z[0], &rho[0], &base[0], &scale[0], &tmp[0], iters, 1e-6)
	ga, u, dz, drho := b.f32(8, n*mapWidth), b.f32(9, n*mapWidth), b.f32(10, n*mapWidth), b.f32(11, n)
	grad(&ga[0], &u[0], &dz[0], &drho[0], &pre[0], &post[0], &comb[0], &z[0], &rho[0], &base[0], &scale[0], &tmp[0], iters, 1e-6)
}

// A threshold parts the best from the rest as it says, and the bits are those of its integers.
func TestThreshold(t *testing.T) {
	if !asm.Available() {
		t.Skip("the assembly is not for this machine")
	}
	b := &bounds{fences: newFences(t, 3, 1), r: rand.New(rand.NewPCG(3, 4))}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	odd := []float32{nan, -nan, inf, -inf, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1, -1}
	for _, b.end = range []bool{false, true} {
		for i := range 400 {
			n := 8 * (1 + b.r.IntN(9))
			keep := 1 + b.r.IntN(n)
			scores := b.f32(0, n)
			for k := range scores {
				if b.r.IntN(10) < i%11 {
					scores[k] = odd[b.r.IntN(len(odd))]
				}
			}
			inBounds(t, fmt.Sprintf("%d of %d", keep, n), func() { b.threshold(t, scores, keep) })
		}
	}
}

func (b *bounds) threshold(t *testing.T, scores []float32, keep int) {
	seen := slices.Clone(scores)
	at := asm.Threshold(&scores[0], len(scores), keep)
	above, equal := b.fences[1].cut(len(scores)/8, b.end), b.fences[2].cut(len(scores)/8, b.end)
	asm.AboveMask(&above[0], &equal[0], &scores[0], len(scores), at)
	var parts [3][]float64 // below, equal, above
	for k, s := range seen {
		part := int(2*(above[k/8]>>(k%8)&1) + equal[k/8]>>(k%8)&1)
		if part > 2 {
			t.Fatalf("score %d of %v is both above and equal", k, seen)
		}
		parts[part] = append(parts[part], place(s))
	}
	if more, same := len(parts[2]), len(parts[1]); more > keep || more+same < keep {
		t.Fatalf("%d of %v: %d above, %d equal", keep, seen, more, same)
	}
	last := math.Inf(-1)
	for i, p := range parts {
		if len(p) == 0 {
			continue
		}
		if least, most := slices.Min(p), slices.Max(p); least <= last || i == 1 && least < most {
			t.Fatalf("%d of %v: below, equal and above are %v", keep, seen, parts)
		}
		last = slices.Max(p)
	}
}

// place is a number of the order of scores: NaN is the least.
func place(s float32) float64 {
	switch {
	case s != s:
		return -math.MaxFloat64
	case math.IsInf(float64(s), -1):
		return -math.MaxFloat64 / 2
	}
	return float64(s)
}
