package dsv4

import (
	"math"
	"slices"
)

// scaled returns the places of a key of the compress frequencies: nested, flat, and those of alias.
func scaled(key string, alias ...string) []string {
	return append([]string{"rope_parameters.compress." + key, "rope_parameters." + key, "rope_scaling." + key}, alias...)
}

// readRopeDim sets c.RopeDim from the count of channels, from their part of head_dim, or from both.
func (r *configReader) readRopeDim(c *Config) {
	counts := []string{"qk_rope_head_dim", "rope_head_dim"}
	parts := append(scaled("partial_rotary_factor"), "rope_parameters.main.partial_rotary_factor", "partial_rotary_factor")
	all := findAll(r, anInteger, integer, counts...)
	for _, f := range findAll(r, "a number above 0, at most 1", part, parts...) {
		if c.HeadDim > 0 {
			all = append(all, found[int]{"head_dim * " + f.key, rotated(c.HeadDim, f.value)})
		}
	}
	c.RopeDim, _ = settle(r, all)
	if !r.says(slices.Concat(counts, parts)...) {
		r.bad("qk_rope_head_dim is missing, want an integer")
	}
}

func part(v any) (float64, bool) {
	f, ok := number(v)
	return f, ok && f > 0 && f <= 1
}

// rotated returns how many of head channels a factor names. Fractions are dropped, as elsewhere; what is added first is for factors
// such as 1/49, whose product with 49 falls short of 1.
func rotated(head int, factor float64) int { return int(float64(head)*factor + 1e-6) }

// rotaryFactor returns the factor that names dim of head channels to any reader that drops fractions.
func rotaryFactor(dim, head int) float64 {
	f := float64(dim) / float64(head)
	for int(float64(head)*f) < dim {
		f = math.Nextafter(f, 2)
	}
	return f
}

// yarn reads the stretching of the compress frequencies. A rope_type asks for it. The released program has no types: there the
// original length does, and 0 is none.
func (r *configReader) yarn() Yarn {
	factor, original := scaled("factor", "rope_factor"), scaled("original_max_position_embeddings", "original_seq_len")
	fast, slow := scaled("beta_fast", "beta_fast"), scaled("beta_slow", "beta_slow")
	kind, typed := settle(r, findAll(r, "default or yarn", ropeType, slices.Concat(scaled("rope_type"), scaled("type"))...))
	byLength := !typed && r.says("original_seq_len")
	asked := kind == "yarn" || byLength

	y := Yarn{BetaFast: 32, BetaSlow: 1}
	read(r, &y.Original, asked, anInteger, integer, original...)
	none := byLength && y.Original == 0
	read(r, &y.Factor, asked && !none, aNumber, number, factor...)
	read(r, &y.BetaFast, false, aNumber, number, fast...)
	read(r, &y.BetaSlow, false, aNumber, number, slow...)
	if !asked {
		r.refuseUnasked(slices.Concat(factor, original, fast, slow))
	}
	if !asked || none {
		return Yarn{}
	}
	return y
}

func ropeType(v any) (string, bool) {
	s, _ := v.(string)
	return s, s == "default" || s == "yarn"
}

// refuseUnasked reports keys of a stretching that no key asks for.
func (r *configReader) refuseUnasked(names []string) {
	for _, name := range names {
		if r.says(name) {
			r.bad("%s is %s but no rope_type is yarn", name, show(r.values[name]))
		}
	}
}
