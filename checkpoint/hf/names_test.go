package hf

import (
	"os"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// golden returns the lines of testdata/names.txt: a tensor in each scheme, by Scheme-1.
func golden(t *testing.T) [][]string {
	t.Helper()
	b, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Fields(line))
		}
	}
	return lines
}

const (
	goldenLayers  = 3
	goldenExperts = 2
)

// model returns the parameters of the model of testdata/names.txt, small and each of another shape where that is
// free, every element with a value of its own.
func model(t *testing.T, format dtype.Type) []*tensor.Param {
	t.Helper()
	var params []*tensor.Param
	seen := map[string]bool{}
	value := 0
	for _, line := range golden(t) {
		name := line[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		p := &tensor.Param{Name: name, Value: tensor.New(format, shapeOf(name, len(seen))...)}
		if strings.HasSuffix(name, tableLeaf) {
			p.Value = tensor.New(dtype.I32, 5, 2)
		}
		fill(p.Value, &value)
		params = append(params, p)
	}
	return params
}

func shapeOf(name string, n int) []int {
	switch {
	case strings.HasSuffix(name, "gate_up_proj"):
		return []int{goldenExperts, 4, 3}
	case strings.HasSuffix(name, "experts.down_proj"):
		return []int{goldenExperts, 3, 2}
	}
	return []int{1 + n%3, 2 + n%5}
}

func fill(x *tensor.Tensor, value *int) {
	for i := range x.Len() {
		*value++
		switch x.Type {
		case dtype.F32:
			x.F32()[i] = float32(*value) + 1./3
		case dtype.BF16:
			x.BF16()[i] = uint16(*value * 7)
		case dtype.I32:
			x.I32()[i] = int32(i % goldenExperts)
		}
	}
}

func TestGoldenNames(t *testing.T) {
	lines := golden(t)
	for s := Memory; s <= Wire; s++ {
		want := map[string]string{} // tensor to parameter
		for _, line := range lines {
			want[line[s-1]] = line[0]
		}
		got := map[string]string{}
		for _, p := range model(t, dtype.F32) {
			pieces, err := Pieces(s, p.Name, p.Value.Shape)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range pieces {
				got[piece.Name] = p.Name
			}
		}
		for name, param := range want {
			if got[name] != param {
				t.Errorf("%v: tensor %s belongs to %q, want %q", s, name, got[name], param)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v: %d tensors, want %d", s, len(got), len(want))
		}
	}
}

// every returns a parameter of each kind in layers of all kinds at once, far more than any model has.
func every() []*tensor.Param {
	var params []*tensor.Param
	add := func(name string, shape ...int) {
		params = append(params, &tensor.Param{Name: name, Value: tensor.New(dtype.F32, shape...)})
	}
	for _, r := range global {
		add(r.memory, 2, 3)
	}
	for _, layer := range []int{0, 1, 2, 10, 42} {
		prefix := layerPrefix(Memory, layer)
		for _, r := range layered {
			add(prefix+r.memory, 2, 3)
		}
		add(prefix+"mlp.experts.gate_up_proj", 11, 6, 2)
		add(prefix+"mlp.experts.down_proj", 11, 2, 3)
	}
	return params
}

// No two parameters share a tensor, and the tensors of a parameter cover it without gap or overlap: from the
// tensors the parameters can be had back, whatever the layers are.
func TestNamesAreABijection(t *testing.T) {
	for s := Memory; s <= Wire; s++ {
		owner := map[string]string{}
		for _, p := range every() {
			pieces, err := Pieces(s, p.Name, p.Value.Shape)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, piece := range pieces {
				if other, taken := owner[piece.Name]; taken {
					t.Errorf("%v: %s belongs to %s and %s", s, piece.Name, other, p.Name)
				}
				owner[piece.Name] = p.Name
				if piece.Lo != at {
					t.Errorf("%v: %s begins at element %d, want %d", s, piece.Name, piece.Lo, at)
				}
				at += piece.Of(p.Value).Len()
			}
			if at != p.Value.Len() {
				t.Errorf("%v: tensors of %s hold %d elements, want %d", s, p.Name, at, p.Value.Len())
			}
		}
		if s == Memory {
			for name, param := range owner {
				if name != param {
					t.Errorf("%s is called %s in memory", param, name)
				}
			}
		}
	}
}

func TestExpertPieces(t *testing.T) {
	got, err := Pieces(Wire, "model.layers.3.mlp.experts.gate_up_proj", []int{2, 4, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []Piece{
		{"model.layers.3.mlp.experts.0.gate_proj.weight", []int{2, 3}, 0, Place{}},
		{"model.layers.3.mlp.experts.0.up_proj.weight", []int{2, 3}, 6, Place{}},
		{"model.layers.3.mlp.experts.1.gate_proj.weight", []int{2, 3}, 12, Place{}},
		{"model.layers.3.mlp.experts.1.up_proj.weight", []int{2, 3}, 18, Place{}},
	}
	if !slices.EqualFunc(got, want, func(a, b Piece) bool {
		return a.Name == b.Name && a.Lo == b.Lo && slices.Equal(a.Shape, b.Shape)
	}) {
		t.Errorf("pieces are %v, want %v", got, want)
	}
}

func TestPiecesRefuse(t *testing.T) {
	for _, tt := range []struct {
		scheme Scheme
		name   string
		shape  []int
	}{
		{0, "lm_head.weight", []int{1}},
		{Wire + 1, "lm_head.weight", []int{1}},
		{Ref, "head.weight", []int{1}},
		{Ref, "layers.0.input_layernorm.weight", []int{1}},
		{Ref, "model.layers.00.input_layernorm.weight", []int{1}},
		{Ref, "model.layers.-1.input_layernorm.weight", []int{1}},
		{Ref, "model.layers.0.attn_norm.weight", []int{1}},
		{Ref, "model.layers.0.mlp.experts.gate_up_proj", []int{2, 3, 4}},
		{Ref, "model.layers.0.mlp.experts.down_proj", []int{2, 3}},
		{Ref, "model.layers.0.mlp.experts.0.down_proj.weight", []int{2, 3}},
	} {
		if got, err := Pieces(tt.scheme, tt.name, tt.shape); err == nil {
			t.Errorf("Pieces(%v, %q, %v) = %v, want an error", tt.scheme, tt.name, tt.shape, got)
		}
	}
}

func TestDetectScheme(t *testing.T) {
	for s := Memory; s <= Wire; s++ {
		var names []string
		for _, line := range golden(t) {
			names = append(names, line[s-1])
		}
		names = append(names, "mtp.0.attn.wq_a.weight") // a draft layer tells nothing
		if got, err := DetectScheme(names); got != s || err != nil {
			t.Errorf("DetectScheme of %v names = %v, %v", s, got, err)
		}
		slices.Reverse(names)
		if got, err := DetectScheme(names); got != s || err != nil {
			t.Errorf("DetectScheme of %v names, reversed = %v, %v", s, got, err)
		}
	}
	for want, names := range map[string][]string{
		"none of 2 names": {"model.embed_tokens.weight", "x"},
		"in two schemes":  {"embed.weight", "model.layers.0.self_attn.wq_a.weight"},
	} {
		if got, err := DetectScheme(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("DetectScheme(%q) = %v, %v, want an error with %q", names, got, err, want)
		}
	}
}

func TestSchemeNamesParse(t *testing.T) {
	for s := Memory; s <= Wire; s++ {
		if got, err := ParseScheme(s.String()); got != s || err != nil {
			t.Errorf("ParseScheme(%q) = %v, %v", s, got, err)
		}
	}
	for _, name := range []string{"", "none", "Ref"} {
		if s, err := ParseScheme(name); err == nil {
			t.Errorf("ParseScheme(%q) = %v, want an error", name, s)
		}
	}
}
