package intake

import (
	"strings"
	"testing"

	"furlong/checkpoint/hf"
)

// Every name of every scheme, with "model." or without, leads to one place: no two parameters have a name in common.
func TestNamesAreUnambiguous(t *testing.T) {
	for _, p := range empty(t, "fp8+fp4") {
		for s := hf.Memory; s <= hf.Wire; s++ {
			pieces, err := hf.Pieces(s, p.Name, p.Value.Shape)
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range pieces {
				bare := strings.TrimPrefix(piece.Name, "model.")
				for _, name := range []string{piece.Name, bare, "model." + bare} {
					if got, ok := find(name); !ok || got.Place != piece.Place || got.scale {
						t.Errorf("%s of %v is %+v, want %+v", name, s, got, piece.Place)
					}
					if !p.Value.Quantised() {
						continue
					}
					for _, scale := range []string{name + "_scale_inv", strings.TrimSuffix(name, ".weight") + ".scale"} {
						got, ok := find(scale)
						if strings.HasSuffix(name, ".weight") && (!ok || got.Place != piece.Place || !got.scale) {
							t.Errorf("%s is %+v, %v, want the scales of %+v", scale, got, ok, piece.Place)
						}
					}
				}
			}
		}
	}
	for _, name := range []string{"", ".", "model.", "scale", ".scale", "_scale_inv", "model.model.norm.weight", "layers.00.attn.wkv.weight", "layers.0.ffn.experts.-1.w1.weight"} {
		if got, ok := find(name); ok {
			t.Errorf("%q is %+v", name, got)
		}
	}
}
