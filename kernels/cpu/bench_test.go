package cpu

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// The shapes of a small model: 2 million weights, 6 layers.
const (
	benchDim     = 128
	benchHeads   = 4
	benchHeadDim = 64
	benchExperts = 16
	benchSlots   = 2
	benchHidden  = 32 // of an expert
	benchWindow  = 64
	benchSeq     = 256 // tokens of a sequence
	benchVocab   = 512
)

var benchHyper = kernels.HyperParams{Iters: 20, Eps: 1e-6, NormEps: 1e-6}

// A benched is a kernel with its inputs, run on rows tokens; flops is per token, for products only.
type benched struct {
	name  string
	flops int
	run   func(b *Backend)
}

// benchInputs makes tensors of small numbers.
type benchInputs struct{ r *rand.Rand }

func (g benchInputs) of(shape ...int) *tensor.Tensor {
	t := tensor.New(dtype.F32, shape...)
	for i := range t.F32() {
		t.F32()[i] = float32(g.r.NormFloat64()) / 4
	}
	return t
}

func (g benchInputs) weight(b *Backend, shape ...int) *tensor.Tensor {
	w := g.of(shape...)
	b.Prepare(w)
	return w
}

// sliding is what each of rows tokens, in sequences of benchSeq, sees of a window.
func sliding(pool *tensor.Tensor, rows, reach int) kernels.View {
	v := kernels.View{Pool: pool}
	for t := range rows {
		v.Rows = append(v.Rows, int32(t%pool.Shape[0]))
		first := max(t-t%benchSeq, t-reach+1)
		v.Lo, v.Hi = append(v.Lo, int32(first)), append(v.Hi, int32(t+1))
	}
	return v
}

// decoding is what each of rows sequences sees of its own n rows.
func decoding(pool *tensor.Tensor, rows, n int) kernels.View {
	v := kernels.View{Pool: pool}
	for t := range rows {
		v.Lo = append(v.Lo, int32(t*n))
		for j := range n {
			v.Rows = append(v.Rows, int32((t*n+j*7)%pool.Shape[0]))
		}
		v.Hi = append(v.Hi, int32((t+1)*n))
	}
	return v
}

// windows are rows/m windows of m rows, and those one earlier.
func windows(pool *tensor.Tensor, rows, m int) (prev, own kernels.View) {
	prev.Pool, own.Pool = pool, pool
	for t := range rows {
		own.Rows = append(own.Rows, int32(t))
	}
	prev.Rows = own.Rows
	for c := range rows / m {
		own.Lo, own.Hi = append(own.Lo, int32(c*m)), append(own.Hi, int32((c+1)*m))
		prev.Lo, prev.Hi = append(prev.Lo, int32(max(c-1, 0)*m)), append(prev.Hi, int32(c*m))
	}
	return prev, own
}

// products are those of a layer.
func products(b *Backend, g benchInputs, rows int) []benched {
	var list []benched
	for _, s := range [][3]int{{benchDim, 64, 1}, {64, 256, 1}, {benchDim, 64, 1}, {128, 32, 2}, {64, benchDim, 1}, {512, 24, 1}, {benchDim, 16, 1}, {benchDim, benchVocab, 1}} {
		k, n, groups := s[0], s[1], s[2]
		x, y, w := g.of(rows, groups*k), g.of(rows, groups*n), g.weight(b, groups*n, k)
		dx, dw := g.of(rows, groups*k), g.of(groups*n, k)
		name := fmt.Sprintf("%dx%dx%d", groups, k, n)
		list = append(list,
			benched{"Linear-" + name, 2 * groups * n * k, func(b *Backend) { b.Linear(y, x, w, groups) }},
			benched{"LinearBackward-" + name, 4 * groups * n * k, func(b *Backend) { b.LinearBackward(dx, dw, y, x, w, groups) }})
	}
	for _, s := range [][2]int{{benchDim, 2 * benchHidden}, {benchHidden, benchDim}} {
		k, n := s[0], s[1]
		x, y, w := g.of(rows*benchSlots, k), g.of(rows*benchSlots, n), g.weight(b, benchExperts, n, k)
		dx, dw := g.of(rows*benchSlots, k), g.of(benchExperts, n, k)
		off := make([]int32, benchExperts+1)
		for e := range off {
			off[e] = int32(rows * benchSlots * e / benchExperts)
		}
		name := fmt.Sprintf("%dx%d", k, n)
		list = append(list,
			benched{"ExpertLinear-" + name, 2 * benchSlots * n * k, func(b *Backend) { b.ExpertLinear(y, x, w, off) }},
			benched{"ExpertLinearBackward-" + name, 4 * benchSlots * n * k, func(b *Backend) { b.ExpertLinearBackward(dx, dw, y, x, w, off) }})
	}
	return list
}

