package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The words that vector functions are written in: each emits an instruction or a few.

type (
	vec = reg.VecVirtual
	gp  = reg.GPVirtual
)

// all returns a memory constant with x in each lane of a vector.
func (g *gen) all(x float32) operand.Mem { return g.bits(math.Float32bits(x)) }

// bits is all for the bits of a lane.
func (g *gen) bits(b uint32) operand.Mem {
	name := fmt.Sprintf("lanes%08x", b)
	if m, ok := g.consts[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for range g.size / 4 {
		g.AppendDatum(operand.U32(b))
	}
	g.consts[name] = m
	return m
}

// vector returns a new register of the generator's size.
func (g *gen) vector() vec {
	if g.size == zmm {
		return g.ZMM()
	}
	return g.YMM()
}

// load returns a vector of memory.
func (g *gen) load(m operand.Mem) vec {
	v := g.vector()
	g.VMOVUPS(m, v)
	return v
}

// spread returns the number in memory in all lanes.
func (g *gen) spread(m operand.Mem) vec {
	v := g.vector()
	g.VBROADCASTSS(m, v)
	return v
}

// spreadArg returns a float32 argument in all lanes.
func (g *gen) spreadArg(name string) vec {
	v := g.vector()
	g.VBROADCASTSS(g.memory(name), v)
	return v
}

func (g *gen) store(v vec, m operand.Mem) { g.VMOVUPS(v, m) }

// zero returns zeros.
func (g *gen) zero() vec {
	v := g.vector()
	g.VXORPS(v, v, v)
	return v
}

// clone returns a copy of v.
func (g *gen) clone(v vec) vec {
	c := g.vector()
	g.VMOVAPS(v, c)
	return c
}

// The arithmetic words return a new register: a op b. b may be memory.

func (g *gen) mul(a vec, b operand.Op) vec { d := g.vector(); g.VMULPS(b, a, d); return d }
func (g *gen) add(a vec, b operand.Op) vec { d := g.vector(); g.VADDPS(b, a, d); return d }
func (g *gen) sub(a vec, b operand.Op) vec { d := g.vector(); g.VSUBPS(b, a, d); return d }
func (g *gen) div(a vec, b operand.Op) vec { d := g.vector(); g.VDIVPS(b, a, d); return d }

// fma sets acc to a*b + acc. b may be memory.
func (g *gen) fma(acc, a vec, b operand.Op) { g.VFMADD231PS(b, a, acc) }

// over returns 1/v.
func (g *gen) over(v vec) vec { return g.div(g.load(g.all(1)), v) }

// greater sets m to v where v > m: NaN in v is passed over.
func (g *gen) greater(m, v vec) { g.VMAXPS(m, v, m) }

// pick returns a where the mask is set, else b. a may be memory.
func (g *gen) pick(mask vec, a operand.Op, b vec) vec {
	d := g.vector()
	g.VBLENDVPS(mask, a, b, d)
	return d
}

// Predicates of compare. The second group holds for NaN too.
const (
	isUnordered  = 3
	isLess       = 17
	isGreater    = 30
	isEqual      = 0
	atLeast      = 29
	notLess      = 21
	notGreater   = 26
	notEqual     = 4
	signBit      = 0x80000000
	exponentOne  = 23 // bits that a float32's exponent lies up
	mantissaBits = 1<<exponentOne - 1
)

// compare returns all ones where a is related to b. b may be memory.
func (g *gen) compare(predicate uint8, a vec, b operand.Op) vec {
	d := g.vector()
	g.VCMPPS(operand.Imm(uint64(predicate)), b, a, d)
	return d
}

// span runs body with i = 0, step, 2*step ... below limit. The limit must not be zero.
func (g *gen) span(limit gp, step uint64, body func(i gp)) {
	i, again := g.GP64(), g.label("span")
	g.XORQ(i, i)
	g.Label(again)
	body(i)
	g.ADDQ(operand.Imm(step), i)
	g.CMPQ(i, limit)
	g.JLT(operand.LabelRef(again))
}

// small is an immediate of as few bytes as arithmetic takes.
func small(n int) operand.Op {
	if n < 1<<8 {
		return operand.Imm(uint64(n))
	}
	return operand.U32(n)
}

// wideSpan is span for some vectors at a time, and for single ones at the end.
func (g *gen) wideSpan(limit gp, wide int, body func(i gp, vecs int)) {
	i, last := g.GP64(), g.GP64()
	again, single, done := g.label("wide"), g.label("single"), g.label("done")
	g.XORQ(i, i)
	g.LEAQ(at(limit, -g.size*wide), last)
	g.Label(again)
	g.CMPQ(i, last)
	g.JGT(operand.LabelRef(single))
	body(i, wide)
	g.ADDQ(small(g.size*wide), i)
	g.JMP(operand.LabelRef(again))
	g.Label(single)
	g.CMPQ(i, limit)
	g.JGE(operand.LabelRef(done))
	body(i, 1)
	g.ADDQ(operand.Imm(uint64(g.size)), i)
	g.JMP(operand.LabelRef(single))
	g.Label(done)
}

// strips calls part for the wide strips of left bytes, some vectors each, and then for single vectors. It uses left up.
func (g *gen) strips(left gp, wide int, part func(vecs int)) {
	again, single, done := g.label("strip"), g.label("single"), g.label("done")
	g.Label(again)
	g.CMPQ(left, operand.U32(g.size*wide))
	g.JLT(operand.LabelRef(single))
	part(wide)
	g.SUBQ(operand.U32(g.size*wide), left)
	g.JMP(operand.LabelRef(again))
	g.Label(single)
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef(done))
	part(1)
	g.SUBQ(operand.U32(g.size), left)
	g.JMP(operand.LabelRef(single))
	g.Label(done)
}

