package dsv4

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"furlong/dtype"
	"furlong/tensor"
)

// Init fills the weights of a model that starts from nothing: matrices from a normal distribution of width InitRange, norms and
// scales 1, biases and sinks 0, and routing tables of distinct experts. Each tensor has its own random stream, so
// a weight does not depend on which others there are.
func (m *Model) Init(seed uint64) {
	for i, p := range m.params {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		switch {
		case p.Value.Type == dtype.I32:
			fillTable(p.Value, m.cfg.Experts, r)
		case isOne(p.Name):
			fill(p.Value, func() float64 { return 1 })
		case isZero(p.Name):
			p.Value.Zero()
		default:
			fill(p.Value, func() float64 { return r.NormFloat64() * m.cfg.InitRange })
		}
	}
}

func isOne(name string) bool {
	return strings.HasSuffix(name, "norm.weight") || strings.HasSuffix(name, "scale")
}

func isZero(name string) bool {
	for _, s := range []string{"base", "sinks", "position_bias", "e_score_correction_bias"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// fillTable gives every token k distinct experts. A table of zeros would send all tokens to expert 0.
func fillTable(t *tensor.Tensor, experts int, r *rand.Rand) {
	k := t.Dim()
	for rows := t.I32(); len(rows) > 0; rows = rows[k:] {
		for j, e := range r.Perm(experts)[:k] {
			rows[j] = int32(e)
		}
	}
}

func fill(t *tensor.Tensor, next func() float64) {
	switch t.Type {
	case dtype.F32:
		for i := range t.F32() {
			t.F32()[i] = float32(next())
		}
	case dtype.BF16:
		for i := range t.BF16() {
			t.BF16()[i] = dtype.ToBF16(float32(next()))
		}
	case dtype.F64:
		for i := range t.F64() {
			t.F64()[i] = next()
		}
	default:
		panic(fmt.Sprintf("dsv4: cannot fill %v", t))
	}
}
