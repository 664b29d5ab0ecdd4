package oracle

import (
	"fmt"
	"strings"

	"furlong/tensor"
)

// cases compares forward and backward of every length.
func (r *runner) cases(v *vectors, rep *Report) error {
	for _, n := range v.lengths() {
		pre := fmt.Sprintf("T%d.", n)
		ids, err := v.i32(pre + "input_ids")
		if err != nil {
			return err
		}
		loss, lps, t := r.backward(ids)
		if err := r.outputs(v, rep, pre, loss, lps, t); err != nil {
			return err
		}
		if err := r.traced(v, rep, pre, t); err != nil {
			return err
		}
		if n > 1 {
			if err := r.gradients(v, rep, pre); err != nil {
				return err
			}
		}
	}
	return nil
}

// outputs compares logits, logprobs and loss.
func (r *runner) outputs(v *vectors, rep *Report, pre string, loss float64, lps []float64, t *trace) error {
	want, err := v.f64(pre + "logits_f64")
	if err != nil {
		return err
	}
	rep.see(r.name+" logits", maxAbs(t.values["logits"], want), r.logits, pre)
	rep.see(r.name+" logits, norm", relative(t.values["logits"], want), r.logitsNorm, pre)
	if len(lps) == 0 {
		return nil
	}
	if want, err = v.f64(pre + "logprobs_f64"); err != nil {
		return err
	}
	rep.see(r.name+" logprobs", maxAbs(lps, want), r.logits, pre)
	if want, err = v.f64(pre + "loss"); err != nil {
		return err
	}
	rep.see(r.name+" loss", maxAbs([]float64{loss}, want), r.logits, pre)
	return nil
}

// traced compares what the parts returned, where the vectors have it.
func (r *runner) traced(v *vectors, rep *Report, pre string, t *trace) error {
	for name, got := range t.values {
		if !v.has(pre+name) || strings.HasSuffix(name, "router_weights") {
			continue
		}
		want, err := v.f64(pre + name)
		if err != nil {
			return err
		}
		if len(want) > 0 {
			rep.see(r.name+" parts", ofPeak(got, want), r.trace, pre+name)
		}
	}
	return r.choices(v, rep, pre, t)
}

// choices compares the experts and the indexer's entries, which must be the same, and the experts' weights.
func (r *runner) choices(v *vectors, rep *Report, pre string, t *trace) error {
	for name, got := range t.choices {
		if !v.has(pre + name) {
			continue
		}
		want, err := v.i32(pre + name)
		if err != nil {
			return err
		}
		info, _ := v.oracle.Info(pre + name)
		kWant := info.Shape[1]
		if kWant == 0 {
			continue
		}
		kGot := len(got) / info.Shape[0]
		if layer, ok := strings.CutSuffix(name, "router_indices"); ok {
			rep.mustEqual(r.name+" router choices", differing(got, want, kGot, kWant), pre+name)
			if err := r.weights(v, rep, pre+layer, got, want, t.values[layer+"router_weights"], kGot); err != nil {
				return err
			}
		} else {
			rep.mustEqual(r.name+" indexer choices", differing(got, want, kGot, kWant), pre+name)
		}
	}
	return nil
}

// weights compares the weights of the chosen experts, which the vectors list by expert number and we by rank.
func (r *runner) weights(v *vectors, rep *Report, pre string, got, want []int32, gotW []float64, k int) error {
	wantW, err := v.f64(pre + "router_weights")
	if err != nil {
		return err
	}
	ordered := make([]float64, len(wantW))
	for i, e := range want {
		for j := i / k * k; j < i/k*k+k; j++ {
			if got[j] == e {
				ordered[i] = gotW[j]
			}
		}
	}
	rep.see(r.name+" parts", ofPeak(ordered, wantW), r.trace, pre+"router_weights")
	return nil
}

// gradients compares every parameter's gradient, whole where the vectors have it and by digest everywhere.
func (r *runner) gradients(v *vectors, rep *Report, pre string) error {
	grads := map[string]*tensor.Tensor{}
	for _, p := range r.m.Params() {
		grads[p.Name] = p.Grad
	}
	digests, err := v.f64(pre + "grad_digest")
	if err != nil {
		return err
	}
	for i, name := range v.meta.GradOrder {
		g := grads[name]
		if g == nil {
			return fmt.Errorf("%s: %s has a gradient in the vectors and none here", v.dir, name)
		}
		check, limit := r.gradCheck(name)
		rep.see(check+" digests", digestError(digest(widen(g)), digests[4*i:4*i+4]), limit, pre+name)
	}
	longest := v.lengths()
	if pre != fmt.Sprintf("T%d.", longest[len(longest)-1]) {
		return nil
	}
	for _, name := range v.meta.GradOrder {
		want, err := v.f64("grad/" + name)
		if err != nil {
			return err
		}
		check, limit := r.gradCheck(name)
		rep.see(check+"s", relative(widen(grads[name]), want), limit, name)
	}
	return nil
}

// gradCheck returns the check that a parameter's gradient belongs to, and its limit. The scales of hyper-connections are a few numbers,
// each a sum of terms that cancel to a few hundredths of a per cent (a norm follows that takes common factors out), so
// float32 leaves them ten times less exact.
func (r *runner) gradCheck(name string) (string, float64) {
	if strings.HasSuffix(name, "hc.scale") || strings.HasSuffix(name, "hc_scale") {
		return r.name + " hc scale gradient", 10 * r.grad
	}
	return r.name + " gradient", r.grad
}
