package train

import (
	"furlong/quant"
	"furlong/tensor"
)

// quantise stores the actor's weights as a recipe says. The optimizer's masters keep the values that the weights had; those without a master
// are frozen, and rounded once.
func (e *Engine) quantise(r quant.Recipe) error {
	params := e.actor.Params()
	had := make([]*tensor.Tensor, len(params))
	for i, p := range params {
		had[i] = p.Value
	}
	if err := r.Apply(params); err != nil {
		return err
	}
	for i, p := range params {
		if p.Value != had[i] {
			quant.Pack(p.Value, had[i])
		}
	}
	return nil
}

// format names how the actor holds its weights: matrices, and those that quantise.
func (e *Engine) format() string {
	name := e.actor.Head().Value.Type.String()
	if e.cfg.Format != "bf16" {
		name += " " + e.cfg.Format
	}
	return name
}
