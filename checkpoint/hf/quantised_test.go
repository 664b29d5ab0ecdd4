package hf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

func recipe(t *testing.T, name string) quant.Recipe {
	t.Helper()
	r, err := quant.ParseRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ragged is the model of testdata/names.txt with matrices that end inside a block: experts of 130 rows, fused to 260.
func ragged(t *testing.T, format dtype.Type) []*tensor.Param {
	t.Helper()
	params := model(t, format)
	seed := 1
	for _, p := range params {
		if !quant.Quantises(p.Name) {
			continue
		}
		shape := []int{130, 140}
		switch {
		case strings.HasSuffix(p.Name, "gate_up_proj"):
			shape = []int{goldenExperts, 2 * 130, 66}
		case quant.IsExpert(p.Name):
			shape = []int{goldenExperts, 66, 130}
		}
		p.Value = tensor.New(format, shape...)
		for i := range p.Value.Len() {
			seed = seed*1103515245 + 12345
			x := float32(seed>>33%2001-1000) * 1e-4 / 3
			if format == dtype.F32 {
				p.Value.F32()[i] = x
			} else {
				p.Value.BF16()[i] = dtype.ToBF16(x)
			}
		}
	}
	return params
}

// packedModel is that model by a recipe.
func packedModel(t *testing.T, r quant.Recipe, format dtype.Type) []*tensor.Param {
	t.Helper()
	params, plain := ragged(t, format), ragged(t, format)
	if err := r.Apply(params); err != nil {
		t.Fatal(err)
	}
	for i, p := range params {
		if p.Value.Quantised() {
			quant.Pack(p.Value, plain[i].Value)
		}
	}
	return params
}

// empty returns parameters like those of a model, every byte spoiled, by a recipe.
func empty(t *testing.T, r quant.Recipe, format dtype.Type) []*tensor.Param {
	t.Helper()
	params := ragged(t, format)
	if err := r.Apply(params); err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		spoil(p.Value.Mem)
		if p.Value.Quantised() {
			spoil(p.Value.Scale.Mem)
		}
	}
	return params
}

func spoil(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

func compareQuantised(t *testing.T, got, want []*tensor.Param) {
	t.Helper()
	for i, p := range want {
		g := got[i].Value
		if !bytes.Equal(g.Mem, p.Value.Mem) {
			t.Errorf("%s has other bytes", p.Name)
		}
		if p.Value.Quantised() && !bytes.Equal(g.Scale.Mem, p.Value.Scale.Mem) {
			t.Errorf("%s has other scales", p.Name)
		}
	}
}

// What is saved quantised is loaded byte for byte, in every scheme, and what is saved again is the same file.
func TestQuantisedRoundTrip(t *testing.T) {
	for _, name := range []string{"fp8", "fp8+fp4", "fp8-f32scales", "bf16+fp4", "fp8+bf16"} {
		for s := Memory; s <= Wire; s++ {
			t.Run(fmt.Sprintf("%s %v", name, s), func(t *testing.T) {
				r := recipe(t, name)
				dir := filepath.Join(t.TempDir(), "d")
				want := packedModel(t, r, dtype.BF16)
				if err := Save(dir, want, s, []byte(`{"a": 1}`), SaveOptions{goldenExperts, 400_000}); err != nil {
					t.Fatal(err)
				}
				got := empty(t, r, dtype.BF16)
				report, err := Load(dir, got, options)
				if err != nil {
					t.Fatal(err)
				}
				compareQuantised(t, got, want)
				if len(report.Rounded) != 0 || report.Ways[Unpacked]+report.Ways[Packed]+report.Ways[Recast]+report.Ways[Repacked] != 0 {
					t.Errorf("report is %v", report)
				}
				again := filepath.Join(t.TempDir(), "again")
				if err := Save(again, got, s, []byte(`{"a": 1}`), SaveOptions{goldenExperts, 400_000}); err != nil {
					t.Fatal(err)
				}
				sameFiles(t, dir, again)
			})
		}
	}
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	list, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		x, errA := os.ReadFile(filepath.Join(a, e.Name()))
		y, errB := os.ReadFile(filepath.Join(b, e.Name()))
		if errA != nil || errB != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs: %v, %v", e.Name(), errA, errB)
		}
	}
}

