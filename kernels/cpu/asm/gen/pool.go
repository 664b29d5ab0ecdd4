package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// pool writes the gated pooling of one window, a channel in each lane. Slots are triples of byte offsets: of the
// value and the gate in the pool, and of the bias.
const slotBytes = 24

func (g *gen) pool() {
	g.fn("Pool", "(y, pool, bias *float32, slots *int, n, dim int, tmp *float32)",
		"Pool sets dim channels of y to the mean of n slots' values by the softmax of gate+bias. tmp has room for n vectors.")
	p := g.newPooling()
	y := g.arg("y")
	g.span(g.bytes("dim"), lane, func(i gp) {
		out, _ := p.forward(i)
		g.store(out, idx(y, i, 1, 0))
	})
	g.end()
	g.poolGrad()
}

// A pooling is the registers of a window.
type pooling struct {
	*gen
	at gp // the slot at hand
}

func (g *gen) newPooling() *pooling {
	return &pooling{gen: g, at: g.GP64()}
}

// field returns where an argument has field k of the slot at hand, at byte i of its channels.
func (p *pooling) field(arg string, k int, i gp) operand.Mem {
	r := p.arg(arg)
	p.ADDQ(at(p.at, 8*k), r)
	return idx(r, i, 1, 0)
}

// each runs body for all slots; e is the slot's vector in tmp.
func (p *pooling) each(body func(e operand.Mem)) {
	n, t := p.arg("n"), p.arg("tmp")
	p.Load(p.Param("slots"), p.at)
	p.loop(n, func() {
		body(at(t, 0))
		p.ADDQ(operand.Imm(lane), t)
		p.ADDQ(operand.Imm(slotBytes), p.at)
	})
}

// forward leaves exp(g-m) of each slot in tmp and returns the pooled value and 1/Z.
func (p *pooling) forward(i gp) (y, inv vec) {
	m := p.load(p.all(float32(math.Inf(-1))))
	p.each(func(e operand.Mem) {
		a := p.add(p.load(p.field("pool", 1, i)), p.field("bias", 2, i))
		p.store(a, e)
		p.greater(m, a)
	})
	y, z := p.zero(), p.zero()
	p.each(func(e operand.Mem) {
		x := p.exp(p.sub(p.load(e), m))
		p.store(x, e)
		p.VADDPS(x, z, z)
		p.fma(y, x, p.field("pool", 0, i))
	})
	inv = p.over(z)
	return p.mul(y, inv), inv
}

func (g *gen) poolGrad() {
	g.fn("PoolGrad", "(draw, dbias, dy, pool, bias *float32, slots *int, n, dim int, tmp *float32)",
		"PoolGrad adds the gradients of Pool to draw, laid out as the pool, and to dbias.")
	p := g.newPooling()
	dy := g.arg("dy")
	g.span(g.bytes("dim"), lane, func(i gp) {
		y, inv := p.forward(i)
		out := g.load(idx(dy, i, 1, 0))
		p.each(func(e operand.Mem) {
			d := g.mul(g.mul(g.load(e), inv), out)
			f := g.mul(g.sub(g.load(p.field("pool", 0, i)), y), d)
			add := func(v vec, to operand.Mem) { g.store(g.add(v, to), to) }
			add(d, p.field("draw", 0, i))
			add(f, p.field("draw", 1, i))
			add(f, p.field("dbias", 2, i))
		})
	})
	g.end()
}
