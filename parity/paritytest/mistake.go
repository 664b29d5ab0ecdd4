package paritytest

import (
	"slices"
	"strings"

	"furlong/kernels"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

// A Mistake is one deviation from the model.
type Mistake struct {
	Name  string
	Trap  string // its number among the known traps, "table" for one of the vectors' table alone, "odd" for one that nobody is known to have made
	Least int    // the shortest sequence that shows it; 0 for any that closes three windows of each kind
	Fault Fault

	op func(c dsv4.Config, layer int) string // see [Mistake.Op]

	// How it is planted. What is not nil is used.
	config  func(c *dsv4.Config)
	weight  *change
	kernels func(k part) kernels.Backend
	over    func(at *Place) ops.Watch // writes over what is seen
	store   func(e *Engine, ids []int32) func(layer int, right kv.Store) kv.Store
}

// A Fault is what a mistake is one of.
type Fault uint8

// Faults.
const (
	Formula  Fault = iota // the arithmetic is another
	Weights               // a weight holds other values
	Rounding              // something is rounded that is not to be
	State                 // attention state is not what the pass put there
	Faint                 // a formula so near the right one that float32 may hide it
)

// Op returns the first operation that shows m in a layer; "" where m does not apply. Some are parted by "|": it depends on the weights which. Layer -1 is
// the embedding, the number of layers is what follows the last block.
func (m Mistake) Op(c dsv4.Config, layer int) string { return m.op(c, layer) }

func (m Mistake) applies(c dsv4.Config, layer int) bool { return m.op(c, layer) != "" }

// A change is of weights whose names end so, or of all.
type change struct {
	ends   []string
	change func(c dsv4.Config, p *tensor.Param)
}

func (c *change) named(name string) bool {
	return c.ends == nil || slices.ContainsFunc(c.ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// A part is a backend in which some kernels are wrong.
type part struct {
	kernels.Backend
	at *Place
}

// Where mistakes apply. A place says which operation shows a mistake in a layer.
type place = func(c dsv4.Config, layer int) string

func within(c dsv4.Config, layer int) bool { return layer >= 0 && layer < len(c.Layers) }

// each is every layer.
func each(op string) place {
	return func(c dsv4.Config, layer int) string {
		if !within(c, layer) {
			return ""
		}
		return op
	}
}

// kinds is the layers that attend so.
func kinds(op string, ks ...dsv4.AttentionKind) place {
	return func(c dsv4.Config, layer int) string {
		for _, k := range ks {
			if within(c, layer) && c.Layers[layer].Attention == k {
				return op
			}
		}
		return ""
	}
}

// routed is the layers that choose experts so.
func routed(op string, k dsv4.RouterKind) place {
	return func(c dsv4.Config, layer int) string {
		if within(c, layer) && c.Layers[layer].Router == k {
			return op
		}
		return ""
	}
}

// atEnd is what follows the last block.
func atEnd(op string) place {
	return func(c dsv4.Config, layer int) string {
		if layer == len(c.Layers) {
			return op
		}
		return ""
	}
}

// atStart is the embedding.
func atStart(op string) place {
	return func(_ dsv4.Config, layer int) string {
		if layer == Before {
			return op
		}
		return ""
	}
}

// All returns every mistake.
func All() []Mistake {
	var all []Mistake
	for _, some := range [][]Mistake{
		hyperMistakes(), attentionMistakes(), rotationMistakes(), compressorMistakes(), indexerMistakes(), routerMistakes(), expertMistakes(),
		endMistakes(), weightMistakes(), stateMistakes(),
	} {
		all = append(all, some...)
	}
	return all
}

// None is no mistake.
func None() Mistake {
	return Mistake{Name: "none", op: func(dsv4.Config, int) string { return "" }}
}

// Places returns where a test plants m: everywhere, and in one layer alone that is not the first it applies to, if there is one.
func (m Mistake) Places(c dsv4.Config) []int {
	var at []int
	for layer := Before; layer <= len(c.Layers); layer++ {
		if m.applies(c, layer) {
			at = append(at, layer)
		}
	}
	switch {
	case len(at) == 0:
		return nil
	case len(at) == 1:
		return []int{Everywhere}
	}
	return []int{Everywhere, at[(len(at)+1)/2]}
}

// First returns the layer and the operation that show m first when it is planted at a place. There may be several of those; see [Mistake.Op].
func (m Mistake) First(c dsv4.Config, place int) (layer int, ops []string) {
	for layer := Before; layer <= len(c.Layers); layer++ {
		if op := m.op(c, layer); op != "" && (place == Everywhere || place == layer) {
			if layer == len(c.Layers) {
				layer = Before
			}
			return layer, strings.Split(op, "|")
		}
	}
	return 0, nil
}
