package paritytest

import (
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func compressorMistakes() []Mistake {
	return []Mistake{
		{Name: "no overlap", Trap: "table", op: kinds("compress_pooled", c4), kernels: pooled(alone)},
		{Name: "halves swapped", Trap: "T7", op: kinds("compress_pooled", c4), kernels: pooled(swapHalves)},
		{Name: "halves of the projections swapped in the file", Trap: "T7", Fault: Weights, op: kinds("compress_raw", c4), weight: named(swapRows, "self_attn.compressor.kv_proj.weight", "self_attn.compressor.gate_proj.weight")},
		{Name: "no position bias", Trap: "table", op: kinds("compress_pooled", c4, c128), kernels: pooled(unplaced)},
		{Name: "position bias in slot order", Trap: "T7", op: kinds("compress_pooled", c4), kernels: pooled(bySlots)},
		{Name: "position bias from the last row to the first", Trap: "odd", op: kinds("compress_pooled", c4, c128), kernels: pooled(upsideDown)},
		{Name: "position bias in bfloat16", Trap: "T17", Fault: Rounding, op: kinds("compress_pooled", c4, c128), weight: named(coarse, "self_attn.compressor.position_bias")},
		{Name: "pooled rows in bfloat16", Trap: "odd", Fault: Rounding, op: kinds("compress_pooled", c4, c128), kernels: func(k part) kernels.Backend { return coarsePool{k} }},
		{Name: "windows pooled by equal weights", Trap: "odd", op: kinds("compress_pooled", c4, c128), kernels: pooled(flatGates)},
		{Name: "entries without norm", Trap: "odd", op: kinds("compressed_kv", c4, c128), kernels: func(k part) kernels.Backend { return unnormed{k, "compress_pooled"} }},
		{Name: "windows visible one token early", Trap: "T11", op: seenOp, kernels: visible(func(t, m int) int { return (t + 2) / m })},
		{Name: "windows visible one token late", Trap: "T11", op: seenOp, kernels: visible(func(t, m int) int { return t / m })},
		{Name: "windows visible from their first token", Trap: "T11", op: seenOp, kernels: visible(func(t, m int) int { return t/m + 1 })},
		{Name: "entries beyond the eighth not seen", Trap: "odd", op: kinds("attn_mix", c128), Least: 160, kernels: visible(func(t, m int) int { return min((t+1)/m, 8) })},
	}
}

// seenOp is where windows show that are seen too early or late: by the indexer's choice of them, or by attention.
func seenOp(c dsv4.Config, layer int) string {
	if op := kinds("index_topk", c4)(c, layer); op != "" {
		return op
	}
	return kinds("attn_mix", c128)(c, layer)
}

// A pooling is the arguments of one Pool.
type pooling struct {
	bias      *tensor.Tensor
	overlap   bool
	prev, own kernels.View
}

func (p *pooling) changeBias(f func(*tensor.Tensor)) {
	p.bias = p.bias.Clone()
	f(p.bias)
}

// changePool gives both views another pool.
func (p *pooling) changePool(f func(*tensor.Tensor)) {
	pool := p.own.Pool.Clone()
	f(pool)
	p.own.Pool, p.prev.Pool = pool, pool
}

// pool pools by other arguments what comes after a boundary: attention's entries or the indexer's keys.
type pool struct {
	part
	after  string
	change func(*pooling)
}

func pooled(change func(*pooling)) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return pool{k, "compress_raw", change} }
}

// pooledKeys is pooled for the indexer's keys.
func pooledKeys(change func(*pooling)) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return pool{k, "index_raw", change} }
}

func (k pool) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	p := pooling{bias, overlap, prev, own}
	if k.at.follows(k.after) {
		k.change(&p)
	}
	k.Backend.Pool(y, p.bias, p.overlap, p.prev, p.own)
}

// alone pools windows without the one before.
func alone(p *pooling) { p.prev.Hi = p.prev.Lo }

// unplaced pools without position bias.
func unplaced(p *pooling) { p.changeBias(func(b *tensor.Tensor) { clear(b.F32()) }) }

// coarseBias rounds the position bias.
func coarseBias(p *pooling) {
	p.changeBias(func(b *tensor.Tensor) { coarse(dsv4.Config{}, b.F32()) })
}

// swapHalves takes the first half of a projection for the token's own window and the second for the next.
func swapHalves(p *pooling) {
	half := p.bias.Dim() / 2
	swap := func(x *tensor.Tensor) {
		for v := x.F32(); len(v) > 0; v = v[2*half:] {
			for i := range half {
				v[i], v[half+i] = v[half+i], v[i]
			}
		}
	}
	p.changeBias(swap)
	p.changePool(swap)
}

// swapRows swaps the halves of a projection's rows.
func swapRows(c dsv4.Config, v []float32) {
	n := len(v) / 2
	for i := range n {
		v[i], v[n+i] = v[n+i], v[i]
	}
}

// bySlots reads the bias [m, 2D] as [2m, D]: slot after slot, as a kernel wants it that takes the first half's rows first.
func bySlots(p *pooling) {
	p.changeBias(func(b *tensor.Tensor) {
		m, d := b.Shape[0], b.Dim()/2
		file := append([]float32(nil), b.F32()...)
		for slot := range 2 * m {
			to := b.F32()[slot%m*2*d+slot/m*d:][:d]
			copy(to, file[slot*d:])
		}
	})
}

func upsideDown(p *pooling) {
	p.changeBias(func(b *tensor.Tensor) {
		m, d := b.Shape[0], b.Dim()
		file := append([]float32(nil), b.F32()...)
		for s := range m {
			copy(b.F32()[s*d:][:d], file[(m-1-s)*d:])
		}
	})
}

// flatGates clears gates and bias: all slots weigh the same.
func flatGates(p *pooling) {
	p.changeBias(func(b *tensor.Tensor) { clear(b.F32()) })
	p.changePool(func(x *tensor.Tensor) {
		n := x.Dim()
		for v := x.F32(); len(v) > 0; v = v[n:] {
			clear(v[n/2 : n])
		}
	})
}

type coarsePool struct{ part }

func (k coarsePool) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	k.Backend.Pool(y, bias, overlap, prev, own)
	if k.at.follows("compress_raw") {
		coarse(k.at.Config, y.F32())
	}
}

// seen shows each token another number of windows. All of a pass lie in one pool, the first window in the first row.
type seen struct {
	part
	windows func(t, m int) int
}

func visible(windows func(t, m int) int) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return seen{k, windows} }
}

func (k seen) IndexTopK(q, weights *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	return k.Backend.IndexTopK(q, weights, heads, k.see(keys), n)
}

func (k seen) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if k.at.kind().Attention == c128 {
		views = []kernels.View{views[0], k.see(views[1])}
	}
	k.Backend.Attend(o, lse, q, sink, heads, views...)
}

func (k seen) see(v kernels.View) kernels.View {
	out := kernels.View{Pool: v.Pool, Lo: make([]int32, len(v.Lo)), Hi: make([]int32, len(v.Hi))}
	for r := range v.Pool.Shape[0] {
		out.Rows = append(out.Rows, int32(r))
	}
	for t := range out.Hi {
		out.Hi[t] = int32(min(k.windows(t, int(k.rate())), len(out.Rows)))
	}
	return out
}
