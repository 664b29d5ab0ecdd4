package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

const (
	layers  = 2
	experts = 3
)

func recipe(t *testing.T, name string) quant.Recipe {
	t.Helper()
	r, err := quant.ParseRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// parameters are those of a small model, ragged in every way, filled with numbers of BF16.
func parameters() []*tensor.Param {
	var list []*tensor.Param
	seed := uint64(1)
	add := func(f dtype.Type, name string, shape ...int) {
		x := tensor.New(f, shape...)
		for i := range x.Len() {
			seed = seed*6364136223846793005 + 1442695040888963407
			v := float32(int64(seed)>>40) * 0x1p-27
			switch f {
			case dtype.BF16:
				x.BF16()[i] = dtype.ToBF16(v)
			case dtype.F32:
				x.F32()[i] = v
			default:
				x.I32()[i] = int32(i % 2)
			}
		}
		list = append(list, &tensor.Param{Name: name, Value: x})
	}
	add(dtype.BF16, "model.embed_tokens.weight", 20, 10)
	for i := range layers {
		pre := fmt.Sprintf("model.layers.%d.", i)
		add(dtype.F32, pre+"input_layernorm.weight", 10)
		add(dtype.F32, pre+"attn_hc.fn", 6, 20)
		add(dtype.F32, pre+"attn_hc.scale", 3)
		add(dtype.BF16, pre+"self_attn.q_a_proj.weight", 140, 150)
		add(dtype.BF16, pre+"self_attn.o_a_proj.weight", 9, 14)
		add(dtype.BF16, pre+"self_attn.kv_norm.weight", 8)
		add(dtype.I32, pre+"mlp.gate.tid2eid", 20, 2)
		add(dtype.BF16, pre+"mlp.experts.gate_up_proj", experts, 2*130, 34)
		add(dtype.BF16, pre+"mlp.experts.down_proj", experts, 34, 130)
		add(dtype.BF16, pre+"mlp.shared_experts.up_proj.weight", 130, 34)
	}
	add(dtype.BF16, "model.norm.weight", 10)
	add(dtype.BF16, "lm_head.weight", 20, 10)
	return list
}

// model returns the parameters by a recipe.
func model(t *testing.T, r quant.Recipe) []*tensor.Param {
	t.Helper()
	params, plain := parameters(), parameters()
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

// saved returns a directory with the model in it.
func saved(t *testing.T, s hf.Scheme, r quant.Recipe) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "from")
	if err := hf.Save(dir, model(t, r), s, []byte(`{"a": 1}`), hf.SaveOptions{Experts: experts, ShardBytes: 200_000}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func options(t *testing.T, name string, s hf.Scheme) Options {
	return Options{Recipe: recipe(t, name), Scheme: s, Layers: layers, Experts: experts, ShardBytes: 40_000}
}

func converted(t *testing.T, from string, opt Options) (string, *Report) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "to")
	r, err := Run(t.Context(), from, to, opt)
	if err != nil {
		t.Fatal(err)
	}
	return to, r
}

// The destination is what loading the source by the recipe and saving that gives, byte for byte: in every scheme, from and to.
func TestRunIsLoadAndSave(t *testing.T) {
	for i, names := range [][2]string{{"fp8+fp4", "fp8"}, {"bf16", "fp8+fp4"}, {"fp8+fp4", "bf16"}, {"fp8", "fp8+fp4"}, {"fp8-f32scales", "fp8"}} {
		for from := hf.Memory; from <= hf.Wire; from++ {
			for to := hf.Memory; to <= hf.Wire; to++ {
				if i > 0 && (int(from)+int(to)+i)%4 != 0 {
					continue // names and formats have nothing to do with each other: all pairs once are enough
				}
				t.Run(fmt.Sprintf("%s %v to %s %v", names[0], from, names[1], to), func(t *testing.T) {
					src := saved(t, from, recipe(t, names[0]))
					opt := options(t, names[1], to)
					opt.ShardBytes = 200_000
					got, report := converted(t, src, opt)
					params := parameters()
					if err := recipe(t, names[1]).Apply(params); err != nil {
						t.Fatal(err)
					}
					load := hf.LoadOptions{Layers: layers, Experts: experts}
					rep, err := hf.Load(src, params, load)
					if err != nil {
						t.Fatal(err)
					}
					want := filepath.Join(t.TempDir(), "want")
					config, err := os.ReadFile(filepath.Join(src, "config.json"))
					if err != nil {
						t.Fatal(err)
					}
					if err := hf.Save(want, params, to, config, hf.SaveOptions{Experts: experts}); err != nil {
						t.Fatal(err)
					}
					sameTensors(t, got, want)
					sameFile(t, got, want, "config.json")
					checkReport(t, report, src, got, rep)
				})
			}
		}
	}
}

