package oracle

import (
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// A slip is a mistake in the backward pass: the outputs are right, and the digests of gradients tell.
type slip struct {
	name  string
	k     kernels.Backend
	worst string // the end of the name of the parameter whose digest is furthest off
}

func TestPlantedSlips(t *testing.T) {
	v := openVectors(t)
	for _, s := range []slip{
		{"none", exact, ""},
		{"no clamp mask", unmasked{exact}, ""},
		{"no sink gradient", sinkless{exact}, "self_attn.sinks"},
		{"normaliser of the weights held constant", fixedSum{exact}, "mlp.gate.weight"},
		{"no gradient through pre", hyperBackward{exact, func(h *hyperGrads) { h.pre = nil }}, "hc_fn"},
		{"no gradient through post", hyperBackward{exact, func(h *hyperGrads) { h.post = nil }}, ""},
		{"no gradient through comb", hyperBackward{exact, func(h *hyperGrads) { h.comb = nil }}, "attn_hc.fn"},
		{"no gradient through the streams' norm", hyperBackward{exact, func(h *hyperGrads) { h.x = nil }}, ""},
		{"gradient of one Sinkhorn round", hyperBackward{exact, func(h *hyperGrads) { h.p.Iters = 1 }}, ""},
		{"streams' gradient mixed the other way", mixedBack{exact}, ""},
		{"output's gradient not turned", turnsBack{exact, true, false}, ""},
		{"queries' and rows' gradients not turned", turnsBack{exact, false, true}, ""},
		{"gradient of gates dropped", poolBack{exact, func(half, gate bool) bool { return !gate }}, "compressor.gate_proj.weight"},
		{"gradient of the half for the next window dropped", poolBack{exact, func(half, _ bool) bool { return half }}, "compressor.kv_proj.weight"},
		{"no gradient of position biases", biasless{exact}, "compressor.position_bias"},
		{"softmax's own term dropped", deltaless{exact}, ""},
		{"no gradient of sliding rows", rowless{exact, 0}, ""},
		{"no gradient of entries", rowless{exact, 1}, "compressor.kv_proj.weight"},
		{"norms' factor held constant", fixedNorm{exact}, ""},
		{"only one stream's gradient reaches the embedding", oneStream{exact}, "model.embed_tokens.weight"},
		{"experts' weights without gradient", unweighed{exact}, ""},
		{"only one slot's gradient reaches its expert", oneSlot{exact}, ""},
		{"router's input without gradient", gateless{exact}, ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, v)
		})
	}
}

// check runs 17 tokens, which pass through every formula.
func (s slip) check(t *testing.T, v *vectors) {
	r, rep := plant(t, v, nil, s.k), newReport()
	ids, err := v.i32("T17.input_ids")
	if err != nil {
		t.Fatal(err)
	}
	loss, lps, seen := r.backward(ids)
	if err := r.outputs(v, rep, "T17.", loss, lps, seen); err != nil {
		t.Fatal(err)
	}
	if !rep.OK {
		t.Errorf("outputs are missed: %v", missed(rep))
	}
	if err := r.gradients(v, rep, "T17."); err != nil {
		t.Fatal(err)
	}
	if s.k == kernels.Backend(exact) {
		if !rep.OK {
			t.Errorf("missed %v, want nothing missed", missed(rep))
		}
		return
	}
	s.checkShown(t, rep)
}

func (s slip) checkShown(t *testing.T, rep *Report) {
	t.Helper()
	if got := missed(rep); !slices.Contains(got, "gradient digests") {
		t.Errorf("missed %v, want gradient digests among them", got)
	}
	c := rep.check("float32 gradient digests", 0)
	if !strings.HasSuffix(c.Where, s.worst) {
		t.Errorf("%s is furthest off, want %s", c.Where, s.worst)
	}
	if c.Worst < 1000*c.Limit {
		t.Errorf("%s is off by %.2g of its norm, want 1000 times the limit", c.Where, c.Worst)
	}
}

// unmasked passes gradients through clamps that were reached.
type unmasked struct{ *right }

func (k unmasked) SwiGLUBackward(dgu, dw, dy, gu, w *tensor.Tensor, limit float64) {
	inside, f := gu.Clone(), dy.Dim()
	for i, v := range gu.F64() {
		inside.F64()[i] = min(v, limit)
		if i%(2*f) >= f {
			inside.F64()[i] = max(min(v, limit), -limit)
		}
	}
	k.right.SwiGLUBackward(dgu, dw, dy, inside, w, limit)
}

// sinkless trains no sinks.
type sinkless struct{ *right }

func (k sinkless) AttendBackward(dq, _ *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.right.AttendBackward(dq, nil, dpool, do, o, lse, q, sink, heads, views...)
}

// deltaless forgets that a weight of attention takes from the others.
type deltaless struct{ *right }

func (k deltaless) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.right.AttendBackward(dq, dsink, dpool, do, tensor.New(dtype.F64, o.Shape...), lse, q, sink, heads, views...)
}

// rowless drops the gradient of one view's rows.
type rowless struct {
	*right
	view int
}

func (k rowless) AttendBackward(dq, dsink *tensor.Tensor, dpool []*tensor.Tensor, do, o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	dpool = slices.Clone(dpool)
	if k.view < len(dpool) {
		dpool[k.view] = nil
	}
	k.right.AttendBackward(dq, dsink, dpool, do, o, lse, q, sink, heads, views...)
}

// begin makes a gradient that nothing was added to the zeros that it stands for.
func begin(g *tensor.Tensor) {
	if g.Fresh {
		g.Zero()
		g.Fresh = false
	}
}

// fixedSum takes the sum that expert weights are divided by for a constant.
type fixedSum struct{ *right }

