package kerneltest

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// A reporter is what the suite needs of a testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// An operand is a tensor of a call.
type operand struct {
	name string
	*tensor.Tensor
	rows bool // its first axis is the call's rows, so that a part of the rows takes a part of it
	free bool // nothing else fixes the size of its last axis
}

// rowwise is an operand with an entry for each row of the call; whole one that all rows share.
func rowwise(name string, x *tensor.Tensor) operand {
	return operand{name: name, Tensor: x, rows: true}
}
func whole(name string, x *tensor.Tensor) operand { return operand{name: name, Tensor: x} }

// A call is one use of one kernel. Lists of tensors keep the order of out, in and grad.
type call struct {
	name  string
	rows  int
	uncut bool // it can't be run on part of its rows
	in    []operand
	out   []operand // overwritten; only their shapes count
	grad  []operand // added to, from these values
	run   func(k kernels.Backend, a args)
}

// args are the tensors of rows lo up to hi. A gradient may be nil.
type args struct {
	lo, hi        int
	in, out, grad []*tensor.Tensor
}

// poison is the bits that outputs hold before a call: a quiet NaN that no kernel makes.
const poison = 0x7fc0dead

// A result is the outputs and gradients of a call, all rows of them.
type result struct{ out, grad []*tensor.Tensor }

// fresh returns what a call starts from.
func (c call) fresh() result {
	var r result
	for _, o := range c.out {
		x := tensor.New(dtype.F32, o.Shape...)
		for i := range x.F32() {
			x.F32()[i] = math.Float32frombits(poison)
		}
		r.out = append(r.out, x)
	}
	for _, g := range c.grad {
		r.grad = append(r.grad, g.Clone())
	}
	return r
}

// apply runs rows lo up to hi into r. Inputs are copies, so each backend prepares its own, and must come back unchanged.
func (c call) apply(t reporter, k kernels.Backend, r result, lo, hi int) {
	t.Helper()
	a := args{lo: lo, hi: hi}
	for _, x := range c.in {
		a.in = append(a.in, part(x, x.Clone(), lo, hi))
	}
	for i, x := range c.out {
		a.out = append(a.out, part(x, r.out[i], lo, hi))
	}
	for i, x := range c.grad {
		a.grad = append(a.grad, part(x, r.grad[i], lo, hi))
	}
	c.run(k, a)
	for i, x := range c.in {
		if was := part(x, x.Tensor, lo, hi); string(a.in[i].Mem) != string(was.Mem) ||
			was.Quantised() && string(a.in[i].Scale.Mem) != string(was.Scale.Mem) {
			t.Errorf("%s: input %s was changed", c.name, x.name)
		}
	}
}

// all returns the result of all rows.
func (c call) all(t reporter, k kernels.Backend) result {
	t.Helper()
	r := c.fresh()
	c.apply(t, k, r, 0, c.rows)
	return r
}

// part returns the rows lo up to hi of x, if it has an entry for each.
func part(o operand, x *tensor.Tensor, lo, hi int) *tensor.Tensor {
	if x == nil || !o.rows {
		return x
	}
	return x.Slice(lo, hi)
}

// check holds the call against everything that must not matter.
func (c call) check(t reporter, k kernels.Backend) {
	t.Helper()
	want, got := c.all(t, ref.New[float32]()), c.all(t, k)
	c.same(t, "against ref", got, want, 0, c.rows)
	c.checkUnwanted(t, k, got)
	c.checkFresh(t, k)
	if c.uncut {
		return
	}
	for _, n := range []int{1, 7} {
		for _, lo := range []int{0, c.rows / 2, c.rows - n} {
			if lo >= 0 && lo+n <= c.rows {
				c.checkAlone(t, k, got, lo, lo+n)
			}
		}
	}
	for _, at := range []int{0, 1, c.rows / 2, c.rows - 1} {
		if at >= 0 && at <= c.rows {
			c.checkCut(t, k, got, at)
		}
	}
}

// checkUnwanted leaves out each gradient in turn, and then all but that.
func (c call) checkUnwanted(t reporter, k kernels.Backend, want result) {
	t.Helper()
	for i, g := range c.grad {
		r := c.fresh()
		r.grad[i] = nil
		c.apply(t, k, r, 0, c.rows)
		c.same(t, "without the gradient of "+g.name, r, want, 0, c.rows)

		r = c.fresh()
		alone := r.grad[i]
		clear(r.grad)
		r.grad[i] = alone
		c.apply(t, k, r, 0, c.rows)
		c.same(t, "with the gradient of "+g.name+" alone", r, want, 0, c.rows)
	}
}

// checkFresh adds to gradients of zeros, and to fresh ones that hold poison.
func (c call) checkFresh(t reporter, k kernels.Backend) {
	t.Helper()
	zeros, marked := c.fresh(), c.fresh()
	for i, g := range zeros.grad {
		g.Zero()
		m := marked.grad[i]
		m.Fresh = true
		for i := range m.F32() {
			m.F32()[i] = math.Float32frombits(poison)
		}
	}
	a := c.arguments()
	a.grad = zeros.grad
	c.run(k, a)
	a = c.arguments()
	a.grad = marked.grad
	c.run(k, a)
	c.same(t, "added to fresh gradients", result{a.out, a.grad}, result{a.out, zeros.grad}, 0, c.rows)
	for i, m := range marked.grad {
		if m.Fresh {
			t.Errorf("%s: gradient of %s is still fresh", c.name, c.grad[i].name)
		}
	}
}

