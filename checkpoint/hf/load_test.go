package hf

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/dtype"
	"furlong/tensor"
)

var options = LoadOptions{Layers: goldenLayers, Experts: goldenExperts}

// blank returns parameters like those of want, with every byte spoiled. Floats are in another format if it is given.
func blank(want []*tensor.Param, format dtype.Type) []*tensor.Param {
	var params []*tensor.Param
	for _, p := range want {
		t := p.Value.Type
		if format != dtype.Invalid && !isTable(t) {
			t = format
		}
		x := tensor.New(t, p.Value.Shape...)
		for i := range x.Mem {
			x.Mem[i] = 0xa5
		}
		params = append(params, &tensor.Param{Name: p.Name, Value: x})
	}
	return params
}

func compare(t *testing.T, got, want []*tensor.Param) {
	t.Helper()
	for i, p := range want {
		if !bytes.Equal(got[i].Value.Mem, p.Value.Mem) {
			t.Errorf("%s is % x, want % x", p.Name, got[i].Value.Mem, p.Value.Mem)
		}
	}
}

func TestRoundTripInAllSchemes(t *testing.T) {
	for _, format := range []dtype.Type{dtype.F32, dtype.BF16} {
		for s := Memory; s <= Wire; s++ {
			for _, shardBytes := range []int64{0, 300} {
				t.Run(fmt.Sprintf("%v %v %d", format, s, shardBytes), func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "d")
					want := model(t, format)
					if err := Save(dir, want, s, []byte("{}"), SaveOptions{goldenExperts, shardBytes}); err != nil {
						t.Fatal(err)
					}
					got := blank(want, dtype.Invalid)
					r, err := Load(dir, got, options)
					if err != nil {
						t.Fatal(err)
					}
					compare(t, got, want)
					if r.Scheme != s || len(r.Rounded) != 0 || len(r.Aside) != 0 {
						t.Errorf("report is %+v", r)
					}
				})
			}
		}
	}
}

// files returns the tensors that parameters make in a scheme.
func files(t *testing.T, params []*tensor.Param, s Scheme) map[string]*tensor.Tensor {
	t.Helper()
	list, err := contents(params, s, goldenExperts)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*tensor.Tensor{}
	for _, x := range list {
		m[x.Name] = x.Tensor
	}
	return m
}

func source(t *testing.T, tensors map[string]*tensor.Tensor) checkpoint.Source {
	t.Helper()
	var entries []checkpoint.Entry
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.InfoOf(tensors[name])})
	}
	m := checkpoint.NewMemory(entries...)
	for name, x := range tensors {
		if err := m.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Files are split where the fused experts say: gate rows, then up rows, of each expert.
func TestExpertsAreSplitByRows(t *testing.T) {
	want := model(t, dtype.F32)
	m := files(t, want, Ref)
	i := slices.IndexFunc(want, func(p *tensor.Param) bool { return p.Name == "model.layers.0.mlp.experts.gate_up_proj" })
	all := want[i].Value.F32() // [2, 4, 3]
	for name, lo := range map[string]int{"0.w1": 0, "0.w3": 6, "1.w1": 12, "1.w3": 18} {
		x := m["layers.0.ffn.experts."+name+".weight"]
		if !slices.Equal(x.Shape, []int{2, 3}) || !slices.Equal(x.F32(), all[lo:lo+6]) {
			t.Errorf("expert %s is %v %v, want elements %d to %d", name, x, x.F32(), lo, lo+6)
		}
	}
}

func TestWideningIsExact(t *testing.T) {
	want := model(t, dtype.BF16)
	for _, format := range []dtype.Type{dtype.F32, dtype.F64} {
		got := blank(want, format)
		r, err := LoadFrom(source(t, files(t, want, Ref)), got, options)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Rounded) != 0 {
			t.Errorf("%v: rounded %v", format, r.Rounded)
		}
		for i, p := range want {
			if isTable(p.Value.Type) {
				continue
			}
			for j, b := range p.Value.BF16() {
				if x := at(got[i].Value, j); x != float64(dtype.FromBF16(b)) && x == x {
					t.Fatalf("%v: %s[%d] = %v, want %v", format, p.Name, j, x, dtype.FromBF16(b))
				}
			}
		}
	}
}

