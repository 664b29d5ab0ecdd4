package taps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Kind says what an op does to its inputs: how large rounding is depends on it.
type Kind uint8

// The kinds.
const (
	Move     Kind = iota // copies or turns rows: a few roundings an element
	Norm                 // a sum of squares, then elementwise
	Product              // sums of products with a weight
	Mix                  // softmax over rows, and their weighted sum
	Maps                 // the maps of a stream mixer: a product, a norm, and the rounds of Sinkhorn
	Gate                 // elementwise: SwiGLU, weights of experts
	Sum                  // adds a few terms
	Choose               // a discrete choice
	LogProbs             // log-softmax
)

// rows says what one row of a boundary stands for.
type rows uint8

const (
	ofTokens  rows = iota
	ofWindows      // that a compressor of the layer closes
	ofSlots        // one for each expert a token went to: a token's slots are one row here
)

// A Boundary is a place where results are seen, and what they are made from.
type Boundary struct {
	Name   string
	Kind   Kind
	Says   string   // what is computed there, in words
	Reads  []string // boundaries whose values it reads: of its own block, "<streams" for those that enter it
	Covers []string // boundaries that it makes anew by itself, so that forcing them changes nothing here
	Choice bool
	Weight string // the last part of the name of the weight it multiplies with; "" for none

	rows rows
}

// Names outside the blocks, where the layer is -1.
const (
	Embed     = "embed"
	HCHead    = "hc_head"
	FinalNorm = "final_norm"
	Logits    = "logits"  // of the judge's head; kept by recorders of other programs
	LogProb   = "logprob" // row t is the logprob of token t, given those before it
)

const entering = "<streams" // the streams that enter a block

var boundaries = []Boundary{
	{Name: Embed, Kind: Move, Says: "the embedding of tokens", Weight: "model.embed_tokens.weight"},

	{Name: "attn_hc.pre", Kind: Maps, Says: "collapse weights of the mixer before attention", Reads: []string{entering}},
	{Name: "attn_hc.post", Kind: Maps, Says: "output weights of the mixer around attention", Reads: []string{entering}},
	{Name: "attn_hc.comb", Kind: Maps, Says: "mixing matrix around attention", Reads: []string{entering}},
	{Name: "attn_hc.collapsed", Kind: Maps, Says: "collapse of the streams before attention", Reads: []string{entering}, Covers: []string{"attn_hc.pre"}},
	{Name: "attn_in", Kind: Norm, Says: "norm before attention", Reads: []string{"attn_hc.collapsed"}},
	{Name: "q_latent", Kind: Product, Says: "query down projection and its norm", Reads: []string{"attn_in"}, Weight: "self_attn.q_a_proj.weight"},
	{Name: "q_normed", Kind: Product, Says: "query up projection and the norm of each head", Reads: []string{"q_latent"}, Weight: "self_attn.q_b_proj.weight"},
	{Name: "q", Kind: Move, Says: "rotation of queries", Reads: []string{"q_normed"}},
	{Name: "kv_normed", Kind: Product, Says: "key-value projection and its norm", Reads: []string{"attn_in"}, Weight: "self_attn.kv_proj.weight"},
	{Name: "kv", Kind: Move, Says: "rotation of keys", Reads: []string{"kv_normed"}},
	{Name: "compress_raw", Kind: Product, Says: "projections of the compressor", Reads: []string{"attn_in"}, Weight: "self_attn.compressor.kv_proj.weight"},
	{Name: "compress_pooled", Kind: Mix, Says: "gated pooling of windows", Reads: []string{"compress_raw"}, rows: ofWindows},
	{Name: "compressed_kv", Kind: Norm, Says: "norm and rotation of compressed entries", Reads: []string{"compress_pooled"}, rows: ofWindows},
	{Name: "index_raw", Kind: Product, Says: "projections of the indexer's compressor", Reads: []string{"attn_in"}, Weight: "self_attn.compressor.indexer.kv_proj.weight"},
	{Name: "index_pooled", Kind: Mix, Says: "gated pooling of the indexer's windows", Reads: []string{"index_raw"}, rows: ofWindows},
	{Name: "index_keys", Kind: Norm, Says: "norm and rotation of the indexer's keys", Reads: []string{"index_pooled"}, rows: ofWindows},
	{Name: "index_q", Kind: Product, Says: "queries of the indexer and their rotation", Reads: []string{"q_latent"}, Weight: "self_attn.compressor.indexer.q_b_proj.weight"},
	{Name: "index_weights", Kind: Product, Says: "head weights of the indexer", Reads: []string{"attn_in"}, Weight: "self_attn.compressor.indexer.scorer.weights_proj.weight"},
	{Name: "index_topk", Kind: Choose, Says: "the indexer's choice of entries", Reads: []string{"index_q", "index_weights", "index_keys"}, Choice: true},
	{Name: "attn_mix", Kind: Mix, Says: "attention over window, entries and sink", Reads: []string{"q", "kv", "compressed_kv", "index_topk"}},
	{Name: "attn_turned", Kind: Move, Says: "attention output turned back", Reads: []string{"attn_mix"}},
	{Name: "attn_grouped", Kind: Product, Says: "grouped output projection", Reads: []string{"attn_turned"}, Weight: "self_attn.o_a_proj.weight"},
	{Name: "attn_out", Kind: Product, Says: "output projection of attention", Reads: []string{"attn_grouped"}, Weight: "self_attn.o_b_proj.weight"},
	{Name: "attn_streams", Kind: Sum, Says: "streams after attention", Reads: []string{"attn_out", "attn_hc.post", "attn_hc.comb", entering}},

	{Name: "ffn_hc.pre", Kind: Maps, Says: "collapse weights of the mixer before the experts", Reads: []string{"attn_streams"}},
	{Name: "ffn_hc.post", Kind: Maps, Says: "output weights of the mixer around the experts", Reads: []string{"attn_streams"}},
	{Name: "ffn_hc.comb", Kind: Maps, Says: "mixing matrix around the experts", Reads: []string{"attn_streams"}},
	{Name: "ffn_hc.collapsed", Kind: Maps, Says: "collapse of the streams before the experts", Reads: []string{"attn_streams"}, Covers: []string{"ffn_hc.pre"}},
	{Name: "mlp_in", Kind: Norm, Says: "norm before the experts", Reads: []string{"ffn_hc.collapsed"}},
	{Name: "router_logits", Kind: Product, Says: "router logits", Reads: []string{"mlp_in"}, Weight: "mlp.gate.weight"},
	{Name: "router_indices", Kind: Choose, Says: "the choice of experts", Reads: []string{"router_logits"}, Choice: true},
	{Name: "router_weights", Kind: Gate, Says: "weights of the chosen experts", Reads: []string{"router_logits", "router_indices"}, rows: ofSlots},
	{Name: "expert_gate_up", Kind: Product, Says: "gate and up projections of the experts", Reads: []string{"mlp_in", "router_indices"}, rows: ofSlots, Weight: "mlp.experts.gate_up_proj"},
	{Name: "expert_mid", Kind: Gate, Says: "SwiGLU of the experts, weighed", Reads: []string{"expert_gate_up", "router_weights"}, rows: ofSlots},
	{Name: "expert_out", Kind: Product, Says: "down projection of the experts", Reads: []string{"expert_mid"}, rows: ofSlots, Weight: "mlp.experts.down_proj"},
	{Name: "shared_gate_up", Kind: Product, Says: "gate and up projections of the shared expert", Reads: []string{"mlp_in"}, Weight: "mlp.shared_experts.gate_proj.weight"},
	{Name: "shared_mid", Kind: Gate, Says: "SwiGLU of the shared expert", Reads: []string{"shared_gate_up"}},
	{Name: "shared_out", Kind: Product, Says: "down projection of the shared expert", Reads: []string{"shared_mid"}, Weight: "mlp.shared_experts.down_proj.weight"},
	{Name: "mlp_out", Kind: Sum, Says: "sum of shared and routed experts", Reads: []string{"shared_out", "expert_out"}},
	{Name: "streams", Kind: Sum, Says: "streams that leave the block", Reads: []string{"mlp_out", "ffn_hc.post", "ffn_hc.comb", "attn_streams"}},

	{Name: HCHead, Kind: Maps, Says: "the last collapse of the streams", Reads: []string{entering}},
	{Name: FinalNorm, Kind: Norm, Says: "the last norm", Reads: []string{HCHead}},
	{Name: Logits, Kind: Product, Says: "logits", Reads: []string{FinalNorm}, Weight: "lm_head.weight"},
	{Name: LogProb, Kind: LogProbs, Says: "log-softmax of the logits", Reads: []string{Logits}},
}

