package suspect

import (
	"math"

	"furlong/kernels"
	"furlong/tensor"
)

// Boundaries of a mixer's parts, at both sites.
var (
	atPost    = []string{"attn_hc.post", "ffn_hc.post"}
	atComb    = []string{"attn_hc.comb", "ffn_hc.comb"}
	atMaps    = []string{"attn_hc.pre", "attn_hc.post", "attn_hc.comb", "ffn_hc.pre", "ffn_hc.post", "ffn_hc.comb", "hc_head"}
	atStreams = []string{"attn_streams", "streams"}
)

func mixers() []known {
	return []known{
		{
			name: "stream mixer transposed", ops: atStreams,
			says:    "applies the stream mixer transposed: its new stream k takes comb[k,j] of the old stream j, where it is to take comb[j,k]",
			kernels: func(k part) kernels.Backend { return mixing{k, func(i, j, s int) int { return j*s + i }} },
		},
		{
			name: "plain residual", ops: atStreams,
			says:    "adds a sub-layer's output to the old streams as they are, where the mixing matrix is to mix them first",
			kernels: func(k part) kernels.Backend { return residual{k} },
		},
		rounds("one Sinkhorn round", "makes one round of Sinkhorn's normalisation for the mixing matrix, where the configuration says how many", func(int) int { return 1 }),
		rounds("one Sinkhorn round fewer", "makes one round of Sinkhorn's normalisation fewer than the configuration says", func(n int) int { return n - 1 }),
		rounds("one Sinkhorn round more", "makes one round of Sinkhorn's normalisation more than the configuration says", func(n int) int { return n + 1 }),
		{
			name: "row step last", ops: atComb,
			says:    "ends Sinkhorn's rounds on rows, where the column step is to be the last",
			kernels: func(k part) kernels.Backend { return mapped{k, rowStep} },
		},
		{
			name: "post without its factor", ops: atPost,
			says:    "takes the sigmoid alone for a sub-layer's weight in the streams, where that is to be twice the sigmoid",
			kernels: func(k part) kernels.Backend { return mapped{k, halve} },
		},
		{
			name: "no hc_eps", ops: atMaps,
			says:    "leaves hc_eps out of the stream mixer's maps, where it is added to the collapse weights, to the softmax and to each sum",
			kernels: func(k part) kernels.Backend { return hyper{k, func(h *hyperCall) { h.p.Eps = 0 }} },
		},
		{
			name: "streams normed one by one", ops: atMaps,
			says:    "divides each stream by its own root mean square before the mixer's maps, where all streams of a token are to be divided by one",
			kernels: func(k part) kernels.Backend { return streamNorms{k} },
		},
		{
			name: "hc scale not loaded", ops: atMaps,
			says:    "has 1 in place of the mixer's scale parameters, as if they had been taken for scales of a weight and never loaded",
			kernels: func(k part) kernels.Backend { return hyper{k, func(h *hyperCall) { h.scale = constant(h.scale, 1) }} },
		},
		{
			name: "mixer in BF16", ops: atMaps,
			says:    "holds the parameters of the stream mixers in BF16, where they are float32",
			kernels: func(k part) kernels.Backend { return coarseMixer{k, copies{}} },
		},
		{
			name: "last collapse averages", ops: []string{"hc_head"},
			says:    "averages the streams behind the last block, where the last mixer's map weighs them",
			kernels: func(k part) kernels.Backend { return averaged{k} },
		},
	}
}

// mixing mixes old streams with another arrangement of the matrix: element (i, j) of what is applied lies at at(i, j, s) of what was made.
type mixing struct {
	part
	at func(i, j, s int) int
}

// Expand applies the rearranged matrix.
func (k mixing) Expand(y, x, o, post, comb *tensor.Tensor) {
	s := post.Dim()
	k.Backend.Expand(y, x, o, post, permuted(comb, s*s, func(i int) int { return k.at(i/s, i%s, s) }))
}

type residual struct{ part }

// Expand applies the unit matrix.
func (k residual) Expand(y, x, o, post, comb *tensor.Tensor) {
	s, unit := post.Dim(), constant(comb, 0)
	for i := 0; i < unit.Len(); i += s * s {
		for j := range s {
			set(unit, i+j*s+j, 1)
		}
	}
	k.Backend.Expand(y, x, o, post, unit)
}

