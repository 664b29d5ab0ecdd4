package intake

import (
	"fmt"
	"strings"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
	"furlong/weightsync"
)

// A Model is what an engine holds, in words: names, formats and shapes. It never changes, and any number of sessions may use it.
type Model struct {
	specs   []*spec
	byName  map[string]int
	flat    []weightsync.Tensor // of all parameters, without memory
	groups  [][]string          // parameters that become visible together, by their names
	layers  int
	experts int
}

// A spec is a parameter.
type spec struct {
	tensor.Param            // its Value has no memory
	pieces       []hf.Piece // the tensors of files, experts apart
	parts        int        // matrices of an expert below each other
	whole        hf.Piece   // all of it as one tensor
	coded        *spec      // how files may have it too, as FP8, though it is held as numbers; nil for most
}

// Describe returns the model of an engine's parameters, with so many layers and routed experts: what is in layers beyond is set aside. It keeps
// nothing of the parameters. Nobody may exchange their values meanwhile, so it is called before the engine serves.
func Describe(params []*tensor.Param, layers, experts int) (*Model, error) {
	m := &Model{byName: map[string]int{}, layers: layers, experts: experts}
	owner := map[string]string{}
	for _, p := range params {
		s, err := specOf(p)
		if err != nil {
			return nil, err
		}
		m.byName[p.Name] = len(m.specs)
		m.specs = append(m.specs, s)
		for _, t := range weightsync.Flatten([]*tensor.Param{p}) {
			owner[t.Name] = p.Name
			m.flat = append(m.flat, weightsync.Tensor{Info: t.Info})
		}
	}
	for _, g := range weightsync.Groups(m.flat) {
		m.groups = append(m.groups, owners(g, owner))
	}
	return m, nil
}

// owners returns whose the tensors of a group are, each once.
func owners(group []string, owner map[string]string) (out []string) {
	had := map[string]bool{}
	for _, name := range group {
		if o := owner[name]; !had[o] {
			had[o] = true
			out = append(out, o)
		}
	}
	return out
}

func specOf(p *tensor.Param) (*spec, error) {
	s := &spec{Param: *p, parts: 1}
	s.Grad, s.Value = nil, hollow(p.Value)
	pieces, err := hf.Pieces(hf.Ref, p.Name, p.Value.Shape)
	if err != nil {
		return nil, err
	}
	whole, err := hf.Pieces(hf.Memory, p.Name, p.Value.Shape)
	if err != nil {
		return nil, err
	}
	s.pieces, s.whole = pieces, whole[0]
	if n := len(pieces); n > 1 {
		s.parts = n / p.Value.Shape[0]
	}
	if strings.HasSuffix(p.Name, codedLeaf) && !p.Value.Quantised() {
		twin := *s
		twin.Value = hollow(quant.FP8.New(1, p.Value.Shape...))
		s.coded = &twin
	}
	return s, nil
}

// codedLeaf ends the name of the weight that released files quantise and engines widen: the output's first projection.
const codedLeaf = ".self_attn.o_a_proj.weight"

// hollow returns a tensor like t without memory.
func hollow(t *tensor.Tensor) *tensor.Tensor {
	h := &tensor.Tensor{Type: t.Type, Shape: append([]int{}, t.Shape...), Block: t.Block, Fused: t.Fused}
	if t.Quantised() {
		h.Scale = hollow(t.Scale)
	}
	return h
}

// blank returns memory for the parameter's value.
func (s *spec) blank() *tensor.Tensor {
	if v := s.Value; v.Quantised() {
		return tensor.NewQuantised(v.Type, v.Scale.Type, v.Block, v.Fused, v.Shape...)
	}
	return tensor.New(s.Value.Type, s.Value.Shape...)
}

// table reports whether the parameter is a routing table.
func (s *spec) table() bool { return s.Value.Type == dtype.I32 || s.Value.Type == dtype.I64 }

// at returns which of the parameter's tensors a place is: lo up to hi, and the run of elements that it holds.
func (s *spec) at(p hf.Place) (lo, hi int, piece hf.Piece, err error) {
	switch i := p.Expert*s.parts + p.Part; {
	case p.Expert < 0:
		return 0, len(s.pieces), s.whole, nil
	case i >= len(s.pieces):
		return 0, 0, piece, fmt.Errorf("is of expert %d, want 0 to %d", p.Expert, len(s.pieces)/s.parts-1)
	default:
		return i, i + 1, s.pieces[i], nil
	}
}