// rowKernels are those of norms, streams and experts.
func rowKernels(g benchInputs, rows int) []benched {
	const d, s = benchDim, 4
	x, y, w, dx, dw := g.of(rows, d), g.of(rows, d), g.of(d), g.of(rows, d), g.of(d)
	streams, more, dstreams := g.of(rows, s, d), g.of(rows, s, d), g.of(rows, s, d)
	pre, post, comb := g.of(rows, s), g.of(rows, s), g.of(rows, s, s)
	dpre, dpost, dcomb := g.of(rows, s), g.of(rows, s), g.of(rows, s, s)
	z, dz, base, scale, dbase, dscale := g.of(rows, 24), g.of(rows, 24), g.of(24), g.of(3), g.of(24), g.of(3)
	gu, h, dgu, dh := g.of(rows*benchSlots, 2*benchHidden), g.of(rows*benchSlots, benchHidden), g.of(rows*benchSlots, 2*benchHidden), g.of(rows*benchSlots, benchHidden)
	slots, weights, dweights := g.of(rows*benchSlots, d), g.of(rows, benchSlots), g.of(rows, benchSlots)
	router, drouter := g.of(rows, benchExperts), g.of(rows, benchExperts)
	choice, to := make([]int32, rows*benchSlots), make([]int32, rows*benchSlots)
	for i := range to {
		choice[i], to[i] = int32(g.r.IntN(benchExperts)), int32(i)
	}
	g.r.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
	return []benched{
		{"Add", 0, func(b *Backend) { b.Add(more, streams, dstreams) }},
		{"RMSNorm", 0, func(b *Backend) { b.RMSNorm(y, x, w, d, 1e-6) }},
		{"RMSNormBackward", 0, func(b *Backend) { b.RMSNormBackward(dx, dw, y, x, w, d, 1e-6) }},
		{"HyperMap", 0, func(b *Backend) { b.HyperMap(pre, post, comb, z, streams, base, scale, benchHyper) }},
		{"HyperMapBackward", 0, func(b *Backend) {
			b.HyperMapBackward(dz, dstreams, dbase, dscale, dpre, dpost, dcomb, z, streams, base, scale, benchHyper)
		}},
		{"Collapse", 0, func(b *Backend) { b.Collapse(y, streams, pre) }},
		{"CollapseBackward", 0, func(b *Backend) { b.CollapseBackward(dstreams, dpre, y, streams, pre) }},
		{"Expand", 0, func(b *Backend) { b.Expand(more, streams, x, post, comb) }},
		{"ExpandBackward", 0, func(b *Backend) { b.ExpandBackward(dstreams, dx, dpost, dcomb, more, streams, x, post, comb) }},
		{"SwiGLU", 0, func(b *Backend) { b.SwiGLU(h, gu, weights.View(rows*benchSlots), 10) }},
		{"SwiGLUBackward", 0, func(b *Backend) {
			b.SwiGLUBackward(dgu, dweights.View(rows*benchSlots), dh, gu, weights.View(rows*benchSlots), 10)
		}},
		{"TopExperts", 0, func(b *Backend) { b.TopExperts(choice, router, nil, benchSlots) }},
		{"RouteWeights", 0, func(b *Backend) { b.RouteWeights(weights, router, choice, 1.5) }},
		{"RouteWeightsBackward", 0, func(b *Backend) { b.RouteWeightsBackward(drouter, dweights, router, choice, 1.5) }},
		{"Dispatch", 0, func(b *Backend) { b.Dispatch(slots, x, to, benchSlots) }},
		{"Combine", 0, func(b *Backend) { b.Combine(y, slots, to, benchSlots) }},
		{"DispatchAdd", 0, func(b *Backend) { b.DispatchAdd(slots, x, to, benchSlots) }},
	}
}