var byName = func() map[string]int {
	m := map[string]int{}
	for i, b := range boundaries {
		m[b.Name] = i
	}
	return m
}()

// Boundaries returns all boundaries in order of computation: the embedding, those of a block, the end of the model. A block has those of its kind.
func Boundaries() []Boundary { return slices.Clone(boundaries) }

// BoundaryOf returns the boundary of a name.
func BoundaryOf(name string) (Boundary, bool) {
	i, ok := byName[name]
	if !ok {
		return Boundary{}, false
	}
	return boundaries[i], true
}

// outside reports whether a boundary is of no block.
func outside(name string) bool {
	return name == Embed || name == HCHead || name == FinalNorm || name == Logits || name == LogProb
}

// A place is a boundary of a layer.
type place struct {
	layer int
	name  string
}

// String returns the name that files use: L3.attn_out, embed.
func (p place) String() string { return Title(p.layer, p.name) }

// Title returns the name of a layer's boundary as files use it: L3.attn_out, and embed outside the blocks.
func Title(layer int, name string) string {
	if layer < 0 {
		return name
	}
	return fmt.Sprintf("L%d.%s", layer, name)
}

// maxLayers bounds the number of a layer that a file may name.
const maxLayers = 1 << 20

// parsePlace reads what String returns.
func parsePlace(s string) (place, error) {
	p := place{-1, s}
	if rest, ok := strings.CutPrefix(s, "L"); ok {
		number, name, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || n >= maxLayers || strconv.FormatUint(n, 10) != number {
			return place{}, fmt.Errorf("begins with %q, want a layer such as L3", s[:len(s)-len(rest)+len(number)])
		}
		p = place{int(n), name}
	}
	if _, ok := byName[p.name]; !ok {
		return place{}, fmt.Errorf("is no boundary of a block or of the model")
	}
	if outside(p.name) != (p.layer < 0) {
		return place{}, fmt.Errorf("is %s, which is not there", p)
	}
	return p, nil
}

// compare orders places by when they are computed.
func (p place) compare(q place) int {
	if d := p.stage() - q.stage(); d != 0 {
		return d
	}
	if p.layer != q.layer {
		return p.layer - q.layer
	}
	return byName[p.name] - byName[q.name]
}

// stage is 0 for the embedding, 1 in blocks, 2 after them.
func (p place) stage() int {
	switch {
	case p.name == Embed:
		return 0
	case p.layer >= 0:
		return 1
	}
	return 2
}
