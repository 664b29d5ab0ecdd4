package weightsync

import (
	"fmt"
	"slices"
	"strings"

	"furlong/dtype"
	"furlong/tensor"
)

// A Tensor is one array of a version as it travels: a weight, its scales, a buffer or a table.
type Tensor struct {
	Info
	Mem []byte
}

// An Info is what must be agreed on about a tensor besides its bytes.
type Info struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // as safetensors spells it
	Shape  []int  `json:"shape"`
	Scale  string `json:"scale,omitempty"`  // the tensor of block scales that belongs to these codes
	Block  []int  `json:"block,omitempty"`  // rows and columns that share a scale
	Fused  int    `json:"fused,omitempty"`  // matrices in one that have blocks of their own
	Rounds bool   `json:"rounds,omitempty"` // products round their other operand
}

// scaleSuffix makes the name of a weight's scales.
const scaleSuffix = "_scale_inv"

// Flatten returns what travels of parameters, in their order, scales behind their codes. The tensors share the parameters' memory.
func Flatten(params []*tensor.Param) []Tensor {
	out := make([]Tensor, 0, len(params))
	for _, p := range params {
		v := p.Value
		t := Tensor{Info{Name: p.Name, Type: v.Type.String(), Shape: slices.Clone(v.Shape), Rounds: p.Rounds}, v.Mem}
		if !v.Quantised() {
			out = append(out, t)
			continue
		}
		t.Scale, t.Block, t.Fused = p.Name+scaleSuffix, []int{v.Block[0], v.Block[1]}, v.Fused
		scale := Tensor{Info{Name: t.Scale, Type: v.Scale.Type.String(), Shape: slices.Clone(v.Scale.Shape)}, v.Scale.Mem}
		out = append(out, t, scale)
	}
	return out
}

// Recipe says in words which formats a set of tensors is in: equal recipes are equal formats.
func Recipe(ts []Tensor) string {
	var formats []string
	for _, t := range ts {
		f := t.Type
		if t.Scale != "" {
			f = fmt.Sprintf("%s/%dx%d", t.Type, t.Block[0], t.Block[1])
		}
		if t.Rounds {
			f += "~"
		}
		formats = append(formats, f)
	}
	slices.Sort(formats)
	return strings.Join(slices.Compact(formats), " ")
}

// differs says how i, which came, is not what is wanted; "" if it is.
func (i Info) differs(want Info) string {
	switch {
	case i.Type != want.Type:
		return fmt.Sprintf("format is %s, want %s", i.Type, want.Type)
	case !slices.Equal(i.Shape, want.Shape):
		return fmt.Sprintf("shape is %v, want %v", i.Shape, want.Shape)
	case i.Scale != want.Scale:
		return fmt.Sprintf("scales are %q, want %q", i.Scale, want.Scale)
	case !slices.Equal(i.Block, want.Block) || i.Fused != want.Fused:
		return fmt.Sprintf("blocks are %v in %d parts, want %v in %d", i.Block, i.Fused, want.Block, want.Fused)
	case i.Rounds != want.Rounds:
		return fmt.Sprintf("its products round activations: %v, want %v", i.Rounds, want.Rounds)
	}
	return ""
}

const (
	maxAxes  = 8
	maxName  = 1 << 10
	maxBytes = 1 << 50 // of a tensor
)

// bytes returns the size of a tensor, or what is wrong with what is said of it.
func (i Info) bytes() (int, error) {
	t, ok := dtype.Parse(i.Type)
	switch {
	case i.Name == "" || len(i.Name) > maxName:
		return 0, fmt.Errorf("tensor name has %d bytes, want 1 to %d", len(i.Name), maxName)
	case !ok:
		return 0, fmt.Errorf("%s: format is %.20q, which is none", i.Name, i.Type)
	case len(i.Shape) > maxAxes:
		return 0, fmt.Errorf("%s: %d axes, want at most %d", i.Name, len(i.Shape), maxAxes)
	}
	n := 1
	for _, s := range i.Shape {
		if s < 0 || s > 0 && n > maxBytes/s {
			return 0, fmt.Errorf("%s: shape is %v, which nothing can have", i.Name, i.Shape)
		}
		n *= s
	}
	return t.Bytes(n), nil
}