func open(t *testing.T, dir string) *safetensors.Dir {
	t.Helper()
	d, err := safetensors.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func sameTensors(t *testing.T, got, want string) {
	t.Helper()
	a, b := open(t, got), open(t, want)
	if x, y := len(a.Names()), len(b.Names()); x != y {
		t.Errorf("%d tensors, want %d", x, y)
	}
	for _, name := range b.Names() {
		x, err := a.Tensor(name)
		if err != nil {
			t.Error(err)
			continue
		}
		y, err := b.Tensor(name)
		if err != nil || x.String() != y.String() || !bytes.Equal(x.Mem, y.Mem) {
			t.Errorf("%s is %v, want %v, or has other bytes; %v", name, x, y, err)
		}
	}
}

func sameFile(t *testing.T, a, b, name string) {
	t.Helper()
	x, errA := os.ReadFile(filepath.Join(a, name))
	y, errB := os.ReadFile(filepath.Join(b, name))
	if errA != nil || errB != nil || !bytes.Equal(x, y) {
		t.Errorf("%s is\n%s%v, want\n%s%v", name, x, errA, y, errB)
	}
}

// checkReport holds a report against both directories, and its losses against those of loading.
func checkReport(t *testing.T, r *Report, from, to string, load *hf.Report) {
	t.Helper()
	for dir, list := range map[string][]Tensor{from: r.Read, to: r.Wrote} {
		src := open(t, dir)
		var got []string
		for _, x := range list {
			y, err := src.Tensor(x.Name)
			if err != nil || describe(x.Name, y).SHA256 != x.SHA256 || y.Type.String() != x.Format {
				t.Errorf("%s: %s is not as reported: %v", dir, x.Name, err)
			}
			got = append(got, x.Name)
		}
		want := src.Names()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: reports %d tensors, has %d", dir, len(got), len(want))
		}
	}
	lost := 0
	for _, x := range load.Rounded {
		lost += x.Count
	}
	if r.Loss.Changed != lost || r.Loss.Exact() != (r.Loss.Max == 0) || r.Resumed {
		t.Errorf("loss is %v, loading counts %d; resumed %v", r.Loss, lost, r.Resumed)
	}
}

// There and back: what a recast or a widening did can be undone, byte for byte, where packing the numbers again chooses the same scales, as with these.
// Elsewhere the numbers come back under smaller scales.
func TestThereAndBack(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "fp8"))
	as, _ := converted(t, src, options(t, "bf16", hf.Wire))
	back, r := converted(t, as, options(t, "fp8", hf.Ref))
	if !r.Loss.Exact() {
		t.Errorf("packing what was unpacked lost %v", r.Loss)
	}
	a, b := open(t, src), open(t, back)
	for _, name := range a.Names() {
		x, _ := a.Tensor(name)
		y, err := b.Tensor(name)
		if err != nil || x.Type != y.Type {
			t.Errorf("%s is %v, was %v; %v", name, y, x, err)
		}
	}
}

var errStop = errors.New("stop")

