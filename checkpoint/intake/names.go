package intake

import (
	"strings"

	"furlong/checkpoint/hf"
)

// A target is where a tensor belongs: a place of the model, or the scales beside it.
type target struct {
	hf.Place
	scale bool
}

// find returns the place of a name of any scheme, with "model." before it or without. A parameter's own name wins over a scale's: hc_attn_scale
// and attn_hc.scale are parameters.
func find(name string) (target, bool) {
	if p, ok := place(name); ok {
		return target{p, false}, true
	}
	if of, ok := strings.CutSuffix(name, "_scale_inv"); ok {
		p, ok := place(of)
		return target{p, true}, ok
	}
	if of, ok := strings.CutSuffix(name, ".scale"); ok {
		p, ok := place(of + ".weight")
		return target{p, true}, ok
	}
	return target{}, false
}

func place(name string) (hf.Place, bool) {
	const prefix = "model."
	bare := strings.TrimPrefix(name, prefix)
	if strings.HasPrefix(bare, prefix) {
		return hf.Place{}, false
	}
	for _, spelling := range []string{prefix + bare, bare} {
		for s := hf.Memory; s <= hf.Wire; s++ {
			if p, ok := hf.PlaceOf(s, spelling); ok {
				return p, true
			}
		}
	}
	return hf.Place{}, false
}
