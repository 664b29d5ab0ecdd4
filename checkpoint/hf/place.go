package hf

import (
	"fmt"
	"strconv"
	"strings"

	"furlong/quant"
)

// A Place is where a tensor of a checkpoint belongs in a model.
type Place struct {
	Param  string // the parameter's name in memory
	Expert int    // whose tensor it is, of a parameter that all routed experts share; -1 if the tensor is all of the parameter
	Part   int    // which of the matrices that lie below each other in the parameter: 0 gate, 1 up
}

// PlaceOf returns the place of a tensor that a scheme names. It is the inverse of [Place.Name]; ok is false for names that are no
// parameter's, such as scales.
func PlaceOf(s Scheme, name string) (p Place, ok bool) {
	if s < Memory || s > Wire {
		return Place{}, false
	}
	if memory, ok := inverse[s].global[name]; ok {
		return Place{memory, -1, 0}, true
	}
	layer, leaf, ok := splitLayer(name)
	if !ok || name != layerPrefix(s, layer)+leaf {
		return Place{}, false
	}
	p, ok = inverse[s].leaf(leaf)
	p.Param = layerPrefix(Memory, layer) + p.Param
	return p, ok
}

// Name returns what a scheme calls the tensor. In memory's names the experts' tensors are all one.
func (p Place) Name(s Scheme) string {
	if r, ok := globalRow[p.Param]; ok {
		return r.in(s)
	}
	layer, leaf, _ := splitLayer(p.Param)
	prefix := layerPrefix(s, layer)
	if parts, ok := fused[leaf]; ok {
		if s == Memory {
			return p.Param
		}
		return prefix + fmt.Sprintf(parts[p.Part].in(s), p.Expert)
	}
	return prefix + layeredRow[leaf].in(s)
}

// fusedIn returns how many matrices with blocks of their own the tensor holds below each other.
func (p Place) fusedIn(s Scheme) int {
	if s == Memory {
		return quant.Fused(p.Param)
	}
	return 1
}

// names are a scheme's, by which memory's are found.
type names struct {
	global, layered map[string]string
	experts         map[string]Place // by the name with the expert's number cut out
}

var inverse = func() (all [Wire + 1]names) {
	for s := Memory; s <= Wire; s++ {
		n := names{map[string]string{}, map[string]string{}, map[string]Place{}}
		for _, r := range global {
			n.global[r.in(s)] = r.memory
		}
		for _, r := range layered {
			n.layered[r.in(s)] = r.memory
		}
		for memory, parts := range fused {
			if s == Memory {
				n.layered[memory] = memory
				continue
			}
			for i, r := range parts {
				n.experts[r.in(s)] = Place{Param: memory, Part: i}
			}
		}
		all[s] = n
	}
	return all
}()

// leaf returns the place of what follows a layer's prefix; Param is without the prefix.
func (n *names) leaf(leaf string) (Place, bool) {
	if memory, ok := n.layered[leaf]; ok {
		return Place{memory, -1, 0}, true
	}
	before, rest, _ := strings.Cut(leaf, ".experts.")
	number, after, _ := strings.Cut(rest, ".")
	e, err := strconv.Atoi(number)
	p, ok := n.experts[before+".experts.%d."+after]
	if !ok || err != nil || e < 0 || strconv.Itoa(e) != number {
		return Place{}, false
	}
	p.Expert = e
	return p, true
}