// checkAlone runs only rows lo up to hi.
func (c call) checkAlone(t reporter, k kernels.Backend, want result, lo, hi int) {
	t.Helper()
	r := c.fresh()
	c.apply(t, k, r, lo, hi)
	where := fmt.Sprintf("rows %d to %d alone", lo, hi)
	for i, x := range c.out {
		if x.rows {
			sameBits(t, c.name, where, x.name, part(x, r.out[i], lo, hi), part(x, want.out[i], lo, hi))
			c.checkPoison(t, where, x, r.out[i], lo, hi)
		}
	}
	for i, x := range c.grad {
		if x.rows {
			sameBits(t, c.name, where, "gradient of "+x.name, part(x, r.grad[i], lo, hi), part(x, want.grad[i], lo, hi))
		}
	}
}

// checkPoison looks for writes outside of rows lo up to hi.
func (c call) checkPoison(t reporter, where string, o operand, x *tensor.Tensor, lo, hi int) {
	t.Helper()
	n := x.Len() / max(1, c.rows)
	for i, v := range x.F32() {
		if (i < lo*n || i >= hi*n) && math.Float32bits(v) != poison {
			t.Errorf("%s: %s: %s is written at %d, in row %d", c.name, where, o.name, i, i/n)
			return
		}
	}
}

// checkCut runs the rows up to at, and then the others, over the same gradients.
func (c call) checkCut(t reporter, k kernels.Backend, want result, at int) {
	t.Helper()
	r := c.fresh()
	c.apply(t, k, r, 0, at)
	c.apply(t, k, r, at, c.rows)
	c.same(t, fmt.Sprintf("cut at row %d", at), r, want, 0, c.rows)
}

// same compares whole results. A missing gradient is not compared.
func (c call) same(t reporter, where string, got, want result, lo, hi int) {
	t.Helper()
	for i, x := range c.out {
		sameBits(t, c.name, where, x.name, got.out[i], want.out[i])
	}
	for i, x := range c.grad {
		if got.grad[i] != nil {
			sameBits(t, c.name, where, "gradient of "+x.name, got.grad[i], want.grad[i])
		}
	}
}

// sameBits reports the first difference of two tensors.
func sameBits(t reporter, call, where, name string, got, want *tensor.Tensor) {
	t.Helper()
	var differ int
	first := -1
	g := got.F32()
	for i, w := range want.F32() {
		if math.Float32bits(g[i]) != math.Float32bits(w) && (g[i] == g[i] || w == w) {
			differ++
			if first < 0 {
				first = i
			}
		}
	}
	if differ > 0 {
		t.Errorf("%s: %s: %s %v differs in %d of %d elements; [%d] is %v (%08x), want %v (%08x)", call, where, name, want.Shape,
			differ, want.Len(), first, g[first], math.Float32bits(g[first]), want.F32()[first], math.Float32bits(want.F32()[first]))
	}
}

// checkShapes grows each tensor in turn, by a channel and by a row, and wants a panic in words. An empty batch may have any width.
func (c call) checkShapes(t reporter, k kernels.Backend) {
	t.Helper()
	if c.rows == 0 {
		return
	}
	groups := []struct {
		kind string
		list []operand
		of   func(*args) []*tensor.Tensor
	}{
		{"input", c.in, func(a *args) []*tensor.Tensor { return a.in }},
		{"output", c.out, func(a *args) []*tensor.Tensor { return a.out }},
		{"gradient", c.grad, func(a *args) []*tensor.Tensor { return a.grad }},
	}
	for _, group := range groups {
		for i, x := range group.list {
			for _, axis := range []int{0, len(x.Shape) - 1} {
				if axis == 0 && !x.rows && len(x.Shape) > 1 || axis > 0 && x.free {
					continue
				}
				a := c.arguments()
				group.of(&a)[i] = grown(x.Tensor, axis)
				what := fmt.Sprintf("%s with %s %s grown in axis %d", c.name, group.kind, x.name, axis)
				wantPanic(t, what, func() { c.run(k, a) })
			}
		}
	}
}

// arguments returns tensors for all rows.
func (c call) arguments() args {
	a := args{lo: 0, hi: c.rows}
	r := c.fresh()
	for _, x := range c.in {
		a.in = append(a.in, x.Clone())
	}
	a.out, a.grad = r.out, r.grad
	return a
}

// grown returns zeros of x's format with one more entry along axis.
func grown(x *tensor.Tensor, axis int) *tensor.Tensor {
	shape := slices.Clone(x.Shape)
	shape[axis]++
	if x.Quantised() {
		return tensor.NewQuantised(x.Type, x.Scale.Type, x.Block, 1, shape...)
	}
	return tensor.New(x.Type, shape...)
}

// wantPanic wants f to panic with a sentence that says what is wanted, not to run or to run into something.
func wantPanic(t reporter, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		p := recover()
		if _, stray := p.(runtime.Error); p == nil || stray || !strings.Contains(fmt.Sprint(p), "want") {
			t.Errorf("%s: panic is %v, want a sentence with the shape wanted", what, p)
		}
	}()
	f()
}

// wantUnprepared wants f to refuse a weight that was never prepared.
func wantUnprepared(t reporter, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := fmt.Sprint(recover()); !strings.Contains(p, "not prepared") {
			t.Errorf("%s of a weight without layout: panic is %v, want one that says it was not prepared", what, p)
		}
	}()
	f()
}
