package quant

import "strings"

// A kind is how the recipes tell parameters apart.
type kind uint8

const (
	plainKind  kind = iota // never quantised
	denseKind              // projections and shared experts
	expertKind             // routed experts
)

// kinds are the parameters of a layer that quantise, by the end of their name after the layer's number. The output's first projection
// is not among them, though released files store it so: it is applied by groups of heads, and engines widen it.
var kinds = map[string]kind{
	"self_attn.q_a_proj.weight":                    denseKind,
	"self_attn.q_b_proj.weight":                    denseKind,
	"self_attn.kv_proj.weight":                     denseKind,
	"self_attn.o_b_proj.weight":                    denseKind,
	"self_attn.compressor.indexer.q_b_proj.weight": denseKind,
	"mlp.shared_experts.gate_proj.weight":          denseKind,
	"mlp.shared_experts.up_proj.weight":            denseKind,
	"mlp.shared_experts.down_proj.weight":          denseKind,
	"mlp.experts.gate_up_proj":                     expertKind,
	"mlp.experts.down_proj":                        expertKind,
}

func kindOf(name string) kind {
	rest, ok := strings.CutPrefix(name, "model.layers.")
	_, leaf, numbered := strings.Cut(rest, ".")
	if !ok || !numbered {
		return plainKind
	}
	return kinds[leaf]
}

// Wide reports whether a parameter is float32 in every recipe: hyper-connections, sinks, position biases, correction biases.
func Wide(name string) bool {
	for _, end := range []string{"_hc.fn", "_hc.base", "_hc.scale", ".hc_fn", ".hc_base", ".hc_scale", ".sinks", ".position_bias", ".e_score_correction_bias"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// Fused returns how many matrices with blocks of their own lie one below the other in each matrix of a parameter: 2 for the routed
// experts' gate and up, which are tensors of their own in files.
func Fused(name string) int {
	if strings.HasSuffix(name, "mlp.experts.gate_up_proj") {
		return 2
	}
	return 1
}
