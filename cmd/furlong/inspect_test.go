package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/train"
)

// sized is a new model of the benchmark configuration of two million parameters.
func sized(t *testing.T) (*dsv4.Model, []byte) {
	t.Helper()
	raw, err := os.ReadFile("../../bench/models/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	m := dsv4.New(cfg, dtype.F32)
	m.Init(1)
	return m, raw
}

// looked returns what inspect finds.
func looked(t *testing.T, path string, digest bool) *contents {
	t.Helper()
	c, err := inspect(t.Context(), inspectOptions{Path: path, Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs the command in this process.
func inspectCommand(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	v := &env{name: "inspect", args: args, stdout: &o, stderr: &e, log: newLog(&e, false, false)}
	code = runInspect(context.Background(), v)
	return code, o.String(), e.String()
}

func TestInspectModel(t *testing.T) {
	m, raw := sized(t)
	dir := t.TempDir()
	whole, cut := filepath.Join(dir, "whole"), filepath.Join(dir, "cut")
	for path, opt := range map[string]hf.SaveOptions{whole: {Experts: 16}, cut: {Experts: 16, ShardBytes: 2 << 20}} {
		if err := hf.Save(path, m.Params(), hf.Ref, raw, opt); err != nil {
			t.Fatal(err)
		}
	}
	c := looked(t, whole, true)
	if c.Kind != "model" || c.Model.Scheme != "ref" || c.Model.Parameters != 1998433 || c.Model.Active != 900705 || c.Model.Draft != 0 {
		t.Errorf("%s, names %s, %d parameters, %d on a token, %d in drafts; want model, ref, 1998433, 900705, 0",
			c.Kind, c.Model.Scheme, c.Model.Parameters, c.Model.Active, c.Model.Draft)
	}
	numbers := map[string]int64{}
	for _, f := range c.Model.Formats {
		numbers[f.Format] = f.Numbers
	}
	if numbers["F32"] != 1998433 || numbers["I64"] != 2*512*2 || c.Model.Bytes != 4*1998433+8*2048 {
		t.Errorf("numbers are %v in %d bytes, want 1998433 F32 and 2048 I64", numbers, c.Model.Bytes)
	}
	if other := looked(t, cut, true); other.Model.Digest != c.Model.Digest || len(other.Model.Digest) != 64 {
		t.Errorf("the same model in shards has digest %s, want %s", other.Model.Digest, c.Model.Digest)
	}
	m.Head().Value.F32()[0]++
	changed := filepath.Join(dir, "changed")
	if err := hf.Save(changed, m.Params(), hf.Ref, raw, hf.SaveOptions{Experts: 16}); err != nil {
		t.Fatal(err)
	}
	if other := looked(t, changed, true); other.Model.Digest == c.Model.Digest {
		t.Error("another model has the same digest")
	}
}

func TestInspectPrints(t *testing.T) {
	m, raw := sized(t)
	dir := filepath.Join(t.TempDir(), "model")
	if err := hf.Save(dir, m.Params(), hf.Memory, raw, hf.SaveOptions{Experts: 16}); err != nil {
		t.Fatal(err)
	}
	code, out, errs := inspectCommand(dir)
	want := dir + `: model
names        memory
tensors      172, 8,010,116 bytes
             I64: 2 tensors, 2,048 numbers, 16,384 bytes
             F32: 170 tensors, 1,998,433 numbers, 7,993,732 bytes
parameters   1,998,433, of which 900,705 work on a token
model        DeepSeek-V4: 512 tokens of vocabulary, 128 channels, 4 streams, 4096 positions
attention    4 heads of 64, queries by way of 64, outputs by way of 2 groups of 32, window 64
compression  1 entry for 4 tokens, the best 16 of them by 4 heads of 32; 1 for 32 tokens
experts      16 of width 32, 2 chosen, 1 shared
layers       1 sliding_attention, router hash_moe: 0
             1 compressed_sparse_attention, router hash_moe: 1
             2 heavily_compressed_attention, router moe: 2, 4
             1 compressed_sparse_attention, router moe: 3
             1 sliding_attention, router moe: 5
tensors      are those of config.json's model
`
	if code != exitOK || errs != "" {
		t.Errorf("exits with %d, says %q", code, errs)
	}
	if lines(out) != lines(want) {
		t.Errorf("prints\n%s\nwant, in any order of formats,\n%s", out, want)
	}
	if code, out, _ = inspectCommand("--tensors", filepath.Join(dir, "model.safetensors")); code != exitOK || !strings.Contains(out, "lm_head.weight") {
		t.Errorf("--tensors exits with %d and prints\n%s", code, out)
	}
}

// lines returns text with its format lines in alphabetical order, which is that of neither file nor memory.
func lines(text string) string {
	i, j := strings.Index(text, "F32:"), strings.Index(text, "I64:")
	if i < 0 || j < i {
		return text
	}
	head, rest := text[:i], text[i:]
	first, rest, _ := strings.Cut(rest, "\n")
	second, rest, _ := strings.Cut(rest, "\n")
	return head + strings.TrimSpace(second) + "\n             " + first + "\n" + rest
}

// savedRun writes a checkpoint of a run: a trainer's state, the loop's part, the manifest.
func savedRun(t *testing.T) string {
	t.Helper()
	m, raw := sized(t)
	dir := t.TempDir()
	e, err := train.New(train.Default(), m, nil, ref.New[float32](), train.Files{ConfigJSON: raw, Layers: 6, Experts: 16})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "trainer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := e.Save(t.Context(), filepath.Join(dir, "trainer")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "loop.json"), []byte(`{"cycle":7,"pushes":8,"skipped":0,"gather":{"prompts":"","batches":[{"cycle":8,"version":8,"groups":[{"prompt":{},"samples":[{},{}]}]}],"account":{}}}`))
	files := map[string]string{}
	for _, name := range []string{"loop.json", "trainer/optimizer.safetensors", "trainer/model/config.json", "trainer/model/model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		files[name] = hex.EncodeToString(sum[:])
	}
	manifest, err := json.Marshal(map[string]any{"files": files})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "manifest.json"), manifest)
	return dir
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestInspectRun(t *testing.T) {
	dir := savedRun(t)
	c := looked(t, dir, false)
	if c.Kind != "checkpoint of a run" || c.Loop.Cycle != 7 || c.Loop.Files != 4 || len(c.Loop.Damage) != 0 || c.Loop.Waiting[0].Samples != 2 {
		t.Errorf("%s, %+v; want cycle 7, 4 whole files, 2 samples waiting", c.Kind, c.Loop)
	}
	if c.Optimizer.Steps != "0" || c.Optimizer.Tensors == 0 || c.Optimizer.Bytes < 3*4*1900000 || c.Model.Parameters != 1998433 {
		t.Errorf("optimizer is %+v, model has %d parameters", c.Optimizer, c.Model.Parameters)
	}
	if c := looked(t, filepath.Join(dir, "trainer"), false); c.Kind != "state of a trainer" || c.Loop != nil || c.Optimizer == nil {
		t.Errorf("the trainer's part is %+v", c)
	}
	code, out, errs := inspectCommand("--json", dir)
	var got contents
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || errs != "" || err != nil || got.Loop.Pushes != 8 || got.Model.Active != 900705 {
		t.Errorf("--json exits with %d, says %q and prints %.200s", code, errs, out)
	}
}

func TestInspectNamesDamage(t *testing.T) {
	dir := savedRun(t)
	write(t, filepath.Join(dir, "trainer", "model", "config.json.bak"), []byte("x"))
	raw, err := os.ReadFile(filepath.Join(dir, "loop.json"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "loop.json"), append(raw, '\n'))
	code, out, errs := inspectCommand(dir)
	if code != exitFailed || !strings.Contains(out, "4 files, 2 not as written") {
		t.Errorf("exits with %d and prints\n%s", code, out)
	}
	for _, want := range []string{": loop.json has changed: sha256 is ", ": trainer/model/config.json.bak is not in the manifest\n"} {
		if !strings.Contains(errs, want) {
			t.Errorf("it does not say %q:\n%s", want, errs)
		}
	}
}

// A manifest that names nothing is damage like another.
func TestInspectWithoutManifest(t *testing.T) {
	dir := savedRun(t)
	for text, want := range map[string]string{
		"{}":   "manifest.json: has no files, want the SHA-256 of each",
		"null": "manifest.json: has no files, want the SHA-256 of each",
		"{":    "manifest.json: unexpected end of JSON input",
	} {
		write(t, filepath.Join(dir, "manifest.json"), []byte(text))
		if code, _, errs := inspectCommand(dir); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%s: exits with %d and says %q, want %q", text, code, errs, want)
		}
	}
}

// What the manifest says comes first, even of files without which nothing can be read.
func TestInspectNamesMissingFiles(t *testing.T) {
	dir := savedRun(t)
	for _, name := range []string{"loop.json", "trainer/optimizer.safetensors", "trainer/model/config.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "trainer", "model", "model.safetensors"), []byte("short"))
	code, out, errs := inspectCommand(dir)
	if code != exitFailed || !strings.Contains(out, "loop      cannot be read\n") || !strings.Contains(out, "4 files, 4 not as written") {
		t.Errorf("exits with %d and prints\n%s", code, out)
	}
	want := []string{
		": loop.json is missing\n", ": trainer/model/config.json is missing\n", ": trainer/model/model.safetensors has changed: sha256 is ", ": trainer/optimizer.safetensors is missing\n",
		"optimizer.safetensors: no such file", "model.safetensors: ",
	}
	for _, w := range want {
		_, rest, ok := strings.Cut(errs, w)
		if !ok {
			t.Fatalf("it does not say %q after the others:\n%s", w, errs)
		}
		errs = rest
	}
}

// Tensors that are missing, of another shape, or too many for the model in config.json.
func TestInspectComparesWithConfig(t *testing.T) {
	m, raw := sized(t)
	for _, tt := range []struct {
		name, from, to string // in config.json
		wants          []string
	}{
		{"as it is", "", "", nil},
		{"wider", `"hidden_size": 128`, `"hidden_size": 256`, []string{`tensor "embed.weight": has shape [512 128], want [512 256]`}},
		{"more experts", `"n_routed_experts": 16`, `"n_routed_experts": 17`, []string{
			`tensor "layers.0.ffn.experts.16.w1.weight": is missing, wanted for parameter "model.layers.0.mlp.experts.gate_up_proj"`, `tensor "layers.5.ffn.gate.weight": has shape [16 128], want [17 128]`,
		}},
		{"fewer experts", `"n_routed_experts": 16`, `"n_routed_experts": 15`, []string{`tensor "layers.0.ffn.experts.15.w1.weight": is of no parameter of the model in config.json`}},
	} {
		changed := strings.Replace(string(raw), tt.from, tt.to, 1)
		if tt.from != "" && changed == string(raw) {
			t.Fatalf("%s: config.json has no %s", tt.name, tt.from)
		}
		dir := filepath.Join(t.TempDir(), "model")
		if err := hf.Save(dir, m.Params(), hf.Ref, []byte(changed), hf.SaveOptions{Experts: 16}); err != nil {
			t.Fatal(err)
		}
		code, out, errs := inspectCommand(dir)
		if (code == exitOK) != (tt.wants == nil) || (errs == "") != (tt.wants == nil) {
			t.Errorf("%s: exits with %d, prints\n%s\nand says\n%s", tt.name, code, out, errs)
		}
		for _, w := range tt.wants {
			if !strings.Contains(errs, "furlong inspect: "+dir+": "+w+"\n") {
				t.Errorf("%s: it does not say %q:\n%.2000s", tt.name, w, errs)
			}
		}
	}
}

// Formats in which a parameter is not a number.
func TestInspectCountsQuantised(t *testing.T) {
	entry := func(name string, f dtype.Type, shape ...int) checkpoint.Entry {
		return checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: f, Shape: shape}}
	}
	src := checkpoint.NewMemory(
		entry("embed.weight", dtype.BF16, 10, 4),                   // 40, at work on no token
		entry("layers.0.ffn.experts.0.w1.weight", dtype.I8, 2, 16), // 64 codes, half of the experts chosen
		entry("layers.0.ffn.experts.0.w1.scale", dtype.E8M0, 2, 1),
		entry("layers.0.attn.wq_a.weight", dtype.E4M3, 4, 4), // 16
		entry("layers.0.attn.wq_a.scale", dtype.E8M0, 1, 1),
		entry("layers.0.attn.wkv.weight", dtype.E4M3, 2, 4), // 8
		entry("layers.0.attn.wkv.weight_scale_inv", dtype.F32, 1, 1),
		entry("layers.0.hc_attn_scale", dtype.F32, 3),              // 3: a parameter, for all its name
		entry("layers.0.ffn.gate.tid2eid", dtype.I64, 10, 2),       // a table
		entry("layers.1.attn.wq_a.weight", dtype.BF16, 4, 4),       // of a draft layer
		entry("mtp.0.layers.0.attn.wq_a.weight", dtype.BF16, 2, 2), // too
	)
	m := modelContents{Config: &dsv4.Config{Layers: make([]dsv4.Layer, 1), Experts: 2, TopK: 1}}
	m.count(src, src.Names())
	if m.Parameters != 40+64+16+8+3 || m.Active != 32+16+8+3 || m.Draft != 20 {
		t.Errorf("%d parameters, %d on a token, %d in drafts; want 131, 59, 20", m.Parameters, m.Active, m.Draft)
	}
}

func TestSpans(t *testing.T) {
	for _, tt := range []struct {
		n    []int
		want string
	}{
		{[]int{3}, "3"},
		{[]int{0, 1, 2, 5, 7, 8}, "0-2, 5, 7-8"},
		{[]int{2, 4}, "2, 4"},
		{[]int{3, 5, 7, 9}, "3, 5, .., 9"},
		{[]int{0, 1, 2, 3}, "0-3"},
	} {
		if got := spans(tt.n); got != tt.want {
			t.Errorf("spans(%v) = %q, want %q", tt.n, got, tt.want)
		}
	}
}
