package ops

import (
	"fmt"

	"furlong/tensor"
)

// A tape is the list of backward steps of one pass, and the gradients it has met.
type tape struct {
	steps   []step
	grads   map[*tensor.Tensor]*tensor.Tensor // nil where it is spent
	views   map[*tensor.Tensor]*tensor.Tensor // a view's gradient is a view of its source's
	rounded map[*tensor.Tensor]*tensor.Tensor // what products with rounding weights read
	left    *Site                             // of the last Leave
	free    map[int][][]byte                  // memory of spent gradients, by size, the last used on top: it may still lie in a cache
}

// A step is the backward pass of one op, which made results.
type step struct {
	name    string
	run     func()
	results []*tensor.Tensor
}

func newTape() *tape {
	return &tape{
		grads: map[*tensor.Tensor]*tensor.Tensor{}, views: map[*tensor.Tensor]*tensor.Tensor{},
		rounded: map[*tensor.Tensor]*tensor.Tensor{}, free: map[int][][]byte{},
	}
}

// record puts the backward pass of the op that made results on the tape.
func (c *Ctx) record(name string, run func(), results ...*tensor.Tensor) {
	c.tape.steps = append(c.tape.steps, step{name, run, results})
}

// Grad returns the gradient of an activation, zero when nothing has added to it yet. c must have a tape. Once
// the tape has run back over the op that made t, its gradient is spent.
func (c *Ctx) Grad(t *tensor.Tensor) *tensor.Tensor {
	g := c.sum(t)
	if g.Fresh {
		c.K.Zero(g)
		g.Fresh = false
	}
	return g
}

// sum is Grad for a kernel that adds: where nothing has been added yet it is marked Fresh.
func (c *Ctx) sum(t *tensor.Tensor) *tensor.Tensor {
	if of, ok := c.tape.views[t]; ok {
		return c.Grad(of).View(t.Shape...)
	}
	g, ok := c.tape.grads[t]
	if ok && g == nil {
		panic(fmt.Sprintf("ops: the gradient of %v is spent", t))
	}
	if !ok {
		g = c.newGrad(t)
		g.Fresh = true
		c.tape.grads[t] = g
	}
	return g
}

// addGrad adds d to the gradient of t. To nothing it is copied, which keeps the sign of its zeros; sums begin at +0 everywhere,
// so no sum can tell.
func (c *Ctx) addGrad(t, d *tensor.Tensor) {
	if g := c.sum(t); g.Fresh {
		c.K.Copy(g, d)
		g.Fresh = false
	} else {
		c.K.Add(g, g, d)
	}
}

// over returns the result of an op that takes x's place: x, or with a tape the same memory with a gradient of its own.
func (c *Ctx) over(x *tensor.Tensor) *tensor.Tensor {
	if c.tape == nil {
		return x
	}
	return x.View(x.Shape...)
}

// passed makes the memory of y's gradient that of x's, Fresh, if nothing has been added to x's; y's is spent.
func (c *Ctx) passed(x, y *tensor.Tensor) bool {
	p := c.tape
	dy := p.grads[y]
	if _, met := p.grads[x]; met || dy == nil || p.views[x] != nil {
		return false
	}
	p.grads[x] = &tensor.Tensor{Type: dy.Type, Shape: x.Shape, Mem: dy.Mem, Fresh: true}
	p.grads[y] = nil
	return true
}

// passOn is sum of x for an op that can turn y's gradient into x's where it lies: it gets that memory, unless there is something to add to.
func (c *Ctx) passOn(x, y *tensor.Tensor) *tensor.Tensor {
	c.passed(x, y)
	return c.sum(x)
}

// handOn is addGrad of y's gradient to x's, by the last that reads it.
func (c *Ctx) handOn(x, y *tensor.Tensor) {
	if dy := c.Grad(y); !c.passed(x, y) {
		c.addGrad(x, dy)
	}
	c.sum(x).Fresh = false
}

// newGrad returns a tensor of t's shape, in the memory of a spent gradient if there is one.
func (c *Ctx) newGrad(t *tensor.Tensor) *tensor.Tensor {
	n := c.Type.Bytes(t.Len())
	spent := c.tape.free[n]
	if len(spent) == 0 {
		return c.New(t.Shape...)
	}
	top := len(spent) - 1
	c.tape.free[n] = spent[:top]
	return &tensor.Tensor{Type: c.Type, Shape: t.Shape, Mem: spent[top]}
}

// spend takes the memory of t's gradient back: whatever read t has added to it, and what made t has read it.
func (p *tape) spend(t *tensor.Tensor) {
	if g := p.grads[t]; g != nil {
		p.free[len(g.Mem)] = append(p.free[len(g.Mem)], g.Mem)
	}
	p.grads[t] = nil
}

// Backward adds dy to the gradient of y and runs the tape backwards. Afterwards Grad of each input, and each
// trained Param's Grad, hold what the pass contributes.
func (c *Ctx) Backward(y, dy *tensor.Tensor) {
	c.addGrad(y, dy)
	c.Unwind()
}

// Unwind runs the tape backwards from the gradients that are already there: for a pass with several outputs.
func (c *Ctx) Unwind() {
	for i := len(c.tape.steps) - 1; i >= 0; i-- {
		s := c.tape.steps[i]
		s.run()
		for _, y := range s.results {
			if y != nil { // a map that was not wanted
				c.tape.spend(y)
			}
		}
	}
	clear(c.tape.steps)
	c.tape.steps = c.tape.steps[:0]
}

// Reshape returns x with another shape, over the same memory and the same gradient.
func Reshape(c *Ctx, x *tensor.Tensor, shape ...int) *tensor.Tensor {
	y := x.View(shape...)
	if c.tape != nil {
		c.tape.views[y] = x
	}
	return y
}
