package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// The maps of eight tokens are made at once, a token in each lane. A token's numbers are pre [4], post [4] and
// comb [4, 4]; in memory of lanes they take 32 bytes each.
const (
	mapWidth = streams * (2 + streams)
	combSize = streams * streams
	lane     = 32
	stepSize = lane * (combSize + streams) // a step of Sinkhorn: the matrix, and a factor for each line
)

func (g *gen) hyper() {
	g.hyperMap()
	g.hyperMapGrad()
	g.scaleChains()
}

// turn8 turns eight rows of eight on their side.
func (g *gen) turn8(r []vec) []vec {
	two := func(op func(...operand.Op), a, b vec, imm ...operand.Op) vec {
		d := g.YMM()
		op(append(imm, b, a, d)...)
		return d
	}
	unpackLow := func(o ...operand.Op) { g.VUNPCKLPS(o[0], o[1], o[2]) }
	unpackHigh := func(o ...operand.Op) { g.VUNPCKHPS(o[0], o[1], o[2]) }
	shuffle := func(o ...operand.Op) { g.VSHUFPS(o[0], o[1], o[2], o[3]) }
	halves := func(o ...operand.Op) { g.VPERM2F128(o[0], o[1], o[2], o[3]) }
	var t, s, y [8]vec
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = two(unpackLow, r[i], r[i+1]), two(unpackHigh, r[i], r[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			s[i+2*j] = two(shuffle, t[i+j], t[i+j+2], operand.Imm(0x44))
			s[i+2*j+1] = two(shuffle, t[i+j], t[i+j+2], operand.Imm(0xee))
		}
	}
	for i := range 4 {
		y[i] = two(halves, s[i], s[i+4], operand.Imm(0x20))
		y[i+4] = two(halves, s[i], s[i+4], operand.Imm(0x31))
	}
	return y[:]
}

// turnIn brings eight rows of n numbers, a multiple of eight, into lanes at to.
func (g *gen) turnIn(rows gp, to gp, toDisp, n int) {
	for c := 0; c < n; c += 8 {
		var r []vec
		for t := range 8 {
			r = append(r, g.load(at(rows, 4*(t*n+c))))
		}
		for i, v := range g.turn8(r) {
			g.store(v, at(to, toDisp+lane*(c+i)))
		}
	}
}

// turnOut writes n numbers of eight tokens, in lanes at from, as rows of n. n is a multiple of eight.
func (g *gen) turnOut(from gp, fromDisp int, rows gp, n int) {
	for c := 0; c < n; c += 8 {
		var r []vec
		for i := range 8 {
			r = append(r, g.load(at(from, fromDisp+lane*(c+i))))
		}
		for t, v := range g.turn8(r) {
			g.store(v, at(rows, 4*(t*n+c)))
		}
	}
}

// turnPairs writes two maps of four numbers, side by side in lanes at from, as rows of four each.
func (g *gen) turnPairs(from gp, a, b gp) {
	var r []vec
	for i := range 8 {
		r = append(r, g.load(at(from, lane*i)))
	}
	for t, v := range g.turn8(r) {
		g.VMOVUPS(v.AsX(), at(a, 16*t))
		g.VEXTRACTF128(operand.Imm(1), v, at(b, 16*t))
	}
}

// A site is the state of a map function: where its lanes lie in scratch memory.
type site struct {
	*gen
	tmp  gp
	a, u int // logits, and z*rho
	p    int // softmax of comb
	m    int // first step of Sinkhorn
	eps  vec
}

// Memory of lanes, in bytes.
const (
	siteA = 0
	siteU = lane * mapWidth
	siteP = 2 * lane * mapWidth
	siteM = siteP + lane*combSize
)

// logits sets u = z*rho and a = FMA(u, scale, base).
func (s *site) logits() {
	z, base, scale := s.arg("z"), s.arg("base"), s.arg("scale")
	s.turnIn(z, s.tmp, s.u, mapWidth)
	rho := s.load(at(s.arg("rho"), 0))
	for i := range mapWidth {
		u := s.mul(rho, at(s.tmp, s.u+lane*i))
		s.store(u, at(s.tmp, s.u+lane*i))
		a := s.spread(at(base, 4*i))
		s.fma(a, u, s.spread(at(scale, 4*min(i/streams, 2))))
		s.store(a, at(s.tmp, s.a+lane*i))
	}
}

