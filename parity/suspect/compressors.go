package suspect

import (
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func compressors() []known {
	list := slices.Concat(
		pooling("no overlap", "pools a window alone, where the 4:1 compressor pools half of what the tokens of the window before projected with it", func(p *pool) {
			p.prev.Hi = p.prev.Lo
		}),
		pooling("halves of the compressor swapped", "pools the first half of a projection with the token's own window and the second with the next, where it is the other way round", func(p *pool) {
			if p.overlap {
				half := swapped(p.bias.Dim())
				p.bias = permuted(p.bias, p.bias.Dim(), half)
				p.pool(permuted(p.own.Pool, p.bias.Dim(), half))
			}
		}),
		pooling("no position bias", "leaves out the compressor's position bias", func(p *pool) { p.bias = constant(p.bias, 0) }),
		pooling("position bias in slot order", "reads the 4:1 compressor's position bias slot after slot, where a row of it is a position in the window with both halves side by side: it is permuted, or was permuted once "+
			"and not again after an update", func(p *pool) {
			if p.overlap {
				m, d := p.bias.Shape[0], p.bias.Dim()/2
				p.bias = permuted(p.bias, 2*m*d, func(i int) int { s, half := i/(2*d), i%(2*d)/d; return (half*m+s)*d + i%d })
			}
		}),
		pooling("position bias in BF16", "holds the compressor's position bias in BF16, where it is float32", func(p *pool) { p.bias = remade(p.bias, toBF16) }),
	)
	return append(list, []known{
		{
			name: "halves of the compressor's weights swapped", ops: []string{"compress_raw", "index_raw"},
			says:    "has the halves of the 4:1 compressor's projections swapped, as checkpoints before the release had them",
			when:    func(c config) bool { return c.Has(dsv4.C4) },
			kernels: func(k part) kernels.Backend { return swappedRaw{k} },
		},
		visibility("windows seen one token late", "lets a token see a compressed entry only after the token that closes its window, where that token sees it already", func(t, m int) int { return t / m }),
		visibility("windows seen one token early", "lets the last token but one of a window see its compressed entry, where only the token that closes it is to see it", func(t, m int) int { return (t + 2) / m }),
		visibility("windows seen from their first token", "lets tokens see the compressed entry of the window that they are in before it is closed", func(t, m int) int { return t/m + 1 }),
	}...)
}

// A pool is the arguments of Pool.
type pool struct {
	bias      *tensor.Tensor
	overlap   bool
	prev, own kernels.View
}

// pool gives both views other rows.
func (p *pool) pool(rows *tensor.Tensor) { p.own.Pool, p.prev.Pool = rows, rows }

// pooled pools by other arguments what comes after a boundary: entries or the indexer's keys.
type pooled struct {
	part
	last   string
	change func(*pool)
}

// pooling is a mistake in attention's compressor, and the same in the indexer's.
func pooling(name, says string, change func(*pool)) []known {
	at := func(name, says, op, last string, when func(config) bool) known {
		return known{name: name, says: says, ops: []string{op}, when: when, kernels: func(k part) kernels.Backend { return pooled{k, last, change} }}
	}
	return []known{
		at(name, says, "compress_pooled", "compress_raw", func(c config) bool { return c.Has(dsv4.C4) || c.Has(dsv4.C128) }),
		at(name+" in the indexer", "in the indexer "+says, "index_pooled", "index_raw", hasIndexer),
	}
}

// Pool pools windows.
func (k pooled) Pool(y, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	p := pool{bias, overlap, prev, own}
	if k.at.after(k.last) {
		k.change(&p)
	}
	k.Backend.Pool(y, p.bias, p.overlap, p.prev, p.own)
}

// swappedRaw swaps the halves that the 4:1 compressor projects to.
type swappedRaw struct{ part }

// Join puts values and gates side by side.
func (k swappedRaw) Join(y, a, b *tensor.Tensor) {
	if k.at.attends(dsv4.C4) && k.at.after("kv", "compressed_kv") {
		half := swapped(a.Dim())
		a, b = permuted(a, a.Dim(), half), permuted(b, b.Dim(), half)
	}
	k.Backend.Join(y, a, b)
}

// visible shows tokens another number of windows. A judge's pass has one sequence from its first token on, so row w of the pool is window w.
type visible struct {
	part
	windows func(t, m int) int
}

func visibility(name, says string, windows func(t, m int) int) known {
	return known{
		name: name, says: says, ops: []string{"index_topk", "attn_mix"},
		when:    func(c config) bool { return c.Has(dsv4.C4) || c.Has(dsv4.C128) },
		kernels: func(k part) kernels.Backend { return visible{k, windows} },
	}
}

// IndexTopK chooses among what is shown.
func (k visible) IndexTopK(q, w *tensor.Tensor, heads int, keys kernels.View, n int) kernels.View {
	return k.Backend.IndexTopK(q, w, heads, k.shown(keys), n)
}

// Attend attends to what is shown.
func (k visible) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if k.at.attends(dsv4.C128) && len(views) > 1 {
		views = []kernels.View{views[0], k.shown(views[1])}
	}
	k.Backend.Attend(o, lse, q, sink, heads, views...)
}

func (k visible) shown(v kernels.View) kernels.View {
	n := v.Pool.Shape[0]
	out := kernels.View{Pool: v.Pool, Rows: make([]int32, n), Lo: make([]int32, len(v.Lo)), Hi: make([]int32, len(v.Hi))}
	for r := range out.Rows {
		out.Rows[r] = int32(r)
	}
	for t := range out.Hi {
		out.Hi[t] = int32(min(k.windows(t, k.at.rate()), n))
	}
	return out
}
