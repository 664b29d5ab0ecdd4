package quant

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// weights are parameters of every kind, with numbers.
func weights(plain dtype.Type, r Recipe) []*tensor.Param {
	rnd := rand.New(rand.NewPCG(1, 1))
	var ps []*tensor.Param
	for name, shape := range map[string][]int{
		"model.layers.0.self_attn.q_a_proj.weight": {40, 136},
		"model.layers.0.self_attn.o_a_proj.weight": {40, 136},
		"model.layers.0.mlp.experts.gate_up_proj":  {3, 2 * 40, 136},
		"model.layers.0.mlp.gate.weight":           {3, 136},
	} {
		x := tensor.New(dtype.F32, shape...)
		for i := range x.F32() {
			x.F32()[i] = float32(rnd.NormFloat64())
		}
		v := tensor.New(plain, shape...)
		if f := r.Format(name); f != (Format{}) {
			v = f.New(Fused(name), shape...)
			Pack(v, x)
		} else {
			plainOf(v, x)
		}
		ps = append(ps, &tensor.Param{Name: name, Value: v})
	}
	return ps
}

// plainOf sets y, F32 or BF16, to x.
func plainOf(y, x *tensor.Tensor) {
	for i, v := range x.F32() {
		if y.Type == dtype.F32 {
			y.F32()[i] = v
		} else {
			y.BF16()[i] = dtype.ToBF16(v)
		}
	}
}

// A replica has the recipe's formats and, up to rounding that it cannot avoid, the parameters' numbers; what needs no conversion is the
// parameter's own memory; and after a change it follows.
func TestReplica(t *testing.T) {
	for _, from := range []string{"bf16", "fp8", "fp8+fp4"} {
		for _, to := range []string{"bf16", "fp8", "fp8+fp4-weights"} {
			a, _ := ParseRecipe(from)
			b, _ := ParseRecipe(to)
			ps := weights(dtype.BF16, a)
			c, err := NewReplica(ps, b, dtype.BF16)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				for i, q := range c.Refresh() {
					if err := replicates(ps[i], q, b); err != nil {
						t.Fatalf("%s to %s: %s: %v", from, to, q.Name, err)
					}
					clear(ps[i].Value.Mem[:len(ps[i].Value.Mem)/2])
				}
			}
		}
	}
}

func replicates(p, q *tensor.Param, r Recipe) error {
	f := r.Format(p.Name)
	if got := FormatOf(q.Value); got != f || q.Rounds != (f != Format{} && r.Rounds) {
		return fmt.Errorf("is %v, rounds %v, want %v", got, q.Rounds, f)
	}
	if FormatOf(p.Value) == f {
		if q.Value != p.Value {
			return fmt.Errorf("is a copy")
		}
		return nil
	}
	x := tensor.New(dtype.F32, p.Value.Shape...)
	if p.Value.Quantised() {
		Unpack(x, p.Value)
	} else {
		for i, c := range p.Value.BF16() {
			x.F32()[i] = dtype.FromBF16(c)
		}
	}
	want := tensor.New(dtype.BF16, p.Value.Shape...)
	if f != (Format{}) {
		want = f.New(Fused(p.Name), p.Value.Shape...)
		Pack(want, x)
	} else {
		plainOf(want, x)
	}
	if !bytes.Equal(q.Value.Mem, want.Mem) || f != (Format{}) && !bytes.Equal(q.Value.Scale.Mem, want.Scale.Mem) {
		return fmt.Errorf("is not what packing the parameter's numbers gives")
	}
	return nil
}