// The names, formats and shapes of files, as releases have them.
func TestQuantisedFiles(t *testing.T) {
	for _, tt := range []struct {
		s      Scheme
		recipe string
		want   map[string]string
	}{
		{Ref, "fp8+fp4", map[string]string{
			"layers.0.attn.wq_a.weight": "F8_E4M3[130 140]", "layers.0.attn.wq_a.scale": "F8_E8M0[2 2]",
			"layers.1.ffn.experts.1.w3.weight": "I8[130 33]", "layers.1.ffn.experts.1.w3.scale": "F8_E8M0[130 3]",
			"layers.1.ffn.experts.0.w2.weight": "I8[66 65]", "layers.1.ffn.experts.0.w2.scale": "F8_E8M0[66 5]",
			"layers.0.hc_attn_scale": "BF16",
		}},
		{Hybrid, "fp8", map[string]string{"model.layers.1.ffn.experts.1.w1.weight": "F8_E4M3[130 66]", "model.layers.1.ffn.experts.1.w1.scale": "F8_E8M0[2 1]"}},
		{Wire, "fp8-f32scales", map[string]string{
			"model.layers.0.self_attn.wq_a.weight": "F8_E4M3[130 140]", "model.layers.0.self_attn.wq_a.weight_scale_inv": "F32[2 2]",
			"model.layers.1.self_attn.indexer.wq_b.weight_scale_inv": "F32[2 2]",
		}},
		{Memory, "fp8+fp4", map[string]string{
			"model.layers.1.mlp.experts.gate_up_proj": "I8[2 260 33]", "model.layers.1.mlp.experts.gate_up_proj_scale_inv": "F8_E8M0[2 260 3]",
			"model.layers.1.self_attn.q_a_proj.weight_scale_inv": "F8_E8M0[2 2]",
		}},
	} {
		m := files(t, packedModel(t, recipe(t, tt.recipe), dtype.BF16), tt.s)
		for name, want := range tt.want {
			if got := m[name]; got == nil || !strings.HasPrefix(got.String(), want) {
				t.Errorf("%v: %s is %v, want %s", tt.s, name, got, want)
			}
		}
	}
}

