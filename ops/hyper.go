package ops

import (
	"furlong/kernels"
	"furlong/tensor"
)

// A Site is the hyper-connection around one sub-layer: streams x [T, S, D] collapse into the sub-layer's input, and its output and the
// old streams mix into the new ones.
type Site struct {
	In   *tensor.Tensor // [T, D], the sub-layer's input
	Pre  *tensor.Tensor // [T, S]
	Post *tensor.Tensor // [T, S], nil at the last collapse
	Comb *tensor.Tensor // [T, S, S], first index the source; nil at the last collapse

	w          SiteWeights
	x, z, o, y *tensor.Tensor // streams, what the maps are made of, the sub-layer's output, the new streams

	before *Site // whose Leave made x, just before this Enter: its backward pass goes along with this one's
}

// siteRows is how many tokens go through all kernels of a site before the next ones: their streams, and those of
// the gradients, stay in a core's own cache meanwhile.
const siteRows = 64

// SiteWeights make a site's maps.
type SiteWeights struct {
	Fn, Base, Scale *tensor.Param // [S*(2+S), S*D], [S*(2+S)], [3]; at the last collapse [S, S*D], [S], [1]
	kernels.HyperParams
}

// Streams are the residual streams between sub-layers, [T, S, D]. What leaves a site is made when somebody reads it: the next site does so strip by strip,
// while each strip is still in a core's own cache.
type Streams struct {
	x    *tensor.Tensor
	from *Site // that makes them; nil once they are made
}

// StreamsOf returns streams that are there.
func StreamsOf(x *tensor.Tensor) *Streams { return &Streams{x: x} }

// Tensor returns the streams [T, S, D].
func (s *Streams) Tensor(c *Ctx) *tensor.Tensor {
	s.make(c, strip{}) // all rows
	s.from = nil
	return s.x
}

// make makes a strip of tokens, if that has not been done.
func (s *Streams) make(c *Ctx, of strip) {
	if e := s.from; e != nil {
		c.K.Expand(of.rows(s.x), of.rows(e.x), of.rows(e.o), of.rows(e.Post), of.rows(e.Comb))
	}
}

// Enter makes the maps of streams and collapses them. With mix false, at the last collapse, only Pre is made.
func Enter(c *Ctx, in *Streams, w SiteWeights, mix bool) *Site {
	e := newSite(c, in.x, w, mix)
	c.strips(e.x.Shape[0], func(of strip) {
		in.make(c, of)
		e.enter(c, of)
	})
	in.from = nil
	if c.tape != nil {
		e.before = c.tape.takeLeave(e.x)
		c.record("enter", c.inTurn(func() { e.backward(c) }, w.Fn, w.Base, w.Scale), e.In, e.Pre, e.Post, e.Comb, e.z)
	}
	return e
}

func newSite(c *Ctx, x *tensor.Tensor, w SiteWeights, mix bool) *Site {
	t, s := x.Shape[0], x.Shape[1]
	e := &Site{In: c.New(t, x.Shape[2]), Pre: c.New(t, s), w: w, x: x, z: c.New(t, w.Fn.Value.Shape[0])}
	if mix {
		e.Post, e.Comb = c.New(t, s), c.New(t, s, s)
	}
	return e
}

// enter makes the maps of a strip of tokens and collapses it.
func (e *Site) enter(c *Ctx, of strip) {
	x, z, pre := of.rows(e.x), of.rows(e.z), of.rows(e.Pre)
	c.K.Linear(z, x, e.w.Fn.Value, 1)
	c.K.HyperMap(pre, of.rows(e.Post), of.rows(e.Comb), z, x, e.w.Base.Value, e.w.Scale.Value, e.w.HyperParams)
	c.K.Collapse(of.rows(e.In), x, pre)
}

// Leave returns the new streams: the sub-layer's output o [T, D] put back by Post, plus the old streams mixed by Comb. Until they are made nobody may write over o.
func (e *Site) Leave(c *Ctx, o *tensor.Tensor) *Streams {
	e.o, e.y = o, e.x
	if !c.renew {
		e.y = c.New(e.x.Shape...)
	}
	if c.tape != nil {
		c.record("leave", func() {
			e.leaveBackward(c, c.sum(o), c.Grad(e.y), strip{}) // all rows
		}) // the gradient of y goes on to streams and maps when the tape is back at Enter
		c.tape.left = e
	}
	return &Streams{e.y, e}
}

