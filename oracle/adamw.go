package oracle

import (
	"fmt"
	"math"
	"strings"

	"furlong/model"
	"furlong/tensor"
	"furlong/train/optim"
)

// adamw repeats the vectors' five optimizer steps on the float32 model, which it leaves changed.
func (r *runner) adamw(v *vectors, rep *Report) error {
	ids, err := v.i32("T64.input_ids")
	if err != nil {
		return err
	}
	losses, err := v.f64("adamw.losses")
	if err != nil {
		return err
	}
	norms, err := v.f64("adamw.grad_norms")
	if err != nil {
		return err
	}
	opt := optim.New(optim.Config{Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, Clip: 1, DecayAll: true}, r.m.Params(), r.k)
	for i := range losses {
		loss, _, _ := r.backward(ids)
		rep.see("adamw losses", math.Abs(loss-losses[i]), 1e-3, fmt.Sprintf("step %d", i))
		if i == len(losses)-1 {
			break
		}
		norm := opt.Step(1e-3)
		rep.see("adamw gradient norms", math.Abs(norm-norms[i])/norms[i], 1e-3, fmt.Sprintf("step %d", i))
		model.Prepare(r.ctx(), r.m)
	}
	return r.afterSteps(v, rep)
}

// afterSteps compares the parameters that the steps left. Layer 0's attention site is left out: equal streams give most of it no gradient but
// rounding noise, which Adam turns into steps.
func (r *runner) afterSteps(v *vectors, rep *Report) error {
	params := map[string]*tensor.Param{}
	for _, p := range r.m.Params() {
		params[p.Name] = p
	}
	want, err := v.f64("adamw.param_digest")
	if err != nil {
		return err
	}
	for i, name := range v.meta.ParamOrder {
		if strings.HasPrefix(name, "model.layers.0.attn_hc.") {
			continue
		}
		p := params[name]
		if p == nil {
			return fmt.Errorf("%s: the model has no %s", v.dir, name)
		}
		rep.see("adamw parameters", digestError(digest(widen(p.Value)), want[4*i:4*i+4]), 1e-4, name)
	}
	return nil
}