// attentionKernels are those of attention, compression and the head. Sequences are benchSeq long; decode has one token of
// each of rows sequences.
func attentionKernels(g benchInputs, rows int, decode bool) []benched {
	const d = benchHeadDim
	q, o, do, dq := g.of(rows, benchHeads*d), g.of(rows, benchHeads*d), g.of(rows, benchHeads*d), g.of(rows, benchHeads*d)
	lse, sink, dsink := g.of(rows, benchHeads), g.of(benchHeads), g.of(benchHeads)
	pool, far, dpool, dfar := g.of(max(rows, 4096), d), g.of(max(rows/4, 1024), d), g.of(max(rows, 4096), d), g.of(max(rows/4, 1024), d)
	near, some := sliding(pool, rows, benchWindow), decoding(far, rows, 16)
	if decode {
		near = decoding(pool, rows, benchWindow)
	}
	cos, sin, freq, pos := g.of(rows, 8), g.of(rows, 8), make([]float32, 8), make([]int32, rows)
	raw, draw, bias, dbias, pooled := g.of(rows, 4*d), g.of(rows, 4*d), g.of(4, 2*d), g.of(4, 2*d), g.of(max(rows/4, 1), d)
	prev, own := windows(raw, rows, 4)
	wideRaw, dwide, wideBias, dwideBias, widePooled := g.of(rows, 2*d), g.of(rows, 2*d), g.of(32, d), g.of(32, d), g.of(max(rows/32, 1), d)
	_, long := windows(wideRaw, rows, 32)
	iq, iw, keys := g.of(rows, benchHeads*32), g.of(rows, benchHeads), decoding(g.of(1024, 32), rows, 40)
	logits, lp, ent, lse1, next, scale := g.of(rows, benchVocab), g.of(rows), g.of(rows), g.of(rows), make([]int32, rows), make([]float32, rows)
	dlogits := g.of(rows, benchVocab)
	for i := range scale {
		scale[i] = 1
	}
	list := []benched{
		{"Angles", 0, func(b *Backend) { b.Angles(cos, sin, pos, freq) }},
		{"RoPE", 0, func(b *Backend) { b.RoPE(o, q, cos, sin, d, false) }},
		{"RoPEBackward", 0, func(b *Backend) { b.RoPEBackward(dq, do, cos, sin, d, false) }},
		{"Attend", 0, func(b *Backend) { b.Attend(o, lse, q, sink, benchHeads, near, some) }},
		{"AttendBackward", 0, func(b *Backend) {
			b.AttendBackward(dq, dsink, []*tensor.Tensor{dpool, dfar}, do, o, lse, q, sink, benchHeads, near, some)
		}},
		{"IndexTopK", 0, func(b *Backend) { b.IndexTopK(iq, iw, benchHeads, keys, 16) }},
		{"LogProb", 0, func(b *Backend) { b.LogProb(lp, ent, lse1, logits, next, scale) }},
		{"LogProbBackward", 0, func(b *Backend) { b.LogProbBackward(dlogits, lp, ent, ent, lse1, logits, next, scale) }},
	}
	if rows < 32 {
		return list // no window is full
	}
	return append(list,
		benched{"PoolOverlap", 0, func(b *Backend) { b.Pool(pooled, bias, true, prev, own) }},
		benched{"PoolOverlapBackward", 0, func(b *Backend) { b.PoolBackward(draw, dbias, pooled, bias, true, prev, own) }},
		benched{"PoolPlain", 0, func(b *Backend) { b.Pool(widePooled, wideBias, false, kernels.View{}, long) }},
		benched{"PoolPlainBackward", 0, func(b *Backend) { b.PoolBackward(dwide, dwideBias, widePooled, wideBias, false, kernels.View{}, long) }})
}

// processor returns the time that this process has spent on processors.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkKernels runs every kernel at the shapes of a small model: 1 and 64 tokens as decoding has them, 2048 as training.
func BenchmarkKernels(b *testing.B) {
	for _, rows := range []int{1, 64, 2048} {
		for _, threads := range []int{1, 2} {
			k := New(threads)
			g := benchInputs{rand.New(rand.NewPCG(1, 2))}
			list := append(products(k, g, rows), rowKernels(g, rows)...)
			for _, x := range append(list, attentionKernels(g, rows, rows < benchSeq)...) {
				b.Run(fmt.Sprintf("%s/tokens=%d/threads=%d", x.name, rows, threads), func(b *testing.B) {
					b.ReportAllocs()
					used := processor()
					for b.Loop() {
						x.run(k)
					}
					spent := b.Elapsed()
					if threads == 1 {
						spent = processor() - used // other processes disturb it less
					}
					ns := float64(spent.Nanoseconds()) / float64(b.N) / float64(rows)
					b.ReportMetric(ns, "ns/token")
					if x.flops > 0 {
						b.ReportMetric(float64(x.flops)/ns, "GFLOP/s")
					}
				})
			}
			k.Close()
		}
	}
}

// nothing is work without any.
type nothing struct{}

func (nothing) chunk(int, *scratch) {}

// BenchmarkFork is the time of eight empty chunks.
func BenchmarkFork(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := newPool(threads, 1, spin, nil)
			defer p.close()
			for b.Loop() {
				p.run(8, nothing{})
			}
		})
	}
}
