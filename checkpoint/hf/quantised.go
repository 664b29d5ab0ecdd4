package hf

import (
	"strings"

	"furlong/checkpoint"
	"furlong/dtype"
)

// isQuantised reports whether a weight of the format needs a scale tensor. FP4 codes are typed I8 or U8 by those who
// write them, two a byte.
func isQuantised(t dtype.Type) bool {
	switch t {
	case dtype.E4M3, dtype.E2M1, dtype.I8, dtype.U8:
		return true
	}
	return false
}

// scaleNames are what the scale of a weight is called, exactly: X.scale or X.weight_scale_inv, beside X.weight.
// Looking for a part of a name would take hc_attn_scale, which is a parameter, for one.
func scaleNames(weight string) []string {
	return []string{strings.TrimSuffix(weight, ".weight") + ".scale", weight + "_scale_inv"}
}

// quantised complains about a quantised weight, and speaks for its scale so that it isn't left over too.
func (l *loader) quantised(name string, have checkpoint.Info) {
	for _, scale := range scaleNames(name) {
		if info, ok := l.src.Info(scale); ok {
			l.read[scale] = true
			l.bad(name, "is %v: quantised checkpoints are not read yet (its scale is %q, %v)", have.Type, scale, info)
			return
		}
	}
	l.bad(name, "is %v: quantised checkpoints are not read yet (and its scale is missing: neither %q nor %q)", have.Type, scaleNames(name)[0], scaleNames(name)[1])
}