func (k fixedSum) RouteWeightsBackward(dlogits, dw, logits *tensor.Tensor, choice []int32, factor float64) {
	begin(dlogits)
	n, experts := dw.Dim(), logits.Dim()
	score := func(i int) (s, x float64, at int) {
		at = i/n*experts + int(choice[i])
		x = logits.F64()[at]
		return ref.RootSoftplus(x), x, at
	}
	for i := range choice {
		sum := 0.0
		for j := i / n * n; j < i/n*n+n; j++ {
			s, _, _ := score(j)
			sum += s
		}
		s, x, at := score(i)
		dlogits.F64()[at] += dw.F64()[i] * factor / sum * ref.Sigmoid(x) / (2 * s)
	}
}

// hyperGrads are the arguments of HyperMapBackward that a slip changes.
type hyperGrads struct {
	x, pre, post, comb *tensor.Tensor
	p                  kernels.HyperParams
}

type hyperBackward struct {
	*right
	change func(*hyperGrads)
}

func (k hyperBackward) HyperMapBackward(dz, dx, dbase, dscale, dpre, dpost, dcomb, z, x, base, scale *tensor.Tensor, p kernels.HyperParams) {
	h := hyperGrads{dx, dpre, dpost, dcomb, p}
	k.change(&h)
	k.right.HyperMapBackward(dz, h.x, dbase, dscale, h.pre, h.post, h.comb, z, x, base, scale, h.p)
}

// mixedBack mixes the streams' gradient as the streams themselves.
type mixedBack struct{ *right }

func (k mixedBack) ExpandBackward(dx, do, dpost, dcomb, dy, x, o, post, comb *tensor.Tensor) {
	k.right.ExpandBackward(nil, do, dpost, dcomb, dy, x, o, post, comb)
	k.right.ExpandBackward(dx, nil, nil, nil, dy, x, o, post, turnedMix(comb))
}

// turnsBack passes gradients through rotations as they are.
type turnsBack struct {
	*right
	inverse, plain bool // which rotations
}

func (k turnsBack) RoPEBackward(dx, dy, cos, sin *tensor.Tensor, dim int, inverse bool) {
	if inverse && k.inverse || !inverse && k.plain {
		dy = dy.Clone() // dx may lie there
		begin(dx)
		k.Add(dx, dx, dy)
		return
	}
	k.right.RoPEBackward(dx, dy, cos, sin, dim, inverse)
}

// poolBack keeps part of the pooled rows' gradient: own is the half for a token's own window, or the whole row where there are no halves.
type poolBack struct {
	*right
	keep func(own, gate bool) bool
}

func (k poolBack) PoolBackward(draw, dbias, dy, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	part, d, w := tensor.New(dtype.F64, draw.Shape...), dy.Dim(), draw.Dim()
	k.right.PoolBackward(part, dbias, dy, bias, overlap, prev, own)
	for i := range part.F64() {
		if !k.keep(!overlap || i/d%2 == 1, i%w >= w/2) {
			part.F64()[i] = 0
		}
	}
	begin(draw)
	k.Add(draw, draw, part)
}

// biasless trains no position biases.
type biasless struct{ *right }

func (k biasless) PoolBackward(draw, _, dy, bias *tensor.Tensor, overlap bool, prev, own kernels.View) {
	k.right.PoolBackward(draw, nil, dy, bias, overlap, prev, own)
}

// fixedNorm takes the root mean square of a norm for a constant.
type fixedNorm struct{ *right }

func (k fixedNorm) RMSNormBackward(dx, dw, dy, x, w *tensor.Tensor, dim int, eps float64) {
	k.right.RMSNormBackward(nil, dw, dy, x, w, dim, eps)
	begin(dx)
	unit := tensor.New(dtype.F64, x.Shape...)
	k.right.RMSNorm(unit, x, nil, dim, eps)
	for i, v := range dy.F64() {
		rho := unit.F64()[i] / x.F64()[i]
		if w != nil {
			rho *= w.F64()[i%dim]
		}
		dx.F64()[i] += rho * v
	}
}

// oneStream forgets that all streams begin as the embedding.
type oneStream struct{ *right }

func (k oneStream) EmbedBackward(dtable, dy *tensor.Tensor, ids []int32) {
	first := tensor.New(dtype.F64, len(ids), dtable.Dim())
	for t := range ids {
		copy(first.F64()[t*first.Dim():][:first.Dim()], dy.F64()[t*dy.Len()/len(ids):])
	}
	k.right.EmbedBackward(dtable, first, ids)
}

// unweighed has no gradient for the weights of experts.
type unweighed struct{ *right }

func (k unweighed) SwiGLUBackward(dgu, _, dy, gu, w *tensor.Tensor, limit float64) {
	k.right.SwiGLUBackward(dgu, nil, dy, gu, w, limit)
}

// oneSlot passes a token's gradient to the first of its experts.
type oneSlot struct{ *right }

// Dispatch is that gradient where it is the first of its rows, which the tape then has copied.
func (k oneSlot) Dispatch(y, x *tensor.Tensor, rows []int32, n int) {
	if !y.Fresh {
		k.right.Dispatch(y, x, rows, n)
		return
	}
	begin(y)
	k.DispatchAdd(y, x, rows, n)
}

func (k oneSlot) DispatchAdd(y, x *tensor.Tensor, rows []int32, n int) {
	for t := range x.Rows() {
		to := row(y, rows[t*n])
		for i, v := range row(x, int32(t)) {
			to[i] += v
		}
	}
}

// gateless passes no gradient from the router to its input.
type gateless struct{ *right }

func (k gateless) LinearBackward(dx, dw, dy, x, w *tensor.Tensor, groups int) {
	if w.Shape[0] == 8 {
		dx = nil
	}
	k.right.LinearBackward(dx, dw, dy, x, w, groups)
}