func TestSaveStatesFormats(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	config := []byte(`{"hc_eps": 1e-06, "expert_dtype": "fp8", "quantization_config": {"quant_method": "stale"}}`)
	if err := Save(dir, packedModel(t, recipe(t, "fp8+fp4"), dtype.BF16), Ref, config, SaveOptions{Experts: goldenExperts}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	q, _ := got["quantization_config"].(map[string]any)
	want := map[string]any{
		"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "scale_fmt": "ue8m0", "weight_block_size": []any{128., 128.},
		"modules_to_not_convert": []any{
			"attn.compressor.wgate", "attn.compressor.wkv", "attn.indexer.compressor.wgate", "attn.indexer.compressor.wkv", "attn.indexer.weights_proj", "attn.wo_a",
		},
	}
	modules := fmt.Sprint(q["modules_to_not_convert"])
	for _, m := range want["modules_to_not_convert"].([]any) {
		if !strings.Contains(modules, m.(string)) {
			t.Errorf("modules_to_not_convert is %s, want %s in it", modules, m)
		}
	}
	delete(q, "modules_to_not_convert")
	delete(want, "modules_to_not_convert")
	if fmt.Sprint(q) != fmt.Sprint(want) || got["expert_dtype"] != "fp4" || !strings.Contains(string(data), `"hc_eps": 1e-06`) {
		t.Errorf("config.json is %s", data)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := Save(plain, ragged(t, dtype.BF16), Ref, data, SaveOptions{Experts: goldenExperts}); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(filepath.Join(plain, "config.json")); err != nil || strings.Contains(string(data), "quantization_config") || strings.Contains(string(data), "expert_dtype") {
		t.Errorf("config.json of plain weights is %s, %v", data, err)
	}
}

// From every format to every other: the numbers are those that packing and unpacking define, and what is lost is counted.
func TestConversionsOnLoad(t *testing.T) {
	names := []string{"bf16", "fp8", "fp8+fp4", "fp8-f32scales"}
	for _, from := range names {
		for _, to := range names {
			t.Run(from+" to "+to, func(t *testing.T) {
				src := packedModel(t, recipe(t, from), dtype.BF16)
				got := empty(t, recipe(t, to), dtype.F32)
				report, err := LoadFrom(source(t, files(t, src, Ref)), got, options)
				if err != nil {
					t.Fatal(err)
				}
				changed, blank := 0, empty(t, recipe(t, to), dtype.F32)
				for i, p := range src {
					if isTable(p.Value.Type) {
						continue
					}
					want := blank[i].Value
					Convert(want, p.Value)
					if quant.IsExpert(p.Name) { // which is converted piece by piece
						want = got[i].Value
					}
					if !bytes.Equal(got[i].Value.Mem, want.Mem) {
						t.Errorf("%s is not what it should be", p.Name)
					}
					changed += quant.Compare(got[i].Value, p.Value).Changed
				}
				counted := 0
				for _, r := range report.Rounded {
					counted += r.Count
				}
				if counted != changed {
					t.Errorf("%d numbers changed, %d are reported: %v", changed, counted, report)
				}
				exact := from == to || to == "bf16" || from == "fp8+fp4" && to == "fp8" || from == "fp8" && to == "fp8-f32scales"
				if exact != (changed == 0) {
					t.Errorf("%d numbers changed", changed)
				}
				if s := report.String(); exact == strings.Contains(s, "rounded") {
					t.Errorf("report says %q", s)
				}
			})
		}
	}
}

// The FP4 of a file becomes FP8 without rounding, though packing anew would take other scales.
func TestRecastOnLoad(t *testing.T) {
	src := packedModel(t, recipe(t, "fp8+fp4"), dtype.BF16)
	got := empty(t, recipe(t, "fp8"), dtype.BF16)
	report, err := LoadFrom(source(t, files(t, src, Wire)), got, options)
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * goldenLayers * goldenExperts; report.Ways[Recast] != want || len(report.Rounded) != 0 {
		t.Errorf("%d weights are recast, want %d; rounded %v", report.Ways[Recast], want, report.Rounded)
	}
	if !strings.Contains(report.String(), "recast 18 weights") {
		t.Errorf("report says %q", report)
	}
}

func TestQuantisedWidensExactly(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16, dtype.F64} {
		src := packedModel(t, recipe(t, "fp8+fp4"), dtype.BF16)
		var got []*tensor.Param
		for _, p := range src {
			x := tensor.New(format, p.Value.Shape...)
			if isTable(p.Value.Type) {
				x = tensor.New(dtype.I32, p.Value.Shape...)
			}
			got = append(got, &tensor.Param{Name: p.Name, Value: x})
		}
		report, err := LoadFrom(source(t, files(t, src, Hybrid)), got, options)
		if err != nil || len(report.Rounded) != 0 {
			t.Fatalf("%v: %v, %v", format, report, err)
		}
		for i, p := range src {
			if !p.Value.Quantised() {
				continue
			}
			want := tensor.New(dtype.F32, p.Value.Shape...)
			quant.Unpack(want, p.Value)
			for k, x := range want.F32() {
				y := float64(0)
				if format == dtype.BF16 {
					y = float64(dtype.FromBF16(got[i].Value.BF16()[k]))
				} else {
					y = at(got[i].Value, k)
				}
				if y != float64(x) {
					t.Fatalf("%v: %s[%d] is %v, want %v", format, p.Name, k, y, x)
				}
			}
		}
	}
}

// What the released files quantise and we don't is widened: the first projection of the output.
func TestQuantisedOutputProjection(t *testing.T) {
	want := ragged(t, dtype.BF16)
	m := files(t, want, Ref)
	q := quant.FP8.New(1, m["layers.0.attn.wo_a.weight"].Shape...)
	quant.Pack(q, m["layers.0.attn.wo_a.weight"])
	for _, x := range Stored(Ref, "layers.0.attn.wo_a.weight", q) {
		m[x.Name] = x.Tensor
	}
	got := empty(t, quant.Recipe{}, dtype.BF16)
	report, err := LoadFrom(source(t, m), got, options)
	if err != nil || report.Ways[Unpacked] != 1 {
		t.Fatalf("%v, %v", report, err)
	}
	i := slices.IndexFunc(want, func(p *tensor.Param) bool { return p.Name == "model.layers.0.self_attn.o_a_proj.weight" })
	if l := quant.Compare(got[i].Value, q); !l.Exact() {
		t.Errorf("it lost %v", l)
	}
}

func TestQuantisedRefuses(t *testing.T) {
	const wq, scale, inv = "layers.0.attn.wq_a.weight", "layers.0.attn.wq_a.scale", "layers.0.attn.wq_a.weight_scale_inv"
	const w1, s1 = "layers.0.ffn.experts.0.w1.weight", "layers.0.ffn.experts.0.w1.scale"
	type tensors = map[string]*tensor.Tensor
	fp8 := func(m tensors, name string, rows, cols int) {
		for _, x := range Stored(Ref, name, quant.FP8.New(1, rows, cols)) {
			m[x.Name] = x.Tensor
		}
	}
	for _, tt := range []struct {
		name, config string
		spoil        func(m tensors)
		want         string
	}{
		{"no scale", "", func(m tensors) { delete(m, scale) }, `is F8_E4M3[130 140], and its scale is missing: neither "` + scale + `" nor "` + inv + `"`},
		{"two scales", "", func(m tensors) { m[inv] = m[scale] }, `has two scales, "` + scale + `" and "` + inv + `"`},
		{"FP4 without scale", "", func(m tensors) { delete(m, s1) }, `w1.weight": is I8[130 33], and its scale is missing`},
		{"grid of another block", "", func(m tensors) { m[scale] = tensor.New(dtype.E8M0, 130, 2) }, `its scale "` + scale + `" is F8_E8M0[130 2], want [2 2] for blocks of 128x128`},
		{"grid transposed", "", func(m tensors) { m[s1] = tensor.New(dtype.E8M0, 3, 130) }, `is F8_E8M0[3 130], want [130 3] for blocks of 1x32`},
		{"grid too small", "", func(m tensors) { m[scale] = tensor.New(dtype.E8M0, 1, 2) }, `is F8_E8M0[1 2], want [2 2]`},
		{"scales as bytes", "", func(m tensors) { m[scale] = tensor.New(dtype.U8, 2, 2) }, `is U8[2 2], want F8_E8M0 or F32`},
		{"FP4 with float32 scales", "", func(m tensors) { m[s1] = tensor.New(dtype.F32, 130, 3) }, `is F32[130 3], want F8_E8M0`},
		{"code 255", "", func(m tensors) { m[scale].Mem[3] = 255 }, `its scale "` + scale + `" has the code 255, no number, at 3`},
		{"scale NaN", "", func(m tensors) {
			m[scale] = tensor.New(dtype.F32, 2, 2)
			m[scale].F32()[1] = dtype.FromE8M0(255)
		}, `has NaN at 1`},
		{"negative scale", "", func(m tensors) {
			m[scale] = tensor.New(dtype.F32, 2, 2)
			m[scale].F32()[0] = -1
		}, `has -1 at 0`},
		{"bytes that are E4M3", "", func(m tensors) { m[wq] = tensor.New(dtype.U8, 130, 140) }, `is U8[130 140]: codes of eight bits are tagged F8_E4M3; U8 holds FP4`},
		{"shape of FP4", "", func(m tensors) { m[w1] = tensor.New(dtype.I8, 130, 30) }, `is I8[130 30], FP4 of [130 60], want [130 66]`},
		{"shape of FP8", "", func(m tensors) { m[wq] = tensor.New(dtype.E4M3, 140, 130) }, `is F8_E4M3[140 130], want [130 140]`},
		{"the other E4M3", "", func(m tensors) { m[wq] = tensor.New(dtype.E4M3FNUZ, 130, 140) }, wq + `": is F8_E4M3FNUZ[130 140], want F8_E4M3: the same byte means half as much there`},
		{"a quantised vector", "", func(m tensors) { m["norm.weight"] = tensor.New(dtype.E4M3, 5) }, `"norm.weight": is F8_E4M3[5], want [1 5]`},
		{"experts of two checkpoints", "", func(m tensors) { fp8(m, w1, 130, 66) }, `w3.weight": is F4 in blocks of 1x32 with F8_E8M0 scales, but "` + w1 + `", of the same layer's experts, is F8_E4M3 in blocks of 128x128 with F8_E8M0 scales: shards of two checkpoints?`},
		{"not stated", `{}`, func(tensors) {}, `is F8_E4M3, but config.json has no quantization_config`},
		{"stated, but plain", `{"quantization_config": {"quant_method": "fp8"}}`, func(m tensors) {
			m[wq] = tensor.New(dtype.BF16, 130, 140)
			delete(m, scale)
		}, wq + `": is not quantised, but config.json has a quantization_config`},
		{"excluded", `{"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": ["attn.wq_a"]}}`, func(tensors) {}, `modules_to_not_convert names it`},
		{"other experts stated", `{"quantization_config": {"quant_method": "fp8"}, "expert_dtype": "fp8"}`, func(tensors) {}, `F4 in blocks of 1x32 with F8_E8M0 scales, but expert_dtype is fp8`},
		{"scales stated as powers", `{"quantization_config": {"quant_method": "fp8", "scale_fmt": "ue8m0"}}`, func(m tensors) {
			m[scale] = tensor.Of([]float32{1, 2, 3, .25}, 2, 2)
		}, `has scales that are no powers of two in "` + scale + `", but scale_fmt is ue8m0`},
		{"unknown method", `{"quantization_config": {"quant_method": "gptq"}}`, func(tensors) {}, `quant_method is "gptq", want fp8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := files(t, packedModel(t, recipe(t, "fp8+fp4"), dtype.BF16), Ref)
			tt.spoil(m)
			got := empty(t, recipe(t, "fp8+fp4"), dtype.BF16)
			opt := options
			if tt.config != "" {
				opt.Config = []byte(tt.config)
			}
			src := source(t, m)
			r, err := LoadFrom(src, got, opt)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("loading gives %v, %v, want an error with %q", r, err, tt.want)
			}
			compareQuantised(t, got, empty(t, recipe(t, "fp8+fp4"), dtype.BF16)) // nothing was filled
			if strings.HasPrefix(tt.name, "shape") || tt.name == "bytes that are E4M3" || tt.name == "a quantised vector" {
				return // only who knows the model's shapes can tell
			}
			if _, err := Look(src, opt); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("a survey gives %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// What is wrong with one expert is not also said of its neighbours and its scale.
func TestSurveySaysWhatIsWrongOnce(t *testing.T) {
	const w1, s1 = "layers.0.ffn.experts.0.w1.weight", "layers.0.ffn.experts.0.w1.scale"
	for name, spoil := range map[string]func(m map[string]*tensor.Tensor){
		"a scale of another type": func(m map[string]*tensor.Tensor) {
			m[s1] = tensor.New(dtype.F32, m[s1].Shape...)
			m[s1].F32()[0] = -1
		},
		"the other E4M3": func(m map[string]*tensor.Tensor) { m[w1] = tensor.New(dtype.E4M3FNUZ, m[w1].Shape...) },
		"no scale":       func(m map[string]*tensor.Tensor) { delete(m, s1) },
	} {
		m := files(t, packedModel(t, recipe(t, "fp8"), dtype.BF16), Ref)
		spoil(m)
		_, err := Look(source(t, m), options)
		if err == nil || !strings.HasPrefix(err.Error(), `tensor "`+w1+`": `) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v, want one line about %s", name, err, w1)
		}
	}
}

// A format that no weight is read from is found without the numbers, by a survey as by a load.
func TestSurveyNamesFormats(t *testing.T) {
	for _, format := range []dtype.Type{dtype.I32, dtype.F16, dtype.F64} {
		m := files(t, model(t, dtype.F32), Ref)
		m["norm.weight"] = tensor.New(format, 1, 5)
		_, err := Look(source(t, m), options)
		if want := fmt.Sprintf(`tensor "norm.weight": is %v[1 5], want F32 or BF16, or FP8 or FP4 with scales`, format); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// Codes are packed anew by bands of rows, which gives what packing all at once gives.
func TestRepackIsUnpackAndPack(t *testing.T) {
	src := quant.FP8.New(2, 2, 2*300, 66)
	for i := range src.Mem {
		src.Mem[i] = byte(i*29%127) | byte(i%2)<<7
	}
	for i := range src.Scale.Mem {
		src.Scale.Mem[i] = byte(110 + i%9)
	}
	got, want := quant.FP4.New(2, 2, 2*300, 66), quant.FP4.New(2, 2, 2*300, 66)
	way, loss := Convert(got, src)
	x := tensor.New(dtype.F32, src.Shape...)
	quant.Unpack(x, src)
	quant.Pack(want, x)
	if way != Repacked || loss.Exact() || !bytes.Equal(got.Mem, want.Mem) || !bytes.Equal(got.Scale.Mem, want.Scale.Mem) {
		t.Errorf("%v, %v; codes or scales are not those of packing all at once", way, loss)
	}
}

func TestPlaceIsTheInverseOfName(t *testing.T) {
	for s := Memory; s <= Wire; s++ {
		for _, p := range every() {
			pieces, err := Pieces(s, p.Name, p.Value.Shape)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range pieces {
				if got, ok := PlaceOf(s, piece.Name); !ok || got != piece.Place || got.Name(s) != piece.Name {
					t.Errorf("%v: %s is at %+v, want %+v", s, piece.Name, got, piece.Place)
				}
			}
		}
		for _, name := range []string{"x", "layers.0.attn.wq_a.scale", "model.layers.0.ffn.experts.01.w1.weight", "layers.0.ffn.experts.-1.w1.weight", "layers.00.attn.wq_a.weight", "mtp.0.attn.wq_a.weight"} {
			if p, ok := PlaceOf(s, name); ok {
				t.Errorf("%v: %s is at %+v, want nowhere", s, name, p)
			}
		}
	}
	if p, ok := PlaceOf(0, "norm.weight"); ok {
		t.Errorf("no scheme has a place %+v", p)
	}
}

func TestSurvey(t *testing.T) {
	m := files(t, packedModel(t, recipe(t, "fp8+fp4"), dtype.BF16), Ref)
	m["mtp.0.attn.wq_a.weight"] = tensor.New(dtype.E4M3, 2, 2)
	v, err := Look(source(t, m), options)
	if err != nil {
		t.Fatal(err)
	}
	r, err := v.Recipe()
	if err != nil || r.String() != "fp8+fp4" || len(v.Aside) != 1 || v.Scheme != Ref {
		t.Errorf("recipe is %v, %v; aside %v; scheme %v", r, err, v.Aside, v.Scheme)
	}
	scales := 0
	for _, w := range v.Weights {
		if w.Scale != "" {
			scales++
		}
	}
	if len(v.Weights)+scales+1 != len(m) {
		t.Errorf("%d weights and %d scales of %d tensors", len(v.Weights), scales, len(m))
	}
	for name, change := range map[string]func(){
		"x":                           func() { m["x"] = tensor.New(dtype.F32, 1) },
		"layers.0.attn.kv_norm.scale": func() { m["layers.0.attn.kv_norm.scale"] = tensor.New(dtype.E8M0, 1) },
	} {
		was := m[name]
		if was != nil {
			was = was.Clone()
		}
		change()
		if _, err := Look(source(t, m), options); err == nil || !strings.Contains(err.Error(), name+`": `) {
			t.Errorf("with %s: error is %v", name, err)
		}
		if m[name] = was; was == nil {
			delete(m, name)
		}
	}
	if got := slices.Sorted(maps.Keys(m)); !slices.Contains(got, "mtp.0.attn.wq_a.weight") {
		t.Error("the source was changed")
	}
}

func TestReadRecipe(t *testing.T) {
	for _, name := range []string{"bf16", "fp8", "fp8+fp4", "fp8-f32scales", "bf16+fp4", "fp8+bf16"} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := Save(dir, packedModel(t, recipe(t, name), dtype.BF16), Wire, []byte("{}"), SaveOptions{Experts: goldenExperts}); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadRecipe(dir, options); err != nil || r.String() != name {
			t.Errorf("%s is read as %v, %v", name, r, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"expert_dtype": "fp4"}`), 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadRecipe(dir, options); err == nil || !strings.Contains(err.Error(), dir+": ") {
			t.Errorf("%s against a config.json of FP4 without a method is read as %v, %v", name, r, err)
		}
	}
}

func TestSaveRefusesWhatNoFileHolds(t *testing.T) {
	for want, change := range map[string]func(p *tensor.Param){
		"which no file holds": func(p *tensor.Param) {
			p.Value = quant.Format{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.ActivationE4M3}.New(1, p.Value.Shape...)
		},
		"no recipe quantises it": func(p *tensor.Param) { p.Name, p.Value = "lm_head.weight", quant.FP8.New(1, 3, 4) },
		"no config.json says this": func(p *tensor.Param) {
			p.Value = quant.FP4.New(1, p.Value.Shape...)
		},
	} {
		params := packedModel(t, recipe(t, "fp8"), dtype.BF16)
		i := slices.IndexFunc(params, func(p *tensor.Param) bool { return strings.HasSuffix(p.Name, "q_a_proj.weight") })
		change(params[i])
		err := Save(filepath.Join(t.TempDir(), "d"), params, Ref, []byte("{}"), SaveOptions{Experts: goldenExperts})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// A config.json that is wrong in itself is the one complaint: tensors are not held against half of it.
func TestSurveyWithAWrongConfig(t *testing.T) {
	opt := options
	opt.Config = []byte(`{"quantization_config": {"quant_method": "gptq"}}`)
	_, err := Look(source(t, files(t, packedModel(t, recipe(t, "fp8"), dtype.BF16), Ref)), opt)
	if want := `quantization_config: quant_method is "gptq", want fp8`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}
