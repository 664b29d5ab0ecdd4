package quant

import (
	"encoding/json"
	"strings"
	"testing"

	"furlong/dtype"
)

const released = `{"hidden_size": 8, "expert_dtype": "fp4", "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
	"scale_fmt": "ue8m0", "weight_block_size": [128, 128]}}`

func TestReadConfig(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Stated
	}{
		{released, Stated{Given: true, Scale: dtype.E8M0, Experts: dtype.E2M1}},
		{`{"quantization_config": {"quant_method": "fp8"}}`, Stated{Given: true}},
		{`{"quantization_config": {"quant_method": "fp8", "dequantize": false}, "expert_dtype": "fp8"}`, Stated{Given: true, Experts: dtype.E4M3}},
		{`{"dtype": "fp8", "scale_fmt": "ue8m0", "expert_dtype": "fp4"}`, Stated{Given: true, Scale: dtype.E8M0, Experts: dtype.E2M1}},
		{`{"quantization_config": null, "dtype": "bfloat16", "expert_dtype": null}`, Stated{}},
		{`{}`, Stated{}},
	} {
		got, err := ReadConfig([]byte(tt.text))
		if err != nil || got.Given != tt.want.Given || got.Scale != tt.want.Scale || got.Experts != tt.want.Experts {
			t.Errorf("ReadConfig(%s) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestReadConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"quantization_config": {"quant_method": "mxfp8"}}`:                                        `quant_method is "mxfp8", want fp8`,
		`{"quantization_config": {}}`:                                                               `quant_method is "", want fp8`,
		`{"quantization_config": {"quant_method": "fp8", "fmt": "e5m2"}}`:                           `fmt is "e5m2", want e4m3`,
		`{"quantization_config": {"quant_method": "fp8", "fmt": "e4m3fnuz"}}`:                       `the same byte means half as much there`,
		`{"quantization_config": {"quant_method": "fp8", "activation_scheme": "static"}}`:           `activation_scheme is "static", want dynamic`,
		`{"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 128]}}`:          `weight_block_size is [64 128], want [128 128]`,
		`{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}}`:              `weight_block_size is [128], want`,
		`{"quantization_config": {"quant_method": "fp8", "scale_fmt": "float"}}`:                    `scale_fmt is "float", want ue8m0`,
		`{"quantization_config": {"quant_method": "fp8", "group_size": 32}}`:                        `"group_size" is no key we know`,
		`{"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["re:.*gate"]}}`: `"re:.*gate", want the name of a module`,
		`{"quantization_config": {"quant_method": "fp8"}, "expert_dtype": "int4"}`:                  `expert_dtype is "int4"`,
		`{"expert_dtype": "fp4"}`: `there is no quantization_config`,
		`{`:                       `config.json: unexpected end`,
		`{"quantization_config": {"quant_method": "gptq", "fmt": "int4", "weight_block_size": [1, 1]}}`: "weight_block_size is [1 1]",
	} {
		if got, err := ReadConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadConfig(%s) = %+v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestStatedCheck(t *testing.T) {
	s := Stated{Given: true, Experts: dtype.E2M1, Plain: []string{"lm_head", "self_attn.wkv", "model.layers.1.mlp.gate"}}
	for _, tt := range []struct {
		s                Stated
		name             string
		f                Format
		expert, optional bool
		want             string
	}{
		{s, "layers.0.attn.wq_a.weight", FP8, false, false, ""},
		{s, "layers.0.attn.wq_a.weight", Format{}, false, false, "is not quantised, but config.json has a quantization_config"},
		{s, "layers.0.attn.wo_a.weight", Format{}, false, true, ""},
		{s, "layers.0.attn.wo_a.weight", FP8, false, true, ""},
		{s, "model.layers.0.self_attn.wkv.weight", Format{}, false, false, ""},
		{s, "model.layers.0.self_attn.wkv.weight", FP8, false, false, "modules_to_not_convert names it"},
		{s, "model.layers.1.mlp.gate_proj.weight", FP8, false, false, ""},
		{s, "layers.0.ffn.experts.0.w1.weight", FP4, true, false, ""},
		{s, "layers.0.ffn.experts.0.w1.weight", FP8, true, false, "but expert_dtype is fp4"},
		{Stated{Given: true, Experts: dtype.BF16}, "layers.0.ffn.experts.0.w1.weight", FP8, true, false, "but expert_dtype is bf16"},
		{Stated{Given: true}, "layers.0.ffn.experts.0.w1.weight", FP4, true, false, ""},
		{Stated{}, "layers.0.attn.wq_a.weight", FP8, false, false, "config.json has no quantization_config"},
		{Stated{}, "layers.0.attn.wq_a.weight", Format{}, false, false, ""},
	} {
		err := tt.s.Check(tt.name, tt.f, tt.expert, tt.optional)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %v: error is %v, want %q", tt.name, tt.f, err, tt.want)
		}
	}
}

func TestWriteConfig(t *testing.T) {
	for _, name := range []string{"fp8", "fp8+fp4", "fp8+bf16", "fp8-f32scales"} {
		r, err := ParseRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.WriteConfig([]byte(`{"hidden_size": 8, "hc_eps": 1e-06, "quantization_config": {"quant_method": "old"}}`), []string{"wo_a"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadConfig(out)
		if err != nil || !s.Given || s.Experts != map[string]dtype.Type{"fp8": dtype.E4M3, "fp8+fp4": dtype.E2M1, "fp8+bf16": dtype.BF16, "fp8-f32scales": dtype.E4M3}[name] ||
			(s.Scale == dtype.E8M0) != (name != "fp8-f32scales") || !s.Excludes("layers.0.attn.wo_a.weight") {
			t.Errorf("%s: %s reads as %+v, %v", name, out, s, err)
		}
		if !strings.Contains(string(out), `"hc_eps": 1e-06`) || !strings.Contains(string(out), `"hidden_size": 8`) {
			t.Errorf("%s: %s has lost something", name, out)
		}
		back, err := (Recipe{}).WriteConfig(out, nil)
		var object map[string]any
		if json.Unmarshal(back, &object); err != nil || len(object) != 2 {
			t.Errorf("%s: as bf16 it is %s, %v, want two keys", name, back, err)
		}
	}
	program, err := (Recipe{}).WriteConfig([]byte(`{"dtype": "fp8", "scale_fmt": "ue8m0", "expert_dtype": "fp4", "dim": 8}`), nil)
	if s, bad := ReadConfig(program); err != nil || bad != nil || s.Given || !strings.Contains(string(program), `"dtype": "bf16"`) {
		t.Errorf("the program's spelling as bf16 is %s, %v, and reads as %+v, %v", program, err, s, bad)
	}
	same := []byte(`{ "a":1 }`)
	if out, err := (Recipe{}).WriteConfig(same, nil); string(out) != string(same) || err != nil {
		t.Errorf("a config that says nothing is written as %s, %v, want it as it was", out, err)
	}
	if _, err := (Recipe{}).WriteConfig([]byte("["), nil); err == nil {
		t.Error("a config that is no JSON is written")
	}
}

// Whatever is read is what was written: a recipe's words in any config.json say the recipe.
func FuzzReadConfig(f *testing.F) {
	f.Add([]byte(released), "attn.wo_a")
	f.Add([]byte(`{"dtype": "fp8", "scale_fmt": "ue8m0", "expert_dtype": "fp4"}`), "gate")
	f.Add([]byte(`{"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": [""]}}`), "")
	f.Fuzz(func(t *testing.T, data []byte, module string) {
		if s, err := ReadConfig(data); err == nil {
			s.Excludes(module)
			s.Check(module, FP8, true, false)
		}
		for _, r := range []Recipe{{FP8, FP4, true}, {FP8.wide(), FP8.wide(), true}, {}} {
			out, err := r.WriteConfig(data, nil)
			if err != nil {
				return // no object of JSON
			}
			s, err := ReadConfig(out)
			if err != nil || s.Given == r.plain() || (s.Scale == dtype.E8M0) != (r.Dense == FP8) && !r.plain() {
				t.Fatalf("%v: %s reads as %+v, %v", r, out, s, err)
			}
		}
	})
}