// softmaxRows sets p to the softmax of each row of comb's logits, and the first matrix to p + eps.
func (s *site) softmaxRows() {
	for row := range streams {
		var e []vec
		m := s.load(s.all(float32(math.Inf(-1))))
		for c := range streams {
			e = append(e, s.load(at(s.tmp, s.a+lane*(2*streams+row*streams+c))))
			s.greater(m, e[c])
		}
		sum := s.zero()
		for c := range e {
			e[c] = s.exp(s.sub(e[c], m))
			s.VADDPS(e[c], sum, sum)
		}
		inv := s.over(sum)
		for c := range e {
			p := s.mul(e[c], inv)
			s.store(p, at(s.tmp, s.p+lane*(row*streams+c)))
			s.store(s.add(p, s.eps), at(s.tmp, s.m+lane*(row*streams+c)))
		}
	}
}

// cell is element i of a line, a column or a row.
func cell(cols bool, line, i int) int {
	if cols {
		return i*streams + line
	}
	return line*streams + i
}

// step normalises the lines of the matrix at m into to, and keeps the factors behind it.
func (s *site) step(cols bool, m, to gp) {
	for line := range streams {
		var v []vec
		for i := range streams {
			v = append(v, s.load(at(m, lane*cell(cols, line, i))))
		}
		sum := s.add(v[0], v[1])
		s.VADDPS(v[2], sum, sum)
		s.VADDPS(v[3], sum, sum)
		r := s.over(s.add(sum, s.eps))
		for i := range v {
			s.store(s.mul(v[i], r), at(to, lane*cell(cols, line, i)))
		}
		s.store(r, at(to, lane*(combSize+line)))
	}
}

// sinkhorn runs the steps. Each is written stride bytes behind the one before; it leaves m at the last.
func (s *site) sinkhorn(m gp, iters gp, stride int) {
	to := s.GP64()
	next := func(cols bool) {
		s.LEAQ(at(m, stride), to)
		s.step(cols, m, to)
		s.MOVQ(to, m)
	}
	again, done := s.label("again"), s.label("done")
	next(true)
	s.Label(again)
	s.DECQ(iters)
	s.JZ(operand.LabelRef(done))
	next(false)
	next(true)
	s.JMP(operand.LabelRef(again))
	s.Label(done)
}

func (g *gen) newSite() *site {
	return &site{gen: g, tmp: g.arg("tmp"), a: siteA, u: siteU, p: siteP, m: siteM, eps: g.spreadArg("eps")}
}

func (g *gen) hyperMap() {
	g.fn("HyperMap", "(pre, post, comb, z, rho, base, scale, tmp *float32, iters int, eps float32)",
		"HyperMap makes the maps of eight tokens with four streams; see Sizes of package asm for tmp.")
	s := g.newSite()
	s.logits()
	for i := range 2 * streams {
		sg := s.sigmoid(s.load(at(s.tmp, s.a+lane*i)))
		if i < streams {
			s.VADDPS(s.eps, sg, sg)
		} else {
			s.VADDPS(sg, sg, sg)
		}
		s.store(sg, at(s.tmp, s.u+lane*i)) // u is done with
	}
	s.softmaxRows()
	m := s.GP64()
	s.LEAQ(at(s.tmp, s.m), m)
	s.sinkhorn(m, s.arg("iters"), 0)
	u := s.GP64()
	s.LEAQ(at(s.tmp, s.u), u)
	s.turnPairs(u, s.arg("pre"), s.arg("post"))
	s.turnOut(m, 0, s.arg("comb"), combSize)
	g.end()
}

// stepBack turns the gradient at d of a step's result into that of what it came from.
func (s *site) stepBack(cols bool, m, d gp) {
	for line := range streams {
		sum := s.zero()
		var dy []vec
		for i := range streams {
			c := cell(cols, line, i)
			dy = append(dy, s.load(at(d, lane*c)))
			s.fma(sum, dy[i], at(m, lane*c))
		}
		r := s.load(at(m, lane*(combSize+line)))
		for i := range streams {
			s.store(s.mul(s.sub(dy[i], sum), r), at(d, lane*cell(cols, line, i)))
		}
	}
}

func (g *gen) hyperMapGrad() {
	g.fn("HyperMapGrad", "(ga, u, dz, drho, dpre, dpost, dcomb, z, rho, base, scale, tmp *float32, iters int, eps float32)",
		"HyperMapGrad sets ga and u [8, 24] to the gradient of the logits and z*rho, and drho, and adds to dz.")
	s := g.newSite()
	s.logits()
	s.softmaxRows()
	m, iters := s.GP64(), s.arg("iters")
	s.LEAQ(at(s.tmp, s.m), m)
	s.sinkhorn(m, iters, stepSize)

	// The gradient of comb takes the place of comb's logits, which are in p by now; those of pre and post join it.
	d := s.GP64()
	s.LEAQ(at(s.tmp, s.a+lane*2*streams), d)
	s.turnIn(s.arg("dcomb"), d, 0, combSize)
	s.sinkhornBack(m, d)
	s.softmaxBack(d)
	s.gates()
	s.spreadGrad()
	g.end()
}

