package dsv4

import (
	"fmt"
	"slices"
	"strings"
)

// maxLayers bounds num_hidden_layers.
const maxLayers = 1 << 12

// ratios are the entries of compress_ratios by AttentionKind. An entry names the kind of a layer; it is also the rate of that kind
// where no other key gives one.
var ratios = [...]int{0, 4, 128}

// readLayers sets c.Layers if the file gives one whole schedule. There is no default: the published ones are not the order of any
// released model.
func (r *configReader) readLayers(c *Config) {
	n, _ := settle(r, findAll(r, fmt.Sprintf("1 to %d", maxLayers), layerCount, "num_hidden_layers", "n_layers"))
	if !r.says("num_hidden_layers", "n_layers") {
		r.bad("num_hidden_layers is missing, want 1 to %d", maxLayers)
	}
	attention, router := r.attention(n), r.router(n)
	if attention == nil || router == nil {
		return
	}
	c.Layers = make([]Layer, n)
	for i := range c.Layers {
		c.Layers[i] = Layer{attention[i], router[i]}
	}
}

// attention returns the attention kind of each of n layers, or nil after a complaint.
func (r *configReader) attention(n int) []AttentionKind {
	types := listOf(r, "layer_types", oneOf(kindNames[:]), named[AttentionKind](kindNames[:]))
	byRatio := listOf(r, "compress_ratios", "0, 4 or 128", ratioKind)
	if !r.says("layer_types", "compress_ratios") {
		r.bad("layer_types is missing, want one kind a layer")
	}
	types = fit(r, "layer_types", types, n, n)
	byRatio = fit(r, "compress_ratios", byRatio, n, len(byRatio)) // entries past the last layer are for blocks that this model has not
	for i := range min(len(types), len(byRatio)) {
		if types[i] != byRatio[i] {
			r.bad("layer_types[%d] is %v but compress_ratios[%d] is %d", i, types[i], i, ratios[byRatio[i]])
		}
	}
	if types == nil {
		return byRatio
	}
	return types
}

// router returns the router kind of each of n layers, or nil after a complaint.
func (r *configReader) router(n int) []RouterKind {
	types := listOf(r, "mlp_layer_types", oneOf(routerNames[:]), named[RouterKind](routerNames[:]))
	counts := findAll(r, "a count of layers", count, "num_hash_layers", "n_hash_layers")
	first, counted := settle(r, counts)
	if !r.says("mlp_layer_types", "num_hash_layers", "n_hash_layers") {
		r.bad("mlp_layer_types is missing, want one kind a layer")
	}
	types = fit(r, "mlp_layer_types", types, n, n)
	if !counted || n == 0 {
		return types
	}
	byCount := hashFirst(first, n)
	for i, t := range types {
		if t != byCount[i] {
			r.bad("mlp_layer_types[%d] is %v but %s is %d", i, t, counts[0].key, first)
		}
	}
	return byCount
}

// hashFirst returns n kinds of which the first few are Hash: all, if there are no more than that.
func hashFirst(first, n int) []RouterKind {
	kinds := make([]RouterKind, n)
	for i := range min(first, n) {
		kinds[i] = Hash
	}
	return kinds
}

// fit returns the first n elements of list, which must have n to most; nil if it has not, or if n is not known.
func fit[T any](r *configReader, name string, list []T, n, most int) []T {
	if list == nil || n == 0 {
		return nil
	}
	if len(list) < n || len(list) > most {
		r.bad("%s has %d entries, want %d (num_hidden_layers)", name, len(list), n)
		return nil
	}
	return list[:n]
}

// readRates sets the compression rates. They are needed for the kinds in use.
func (r *configReader) readRates(c *Config) {
	for i, k := range c.rateKeys() {
		if k.need && r.says("compress_ratios") {
			*k.at, k.need = ratios[int(C4)+i], false
		}
		read(r, k.at, k.need, anInteger, integer, k.names...)
	}
}

// named returns what parses a name from names as a T.
func named[T ~uint8](names []string) func(any) (T, bool) {
	return func(v any) (T, bool) {
		s, _ := v.(string)
		i := slices.Index(names, s)
		return T(max(i, 0)), i >= 0
	}
}

func oneOf(names []string) string { return "one of " + strings.Join(names, ", ") }

func ratioKind(v any) (AttentionKind, bool) {
	n, ok := integer(v)
	i := slices.Index(ratios[:], n)
	return AttentionKind(max(i, 0)), ok && i >= 0
}

func layerCount(v any) (int, bool) {
	n, ok := integer(v)
	return n, ok && n >= 1 && n <= maxLayers
}

func count(v any) (int, bool) {
	n, ok := integer(v)
	return n, ok && n >= 0
}
