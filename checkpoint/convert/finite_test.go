package convert

import (
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

// spoiled returns a directory with numbers that are none: two in a norm, one in an embedding, and codes of NaN in matrices of experts.
func spoiled(t *testing.T, format string, s hf.Scheme) string {
	t.Helper()
	params := model(t, recipe(t, format))
	for _, p := range params {
		switch v := p.Value; {
		case p.Name == "model.layers.1.input_layernorm.weight":
			v.F32()[3], v.F32()[9] = float32(math.NaN()), float32(math.Inf(1))
		case p.Name == "model.embed_tokens.weight":
			v.BF16()[7] = 0x7fc1
		case p.Name == "model.layers.0.mlp.experts.gate_up_proj" && v.Type == dtype.E4M3:
			for _, row := range []int{0, 131, 260} { // gate and up of expert 0, gate of expert 1
				v.Mem[row*34+row%34] |= 0x7f
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "from")
	if err := hf.Save(dir, params, s, []byte(`{"a": 1}`), hf.SaveOptions{Experts: experts}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Numbers that are none are named and counted by tensors of the source, whatever these are split into, and come out as they were.
func TestRunKeepsWhatIsNotFinite(t *testing.T) {
	for _, tt := range []struct {
		from   string
		scheme hf.Scheme
		to     string
		want   []NotFinite
	}{
		{"bf16", hf.Ref, "fp8", []NotFinite{{"embed.weight", 1}, {"layers.1.attn_norm.weight", 2}}},
		{"fp8", hf.Memory, "fp8", []NotFinite{{"model.embed_tokens.weight", 1}, {"model.layers.0.mlp.experts.gate_up_proj", 3}, {"model.layers.1.input_layernorm.weight", 2}}},
		{"fp8", hf.Memory, "bf16", []NotFinite{{"model.embed_tokens.weight", 1}, {"model.layers.0.mlp.experts.gate_up_proj", 3}, {"model.layers.1.input_layernorm.weight", 2}}},
	} {
		opt := options(t, tt.to, hf.Wire)
		opt.KeepNotFinite = true
		to, r := converted(t, spoiled(t, tt.from, tt.scheme), opt)
		slices.SortFunc(r.NotFinite, func(a, b NotFinite) int { return strings.Compare(a.Name, b.Name) })
		if !slices.Equal(r.NotFinite, tt.want) || !strings.Contains(r.String(), `kept   "`+tt.want[len(tt.want)-1].Name+`" has numbers that are NaN or infinite: 2`) {
			t.Errorf("%s to %s: counted %v, want %v; says\n%s", tt.from, tt.to, r.NotFinite, tt.want, r)
		}
		x, err := open(t, to).Tensor("model.layers.1.input_layernorm.weight")
		if err != nil || quant.NotFinite(x) != 2 {
			t.Errorf("%s to %s: %v, want 2 in %v", tt.from, tt.to, err, x)
		}
	}
}

// Without leave they end the conversion; with it, or without it again, that goes on where it stands.
func TestRunRefusesWhatIsNotFinite(t *testing.T) {
	src, to := spoiled(t, "bf16", hf.Ref), filepath.Join(t.TempDir(), "to")
	opt := options(t, "fp8", hf.Ref)
	for range 2 {
		if _, err := Run(t.Context(), src, to, opt); !errors.Is(err, ErrNotFinite) || err.Error() != src+`: tensor "layers.1.attn_norm.weight": has numbers that are NaN or infinite: 2` {
			t.Fatalf("error is %v, want that a tensor has two such numbers", err)
		}
	}
	opt.KeepNotFinite = true
	r, err := Run(t.Context(), src, to, opt)
	if err != nil || !r.Resumed || len(r.NotFinite) != 2 {
		t.Errorf("with leave: %v, %+v", err, r)
	}
}

// Where such a number would be packed it spoils its block, so there is no leave.
func TestRunPacksNothingThatIsNotFinite(t *testing.T) {
	opt := options(t, "fp8+fp4", hf.Ref)
	opt.KeepNotFinite = true
	_, err := Run(t.Context(), spoiled(t, "fp8", hf.Ref), filepath.Join(t.TempDir(), "to"), opt)
	if !errors.Is(err, ErrSpoils) || strings.Count(err.Error(), `"layers.0.ffn.experts.0.w1.weight"`) != 1 {
		t.Errorf("error is %v, want that a code of NaN would spoil others, of one tensor named once", err)
	}
}

// A number that the destination's format has no room for is no loss but an error.
func TestRunRefusesOverflow(t *testing.T) {
	params := parameters()
	head := tensor.New(dtype.F32, 20, 10)
	head.F32()[4] = math.MaxFloat32
	params[len(params)-1].Value = head
	src := filepath.Join(t.TempDir(), "from")
	if err := hf.Save(src, params, hf.Ref, []byte(`{}`), hf.SaveOptions{Experts: experts}); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), src, filepath.Join(t.TempDir(), "to"), options(t, "bf16", hf.Ref))
	if err == nil || err.Error() != src+`: tensor "head.weight": has a number too large for BF16` {
		t.Errorf("error is %v, want that a number is too large", err)
	}
}

// A list of nothing is a list, for readers of the object.
func TestReportHasNoNull(t *testing.T) {
	_, r := converted(t, saved(t, hf.Ref, recipe(t, "bf16")), options(t, "fp8", hf.Ref))
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "null") || !strings.Contains(string(text), `"aside":[]`) {
		t.Errorf("%v, %s", err, text)
	}
}
