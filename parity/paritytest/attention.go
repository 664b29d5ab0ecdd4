package paritytest

import (
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

func attentionMistakes() []Mistake {
	return []Mistake{
		{Name: "no sink", Trap: "T13", op: each("attn_mix"), kernels: sunk(func(float32, int) float32 { return float32(math.Inf(-1)) })},
		{Name: "sink scaled like a key", Trap: "T13", op: each("attn_mix"), kernels: sunk(func(s float32, dim int) float32 { return s / float32(math.Sqrt(float64(dim))) })},
		{Name: "sink of zero", Trap: "odd", op: each("attn_mix"), kernels: sunk(func(float32, int) float32 { return 0 })},
		{Name: "window one longer", Trap: "T14", op: each("attn_mix"), config: func(c *dsv4.Config) { c.Window++ }},
		{Name: "window one shorter", Trap: "T14", op: each("attn_mix"), config: func(c *dsv4.Config) { c.Window-- }},
		{Name: "oldest row of the window dropped from the third token on", Trap: "odd", op: each("attn_mix"), kernels: func(k part) kernels.Backend { return hole{k} }},
		{Name: "no norm on each query head", Trap: "T20", op: each("q_normed"), kernels: func(k part) kernels.Backend { return unnormed{k, "q_latent"} }},
		{Name: "no norm on the query latent", Trap: "T20", op: each("q_latent"), kernels: func(k part) kernels.Backend { return unnormed{k, "attn_in"} }},
		{Name: "weight on the norm of each query head", Trap: "T20", op: each("q_normed"), kernels: func(k part) kernels.Backend { return weighted{k} }},
		{Name: "keys without norm", Trap: "odd", op: each("kv_normed"), kernels: func(k part) kernels.Backend { return unnormed{k, "q"} }},
		{Name: "heads grouped by turns", Trap: "T21", op: each("attn_grouped"), kernels: func(k part) kernels.Backend { return groups{k, byTurns} }},
		{Name: "output projection dense", Trap: "T21", op: each("attn_grouped"), kernels: func(k part) kernels.Backend { return groups{k, allHeads} }},
		{Name: "scores scaled by the turned channels alone", Trap: "odd", op: each("attn_mix"), kernels: func(k part) kernels.Backend { return sharper{k} }},
		{Name: "norms with eps 1e-5", Trap: "table", Fault: Faint, op: each("attn_hc.pre|attn_hc.post|attn_hc.comb|attn_in|q_latent|q_normed|kv_normed|compressed_kv|index_keys|ffn_hc.pre|mlp_in"), config: func(c *dsv4.Config) { c.NormEps = 1e-5 }},
		{Name: "norms without eps", Trap: "odd", Fault: Faint, op: each("attn_hc.pre|attn_hc.post|attn_hc.comb|attn_in|q_latent|q_normed|kv_normed|compressed_kv|index_keys|ffn_hc.pre|mlp_in"), config: func(c *dsv4.Config) { c.NormEps = 0 }},
		{Name: "no norm before the experts", Trap: "odd", op: each("mlp_in"), kernels: func(k part) kernels.Backend { return unnormed{k, "ffn_hc.collapsed"} }},
	}
}

// sinks changes the sink of each head.
type sinks struct {
	part
	as func(sink float32, dim int) float32
}

func sunk(as func(float32, int) float32) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return sinks{k, as} }
}

func (k sinks) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	other := sink.Clone()
	for i, s := range other.F32() {
		other.F32()[i] = k.as(s, q.Dim()/heads)
	}
	k.Backend.Attend(o, lse, q, other, heads, views...)
}

// hole hides the first row that a query reads in its window, if it reads more than two.
type hole struct{ part }

func (k hole) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	near := views[0]
	near.Lo = append([]int32(nil), near.Lo...)
	for t := range near.Lo {
		if near.Hi[t]-near.Lo[t] > 2 {
			near.Lo[t]++
		}
	}
	k.Backend.Attend(o, lse, q, sink, heads, append([]kernels.View{near}, views[1:]...)...)
}

// unnormed leaves out the norm that comes after a boundary.
type unnormed struct {
	part
	after string
}

func (k unnormed) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if k.at.After == k.after {
		k.Copy(y, x)
		return
	}
	k.Backend.RMSNorm(y, x, w, dim, eps)
}

// weighted gives the norm of query heads a weight.
type weighted struct{ part }

func (k weighted) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if k.at.follows("q_latent") {
		w = tensor.New(dtype.F32, dim)
		for i := range w.F32() {
			w.F32()[i] = 1 + 0.3*float32(math.Sin(float64(i)))
		}
	}
	k.Backend.RMSNorm(y, x, w, dim, eps)
}

// groups feeds the blocks of the grouped projection otherwise.
type groups struct {
	part
	fill func(to, heads []float32, n, groups int) // one token's heads, n of them
}

func (k groups) Linear(y, x, w *tensor.Tensor, n int) {
	if !k.at.follows("attn_turned") {
		k.Backend.Linear(y, x, w, n)
		return
	}
	other := tensor.New(dtype.F32, x.Shape...)
	for t := range x.Rows() {
		k.fill(rowOf(other, t), rowOf(x, t), k.at.Config.Heads, n)
	}
	k.Backend.Linear(y, other, w, n)
}

// byTurns gives head h to group h modulo groups.
func byTurns(to, heads []float32, n, groups int) {
	dim, next := len(heads)/n, 0
	for g := range groups {
		for h := g; h < n; h += groups {
			copy(to[next*dim:][:dim], heads[h*dim:])
			next++
		}
	}
}

// allHeads gives every group the sum of all groups' heads: the product with a dense matrix of equal blocks.
func allHeads(to, heads []float32, _, groups int) {
	wide := len(heads) / groups
	for i := range to {
		for g := range groups {
			to[i] += heads[g*wide+i%wide]
		}
	}
}

// sharper scales scores by the number of turned channels instead of all.
type sharper struct{ part }

func (k sharper) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	c, other := k.at.Config, q.Clone()
	for i := range other.F32() {
		other.F32()[i] *= float32(math.Sqrt(float64(c.HeadDim) / float64(c.RopeDim)))
	}
	k.Backend.Attend(o, lse, other, sink, heads, views...)
}
