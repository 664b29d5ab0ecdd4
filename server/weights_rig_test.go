package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/api/sglang"
	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/intake"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tensor"
	"furlong/weightsync"
)

// engineFormats are how engines of these tests hold weights.
var engineFormats = []string{"bf16", "fp8", "fp8+fp4"}

// weightsOf returns the parameters of a policy in a format.
func weightsOf(t testing.TB, format string, seed uint64) []*tensor.Param {
	t.Helper()
	ps := dsv4.New(small(), dtype.BF16).Params()
	r, err := quant.ParseRecipe(format)
	if err == nil {
		err = r.Apply(ps)
	}
	if err != nil {
		t.Fatal(err)
	}
	from := policy(seed).Params()
	for i, p := range ps {
		hf.Convert(p.Value, from[i].Value)
	}
	return ps
}

// checkpointOf writes a policy as a checkpoint below root and returns its folder.
func checkpointOf(t testing.TB, root, name, format string, seed uint64, s hf.Scheme) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := hf.Save(dir, weightsOf(t, format, seed), s, []byte("{}"), hf.SaveOptions{Experts: small().Experts}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A weightSite is a server that takes weights, and a folder that it may read.
type weightSite struct {
	*site
	root string
}

// serveWeights runs a server whose engine holds weights in a format and began with seed 1.
func serveWeights(t testing.TB, format string, edit func(*Config, *Parts)) *weightSite {
	t.Helper()
	root := t.TempDir()
	return serveFrom(t, format, root, checkpointOf(t, root, "first", format, 1, hf.Ref), edit)
}

// serveFrom runs a server that was started on a checkpoint.
func serveFrom(t testing.TB, format, root, dir string, edit func(*Config, *Parts)) *weightSite {
	t.Helper()
	cfg := engineConfig()
	cfg.Format = format
	m, first := dsv4.New(small(), dtype.BF16), weightsOf(t, format, 0)
	e, err := rollout.New(cfg, m, ref.New[float32]())
	if err != nil {
		t.Fatal(err)
	}
	model, err := intake.Describe(m.Params(), len(small().Layers), small().Experts)
	if err != nil {
		t.Fatal(err)
	}
	background(t, e.Run)
	if _, err := hf.Load(dir, first, hf.LoadOptions{Layers: len(small().Layers), Experts: small().Experts}); err != nil {
		t.Fatal(err)
	}
	if err := e.Update(t.Context(), weightsync.Of(1, weightsync.Flatten(first), weightsync.Everything)); err != nil {
		t.Fatal(err)
	}
	u := serveOn(t, e, cfg.Context, func(c *Config, p *Parts) {
		p.Weights = &Weights{Model: model, Base: dir, Roots: []string{root}}
		if edit != nil {
			edit(c, p)
		}
	})
	u.engine = e
	return &weightSite{u, root}
}

// tensorsOf returns the tensors of a checkpoint.
func tensorsOf(t testing.TB, dir string) []rl.Tensor {
	t.Helper()
	src, err := safetensors.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out []rl.Tensor
	for _, name := range src.Names() {
		x, err := src.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rl.Tensor{Name: name, Type: x.Type.String(), Shape: x.Shape, Data: bytes.Clone(x.Mem)})
	}
	return out
}

// fileOf returns tensors that keep says yes to as one safetensors file.
func fileOf(t testing.TB, ts []rl.Tensor, keep func(name string) bool) []byte {
	t.Helper()
	var list []checkpoint.Entry
	data := map[string]*tensor.Tensor{}
	for _, x := range ts {
		if keep != nil && !keep(x.Name) {
			continue
		}
		typ, _ := intake.ParseType(x.Type)
		list = append(list, checkpoint.Entry{Name: x.Name, Info: checkpoint.Info{Type: typ, Shape: x.Shape}})
		data[x.Name] = &tensor.Tensor{Type: typ, Shape: x.Shape, Mem: x.Data}
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	w, err := safetensors.Create(path, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range data {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// send posts a bucket as a body.
func (u *weightSite) send(query string, file []byte) (int, sglang.Outcome) {
	u.Helper()
	return u.outcome(u.call("POST", "/update_weights_from_stream"+query, string(file), "Content-Type", "application/octet-stream"))
}

// outcome reads the answer of a weight endpoint.
func (u *weightSite) outcome(code int, raw []byte) (int, sglang.Outcome) {
	u.Helper()
	var o sglang.Outcome
	if err := json.Unmarshal(raw, &o); err != nil || o.Message == "" || o.Success != (code == http.StatusOK) {
		u.Fatalf("%d %s, %v", code, raw, err)
	}
	return code, o
}

// done fails unless a call succeeds, and returns its message.
func (u *weightSite) done(path, body string) string {
	u.Helper()
	code, o := u.outcome(u.post(path, body))
	if code != http.StatusOK {
		u.Fatalf("POST %s %s: %d %s", path, body, code, o.Message)
	}
	return o.Message
}

// sent fails unless a bucket is taken up.
func (u *weightSite) sent(query string, file []byte) string {
	u.Helper()
	code, o := u.send(query, file)
	if code != http.StatusOK {
		u.Fatalf("stream%s: %d %s", query, code, o.Message)
	}
	return o.Message
}

// denied fails unless a call is refused with a status and a message.
func (u *weightSite) denied(path, body string, want int, says string) {
	u.Helper()
	code, o := u.outcome(u.post(path, body))
	if code != want || !strings.Contains(o.Message, says) {
		u.Errorf("POST %s %.200s: %d %q, want %d with %q", path, body, code, o.Message, want, says)
	}
}

// unsent fails unless a bucket is refused with a message.
func (u *weightSite) unsent(query string, file []byte, says string) {
	u.Helper()
	if code, o := u.send(query, file); code != http.StatusBadRequest || !strings.Contains(o.Message, says) {
		u.Errorf("stream%s: %d %q, want 400 with %q", query, code, o.Message, says)
	}
}

// impression is what a server answers to some prompts, logprobs of prompts included.
func (u *weightSite) impression() string {
	u.Helper()
	u.eventually("flushed", func() bool { code, _ := u.call("GET", "/flush_cache", ""); return code == http.StatusOK })
	var b strings.Builder
	for i := range 2 {
		a := u.one(fmt.Sprintf(`{"input_ids":[%d,5,6,7,8,9],"return_logprob":true,"logprob_start_len":0,"sampling_params":{"max_new_tokens":9,"temperature":1,"sampling_seed":%d}}`, 40+i, i))
		for _, lp := range []sglang.Triples{a.Meta.InputLogProbs, a.Meta.OutputLogProbs} {
			raw, err := json.Marshal(lp)
			if err != nil {
				u.Fatal(err)
			}
			fmt.Fprintln(&b, string(raw))
		}
	}
	return b.String()
}

// version returns the label that the server tells.
func (u *weightSite) version() string {
	u.Helper()
	var m sglang.ModelInfo
	code, raw := u.call("GET", "/model_info", "")
	if err := json.Unmarshal(raw, &m); err != nil || code != http.StatusOK {
		u.Fatalf("%d %s", code, raw)
	}
	return m.WeightVersion
}

// like fails unless the server answers as before, under a label.
func (u *weightSite) like(what, want, label string) {
	u.Helper()
	if got := u.impression(); got != want {
		u.Errorf("%s: answers\n%s, want\n%s", what, got, want)
	}
	if got := u.version(); got != label {
		u.Errorf("%s: weight_version is %q, want %q", what, got, label)
	}
}
