package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/tensor"
)

// flip changes a bit of the last number in the first file that a pattern finds.
func flip(t *testing.T, pattern string) {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	data, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(list[0], data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// What an interrupted attempt left is not taken for what it wrote because its names and shapes are right.
func TestRunRefusesKeptBytesThatChanged(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "bf16"))
	opt := options(t, "fp8", hf.Ref)
	to := filepath.Join(t.TempDir(), "to")
	interrupted(t, src, to, opt)
	shard := filepath.Join(to+".part", "model-00001-of-*")
	flip(t, shard)
	if _, err := Run(t.Context(), src, to, opt); err == nil || !strings.Contains(err.Error(), "holds other bytes than were written; remove "+to+".part and "+to+".part.jsonl") {
		t.Errorf("error is %v, want that a tensor holds other bytes", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("there is a destination")
	}
	flip(t, shard) // back
	if _, err := Run(t.Context(), src, to, opt); err != nil {
		t.Error(err)
	}
}

func TestCheckNoticesABit(t *testing.T) {
	to, r := converted(t, saved(t, hf.Ref, recipe(t, "bf16")), options(t, "fp8", hf.Ref))
	if err := r.Check(to); err != nil {
		t.Errorf("as written: %v", err)
	}
	flip(t, filepath.Join(to, "model-00002-of-*"))
	if err := r.Check(to); err == nil || !strings.Contains(err.Error(), "holds other bytes than were written") {
		t.Errorf("after a bit has changed: error is %v", err)
	}
}

func TestRunRefusesPlaces(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "bf16"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(src, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		filepath.Join(src, "to"):  "lies in the source",
		filepath.Join(link, "to"): "lies in the source",
		".":                       "want a directory by its name",
		"../":                     "want a directory by its name",
		"missing/to":              "missing/to: can't be written in missing: no such file or directory",
		"file/to":                 "file/to: can't be written in file: not a directory",
		src:                       "has files (",
		link:                      "has files (",
	} {
		if _, err := Run(t.Context(), src, to, options(t, "fp8", hf.Ref)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to %q: error is %v, want %q", to, err, want)
		}
	}
	if list, err := filepath.Glob(src + "/*.part*"); len(list) > 0 || err != nil {
		t.Errorf("left %v, %v", list, err)
	}
}

// With the model's parameters given, the source must be a checkpoint of that model.
func TestRunHoldsTheSourceAgainstTheModel(t *testing.T) {
	src := saved(t, hf.Ref, recipe(t, "fp8+fp4"))
	opt := options(t, "bf16", hf.Wire)
	opt.Params = parameters()
	converted(t, src, opt)
	for name, tt := range map[string]struct {
		change func(list []*tensor.Param) []*tensor.Param
		want   string
	}{
		"a wider head":    {wider, `tensor "head.weight": has shape [20 10], want [20 11]`},
		"one norm less":   {func(l []*tensor.Param) []*tensor.Param { return append(l[:1:1], l[2:]...) }, `tensor "layers.0.attn_norm.weight": is of no parameter of the model`},
		"one matrix more": {more, `tensor "layers.0.attn.wq_b.weight": is missing, wanted for parameter "model.layers.0.self_attn.q_b_proj.weight"`},
	} {
		opt.Params = tt.change(parameters())
		to := filepath.Join(t.TempDir(), "to")
		if _, err := Run(t.Context(), src, to, opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tt.want)
		}
		if left, _ := filepath.Glob(to + "*"); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func wider(list []*tensor.Param) []*tensor.Param {
	list[len(list)-1].Value = tensor.New(dtype.BF16, 20, 11)
	return list
}

func more(list []*tensor.Param) []*tensor.Param {
	return append(list, &tensor.Param{Name: "model.layers.0.self_attn.q_b_proj.weight", Value: tensor.New(dtype.BF16, 4, 4)})
}