// However often it is interrupted, the destination is the same in the end, and the report says all of it.
func TestRunGoesOn(t *testing.T) {
	for _, from := range []hf.Scheme{hf.Ref, hf.Memory} {
		src := saved(t, from, recipe(t, "fp8+fp4"))
		opt := options(t, "fp8", hf.Wire)
		want, once := converted(t, src, opt)
		to := filepath.Join(t.TempDir(), "to")
		attempts := 0
		for n := int64(1); ; n++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			units := int64(0)
			opt.Progress = func(done, total int64) {
				if units++; units >= 5*n { // a few more units each time
					cancel(errStop)
				}
			}
			r, err := Run(ctx, src, to, opt)
			cancel(nil)
			attempts++
			if err == nil {
				if !r.Resumed || r.ReadDigest != once.ReadDigest || r.WroteDigest != once.WroteDigest || r.Loss != once.Loss || len(r.Weights) != len(once.Weights) {
					t.Errorf("report is %v\nwant %v", r, once)
				}
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, err := os.Stat(to); err == nil {
				t.Fatal("the destination is there before it is whole")
			}
		}
		if attempts < 3 {
			t.Errorf("done after %d attempts, want more to test something", attempts)
		}
		list, err := os.ReadDir(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			sameFile(t, to, want, e.Name())
		}
		if left, _ := filepath.Glob(to + ".*"); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	}
}

// interrupted begins a conversion and leaves it half done.
func interrupted(t *testing.T, src, to string, opt Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	units := 0
	opt.Progress = func(done, total int64) {
		if units++; units == 25 {
			cancel()
		}
	}
	if _, err := Run(ctx, src, to, opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v, want that it was interrupted", err)
	}
}

func TestRunRefusesWhatIsNotItsOwn(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "bf16"))
	opt := options(t, "fp8", hf.Ref)
	for name, tt := range map[string]struct {
		change func(to string, opt *Options)
		want   string
	}{
		"another recipe":  {func(_ string, opt *Options) { opt.Recipe = recipe(t, "fp8+fp4") }, "is half of another conversion"},
		"another scheme":  {func(_ string, opt *Options) { opt.Scheme = hf.Wire }, "is half of another conversion"},
		"another cut":     {func(_ string, opt *Options) { opt.ShardBytes++ }, "is half of another conversion"},
		"no journal":      {func(to string, _ *Options) { os.Remove(to + ".part.jsonl") }, "which would say what it is half of"},
		"a foreign line":  {func(to string, _ *Options) { os.WriteFile(to+".part.jsonl", []byte("x\n"), 0o666) }, "is half of another conversion"},
		"a file there":    {func(to string, _ *Options) { os.MkdirAll(filepath.Join(to, "x"), 0o777) }, "has files (x"},
		"a damaged shard": {func(to string, _ *Options) { damage(t, to+".part") }, "model-00001-of-"},
	} {
		to := filepath.Join(t.TempDir(), "to")
		interrupted(t, src, to, opt)
		changed := opt
		tt.change(to, &changed)
		if _, err := Run(t.Context(), src, to, changed); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.want)
		}
	}
	to := filepath.Join(t.TempDir(), "to")
	interrupted(t, src, to, opt)
	if err := os.WriteFile(filepath.Join(src, "notes.txt"), []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), src, to, opt); err == nil || !strings.Contains(err.Error(), "whose source has changed") {
		t.Errorf("after a change of the source: error is %v", err)
	}
}

func damage(t *testing.T, stage string) {
	list, err := filepath.Glob(filepath.Join(stage, "model-00001*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if err := os.Truncate(list[0], 9); err != nil {
		t.Fatal(err)
	}
}

func TestOneAtATime(t *testing.T) {
	src, to := saved(t, hf.Ref, recipe(t, "bf16")), filepath.Join(t.TempDir(), "to")
	opt := options(t, "fp8", hf.Ref)
	tried := false
	opt.Progress = func(int64, int64) {
		if !tried {
			tried = true
			if _, err := Run(t.Context(), src, to, options(t, "fp8", hf.Ref)); err == nil || !strings.Contains(err.Error(), "another process") {
				t.Errorf("a second conversion to the same place: error is %v", err)
			}
		}
	}
	if _, err := Run(t.Context(), src, to, opt); err != nil {
		t.Fatal(err)
	}
}

func TestOtherFilesComeAlong(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "bf16"))
	os.WriteFile(filepath.Join(src, "tokenizer.json"), []byte("{}"), 0o666)
	os.Mkdir(filepath.Join(src, "inference"), 0o777)
	to, r := converted(t, src, options(t, "fp8", 0))
	sameFile(t, to, src, "tokenizer.json")
	if !slices.Equal(r.Copied, []string{"tokenizer.json"}) || !slices.Equal(r.LeftOut, []string{"inference"}) || r.Scheme != "ref" {
		t.Errorf("copied %v, left %v, scheme %s", r.Copied, r.LeftOut, r.Scheme)
	}
	if s := r.String(); !strings.Contains(s, "left   inference") || !strings.Contains(s, "numbers changed") || !strings.Contains(s, "fp8, named as in ref") {
		t.Errorf("report says\n%s", s)
	}
}