// takeLeave returns the site whose Leave made x if that is the tape's last step, which it takes away: nothing but the op that comes next adds
// to the gradient of x before the step reads it.
func (p *tape) takeLeave(x *tensor.Tensor) *Site {
	e := p.left
	last := len(p.steps) - 1
	if e == nil || e.y != x || last < 0 || p.steps[last].name != "leave" {
		return nil
	}
	p.steps = p.steps[:last]
	return e
}

// leaveBackward adds to a strip do of the gradient of the sub-layer's output, from dy of the new streams.
func (e *Site) leaveBackward(c *Ctx, do, dy *tensor.Tensor, of strip) {
	c.K.ExpandBackward(nil, do, nil, nil, dy, of.rows(e.x), of.rows(e.o), of.rows(e.Post), of.rows(e.Comb))
}

// backward adds to the gradients of the streams and of the site's weights, in the order in which each op for itself would. The gradient of the old streams lies where
// that of the new ones did, if it can: a strip of one memory stays in a core's own cache more easily than two.
func (e *Site) backward(c *Ctx) {
	fn, base, scale, p := e.w.Fn, e.w.Base, e.w.Scale, e.w.HyperParams
	dy := c.gradOrNil(e.y)
	if dy != nil {
		c.passed(e.x, e.y)
	}
	dx, do := c.strewn(e.x), strewn{}
	if e.before != nil {
		do = c.strewn(e.before.o)
	}
	din, dpre, dpost, dcomb := c.Grad(e.In), c.Grad(e.Pre), c.gradOrNil(e.Post), c.gradOrNil(e.Comb)
	dz := c.Grad(e.z)
	c.strips(e.x.Shape[0], func(of strip) {
		x, z, pre, dx, dz := of.rows(e.x), of.rows(e.z), of.rows(e.Pre), dx.rows(of), of.rows(dz)
		dpre, dpost, dcomb := of.rows(dpre), of.rows(dpost), of.rows(dcomb)
		if dy != nil {
			c.K.ExpandBackward(dx, nil, dpost, dcomb, of.rows(dy), x, of.rows(e.o), of.rows(e.Post), of.rows(e.Comb))
		}
		c.K.CollapseBackward(dx, dpre, of.rows(din), x, pre)
		c.K.HyperMapBackward(dz, dx, paramGrad(base), paramGrad(scale), dpre, dpost, dcomb, z, x, base.Value, scale.Value, p)
		c.K.LinearBackward(dx, paramGrad(fn), dz, x, fn.Value, 1)
		if b := e.before; b != nil {
			b.leaveBackward(c, do.rows(of), dx, of)
		}
	})
	if dy != nil {
		c.tape.spend(e.y)
	}
}

// A strip is some of a pass's tokens, the zero strip all of them.
type strip struct {
	mem         *tensor.Arena
	lo, hi, all int
}

// strips calls f for tokens 0 to rows, siteRows at a time.
func (c *Ctx) strips(rows int, f func(strip)) {
	for lo := 0; lo < rows; lo += siteRows {
		f(strip{c.Mem, lo, min(lo+siteRows, rows), rows})
	}
}

// rows returns the strip's rows of x, which may be nil.
func (s strip) rows(x *tensor.Tensor) *tensor.Tensor {
	if x == nil || s.hi-s.lo == s.all {
		return x
	}
	return s.mem.Slice(x, s.lo, s.hi)
}

// strewn is a gradient that is added to strip by strip.
type strewn struct {
	sum   *tensor.Tensor
	first bool
}

func (c *Ctx) strewn(t *tensor.Tensor) strewn {
	g := c.sum(t)
	s := strewn{g, g.Fresh}
	g.Fresh = false
	return s
}

// rows returns the strip's rows, Fresh if the gradient was.
func (s strewn) rows(of strip) *tensor.Tensor {
	r := of.rows(s.sum)
	r.Fresh = s.first
	return r
}

func (c *Ctx) gradOrNil(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return c.Grad(t)
}
