package oracle

import (
	"fmt"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

// A precision is a format of computation with its backend and what to expect of it.
type precision struct {
	name   string
	k      kernels.Backend
	format dtype.Type

	logits, logitsNorm, trace, grad float64 // limits
}

// A runner runs one model in one precision.
type runner struct {
	precision
	m   *dsv4.Model
	mem tensor.Arena
}

func newRunner(p precision, v *vectors) (*runner, error) {
	r := &runner{precision: p, m: dsv4.New(v.cfg, p.format)}
	if err := v.load(r.m); err != nil {
		return nil, err
	}
	for _, p := range r.m.Params() {
		if !p.Frozen {
			p.Grad = tensor.New(r.format, p.Value.Shape...)
		}
	}
	model.Prepare(r.ctx(), r.m)
	return r, nil
}

func (r *runner) ctx() *ops.Ctx { return ops.NewCtx(r.k, &r.mem, r.format) }

// A trace is what one pass returned, by name: "L3.streams", "logits".
type trace struct {
	values  map[string][]float64
	choices map[string][]int32
}

func newTrace() *trace { return &trace{map[string][]float64{}, map[string][]int32{}} }

func (t *trace) watch(layer int, name string, x *tensor.Tensor, choice []int32) {
	if layer >= 0 {
		name = fmt.Sprintf("L%d.%s", layer, name)
	}
	if x != nil {
		t.values[name] = append([]float64(nil), widen(x)...)
	} else {
		t.choices[name] = append([]int32(nil), choice...)
	}
}

// sequence returns ids as the tokens of one sequence.
func sequence(ids []int32) *ops.Tokens {
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	return in
}

// forward runs ids as one sequence and returns the final rows [T, D], with everything seen on the way in t.
func (r *runner) forward(c *ops.Ctx, ids []int32, t *trace) *tensor.Tensor {
	c.Watch = t.watch
	stores := make([]kv.InPlace, len(r.m.Layers()))
	x := model.Forward(c, r.m, sequence(ids), func(i int) kv.Store { return &stores[i] }, false)
	h := r.m.Final(c, x)
	logits := ops.Linear(c.Untaped(), h, r.m.Head())
	t.values["logits"] = append([]float64(nil), widen(logits)...)
	return h
}

// backward runs the mean next-token loss of ids forward and backward, and returns the loss, the logprobs and the trace.
// Gradients are left in the parameters.
func (r *runner) backward(ids []int32) (loss float64, lps []float64, t *trace) {
	defer r.mem.Reset()
	for _, p := range r.m.Params() {
		if p.Grad != nil {
			p.Grad.Zero()
		}
	}
	t = newTrace()
	c := r.ctx().Taped()
	h := r.forward(c, ids, t)
	n := len(ids) - 1
	if n == 0 {
		return 0, nil, t
	}
	rows, scale := make([]int32, n), make([]float32, n)
	for i := range rows {
		rows[i], scale[i] = int32(i), 1
	}
	lp, _ := ops.LogProb(c, ops.Gather(c, h, rows), r.m.Head(), ids[1:], scale)
	lps = append([]float64(nil), widen(lp)...)
	for _, x := range lps {
		loss -= x / float64(n)
	}
	seed(c.Grad(lp), -1/float64(n))
	c.Unwind()
	return loss, lps, t
}

// seed sets every element of a gradient.
func seed(g *tensor.Tensor, v float64) {
	if g.Type == dtype.F64 {
		for i := range g.F64() {
			g.F64()[i] = v
		}
		return
	}
	for i := range g.F32() {
		g.F32()[i] = float32(v)
	}
}
