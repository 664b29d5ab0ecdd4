package quant

import (
	"furlong/dtype"
	"furlong/tensor"
)

// A Replica holds the numbers of a model's parameters in the formats of a recipe: what an engine that stores its weights so is given, and what a
// checkpoint of them in these formats would hold. Where the formats are the same it shares the parameters' memory.
type Replica struct {
	from, to []*tensor.Param
	via      []*tensor.Tensor // F32, between two quantised formats; nil elsewhere
}

// NewReplica returns a replica of parameters. A weight that they quantise and the recipe does not becomes plain, F32 or BF16. Refresh fills it.
func NewReplica(params []*tensor.Param, r Recipe, plain dtype.Type) (*Replica, error) {
	c := &Replica{from: params, via: make([]*tensor.Tensor, len(params))}
	for i, p := range params {
		if err := r.check(p); err != nil {
			return nil, err
		}
		q := *p
		q.Grad = nil
		f, has := r.Format(p.Name), FormatOf(p.Value)
		switch {
		case f == has:
		case f == Format{}:
			q.Value = tensor.New(plain, p.Value.Shape...)
		default:
			q.Value = f.New(Fused(p.Name), p.Value.Shape...)
			if has != (Format{}) {
				c.via[i] = tensor.New(dtype.F32, p.Value.Shape...)
			}
		}
		q.Rounds = f != Format{} && r.Rounds
		c.to = append(c.to, &q)
	}
	return c, nil
}

// Refresh takes up the parameters' numbers as they are now, and returns the replica's.
func (c *Replica) Refresh() []*tensor.Param {
	for i, p := range c.from {
		q := c.to[i].Value
		switch {
		case q == p.Value:
		case !p.Value.Quantised():
			Pack(q, p.Value)
		case !q.Quantised():
			Unpack(q, p.Value)
		default:
			Unpack(c.via[i], p.Value)
			Pack(q, c.via[i])
		}
	}
	return c.to
}