// A hyperCall is the arguments of HyperMap.
type hyperCall struct {
	z, x, base, scale *tensor.Tensor
	p                 kernels.HyperParams
}

// hyper makes maps from other arguments.
type hyper struct {
	part
	change func(h *hyperCall)
}

// HyperMap makes the maps.
func (k hyper) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	h := hyperCall{z, x, base, scale, p}
	k.change(&h)
	k.Backend.HyperMap(pre, post, comb, h.z, h.x, h.base, h.scale, h.p)
}

func rounds(name, says string, n func(int) int) known {
	return known{
		name: name, says: says, ops: atComb,
		kernels: func(k part) kernels.Backend {
			return hyper{k, func(h *hyperCall) { h.p.Iters = max(1, n(h.p.Iters)) }}
		},
	}
}

// mapped changes maps once they are made. post and comb are nil at the last collapse.
type mapped struct {
	part
	change func(post, comb *tensor.Tensor, p kernels.HyperParams)
}

// HyperMap makes the maps and changes them.
func (k mapped) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
	if comb != nil {
		k.change(post, comb, p)
	}
}

func rowStep(_, comb *tensor.Tensor, p kernels.HyperParams) {
	s := comb.Dim()
	for i := 0; i < comb.Len(); i += s {
		sum := p.Eps
		for j := range s {
			sum += get(comb, i+j)
		}
		for j := range s {
			set(comb, i+j, get(comb, i+j)/sum)
		}
	}
}

func halve(post, _ *tensor.Tensor, _ kernels.HyperParams) {
	remake(post, func(v float64) float64 { return v / 2 })
}

// isMixer reports whether w makes the maps of a site: its rows are as long as all streams of a token.
func (k part) isMixer(w *tensor.Tensor) bool {
	return len(w.Shape) == 2 && w.Dim() == k.at.Streams*k.at.Hidden && k.at.after("", "attn_streams")
}

// streamNorms makes the product that the maps are made of from streams that are normed one by one. HyperMap then divides by the root mean square of
// all, which is put back here.
type streamNorms struct{ part }

// Linear is the product of a mixer.
func (k streamNorms) Linear(y, x, w *tensor.Tensor, groups int) {
	if !k.isMixer(w) {
		k.Backend.Linear(y, x, w, groups)
		return
	}
	n, d, own := w.Dim(), k.at.Hidden, x.Clone()
	for t := 0; t < x.Len(); t += n {
		all := math.Sqrt(meanSquare(x, t, n) + k.at.NormEps)
		for i := t; i < t+n; i += d {
			by := all / math.Sqrt(meanSquare(x, i, d)+k.at.NormEps)
			for c := range d {
				set(own, i+c, get(x, i+c)*by)
			}
		}
	}
	k.Backend.Linear(y, own, w, groups)
}

// coarseMixer rounds all that a mixer is made of.
type coarseMixer struct {
	part
	made copies
}

// Linear is the product of a mixer.
func (k coarseMixer) Linear(y, x, w *tensor.Tensor, groups int) {
	if k.isMixer(w) {
		w = k.made.of(k.at, w, func(w *tensor.Tensor) *tensor.Tensor { return remade(w, toBF16) })
	}
	k.Backend.Linear(y, x, w, groups)
}

// HyperMap makes the maps.
func (k coarseMixer) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.Backend.HyperMap(pre, post, comb, z, x, remade(base, toBF16), remade(scale, toBF16), p)
}

// averaged weighs all streams alike at the last collapse.
type averaged struct{ part }

// HyperMap makes the maps.
func (k averaged) HyperMap(pre, post, comb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	k.Backend.HyperMap(pre, post, comb, z, x, base, scale, p)
	if post == nil {
		remake(pre, func(float64) float64 { return 1 / float64(pre.Dim()) })
	}
}

// copies are weights with other values, made when they are first read.
type copies map[*tensor.Tensor]*tensor.Tensor

func (c copies) of(at *pass, w *tensor.Tensor, make func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if c[w] == nil {
		c[w] = make(w)
		at.k.Prepare(c[w])
	}
	return c[w]
}
