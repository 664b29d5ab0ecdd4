package intake

import (
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
)

func TestLocate(t *testing.T) {
	m := describe(t, "fp8+fp4")
	for _, tt := range []struct {
		name, param string
		lo          int
		shape       []int
		scale       bool
	}{
		{"layers.0.attn.wkv.weight", "model.layers.0.self_attn.kv_proj.weight", 0, []int{8, 40}, false},
		{"model.layers.0.self_attn.wkv.weight_scale_inv", "model.layers.0.self_attn.kv_proj.weight", 0, []int{8, 40}, true},
		{"model.layers.1.mlp.experts.2.up_proj.weight", "model.layers.1.mlp.experts.gate_up_proj", 5 * 130 * 40, []int{130, 40}, false},
		{"layers.1.ffn.experts.2.w2.weight", "model.layers.1.mlp.experts.down_proj", 2 * 130 * 40, []int{40, 130}, false},
		{"norm.weight", "model.norm.weight", 0, []int{40}, false},
	} {
		f, err := m.Locate(tt.name)
		if err != nil || f.Param != tt.param || f.Piece.Lo != tt.lo || !slices.Equal(f.Piece.Shape, tt.shape) || f.Scale != tt.scale {
			t.Errorf("%s is %+v, %v", tt.name, f, err)
		}
	}
	for name, want := range map[string]string{
		"no.such.weight": "no place for it", "layers.7.attn.wkv.weight": "no place for it", "norm.scale": "held as F32, without scales",
		"layers.1.ffn.experts.9.w2.weight": "is of expert 9, want 0 to 2",
	} {
		if f, err := m.Locate(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %+v, %v, want %q", name, f, err, want)
		}
	}
	if got := m.Names(hf.Ref, "model.layers.1.mlp.experts.down_proj"); len(got) != 3 || got[2] != "layers.1.ffn.experts.2.w2.weight" {
		t.Errorf("names are %q", got)
	}
}
