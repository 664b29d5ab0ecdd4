package paritytest

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// streamsOp is where streams that are mixed wrongly show: all streams are equal when layer 0 mixes them first, and any mix of them is the same but for
// what the last column step leaves of the rows' sums.
func streamsOp(c dsv4.Config, layer int) string {
	if !within(c, layer) {
		return ""
	}
	if layer == 0 {
		return "attn_streams|streams"
	}
	return "attn_streams"
}

func hyperMistakes() []Mistake {
	return []Mistake{
		{Name: "mixer transposed", Trap: "T1", op: streamsOp, kernels: func(k part) kernels.Backend { return mixer{k, transposed} }},
		{Name: "one Sinkhorn round", Trap: "table", op: each("attn_hc.comb"), config: func(c *dsv4.Config) { c.SinkhornIter = 1 }},
		{Name: "19 Sinkhorn rounds", Trap: "table", Fault: Faint, op: each("attn_hc.comb|ffn_hc.comb"), config: func(c *dsv4.Config) { c.SinkhornIter-- }},
		{Name: "21 Sinkhorn rounds", Trap: "odd", Fault: Faint, op: each("attn_hc.comb|ffn_hc.comb"), config: func(c *dsv4.Config) { c.SinkhornIter++ }},
		{Name: "a row step last", Trap: "table", Fault: Faint, op: each("attn_hc.comb|ffn_hc.comb"), kernels: func(k part) kernels.Backend { return maps{k, rowsLast} }},
		{Name: "post without its factor 2", Trap: "table", op: each("attn_hc.post"), kernels: func(k part) kernels.Backend { return maps{k, halfPost} }},
		{Name: "no hc_eps", Trap: "table", Fault: Faint, op: each("attn_hc.pre|attn_hc.comb|ffn_hc.pre"), config: func(c *dsv4.Config) { c.HyperEps = 0 }},
		{Name: "streams normed one by one", Trap: "odd", op: apartOp, kernels: func(k part) kernels.Backend { return eachStream{k} }},
		{Name: "output added to the old streams", Trap: "odd", op: streamsOp, kernels: func(k part) kernels.Backend { return mixer{k, identity} }},
		{Name: "mixer half way to equal parts", Trap: "odd", op: each("attn_hc.comb"), kernels: func(k part) kernels.Backend { return maps{k, halfEqual} }},
		{Name: "collapse weights without the sigmoid's eps, doubled", Trap: "odd", op: each("attn_hc.pre"), kernels: func(k part) kernels.Backend { return maps{k, doublePre} }},
		{
			Name: "hc scale taken for a weight scale", Trap: "T16", Fault: Weights, op: each("attn_hc.pre"),
			weight: named(func(_ dsv4.Config, v []float32) {
				for i := range v {
					v[i] = 1 // what it is before anything is loaded
				}
			}, "_hc.scale"),
		},
		{Name: "hyper-connections in bfloat16", Trap: "T17", Fault: Rounding, op: each("attn_hc.pre"), weight: named(coarse, "_hc.fn", "_hc.base", "_hc.scale")},
		{Name: "final collapse by equal parts", Trap: "odd", op: atEnd("hc_head"), kernels: func(k part) kernels.Backend { return maps{k, equalParts} }},
	}
}

// apartOp is where streams normed one by one show: while all are equal each has the norm of all.
func apartOp(c dsv4.Config, layer int) string {
	switch {
	case !within(c, layer):
		return ""
	case layer == 0:
		return "ffn_hc.pre"
	}
	return "attn_hc.pre"
}

// A mixer mixes streams by another matrix.
type mixer struct {
	part
	from func(to, comb []float32, s int)
}

func (k mixer) Expand(y, x, o, post, comb *tensor.Tensor) {
	s, other := post.Dim(), tensor.New(dtype.F32, comb.Shape...)
	for at := 0; at < comb.Len(); at += s * s {
		k.from(other.F32()[at:][:s*s], comb.F32()[at:][:s*s], s)
	}
	k.Backend.Expand(y, x, o, post, other)
}

func transposed(to, comb []float32, s int) {
	for i := range s {
		for j := range s {
			to[j*s+i] = comb[i*s+j]
		}
	}
}

func identity(to, _ []float32, s int) {
	for i := range s {
		to[i*s+i] = 1
	}
}

// maps changes a site's maps after they are made. The final collapse has neither post nor comb.
type maps struct {
	part
	change func(pre, post, comb []float32, s int)
}

func (k maps) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
	s := pre.Dim()
	for t := range pre.Rows() {
		if post == nil {
			k.change(pre.F32()[t*s:][:s], nil, nil, s)
			continue
		}
		k.change(pre.F32()[t*s:][:s], post.F32()[t*s:][:s], comb.F32()[t*s*s:][:s*s], s)
	}
}

func rowsLast(_, _, comb []float32, s int) {
	for ; len(comb) > 0; comb = comb[s:] {
		sum := float32(1e-6)
		for _, v := range comb[:s] {
			sum += v
		}
		for i := range s {
			comb[i] /= sum
		}
	}
}

func halfPost(_, post, _ []float32, _ int) {
	for i := range post {
		post[i] /= 2
	}
}

func doublePre(pre, _, _ []float32, _ int) {
	for i := range pre {
		pre[i] = 2 * (pre[i] - 1e-6)
	}
}

// halfEqual makes a mixer that is as doubly stochastic as the right one, and another.
func halfEqual(_, _, comb []float32, s int) {
	if comb == nil {
		return
	}
	for i := range s {
		for j := range s {
			comb[i*s+j] = 0.5*comb[i*s+j] + 0.5/float32(s)
		}
	}
}

func equalParts(pre, post, _ []float32, s int) {
	for i := range pre {
		if post == nil {
			pre[i] = 1 / float32(s)
		}
	}
}

// eachStream divides each stream by its own root mean square before the map, not all by one.
type eachStream struct{ part }

func (k eachStream) Linear(y, x, w *tensor.Tensor, groups int) {
	c := k.at.Config
	if !k.at.follows("embed", "streams", "attn_streams") || x.Len()/x.Rows() != c.Streams*c.Hidden && w.Dim() != c.Streams*c.Hidden {
		k.Backend.Linear(y, x, w, groups)
		return
	}
	own := x.Clone()
	for row := own.F32(); len(row) > 0; row = row[c.Streams*c.Hidden:] {
		all := root(row[:c.Streams*c.Hidden])
		for s := range c.Streams {
			one := row[s*c.Hidden:][:c.Hidden]
			by := all / root(one) // the map divides by the root mean square of all
			for i := range one {
				one[i] *= by
			}
		}
	}
	k.Backend.Linear(y, own, w, groups)
}

// named returns a change of the weights whose names end in one of some endings, values seen as float32.
func named(f func(c dsv4.Config, v []float32), ends ...string) *change {
	return &change{ends, func(c dsv4.Config, p *tensor.Param) { edit(p.Value, func(v []float32) { f(c, v) }) }}
}
