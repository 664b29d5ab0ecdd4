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

// all returns a constant with x in each lane of a vector: memory, or the register that settle has brought it to.
func (g *gen) all(x float32) operand.Op { return g.bits(math.Float32bits(x)) }

// bits is all for the bits of a lane.
func (g *gen) bits(b uint32) operand.Op {
	if v, ok := g.settled[b]; ok {
		if g.size == ymm {
			return v.AsY()
		}
		return v
	}
	return g.constant(b)
}

// constant returns memory with b in each lane of a vector.
func (g *gen) constant(b uint32) operand.Mem {
	return g.table(fmt.Sprintf("lanes%08x", b), g.widest/4, func(int) operand.Constant { return operand.U32(b) })
}

// table returns memory that holds n constants. A file has it once.
func (g *gen) table(name string, n int, of func(i int) operand.Constant) operand.Mem {
	if m, ok := g.consts[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range n {
		g.AppendDatum(of(i))
	}
	g.consts[name] = m
	return m
}

// settle brings constants into registers for the rest of the function, if there are 32: half of such constants lie across two lines.
func (g *gen) settle(x ...float32) {
	if g.size == ymm {
		return
	}
	for _, x := range x {
		b := math.Float32bits(x)
		if g.settled[b] == nil {
			g.settled[b] = g.load(g.constant(b))
		}
	}
}

// vector returns a new register of the generator's size.
func (g *gen) vector() vec {
	if g.size == zmm {
		return g.ZMM()
	}
	return g.YMM()
}

// load returns a vector of memory, or a copy of a constant.
func (g *gen) load(m operand.Op) vec {
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

// A mask is set or not for each lane: all of the lane's bits, or with AVX-512 a bit of a register for masks.
type mask operand.Op

// pick returns a where m is set, else b. a may be memory.
func (g *gen) pick(m mask, a operand.Op, b vec) vec {
	d := g.vector()
	g.pickInto(d, m, a, b)
	return d
}

// pickInto sets d to what pick returns.
func (g *gen) pickInto(d vec, m mask, a operand.Op, b vec) {
	if g.size > ymm {
		if d != b {
			g.VMOVAPS(b, d) // avo takes it that the instruction reads d
		}
		g.VBLENDMPS(a, d, m, d)
		return
	}
	g.VBLENDVPS(m, a, b, d)
}

// keep sets v to zero where m is not set.
func (g *gen) keep(m mask, v vec) {
	if g.size > ymm {
		g.VMOVAPS_Z(v, m, v)
		return
	}
	g.VANDPS(m, v, v)
}

// both sets m where n is set too, and returns it.
func (g *gen) both(m, n mask) mask {
	if g.size > ymm {
		g.KANDW(n, m, m)
		return m
	}
	g.VANDPS(n, m, m)
	return m
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

// compare returns a mask that is set where a is related to b. b may be memory.
func (g *gen) compare(predicate uint8, a vec, b operand.Op) mask {
	m := g.mask()
	g.VCMPPS(operand.Imm(uint64(predicate)), b, a, m)
	return m
}

// mask returns a new register for a mask.
func (g *gen) mask() mask {
	if g.size > ymm {
		return g.K()
	}
	return g.vector()
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

// fmaEight goes on with the eight chains of acc, a register of eight, over the lanes of a and b: with sixteen lanes the upper eight come second.
func (g *gen) fmaEight(acc, a, b vec) {
	if g.size == ymm {
		g.fma(acc, a, b)
		return
	}
	g.fma(acc, a.AsY().(vec), b.AsY())
	upper := []vec{g.YMM(), g.YMM()}
	for i, v := range []vec{a, b} {
		g.VEXTRACTF64X4(operand.Imm(1), v, upper[i])
	}
	g.fma(acc, upper[0], upper[1])
}

// fold returns Fold8 of v in the lowest lane.
func (g *gen) fold(v vec) reg.VecVirtual {
	h, s, t := g.XMM(), g.XMM(), g.XMM()
	g.upper(v, h)
	g.VADDPS(h, v.AsX(), s)
	g.VMOVHLPS(s, s, t)
	g.VADDPS(t, s, s)
	g.VMOVSHDUP(s, t)
	g.VADDSS(t, s, s)
	return s
}

// upper sets x to the upper half of a register of eight.
func (g *gen) upper(v vec, x operand.Op) {
	if g.size == ymm {
		g.VEXTRACTF128(operand.Imm(1), v, x)
		return
	}
	g.VEXTRACTF32X4(operand.Imm(1), v.AsY(), x) // any of the 32
}

// fold4 returns Fold8 of each of four in four lanes.
func (g *gen) fold4(v []vec) reg.VecVirtual {
	var x [4]reg.VecVirtual
	for i := range x {
		x[i] = g.XMM()
		g.VEXTRACTF128(operand.Imm(1), v[i], x[i])
		g.VADDPS(x[i], v[i].AsX(), x[i])
	}
	s, t := g.pairs(g.XMM, x[0], x[1]), g.pairs(g.XMM, x[2], x[3])
	lo, hi := g.XMM(), g.XMM()
	g.VMOVLHPS(t, s, lo)
	g.VMOVHLPS(s, t, hi)
	g.VADDPS(hi, lo, lo)
	return lo
}

// pairs returns, in each sixteen bytes, lanes 0+2 of a, of b, 1+3 of a, of b.
func (g *gen) pairs(register func() vec, a, b vec) vec {
	low, high := register(), register()
	g.VUNPCKLPS(b, a, low)
	g.VUNPCKHPS(b, a, high)
	g.VADDPS(high, low, low)
	return low
}
