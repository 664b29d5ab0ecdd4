package weightsync

import (
	"slices"
	"strconv"
	"strings"
)

// pairs are weights that an engine fuses, so that neither means anything without the other, in the spelling of memory, of the wire and of
// released files. The last part of a name stands alone; what is before it must be equal.
var pairs = [][]string{
	{"self_attn.q_a_proj.weight", "self_attn.kv_proj.weight"},
	{"self_attn.wq_a.weight", "self_attn.wkv.weight"},
	{"attn.wq_a.weight", "attn.wkv.weight"},

	{"self_attn.compressor.kv_proj.weight", "self_attn.compressor.gate_proj.weight"},
	{"self_attn.compressor.wkv.weight", "self_attn.compressor.wgate.weight"},
	{"attn.compressor.wkv.weight", "attn.compressor.wgate.weight"},

	{"self_attn.compressor.indexer.kv_proj.weight", "self_attn.compressor.indexer.gate_proj.weight"},
	{"self_attn.indexer.compressor.wkv.weight", "self_attn.indexer.compressor.wgate.weight"},
	{"attn.indexer.compressor.wkv.weight", "attn.indexer.compressor.wgate.weight"},

	{"shared_experts.gate_proj.weight", "shared_experts.up_proj.weight"},
	{"shared_experts.w1.weight", "shared_experts.w3.weight"},
	{"experts.#.gate_proj.weight", "experts.#.up_proj.weight"},
	{"experts.#.w1.weight", "experts.#.w3.weight"},
}

var pairOf = func() map[string]int {
	m := map[string]int{}
	for i, p := range pairs {
		for _, leaf := range p {
			m[leaf] = i
		}
	}
	return m
}()

// Groups returns the sets of tensors that must become visible together: codes with their scales, and weights that engines fuse, with theirs. They
// stand in the order of their first members.
func Groups(ts []Tensor) [][]string {
	byKey, owner := map[string]int{}, map[string]string{}
	for _, t := range ts {
		if t.Scale != "" {
			owner[t.Scale] = t.Name
		}
	}
	var all [][]string
	for _, t := range ts {
		name := t.Name
		if o, ok := owner[name]; ok {
			name = o
		}
		key := groupKey(name)
		i, ok := byKey[key]
		if !ok {
			i = len(all)
			byKey[key], all = i, append(all, nil)
		}
		all[i] = append(all[i], t.Name)
	}
	return slices.DeleteFunc(all, func(g []string) bool { return len(g) < 2 })
}

// groupKey returns what the weights of a group have in common: the layer, the expert if there is one, and the number of the pair.
func groupKey(name string) string {
	parts := strings.Split(name, ".")
	for lo := range parts {
		leaf := strings.Join(withoutNumber(parts[lo:]), ".")
		if i, ok := pairOf[leaf]; ok {
			return strings.Join(parts[:lo], ".") + " " + strconv.Itoa(i) + " " + numberOf(parts[lo:])
		}
	}
	return name
}

// withoutNumber replaces an expert's number by #.
func withoutNumber(parts []string) []string {
	if numberOf(parts) == "" {
		return parts
	}
	parts = slices.Clone(parts)
	parts[1] = "#"
	return parts
}

// numberOf returns the expert's number of experts.7.gate_proj.weight, else "".
func numberOf(parts []string) string {
	if len(parts) < 2 || parts[0] != "experts" {
		return ""
	}
	if _, err := strconv.ParseUint(parts[1], 10, 32); err != nil {
		return ""
	}
	return parts[1]
}