func at(t *tensor.Tensor, i int) float64 {
	if t.Type == dtype.F64 {
		return t.F64()[i]
	}
	return float64(t.F32()[i])
}

func TestRoundingIsReported(t *testing.T) {
	want := model(t, dtype.F32)
	for _, p := range want {
		if !isTable(p.Value.Type) {
			for i := range p.Value.F32() {
				p.Value.F32()[i] = 1.5
			}
		}
	}
	want[3].Value.F32()[1] = 1 + 0x1p-8 // half way, to even: 1
	got := blank(want, dtype.BF16)
	r, err := LoadFrom(source(t, files(t, want, Ref)), got, options)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rounded) != 1 || r.Rounded[0] != (Rounding{"hc_head_fn", Narrowed, 1, want[3].Value.Len()}) {
		t.Errorf("rounded %+v, want one element of hc_head_fn", r.Rounded)
	}
	if got[3].Value.BF16()[1] != 0x3f80 || got[3].Value.BF16()[0] != 0x3fc0 {
		t.Errorf("values are %#x, want 0x3fc0 0x3f80 ...", got[3].Value.BF16())
	}
	if s := r.String(); !strings.Contains(s, "rounded 1 of") || !strings.Contains(s, "hc_head_fn") {
		t.Errorf("report says %q", s)
	}
}

func TestTablesConvertByValue(t *testing.T) {
	for _, s := range []Scheme{Ref, Wire} { // I64 and I32 in the file
		want := model(t, dtype.F32)
		got := blank(want, dtype.Invalid)
		for _, p := range got {
			if isTable(p.Value.Type) {
				p.Value = tensor.New(dtype.I64, p.Value.Shape...)
			}
		}
		if _, err := LoadFrom(source(t, files(t, want, s)), got, options); err != nil {
			t.Fatal(err)
		}
		for i, p := range want {
			if isTable(p.Value.Type) {
				for j, n := range p.Value.I32() {
					if got[i].Value.I64()[j] != int64(n) {
						t.Errorf("%v: %s[%d] = %d, want %d", s, p.Name, j, got[i].Value.I64()[j], n)
					}
				}
			}
		}
	}
}

