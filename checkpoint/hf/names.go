package hf

import (
	"fmt"
	"strconv"
	"strings"
)

// A Scheme is a way of naming a model's tensors.
type Scheme uint8

// The schemes.
const (
	Memory Scheme = iota + 1 // transformers' modules: what parameters are called here
	Ref                      // the released files
	Hybrid                   // what transformers' save_pretrained writes
	Wire                     // weight streams to rollout engines
)

var schemeNames = [...]string{"none", "memory", "ref", "hybrid", "wire"}

// String returns the name that [ParseScheme] takes.
func (s Scheme) String() string {
	if int(s) < len(schemeNames) {
		return schemeNames[s]
	}
	return "scheme(" + strconv.Itoa(int(s)) + ")"
}

// ParseScheme returns the Scheme that prints as name.
func ParseScheme(name string) (Scheme, error) {
	for s := Memory; s <= Wire; s++ {
		if schemeNames[s] == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("scheme is %q, want one of %s", name, strings.Join(schemeNames[1:], ", "))
}

// A row is a tensor's name in each scheme. An empty hybrid means that it is the ref name.
type row struct{ memory, ref, wire, hybrid string }

func (r row) in(s Scheme) string {
	switch {
	case s == Memory:
		return r.memory
	case s == Wire:
		return r.wire
	case s == Hybrid && r.hybrid != "":
		return r.hybrid
	}
	return r.ref
}

// global are the tensors outside of the layers.
var global = []row{
	{"model.embed_tokens.weight", "embed.weight", "model.embed_tokens.weight", "model.embed_tokens.weight"},
	{"lm_head.weight", "head.weight", "lm_head.weight", ""},
	{"model.norm.weight", "norm.weight", "model.norm.weight", "model.norm.weight"},
	{"model.hc_head.hc_fn", "hc_head_fn", "model.hc_head_fn", "model.hc_head.hc_fn"},
	{"model.hc_head.hc_base", "hc_head_base", "model.hc_head_base", "model.hc_head.hc_base"},
	{"model.hc_head.hc_scale", "hc_head_scale", "model.hc_head_scale", "model.hc_head.hc_scale"},
}

// layered are the tensors of a layer, after its prefix. hc_*_scale are parameters, not quantisation scales.
var layered = []row{
	{"input_layernorm.weight", "attn_norm.weight", "input_layernorm.weight", ""},
	{"post_attention_layernorm.weight", "ffn_norm.weight", "post_attention_layernorm.weight", ""},
	{"attn_hc.fn", "hc_attn_fn", "hc_attn_fn", ""},
	{"attn_hc.base", "hc_attn_base", "hc_attn_base", ""},
	{"attn_hc.scale", "hc_attn_scale", "hc_attn_scale", ""},
	{"ffn_hc.fn", "hc_ffn_fn", "hc_ffn_fn", ""},
	{"ffn_hc.base", "hc_ffn_base", "hc_ffn_base", ""},
	{"ffn_hc.scale", "hc_ffn_scale", "hc_ffn_scale", ""},

	{"self_attn.q_a_proj.weight", "attn.wq_a.weight", "self_attn.wq_a.weight", ""},
	{"self_attn.q_a_norm.weight", "attn.q_norm.weight", "self_attn.q_norm.weight", ""},
	{"self_attn.q_b_proj.weight", "attn.wq_b.weight", "self_attn.wq_b.weight", ""},
	{"self_attn.kv_proj.weight", "attn.wkv.weight", "self_attn.wkv.weight", ""},
	{"self_attn.kv_norm.weight", "attn.kv_norm.weight", "self_attn.kv_norm.weight", "attn.norm.weight"},
	{"self_attn.o_a_proj.weight", "attn.wo_a.weight", "self_attn.wo_a.weight", ""},
	{"self_attn.o_b_proj.weight", "attn.wo_b.weight", "self_attn.wo_b.weight", ""},
	{"self_attn.sinks", "attn.attn_sink", "self_attn.attn_sink", ""},

	{"self_attn.compressor.kv_proj.weight", "attn.compressor.wkv.weight", "self_attn.compressor.wkv.weight", ""},
	{"self_attn.compressor.gate_proj.weight", "attn.compressor.wgate.weight", "self_attn.compressor.wgate.weight", ""},
	{"self_attn.compressor.position_bias", "attn.compressor.ape", "self_attn.compressor.ape", ""},
	{"self_attn.compressor.kv_norm.weight", "attn.compressor.norm.weight", "self_attn.compressor.norm.weight", ""},

	{"self_attn.compressor.indexer.q_b_proj.weight", "attn.indexer.wq_b.weight", "self_attn.indexer.wq_b.weight", ""},
	{"self_attn.compressor.indexer.scorer.weights_proj.weight", "attn.indexer.weights_proj.weight", "self_attn.indexer.weights_proj.weight", ""},
	{"self_attn.compressor.indexer.kv_proj.weight", "attn.indexer.compressor.wkv.weight", "self_attn.indexer.compressor.wkv.weight", ""},
	{"self_attn.compressor.indexer.gate_proj.weight", "attn.indexer.compressor.wgate.weight", "self_attn.indexer.compressor.wgate.weight", ""},
	{"self_attn.compressor.indexer.position_bias", "attn.indexer.compressor.ape", "self_attn.indexer.compressor.ape", ""},
	{"self_attn.compressor.indexer.kv_norm.weight", "attn.indexer.compressor.norm.weight", "self_attn.indexer.compressor.norm.weight", ""},

	{"mlp.gate.weight", "ffn.gate.weight", "mlp.gate.weight", ""},
	{"mlp.gate.e_score_correction_bias", "ffn.gate.bias", "mlp.gate.e_score_correction_bias", ""},
	{"mlp.gate.tid2eid", "ffn.gate.tid2eid", "mlp.topk.tid2eid", ""},
	{"mlp.shared_experts.gate_proj.weight", "ffn.shared_experts.w1.weight", "mlp.shared_experts.gate_proj.weight", ""},
	{"mlp.shared_experts.up_proj.weight", "ffn.shared_experts.w3.weight", "mlp.shared_experts.up_proj.weight", ""},
	{"mlp.shared_experts.down_proj.weight", "ffn.shared_experts.w2.weight", "mlp.shared_experts.down_proj.weight", ""},
}

// fused are the tensors of all experts of a layer in memory, and what each is split into per expert.
var fused = map[string][]row{
	"mlp.experts.gate_up_proj": {
		{"", "ffn.experts.%d.w1.weight", "mlp.experts.%d.gate_proj.weight", ""},
		{"", "ffn.experts.%d.w3.weight", "mlp.experts.%d.up_proj.weight", ""},
	},
	"mlp.experts.down_proj": {
		{"", "ffn.experts.%d.w2.weight", "mlp.experts.%d.down_proj.weight", ""},
	},
}

// tableLeaf ends the name of a routing table, the only weight that is integers.
const tableLeaf = "mlp.gate.tid2eid"

var (
	globalRow  = byMemory(global)
	layeredRow = byMemory(layered)
)

func byMemory(rows []row) map[string]row {
	m := map[string]row{}
	for _, r := range rows {
		m[r.memory] = r
	}
	return m
}

// layerPrefix returns what the names of layer n begin with.
func layerPrefix(s Scheme, n int) string {
	if s == Ref {
		return fmt.Sprintf("layers.%d.", n)
	}
	return fmt.Sprintf("model.layers.%d.", n)
}

// splitLayer takes a name that begins with a layer's prefix apart.
func splitLayer(name string) (layer int, leaf string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "model."), "layers.")
	if !ok {
		return 0, "", false
	}
	number, leaf, ok := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || strconv.Itoa(n) != number || n < 0 {
		return 0, "", false
	}
	return n, leaf, true
}