// walk is strips for pointers that nobody needs at the end: where all is done in one go nothing moves on. left is above zero.
func (g *gen) walk(left gp, wide int, pointers []gp, part func(vecs int)) {
	done := g.label("walked")
	for _, vecs := range []int{wide, 1} {
		again, less := g.label("walk"), g.label("less")
		g.Label(again)
		if vecs > 1 {
			g.CMPQ(left, operand.U32(g.size*vecs))
			g.JLT(operand.LabelRef(less))
		}
		part(vecs)
		g.SUBQ(operand.U32(g.size*vecs), left)
		g.JZ(operand.LabelRef(done))
		g.advance(vecs, pointers...)
		g.JMP(operand.LabelRef(again))
		g.Label(less)
	}
	g.Label(done)
}

// advance moves pointers on by some vectors.
func (g *gen) advance(vecs int, pointers ...gp) {
	for _, p := range pointers {
		g.ADDQ(operand.U32(g.size*vecs), p)
	}
}

// bytes returns a count of float32 argument in bytes.
func (g *gen) bytes(name string) gp {
	n := g.arg(name)
	g.SHLQ(operand.Imm(2), n)
	return n
}

// fold returns Fold8 of v in the lowest lane.
func (g *gen) fold(v vec) reg.VecVirtual {
	h, s, t := g.XMM(), g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.Imm(1), v, h)
	g.VADDPS(h, v.AsX(), s)
	g.VMOVHLPS(s, s, t)
	g.VADDPS(t, s, s)
	g.VMOVSHDUP(s, t)
	g.VADDSS(t, s, s)
	return s
}

// fold4 returns Fold8 of each of four in four lanes.
func (g *gen) fold4(v []vec) reg.VecVirtual {
	var x [4]reg.VecVirtual
	for i := range x {
		x[i] = g.XMM()
		g.VEXTRACTF128(operand.Imm(1), v[i], x[i])
		g.VADDPS(x[i], v[i].AsX(), x[i])
	}
	pair := func(a, b reg.VecVirtual) reg.VecVirtual { // 0+2 of a, of b, 1+3 of a, of b
		lo, hi := g.XMM(), g.XMM()
		g.VUNPCKLPS(b, a, lo)
		g.VUNPCKHPS(b, a, hi)
		g.VADDPS(hi, lo, lo)
		return lo
	}
	s, t := pair(x[0], x[1]), pair(x[2], x[3])
	lo, hi := g.XMM(), g.XMM()
	g.VMOVLHPS(t, s, lo)
	g.VMOVHLPS(s, t, hi)
	g.VADDPS(hi, lo, lo)
	return lo
}
