package oracle

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/tensor"
)

// rewrite copies tensors of one file to another, those that keep wants, after change has seen each.
func rewrite(t *testing.T, from, to string, keep func(string) bool, change func(name string, x *tensor.Tensor) *tensor.Tensor) {
	t.Helper()
	f, err := safetensors.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensors := map[string]*tensor.Tensor{}
	var entries []checkpoint.Entry
	for _, name := range f.Names() {
		if !keep(name) {
			continue
		}
		x, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		if x = change(name, x.Clone()); x != nil {
			tensors[name] = x
			entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: x.Type, Shape: x.Shape}})
		}
	}
	w, err := safetensors.Create(to, entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range tensors {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Each vector of 17 tokens, changed by a thousandth or by one choice, must be missed.
func TestEveryVectorCounts(t *testing.T) {
	v := openVectors(t)
	r := plant(t, v, nil, exact)
	ids, err := v.i32("T17.input_ids")
	if err != nil {
		t.Fatal(err)
	}
	loss, lps, seen := r.backward(ids)
	check := func(v *vectors) *Report {
		rep := newReport()
		err := errors.Join(r.outputs(v, rep, "T17.", loss, lps, seen), r.traced(v, rep, "T17.", seen), r.gradients(v, rep, "T17."))
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := check(v); !rep.OK {
		t.Fatalf("missed %v before any change", missed(rep))
	}
	path := filepath.Join(t.TempDir(), "oracle.safetensors")
	ours := func(name string) bool { return strings.HasPrefix(name, "T17.") || name == "T130.input_ids" }
	for _, changed := range slices.DeleteFunc(v.oracle.Names(), func(name string) bool { return !ours(name) || strings.HasSuffix(name, "input_ids") }) {
		rewrite(t, "testdata/vectors/oracle.safetensors", path, ours, func(name string, x *tensor.Tensor) *tensor.Tensor {
			if name == changed {
				disturb(x, strings.HasSuffix(name, "index_topk"))
			}
			return x
		})
		other := *v
		if other.oracle, err = safetensors.Open(path); err != nil {
			t.Fatal(err)
		}
		if check(&other).OK {
			t.Errorf("a changed %s is not missed", changed)
		}
		other.oracle.Close()
	}
}

// disturb changes one number of x: the first of the middle row, or of the last, since early tokens have no entries to choose from.
func disturb(x *tensor.Tensor, last bool) {
	row := x.Len() / x.Shape[0]
	at := x.Shape[0] / 2 * row
	if last {
		at = x.Len() - row
	}
	switch x.Type {
	case dtype.I32:
		x.I32()[at]++
	case dtype.F32:
		peak := float32(0)
		for _, v := range x.F32() {
			peak = max(peak, v, -v)
		}
		x.F32()[at] += peak / 1000
	default:
		x.F64()[at] += max(1, x.F64()[at]) / 100
	}
}

func TestRunRefuses(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			remove(name)(t, dir)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	weights := func(change func(name string, x *tensor.Tensor) *tensor.Tensor) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			remove("model.safetensors")(t, dir)
			rewrite(t, "testdata/vectors/model.safetensors", filepath.Join(dir, "model.safetensors"), func(string) bool { return true }, change)
		}
	}
	weight := func(wanted string, change func(x *tensor.Tensor)) func(*testing.T, string) {
		return weights(func(name string, x *tensor.Tensor) *tensor.Tensor {
			if name == wanted {
				change(x)
			}
			return x
		})
	}
	vector := func(wanted string, change func(x *tensor.Tensor) *tensor.Tensor) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			remove("oracle.safetensors")(t, dir)
			rewrite(t, "testdata/vectors/oracle.safetensors", filepath.Join(dir, "oracle.safetensors"), func(string) bool { return true },
				func(name string, x *tensor.Tensor) *tensor.Tensor {
					if name == wanted {
						return change(x)
					}
					return x
				})
		}
	}
	set := func(at int, to int32) func(*tensor.Tensor) *tensor.Tensor {
		return func(x *tensor.Tensor) *tensor.Tensor { x.I32()[at] = to; return x }
	}
	as := func(x *tensor.Tensor) func(*tensor.Tensor) *tensor.Tensor {
		return func(*tensor.Tensor) *tensor.Tensor { return x }
	}
	const norm, table = "model.norm.weight", "model.layers.0.mlp.gate.tid2eid"
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T, string)
		want  string
	}{
		{"no config", remove("config.json"), "config.json"},
		{"a config that says nothing", write("config.json", "{}"), "config.json: "},
		{"no meta", remove("meta.json"), "meta.json"},
		{"a broken meta", write("meta.json", "["), "meta.json: "},
		{"no weights", remove("model.safetensors"), "model.safetensors"},
		{"no vectors", remove("oracle.safetensors"), "oracle.safetensors"},
		{"broken vectors", write("oracle.safetensors", "x"), "oracle.safetensors"},
		{"a weight missing", weights(func(name string, x *tensor.Tensor) *tensor.Tensor {
			if name == norm {
				return nil
			}
			return x
		}), norm},
		{"a weight of another shape", weights(func(name string, x *tensor.Tensor) *tensor.Tensor {
			if name == norm {
				return tensor.New(dtype.F32, 65)
			}
			return x
		}), norm + " is F32[65], want shape [64]"},
		{"a weight of another format", weights(func(name string, x *tensor.Tensor) *tensor.Tensor {
			if name == norm {
				return tensor.New(dtype.BF16, 64)
			}
			return x
		}), norm + ": is BF16, want F32"},
		{"a weight that is NaN", weight(norm, func(x *tensor.Tensor) { x.F32()[3] = float32(math.NaN()) }), norm},
		{"a table of no expert", weight(table, func(x *tensor.Tensor) { x.I64()[1] = -5 }), table + ": entry 1 is expert -5, want 0 to 7"},
		{"a token beyond the vocabulary", vector("T5.input_ids", set(3, 97)), "T5.input_ids: number 3 is 97, want 0 to 96"},
		{"a token below 0", vector("greedy0.prompt", set(0, -5)), "greedy0.prompt: number 0 is -5, want 0 to 96"},
		{"an entry that is neither one nor none", vector("T64.L1.index_topk", set(5, -5)), "T64.L1.index_topk: number 5 is -5, want -1 to "},
		{"tokens in floats", vector("T17.input_ids", as(tensor.New(dtype.F32, 17))), "T17.input_ids is F32[17], want I32"},
		{"truths in integers", vector("T17.loss", as(tensor.New(dtype.I64, 1))), "T17.loss is I64[1], want F32, F64 or BF16"},
		{"transposed choices", vector("T64.L1.index_topk", as(tensor.New(dtype.I32, 4, 64))), "T64.L1.index_topk is I32[4 64], want shape [64 *]"},
		{"choices without rows", vector("T64.L1.router_indices", as(tensor.New(dtype.I32, 128))), "T64.L1.router_indices is I32[128], want shape [64 2]"},
		{"a transposed part", vector("T17.L0.mlp_out", as(tensor.New(dtype.F32, 64, 17))), "T17.L0.mlp_out is F32[64 17], want shape [17 64]"},
		{"a gradient of another shape", vector("grad/"+norm, as(tensor.New(dtype.F32, 8, 8))), "grad/" + norm + " is F32[8 8], want shape [64]"},
		{"fewer digests than names", vector("T5.grad_digest", as(tensor.New(dtype.F64, 153, 4))), "T5.grad_digest is F64[153 4], want shape [154 4]"},
		{"a norm too few", vector("adamw.grad_norms", as(tensor.New(dtype.F64, 4))), "adamw.losses is F64[6] and adamw.grad_norms F64[4]"},
		{"a config with fewer layers than weights", write("config.json", strings.NewReplacer(
			`"num_hidden_layers": 6`, `"num_hidden_layers": 5`, "\n  \"heavily_compressed_attention\",\n  \"sliding_attention\"\n", "\n  \"heavily_compressed_attention\"\n",
			"\n  \"moe\",\n  \"moe\",\n  \"moe\"\n", "\n  \"moe\",\n  \"moe\"\n").Replace(string(read(t, "testdata/vectors/config.json")))), "model.safetensors has 172 tensors, the model "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"config.json", "meta.json", "model.safetensors", "oracle.safetensors"} {
				if err := os.WriteFile(filepath.Join(dir, name), read(t, "testdata/vectors/"+name), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			tt.spoil(t, dir)
			_, err := Run(t.Context(), dir, Options{Fast: exact})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRunStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(ctx, "testdata/vectors", Options{Fast: exact}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
}

// A directory may be of a model alone.
func TestNumberFormatsMayBeAbsent(t *testing.T) {
	rep := newReport()
	if err := codecs(&vectors{dir: t.TempDir()}, rep); err != nil {
		t.Fatal(err)
	}
	rep.require("quantised bytes")
	if c := rep.Checks[0]; !rep.OK || c.Where != "no quant.safetensors" {
		t.Errorf("OK is %v: %v, want true and a word that nothing was there", rep.OK, c)
	}
}