func TestDraftLayersAreSetAside(t *testing.T) {
	want := model(t, dtype.F32)
	for s, extra := range map[Scheme][]string{
		Ref:    {"mtp.0.attn.wq_a.weight", "mtp.0.hc_head_fn", "layers.3.attn_norm.weight"},
		Hybrid: {"model.layers.3.attn.wq_a.weight", "model.mtp.0.e_proj.weight"},
		Wire:   {"model.layers.3.enorm.weight", "model.layers.43.self_attn.wq_a.weight"},
	} {
		m := files(t, want, s)
		for _, name := range extra {
			m[name] = tensor.New(dtype.E4M3, 1)
		}
		r, err := LoadFrom(source(t, m), blank(want, dtype.Invalid), options)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(extra)
		if !slices.Equal(r.Aside, extra) || r.Tensors != len(m)-len(extra) {
			t.Errorf("%v: set aside %v, want %v; read %d of %d", s, r.Aside, extra, r.Tensors, len(m))
		}
		if !strings.Contains(r.String(), fmt.Sprintf("set %d tensors", len(extra))) {
			t.Errorf("%v: report says %q", s, r)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	f32 := func(shape ...int) *tensor.Tensor { return tensor.New(dtype.F32, shape...) }
	table := func(values ...int64) *tensor.Tensor {
		x := tensor.New(dtype.I64, 5, 2)
		copy(x.I64(), values)
		return x
	}
	type tensors = map[string]*tensor.Tensor
	for _, tt := range []struct {
		name  string
		spoil func(m tensors)
		want  []string
	}{
		{"missing", func(m tensors) { delete(m, "head.weight") }, []string{`"head.weight": is missing, wanted for parameter "lm_head.weight"`}},
		{"missing expert", func(m tensors) { delete(m, "layers.1.ffn.experts.1.w3.weight") }, []string{`"layers.1.ffn.experts.1.w3.weight": is missing`}},
		{"extra", func(m tensors) { m["layers.0.attn.compressor.ape"] = f32(2) }, []string{`"layers.0.attn.compressor.ape": is F32[2], which the model has no place for`}},
		{"extra expert", func(m tensors) { m["layers.0.ffn.experts.2.w1.weight"] = f32(2, 3) }, []string{`experts.2.w1.weight"`, "no place"}},
		{"a scale without need", func(m tensors) { m["layers.0.attn.wq_a.scale"] = f32(1, 1) }, []string{`wq_a.scale"`, "no place"}},
		{"shape", func(m tensors) { m["norm.weight"] = f32(7) }, []string{`"norm.weight": is F32[7], want [1 5]`}},
		{"transposed expert", func(m tensors) { m["layers.0.ffn.experts.0.w1.weight"] = f32(3, 2) }, []string{`is F32[3 2], want [2 3]`}},
		{"format", func(m tensors) { m["norm.weight"] = tensor.New(dtype.F16, 1, 5) }, []string{`"norm.weight": is F16[1 5], want F32 or BF16`}},
		{"table of floats", func(m tensors) { m["layers.0.ffn.gate.tid2eid"] = f32(5, 2) }, []string{`tid2eid": is F32[5 2], want I64 or I32`}},
		{"zero table", func(m tensors) { m["layers.0.ffn.gate.tid2eid"] = table() }, []string{`"layers.0.ffn.gate.tid2eid": is all zero: every token would go to expert 0`}},
		{"expert beyond", func(m tensors) { m["layers.0.ffn.gate.tid2eid"] = table(0, 2) }, []string{"entry 1 is expert 2, want 0 to 1"}},
		{"negative expert", func(m tensors) { m["layers.0.ffn.gate.tid2eid"] = table(-1) }, []string{"entry 0 is expert -1, want 0 to 1"}},
		{"beyond 32 bits", func(m tensors) { m["layers.0.ffn.gate.tid2eid"] = table(1 << 32) }, []string{"entry 0 is expert 4294967296, want 0 to 1"}},
		{"several at once", func(m tensors) {
			delete(m, "head.weight")
			m["norm.weight"] = f32(7)
			m["x"] = f32(1)
		}, []string{`"head.weight"`, `"norm.weight"`, `"x"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := model(t, dtype.F32)
			m := files(t, want, Ref)
			tt.spoil(m)
			got := blank(want, dtype.Invalid)
			r, err := LoadFrom(source(t, m), got, options)
			if err == nil {
				t.Fatalf("loaded: %v", r)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %q, want %q in it", err, want)
				}
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != max(1, len(tt.want)) && tt.name == "several at once" || n != 1 && tt.name != "several at once" {
				t.Errorf("error has %d lines: %v", n, err)
			}
			compare(t, got, blank(want, dtype.Invalid)) // nothing was filled
		})
	}
}

// hc_*_scale are parameters: a checkpoint without quantisation has them, and they look like scales.
func TestHyperScalesAreParameters(t *testing.T) {
	want := model(t, dtype.F32)
	m := files(t, want, Ref)
	delete(m, "layers.0.hc_attn_scale")
	_, err := LoadFrom(source(t, m), blank(want, dtype.Invalid), options)
	if err == nil || !strings.Contains(err.Error(), `"layers.0.hc_attn_scale": is missing`) {
		t.Errorf("error is %v, want the missing parameter", err)
	}
}

func TestLoadChecksParameters(t *testing.T) {
	want := model(t, dtype.F32)
	src := source(t, files(t, want, Ref))
	for _, tt := range []struct {
		name   string
		params []*tensor.Param
		opt    LoadOptions
		want   string
	}{
		{"too few layers", want, LoadOptions{Layers: 2, Experts: 2}, "is in layer 2 of a model said to have 2"},
		{"no experts", want, LoadOptions{Layers: 3}, "said to have 0"},
		{"twice", append(slices.Clone(want), want[1]), options, `"head.weight": is wanted twice`},
		{"unknown", append(slices.Clone(want), &tensor.Param{Name: "x", Value: tensor.New(dtype.F32, 1)}), options, `parameter "x": is no name`},
		{"a table of floats", []*tensor.Param{{Name: "model.layers.0.mlp.gate.tid2eid", Value: tensor.New(dtype.F32, 5, 2)}}, options, "is wanted as F32[5 2]"},
		{"a weight of integers", []*tensor.Param{{Name: "lm_head.weight", Value: tensor.New(dtype.I32, 3, 4)}}, options, "is wanted as I32[3 4]"},
		{"another scheme", want, LoadOptions{Layers: 3, Experts: 2, Scheme: Wire}, `"lm_head.weight": is missing`},
	} {
		if _, err := LoadFrom(src, tt.params, tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestSaveRefuses(t *testing.T) {
	want := model(t, dtype.F32)
	with := func(p *tensor.Param) []*tensor.Param { return append(slices.Clone(want[1:]), p) }
	for _, tt := range []struct {
		name   string
		params []*tensor.Param
		config string
		want   string
	}{
		{"config", want, "", "config.json of 0 bytes is not JSON"},
		{"unknown name", with(&tensor.Param{Name: "x", Value: tensor.New(dtype.F32, 1)}), "{}", `parameter "x": is no name`},
		{"twice", with(want[1]), "{}", `"head.weight": comes twice`},
		{"format", with(&tensor.Param{Name: "model.embed_tokens.weight", Value: tensor.New(dtype.F64, 1)}), "{}", "is F64[1], want F32 or BF16"},
		{"zero table", with(&tensor.Param{Name: "model.layers.2.mlp.gate.tid2eid", Value: tensor.New(dtype.I32, 5, 2)}), "{}", "every token would go to expert 0"},
	} {
		root := t.TempDir()
		err := Save(filepath.Join(root, "d"), tt.params, Ref, []byte(tt.config), SaveOptions{Experts: goldenExperts})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
		if left, _ := filepath.Glob(filepath.Join(root, "*")); len(left) > 0 {
			t.Errorf("%s: left %v", tt.name, left)
		}
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	want := model(t, dtype.F32)
	if err := Save(dir, want, Hybrid, []byte("{}"), SaveOptions{Experts: goldenExperts}); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, want[1:], options); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error is %v, want one that names %s", err, dir)
	}
	file := filepath.Join(dir, "model.safetensors")
	if _, err := Load(file, blank(want, dtype.Invalid), options); err != nil {
		t.Errorf("loading the file itself: %v", err)
	}
}

// Parameters are handed over one by one, filled and in order, and may be taken away.
func TestLoadHandsOver(t *testing.T) {
	for s := Memory; s <= Wire; s++ {
		dir := filepath.Join(t.TempDir(), "d")
		want := model(t, dtype.BF16)
		if err := Save(dir, want, s, []byte("{}"), SaveOptions{goldenExperts, 0}); err != nil {
			t.Fatal(err)
		}
		got := blank(want, dtype.Invalid)
		opt, n := options, 0
		opt.Each = func(p *tensor.Param) error {
			if p != got[n] || !bytes.Equal(p.Value.Mem, want[n].Value.Mem) {
				t.Errorf("%v: parameter %d is %s with % x, want %s with % x", s, n, p.Name, p.Value.Mem, want[n].Name, want[n].Value.Mem)
			}
			p.Value, n = nil, n+1
			return nil
		}
		if _, err := Load(dir, got, opt); err != nil || n != len(want) {
			t.Errorf("%v: %d parameters were handed over, %v; want %d", s, n, err, len(want))
		}
		full, stop := blank(want, dtype.Invalid), errors.New("enough")
		opt.Each = func(*tensor.Param) error { return stop }
		if _, err := Load(dir, full, opt); !errors.Is(err, stop) {
			t.Errorf("%v: an error on the way gives %v", s, err)
		}
	}
}