func TestRunRefusesSources(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(list []*tensor.Param) []*tensor.Param
		opt    func(o *Options)
		want   string
	}{
		"fewer experts than said": {nil, func(o *Options) { o.Experts = 4 }, `expert 3 is missing ("layers.0.ffn.experts.3.w1.weight" in ref names)`},
		"more experts than said":  {nil, func(o *Options) { o.Experts = 2 }, `is of expert 2, want 0 to 1`},
		"fewer layers than said":  {nil, func(o *Options) { o.Layers = 3 }, "layer 2: has no tensors"},
		"no head":                 {func(list []*tensor.Param) []*tensor.Param { return list[:len(list)-1] }, nil, `parameter "lm_head.weight": is missing`},
		"odd columns": {func(list []*tensor.Param) []*tensor.Param {
			for _, p := range list {
				if strings.HasSuffix(p.Name, "down_proj") {
					p.Value = tensor.New(dtype.BF16, experts, 4, 5)
				}
			}
			return list
		}, nil, "want an even number of columns for FP4"},
		"a NaN": {func(list []*tensor.Param) []*tensor.Param {
			for _, p := range list {
				if strings.HasSuffix(p.Name, "q_a_proj.weight") {
					p.Value.BF16()[7] = 0x7fc0
				}
			}
			return list
		}, nil, `from: tensor "layers.0.attn.wq_a.weight": has numbers that are NaN or infinite, which would spoil what shares their blocks: 1`},
	} {
		dir := filepath.Join(t.TempDir(), "from")
		params := parameters()
		if tt.change != nil {
			params = tt.change(params)
		}
		if err := hf.Save(dir, params, hf.Ref, []byte(`{}`), hf.SaveOptions{Experts: experts}); err != nil {
			t.Fatal(err)
		}
		opt := options(t, "fp8+fp4", hf.Ref)
		if tt.opt != nil {
			tt.opt(&opt)
		}
		to := filepath.Join(t.TempDir(), "to")
		if _, err := Run(t.Context(), dir, to, opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.want)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: there is a destination", name)
		}
	}
}

func TestDraftLayersAreReported(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "bf16"))
	opt := options(t, "fp8", hf.Ref)
	opt.Layers = 1
	_, r := converted(t, src, opt)
	if len(r.Aside) == 0 || !strings.HasPrefix(r.Aside[0], "layers.1.") || !strings.Contains(r.String(), "tensors of draft layers") {
		t.Errorf("set aside %v", r.Aside)
	}
}

// What is allocated for a tensor is less than twice the largest, for all together not much more, and nothing grows with the checkpoint.
func TestRunStreams(t *testing.T) {
	params := parameters()
	for _, p := range params {
		if quant.IsExpert(p.Name) {
			p.Value = tensor.New(dtype.BF16, experts, 1024, 1024)
		}
	}
	dir := filepath.Join(t.TempDir(), "from")
	if err := hf.Save(dir, params, hf.Ref, []byte(`{}`), hf.SaveOptions{Experts: experts}); err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	var most, all uint64
	opt := options(t, "fp8", hf.Ref)
	runtime.ReadMemStats(&before)
	opt.Progress = func(int64, int64) {
		runtime.ReadMemStats(&now)
		most, all = max(most, now.TotalAlloc-before.TotalAlloc), all+now.TotalAlloc-before.TotalAlloc
		before = now
	}
	if _, err := Run(t.Context(), dir, filepath.Join(t.TempDir(), "to"), opt); err != nil {
		t.Fatal(err)
	}
	if largest := uint64(1024 * 1024 * 2); most > 2*largest || most < largest/4 || all > 4*largest {
		t.Errorf("%d bytes are allocated for a tensor and %d for all, want at most twice and four times the largest tensor, %d", most, all, largest)
	}
}