// sinkhornBack walks the steps backwards from m.
func (s *site) sinkhornBack(m, d gp) {
	iters := s.arg("iters")
	again, done := s.label("again"), s.label("done")
	s.Label(again)
	s.stepBack(true, m, d)
	s.SUBQ(operand.U32(stepSize), m)
	s.DECQ(iters)
	s.JZ(operand.LabelRef(done))
	s.stepBack(false, m, d)
	s.SUBQ(operand.U32(stepSize), m)
	s.JMP(operand.LabelRef(again))
	s.Label(done)
}

// softmaxBack turns the gradient of the softmax into that of its logits.
func (s *site) softmaxBack(d gp) {
	for row := range streams {
		sum := s.zero()
		var dy, p []vec
		for i := range streams {
			c := row*streams + i
			dy, p = append(dy, s.load(at(d, lane*c))), append(p, s.load(at(s.tmp, s.p+lane*c)))
			s.fma(sum, dy[i], p[i])
		}
		for i := range streams {
			s.store(s.mul(p[i], s.sub(dy[i], sum)), at(d, lane*(row*streams+i)))
		}
	}
}

// gates sets the first eight gradients, those of pre's and post's logits.
func (s *site) gates() {
	dpre, dpost := s.arg("dpre"), s.arg("dpost")
	var r []vec
	for t := range 8 {
		v := s.twice(at(dpre, 16*t)) // a load of half a register leaves the other undefined
		s.VINSERTF128(operand.Imm(1), at(dpost, 16*t), v, v)
		r = append(r, v)
	}
	for i, v := range s.turn8(r) {
		s.store(v, at(s.tmp, s.p+lane*i)) // p is done with
	}
	for i := range 2 * streams {
		sg := s.sigmoid(s.load(at(s.tmp, s.a+lane*i)))
		d := s.load(at(s.tmp, s.p+lane*i))
		if i >= streams {
			s.VADDPS(d, d, d)
		}
		slope := s.sub(s.load(s.all(1)), sg)
		s.store(s.mul(d, s.mul(slope, sg)), at(s.tmp, s.a+lane*i))
	}
}

// spreadGrad writes g and u, and adds the gradients of z.
func (s *site) spreadGrad() {
	s.turnOut(s.tmp, s.a, s.arg("ga"), mapWidth)
	s.turnOut(s.tmp, s.u, s.arg("u"), mapWidth)
	scale, z, rho, dz, g := s.arg("scale"), s.arg("z"), s.arg("rho"), s.arg("dz"), s.arg("ga")
	s.turnIn(z, s.tmp, s.u, mapWidth)
	drho := s.zero()
	for i := range mapWidth {
		du := s.mul(s.load(at(s.tmp, s.a+lane*i)), s.spread(at(scale, 4*min(i/streams, 2))))
		s.fma(drho, du, at(s.tmp, s.u+lane*i))
	}
	s.store(drho, at(s.arg("drho"), 0))
	first, post, rest := s.spread(at(scale, 0)), s.spread(at(scale, 4)), s.spread(at(scale, 8))
	s.VPERM2F128(operand.Imm(0x30), post, first, first)
	for t := range 8 {
		r := s.spread(at(rho, 4*t))
		for c := 0; c < mapWidth; c += 8 {
			w, m := first, 4*(t*mapWidth+c)
			if c > 0 {
				w = rest
			}
			d := s.load(at(dz, m))
			s.fma(d, s.mul(w, at(g, m)), r)
			s.store(d, at(dz, m))
		}
	}
}

// scaleChains sums over tokens what the three scales and the base get.
func (g *gen) scaleChains() {
	g.fn("ScaleChains", "(dscale, ga, u *float32, n int)",
		"ScaleChains goes on with dscale[k] = FMA(ga, u, dscale[k]) over n tokens, and in each over the numbers of group k.")
	dscale, gs, u, n := g.arg("dscale"), g.arg("ga"), g.arg("u"), g.arg("n")
	var acc []vec
	for k := range 3 {
		v := g.XMM()
		g.VMOVSS(at(dscale, 4*k), v)
		acc = append(acc, v)
	}
	v := g.XMM()
	g.loop(n, func() {
		for i := range mapWidth {
			g.VMOVSS(at(gs, 4*i), v)
			g.VFMADD231SS(at(u, 4*i), v, acc[min(i/streams, 2)])
		}
		g.ADDQ(operand.Imm(4*mapWidth), gs)
		g.ADDQ(operand.Imm(4*mapWidth), u)
	})
	for k, a := range acc {
		g.VMOVSS(a, at(dscale, 4*k))
	}
	g.RET()
}
