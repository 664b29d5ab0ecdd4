package quant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

func ExampleRecipe() {
	r, err := ParseRecipe("fp8+fp4")
	fmt.Println(r.Format("model.layers.3.self_attn.kv_proj.weight"), err)
	fmt.Println(r.Format("model.layers.3.mlp.experts.down_proj"))
	fmt.Println(r.Format("model.layers.3.self_attn.o_a_proj.weight"))
	// Output:
	// F8_E4M3 in blocks of 128x128 with F8_E8M0 scales <nil>
	// F4 in blocks of 1x32 with F8_E8M0 scales
	// not quantised
}

func TestRecipeNames(t *testing.T) {
	wide := FP8.wide()
	for name, want := range map[string]Recipe{
		"bf16": {}, "fp8": {FP8, FP8, true}, "fp8+fp4": {FP8, FP4, true}, "fp8-weights": {FP8, FP8, false}, "fp8+fp4-weights": {FP8, FP4, false},
		"fp8-f32scales": {wide, wide, true}, "fp8+fp4-f32scales": {wide, FP4, true}, "fp8+fp4-f32scales-weights": {wide, FP4, false},
		"bf16+fp4": {Format{}, FP4, true}, "bf16+fp8": {Format{}, FP8, true}, "fp8+bf16": {FP8, Format{}, true},
	} {
		if got, err := ParseRecipe(name); got != want || err != nil {
			t.Errorf("ParseRecipe(%q) = %+v, %v", name, got, err)
		}
		if got := want.String(); got != name {
			t.Errorf("%+v prints as %q, want %q", want, got, name)
		}
	}
	for _, name := range []string{"", "fp4", "fp4+fp8", "bf16-weights", "bf16+bf16", "fp8+fp8", "bf16-f32scales", "fp8-weights-f32scales", "FP8", "fp8+", "+fp8", "int4", "bf16+fp4-f32scales"} {
		if got, err := ParseRecipe(name); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q, want bf16, fp8", name)) {
			t.Errorf("ParseRecipe(%q) = %v, %v, want an error that names it", name, got, err)
		}
	}
}

// parameters are one of each kind; gate and up of an expert have 130 rows, so that their seam lies in no block.
func parameters() []*tensor.Param {
	var list []*tensor.Param
	add := func(t dtype.Type, name string, shape ...int) {
		list = append(list, &tensor.Param{Name: name, Value: tensor.New(t, shape...), Product: true})
	}
	for name := range maps.Keys(kinds) {
		switch name {
		case "mlp.experts.gate_up_proj":
			add(dtype.BF16, "model.layers.10."+name, 2, 2*130, 34)
		case "mlp.experts.down_proj":
			add(dtype.BF16, "model.layers.10."+name, 2, 34, 130)
		default:
			add(dtype.BF16, "model.layers.10."+name, 130, 34)
		}
	}
	for _, name := range []string{
		"lm_head.weight", "model.embed_tokens.weight", "model.layers.1.self_attn.o_a_proj.weight", "model.layers.1.self_attn.compressor.kv_proj.weight",
		"model.layers.1.self_attn.compressor.indexer.kv_proj.weight", "model.layers.1.self_attn.compressor.indexer.scorer.weights_proj.weight", "model.layers.1.mlp.gate.weight",
		"self_attn.kv_proj.weight", "model.layers.1.x.self_attn.kv_proj.weight",
	} {
		add(dtype.BF16, name, 4, 4)
	}
	add(dtype.F32, "model.layers.1.self_attn.sinks", 4)
	add(dtype.I32, "model.layers.1.mlp.gate.tid2eid", 4, 2)
	return list
}

func TestApply(t *testing.T) {
	for _, name := range []string{"bf16", "fp8", "fp8+fp4", "fp8+fp4-weights", "fp8-f32scales", "bf16+fp4"} {
		r, err := ParseRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		params, plain := parameters(), parameters()
		if err := r.Apply(params); err != nil {
			t.Fatal(err)
		}
		sort := func(a, b *tensor.Param) int { return strings.Compare(a.Name, b.Name) }
		slices.SortFunc(params, sort)
		slices.SortFunc(plain, sort)
		for i, p := range params {
			f := r.Format(p.Name)
			if got := FormatOf(p.Value); got != f || f != (Format{}) && p.Rounds != r.Rounds || f == (Format{}) && (p.Rounds || p.Value.Type != plain[i].Value.Type) {
				t.Errorf("%s: %s is %v %v, rounds %v; want %v", name, p.Name, p.Value.Type, got, p.Rounds, f)
			}
			if !slices.Equal(p.Value.Shape, plain[i].Value.Shape) {
				t.Errorf("%s: %s is %v, was %v", name, p.Name, p.Value, plain[i].Value)
			}
			if f != (Format{}) && strings.HasSuffix(p.Name, "gate_up_proj") && p.Value.Fused != 2 {
				t.Errorf("%s: %s has %d fused, want 2", name, p.Name, p.Value.Fused)
			}
			size := int64(len(p.Value.Mem))
			if p.Value.Quantised() {
				size += int64(len(p.Value.Scale.Mem))
			}
			if got := r.Bytes(p.Name, p.Value.Shape, plain[i].Value.Type); got != size {
				t.Errorf("%s: %s takes %d bytes, Bytes says %d", name, p.Name, size, got)
			}
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	r := Recipe{FP8, FP4, true}
	for want, p := range map[string]*tensor.Param{
		"even number of columns": {Name: "model.layers.0.mlp.experts.down_proj", Value: tensor.New(dtype.BF16, 2, 3, 5)},
		"want a matrix":          {Name: "model.layers.0.self_attn.kv_proj.weight", Value: tensor.New(dtype.BF16, 3)},
		"2 matrices of one size": {Name: "model.layers.0.mlp.experts.gate_up_proj", Value: tensor.New(dtype.BF16, 2, 3, 4)},
		"or a stack of experts":  {Name: "model.layers.0.self_attn.o_b_proj.weight", Value: tensor.New(dtype.BF16, 2, 3, 4)},
	} {
		first := &tensor.Param{Name: "model.layers.0.self_attn.q_a_proj.weight", Value: tensor.New(dtype.BF16, 2, 2)}
		err := r.Apply([]*tensor.Param{first, p})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), p.Name) || first.Value.Quantised() {
			t.Errorf("error is %v, want one with %q; another parameter is now %v", err, want, FormatOf(first.Value))
		}
	}
}

func TestDeduce(t *testing.T) {
	const dense, expert, gate = "model.layers.0.self_attn.kv_proj.weight", "model.layers.0.mlp.experts.down_proj", "model.layers.0.mlp.experts.gate_up_proj"
	for want, stored := range map[string]map[string]Format{
		"fp8+fp4": {dense: FP8, expert: FP4, gate: FP4, "lm_head.weight": {}},
		"fp8":     {dense: FP8, expert: FP8, "model.layers.0.self_attn.o_a_proj.weight": FP8},
		"bf16":    {dense: {}, expert: {}, "model.layers.0.self_attn.o_a_proj.weight": FP8},
	} {
		if got, err := Deduce(maps.All(stored)); got.String() != want || err != nil {
			t.Errorf("Deduce(%v) = %v, %v, want %s", stored, got, err, want)
		}
	}
	if _, err := Deduce(maps.All(map[string]Format{expert: FP4, gate: FP8})); err == nil || !strings.Contains(err.Error(), expert) || !strings.Contains(err.Error(), gate) {
		t.Errorf("experts in two formats: error is %v, want one that names both", err)
	}
}
