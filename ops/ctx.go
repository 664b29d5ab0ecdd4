package ops

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// A View is a pool of rows and the rows that each query reads.
type View = kernels.View

// Ctx is what a forward pass needs besides its inputs. One goroutine uses it.
type Ctx struct {
	K    kernels.Backend
	Mem  *tensor.Arena
	Type dtype.Type // of activations: F32, or F64 under the float64 reference

	// Watch, if set, sees named intermediate results as they are made: a tensor, or a discrete choice. It may write over what it is shown:
	// what follows is computed from that. Recomputation is not shown a second time.
	Watch Watch

	// Routed and Indexed, if set, are told what the tokens of a pass chose in a layer: the experts that they go to, and the numbers of the
	// compressed entries that they read, ascending, then -1: [T*k]. Recomputation does not tell a second time.
	Routed, Indexed func(layer int, choice []int32)

	// ReplayRoutes and ReplayIndex, if set, may write other choices of that form over a layer's own, before anything follows from them.
	// Recomputation asks again and must be told the same.
	ReplayRoutes, ReplayIndex func(layer int, choice []int32)

	Turn *Turn // of a taped pass among others that run at the same time; nil for a pass alone

	layer int  // of the block that runs; -1 outside
	renew bool // nobody reads the streams that enter a site once it is left: new ones take their place
	tape  *tape
}

// A Watch sees an intermediate result of a layer (-1 outside the blocks): a tensor, or a discrete choice.
type Watch func(layer int, name string, t *tensor.Tensor, choice []int32)

// NewCtx returns a context without a tape.
func NewCtx(k kernels.Backend, mem *tensor.Arena, t dtype.Type) *Ctx {
	return &Ctx{K: k, Mem: mem, Type: t, layer: -1}
}

// Taped returns a context like c whose ops are recorded for Backward.
func (c *Ctx) Taped() *Ctx {
	d := *c
	d.tape = newTape()
	return &d
}

// Untaped returns a context like c that records nothing: for what has no gradient, such as the indexer.
func (c *Ctx) Untaped() *Ctx {
	d := *c
	d.tape, d.renew = nil, false
	return &d
}

// New returns an activation tensor of undefined content.
func (c *Ctx) New(shape ...int) *tensor.Tensor { return c.Mem.New(c.Type, shape...) }

// InLayer returns a context like c, with the same tape, whose results are reported as layer i's.
func (c *Ctx) InLayer(i int) *Ctx {
	if c.Watch == nil && c.Routed == nil && c.Indexed == nil && c.ReplayRoutes == nil && c.ReplayIndex == nil {
		return c
	}
	d := *c
	d.layer = i
	return &d
}

// See reports a tensor under a name, if anybody watches.
func (c *Ctx) See(name string, t *tensor.Tensor) {
	if c.Watch != nil {
		c.Watch(c.layer, name, t, nil)
	}
}

// SeeStreams is See for streams.
func (c *Ctx) SeeStreams(name string, x *Streams) {
	if c.Watch != nil {
		c.See(name, x.Tensor(c))
	}
}

// SeeSlots is See for rows in a plan's order: they are shown token by token, slot by slot, [T*k, D].
func (c *Ctx) SeeSlots(name string, x *tensor.Tensor, p Plan) {
	if c.Watch == nil {
		return
	}
	y := Gather(c.Untaped(), x, p.Rows)
	c.See(name, y)
	c.K.Dispatch(x, y, p.Rows, 1)
}

// Route lets those who want to see and change which experts a layer's tokens go to, before anything follows from it.
func (c *Ctx) Route(choice []int32) {
	c.choose("router_indices", choice, c.ReplayRoutes, c.Routed)
}

// Indexing reports whether anybody wants to see or change which entries tokens read.
func (c *Ctx) Indexing() bool { return c.Watch != nil || c.ReplayIndex != nil || c.Indexed != nil }

// Index is Route for the numbers of the entries that a layer's tokens read: ascending, then -1.
func (c *Ctx) Index(entries []int32) {
	c.choose("index_topk", entries, c.ReplayIndex, c.Indexed)
}

func (c *Ctx) choose(name string, choice []int32, replay, tell func(int, []int32)) {
	if c.Watch != nil {
		c.Watch(c.layer, name, nil, choice)
	}
	if replay != nil {
		replay(c.layer, choice)
	}
	if tell != nil {
		tell(c.layer, choice)
	}
}

// paramGrad returns the gradient that a weight accumulates into, nil for a frozen one.
func paramGrad(p *tensor.Param) *tensor.Tensor {
	if p == nil || p.Frozen {
		return nil
	}
	return p.Grad
}

func value(p *tensor.Param) *tensor.Tensor {
	if p == nil {
		return nil
	}
	return p.Value
}

// Recompute returns f(x) and forgets everything else f computed; the backward pass runs f again. f must be a
// pure function of x and of weights: given the same x it must make the same choices.
func Recompute(c *Ctx, x *tensor.Tensor, f func(*Ctx, *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if c.tape == nil {
		return f(c, x)
	}
	y := forget(c, x, f)
	c.record("recompute", func() {
		dx, dy := c.Grad(x), c.Grad(y)
		m := c.Mem.Mark()
		defer c.Mem.Release(m)
		again := c.Taped()
		again.Watch, again.Routed, again.Indexed = nil, nil, nil
		again.tape.grads[x] = dx
		again.Backward(f(again, x), dy)
	}, y)
	return y
}

// Through returns f(x). Without a tape that is in x's own memory, and what f took besides is free again: block after block of a pass works in
// memory that is still in the caches. f must not keep anything; nobody may read x as it was. Where somebody watches nothing is given up.
func Through(c *Ctx, x *Streams, f func(*Ctx, *Streams) *Streams) *Streams {
	if c.tape != nil || c.Watch != nil {
		return f(c, x)
	}
	old := x.Tensor(c)
	m, before := c.Mem.Mark(), c.renew
	c.renew = true
	if y := f(c, x).Tensor(c); y != old {
		c.K.Copy(old, y)
	}
	c.renew = before
	c.Mem.Release(m)
	return x
}

// forget runs f without a tape and keeps nothing but its result, which must have x's shape.
func forget(c *Ctx, x *tensor.Tensor, f func(*Ctx, *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	y := c.New(x.Shape...)
	m := c.Mem.Mark()
	defer c.Mem.Release(m)
	c.K.Copy(y, f(c.Untaped(), x))
	return y
}
