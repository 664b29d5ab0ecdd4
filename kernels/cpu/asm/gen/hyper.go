package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/operand"
)

// The maps of as many tokens as a vector has lanes are made at once, a token in each lane. A token's numbers are pre [4],
// post [4] and comb [4, 4]; in memory of lanes they take a vector each.
const (
	mapWidth = streams * (2 + streams)
	combSize = streams * streams
	lane     = 32 // bytes of a vector of eight
)

// Vectors of a round of Sinkhorn as it is kept: the matrix whose columns were normalised, a factor for each of them, and one for each row of the step
// that comes next. That step's matrix is their product.
const (
	factors   = combSize
	roundSize = combSize + 2*streams
)

// tokens returns how many tokens are made at once.
func (g *gen) tokens() int { return g.size / 4 }

func (g *gen) hyper() {
	g.hyperMap()
	g.hyperMapGrad()
	if g.size == ymm {
		g.scaleChains()
	}
}

// turnQuarters turns squares of four by four on their side: those of rows 0 to 3, and of rows 4 to 7, in each quarter of
// sixteen bytes.
func (g *gen) turnQuarters(r []vec) []vec {
	unpack := func(op func(...operand.Op), a, b vec) vec {
		d := g.vector()
		op(b, a, d)
		return d
	}
	shuffle := func(order uint64, a, b vec) vec {
		d := g.vector()
		g.VSHUFPS(operand.Imm(order), b, a, d)
		return d
	}
	var t, s [8]vec
	for i := 0; i < 8; i += 2 {
		t[i], t[i+1] = unpack(g.VUNPCKLPS, r[i], r[i+1]), unpack(g.VUNPCKHPS, r[i], r[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			s[i+2*j], s[i+2*j+1] = shuffle(0x44, t[i+j], t[i+j+2]), shuffle(0xee, t[i+j], t[i+j+2])
		}
	}
	return s[:]
}

// turn8 turns eight rows of eight on their side; with sixteen lanes sixteen rows, which rows8 has loaded.
func (g *gen) turn8(r []vec) []vec {
	s, even, odd := g.turnQuarters(r), uint64(0x20), uint64(0x31)
	if g.size > ymm {
		even, odd = 0x88, 0xdd
	}
	var y [8]vec
	for i := range 4 {
		y[i], y[i+4] = g.quarters(even, s[i], s[i+4]), g.quarters(odd, s[i], s[i+4])
	}
	return y[:]
}

// quarters returns quarters of a, then of b, as the instruction of this size chooses them by order.
func (g *gen) quarters(order uint64, a, b vec) vec {
	d := g.vector()
	if g.size > ymm {
		g.VSHUFF32X4(operand.Imm(order), b, a, d)
	} else {
		g.VPERM2F128(operand.Imm(order), b, a, d)
	}
	return d
}

// rows8 loads what m returns of a token: eight vectors for turn8. Those of sixteen lanes have two tokens each, such that turn8
// leaves the tokens in order.
func (g *gen) rows8(m func(token int) operand.Mem) (r []vec) {
	for t := range 8 {
		v := g.vector()
		if g.size > ymm {
			t += t / 4 * 4
			g.VBROADCASTF64X4(m(t), v) // a load of half a register leaves the other undefined
			g.VINSERTF64X4(operand.Imm(1), m(t+4), v, v)
		} else {
			g.VMOVUPS(m(t), v)
		}
		r = append(r, v)
	}
	return r
}

// turnIn brings rows of n numbers, a multiple of eight, into lanes at to.
func (g *gen) turnIn(rows gp, to gp, toDisp, n int) {
	for c := 0; c < n; c += 8 {
		r := g.rows8(func(t int) operand.Mem { return at(rows, 4*(t*n+c)) })
		for i, v := range g.turn8(r) {
			g.store(v, at(to, toDisp+g.size*(c+i)))
		}
	}
}

// lanes8 loads eight vectors of lanes.
func (g *gen) lanes8(from gp, disp int) (r []vec) {
	for i := range 8 {
		r = append(r, g.load(at(from, disp+g.size*i)))
	}
	return r
}

// turnOut writes n numbers of the tokens, in lanes at from, as rows of n. n is a multiple of eight.
func (g *gen) turnOut(from gp, fromDisp int, rows gp, n int) {
	for c := 0; c < n; c += 8 {
		for t, v := range g.turn8(g.lanes8(from, fromDisp+g.size*c)) {
			if g.size > ymm { // quarters of two tokens
				v = g.quarters(0xd8, v, v)
				g.VEXTRACTF64X4(operand.Imm(1), v, at(rows, 4*((t+8)*n+c)))
			}
			g.VMOVUPS(v.AsY(), at(rows, 4*(t*n+c)))
		}
	}
}

// turnPairs writes two maps of four numbers, side by side in lanes at from, as rows of four each.
func (g *gen) turnPairs(from gp, a, b gp) {
	r := g.lanes8(from, 0)
	if g.size > ymm {
		for i, v := range g.turnQuarters(r) {
			to, t := []gp{a, b}[i/4], i%4
			g.VMOVUPS(v.AsX(), at(to, 16*t))
			for q := 1; q < 4; q++ {
				g.VEXTRACTF32X4(operand.Imm(uint64(q)), v, at(to, 16*(t+4*q)))
			}
		}
		return
	}
	for t, v := range g.turn8(r) {
		g.VMOVUPS(v.AsX(), at(a, 16*t))
		g.VEXTRACTF128(operand.Imm(1), v, at(b, 16*t))
	}
}

// pairs8 loads two maps of four numbers side by side, as rows8 does.
func (g *gen) pairs8(a, b gp) (r []vec) {
	for t := range 8 {
		if g.size > ymm {
			t += t / 4 * 4
		}
		v := g.twice(at(a, 16*t))
		if g.size > ymm {
			g.VINSERTF32X4(operand.Imm(1), at(b, 16*t), v, v)
			g.VINSERTF32X4(operand.Imm(2), at(a, 16*(t+4)), v, v)
			g.VINSERTF32X4(operand.Imm(3), at(b, 16*(t+4)), v, v)
		} else {
			g.VINSERTF128(operand.Imm(1), at(b, 16*t), v, v)
		}
		r = append(r, v)
	}
	return r
}

// A site is the state of a map function: where its lanes lie in scratch memory.
type site struct {
	*gen
	tmp  gp
	a, u int // logits, and z*rho
	p    int // softmax of comb
	m    int // matrix of Sinkhorn: p + eps, then what a step on rows leaves. The rounds lie behind it
	eps  vec
}

// logits sets u = z*rho and a = FMA(u, scale, base).
func (s *site) logits() {
	z, base, scale := s.arg("z"), s.arg("base"), s.arg("scale")
	s.turnIn(z, s.tmp, s.u, mapWidth)
	rho := s.load(at(s.arg("rho"), 0))
	for i := range mapWidth {
		u := s.mul(rho, at(s.tmp, s.u+s.size*i))
		s.store(u, at(s.tmp, s.u+s.size*i))
		a := s.spread(at(base, 4*i))
		s.fma(a, u, s.spread(at(scale, 4*min(i/streams, 2))))
		s.store(a, at(s.tmp, s.a+s.size*i))
	}
}

// softmaxRows sets p to the softmax of each row of comb's logits, and the first matrix to p + eps.
func (s *site) softmaxRows() {
	for row := range streams {
		var e []vec
		m := s.load(s.all(float32(math.Inf(-1))))
		for c := range streams {
			e = append(e, s.load(at(s.tmp, s.a+s.size*(2*streams+row*streams+c))))
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
			s.store(p, at(s.tmp, s.p+s.size*(row*streams+c)))
			s.store(s.add(p, s.eps), at(s.tmp, s.m+s.size*(row*streams+c)))
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

// step normalises the lines of the matrix at m into to, and keeps the factors at r. Sixteen tokens go as two times eight: then
// one half's sums are made while the other half divides.
func (s *site) step(cols bool, m, to gp, r operand.Mem) {
	lanes := s.size
	s.eights(func() {
		for half := 0; half < lanes; half += s.size {
			for line := range streams {
				var in, out [streams]operand.Mem
				for i := range streams {
					c := lanes*cell(cols, line, i) + half
					in[i], out[i] = at(m, c), at(to, c)
				}
				s.normalise(in, out, r.Offset(lanes*line+half))
			}
		}
	})
}

// normalise is step for a line.
func (s *site) normalise(in, out [streams]operand.Mem, factor operand.Mem) {
	var v []vec
	for _, m := range in {
		v = append(v, s.load(m))
	}
	sum := s.add(v[0], v[1])
	s.VADDPS(v[2], sum, sum)
	s.VADDPS(v[3], sum, sum)
	r := s.over(s.add(sum, s.eps.AsY()))
	for i := range v {
		s.store(s.mul(v[i], r), out[i])
	}
	s.store(r, factor)
}

// sinkhorn runs the steps from the matrix at m. If it keeps the rounds, it returns where the last one lies; else that is m itself.
func (s *site) sinkhorn(m, iters gp, keep bool) gp {
	round := m
	if keep {
		round = s.GP64()
		s.LEAQ(at(m, s.size*combSize), round)
	}
	again, done := s.label("again"), s.label("done")
	s.Label(again)
	s.step(true, m, round, at(round, s.size*factors))
	s.DECQ(iters)
	s.JZ(operand.LabelRef(done))
	s.step(false, round, m, at(round, s.size*(factors+streams)))
	if keep {
		s.ADDQ(operand.U32(s.size*roundSize), round)
	}
	s.JMP(operand.LabelRef(again))
	s.Label(done)
	return round
}

func (g *gen) newSite() *site {
	g.settleSigmoid()
	s := &site{gen: g, tmp: g.arg("tmp"), eps: g.spreadArg("eps")}
	s.u = s.a + g.size*mapWidth
	s.p = s.u + g.size*mapWidth
	s.m = s.p + g.size*combSize
	return s
}

func (g *gen) hyperMap() {
	g.fn("HyperMap", "(pre, post, comb, z, rho, base, scale, tmp *float32, iters int, eps float32)",
		fmt.Sprintf("%s makes the maps of %d tokens with four streams; see Sizes of package asm for tmp.", g.named("HyperMap"), g.tokens()))
	s := g.newSite()
	s.logits()
	for i := range 2 * streams {
		sg := s.sigmoid(s.load(at(s.tmp, s.a+s.size*i)))
		if i < streams {
			s.VADDPS(s.eps, sg, sg)
		} else {
			s.VADDPS(sg, sg, sg)
		}
		s.store(sg, at(s.tmp, s.u+s.size*i)) // u is done with
	}
	s.softmaxRows()
	m := s.GP64()
	s.LEAQ(at(s.tmp, s.m), m)
	s.sinkhorn(m, s.arg("iters"), false)
	u := s.GP64()
	s.LEAQ(at(s.tmp, s.u), u)
	s.turnPairs(u, s.arg("pre"), s.arg("post"))
	s.turnOut(m, 0, s.arg("comb"), combSize)
	g.end()
}

// stepBack turns the gradient at d of a step's result into that of what it came from. A step on rows came from the matrix of the round.
func (s *site) stepBack(cols bool, round, d gp) {
	for line := range streams {
		sum := s.zero()
		r := s.size * (factors + line)
		if !cols {
			r += s.size * streams
		}
		factor := s.load(at(round, r))
		var dy []vec
		for i := range streams {
			c := s.size * cell(cols, line, i)
			dy = append(dy, s.load(at(d, c)))
			if cols {
				s.fma(sum, dy[i], at(round, c))
			} else {
				s.fma(sum, dy[i], s.mul(factor, at(round, c)))
			}
		}
		for i := range streams {
			s.store(s.mul(s.sub(dy[i], sum), factor), at(d, s.size*cell(cols, line, i)))
		}
	}
}

func (g *gen) hyperMapGrad() {
	g.fn("HyperMapGrad", "(ga, u, dz, drho, dpre, dpost, dcomb, z, rho, base, scale, tmp *float32, iters int, eps float32)",
		fmt.Sprintf("%s sets ga and u [%d, 24] to the gradient of the logits and z*rho, and drho, and adds to dz.", g.named("HyperMapGrad"), g.tokens()))
	s := g.newSite()
	s.logits()
	s.softmaxRows()
	m, iters := s.GP64(), s.arg("iters")
	s.LEAQ(at(s.tmp, s.m), m)
	round := s.sinkhorn(m, iters, true)

	// The gradient of comb takes the place of comb's logits, which are in p by now; those of pre and post join it.
	d := s.GP64()
	s.LEAQ(at(s.tmp, s.a+s.size*2*streams), d)
	s.turnIn(s.arg("dcomb"), d, 0, combSize)
	s.sinkhornBack(round, d)
	s.softmaxBack(d)
	s.gates()
	s.spreadGrad()
	g.end()
}

// sinkhornBack walks the steps backwards from the last round.
func (s *site) sinkhornBack(round, d gp) {
	iters := s.arg("iters")
	again, done := s.label("again"), s.label("done")
	s.Label(again)
	s.stepBack(true, round, d)
	s.DECQ(iters)
	s.JZ(operand.LabelRef(done))
	s.SUBQ(operand.U32(s.size*roundSize), round)
	s.stepBack(false, round, d)
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
			dy, p = append(dy, s.load(at(d, s.size*c))), append(p, s.load(at(s.tmp, s.p+s.size*c)))
			s.fma(sum, dy[i], p[i])
		}
		for i := range streams {
			s.store(s.mul(p[i], s.sub(dy[i], sum)), at(d, s.size*(row*streams+i)))
		}
	}
}

// gates sets the first eight gradients, those of pre's and post's logits.
func (s *site) gates() {
	dpre, dpost := s.arg("dpre"), s.arg("dpost")
	for i, v := range s.turn8(s.pairs8(dpre, dpost)) {
		s.store(v, at(s.tmp, s.p+s.size*i)) // p is done with
	}
	for i := range 2 * streams {
		sg := s.sigmoid(s.load(at(s.tmp, s.a+s.size*i)))
		d := s.load(at(s.tmp, s.p+s.size*i))
		if i >= streams {
			s.VADDPS(d, d, d)
		}
		slope := s.sub(s.load(s.all(1)), sg)
		s.store(s.mul(d, s.mul(slope, sg)), at(s.tmp, s.a+s.size*i))
	}
}

// spreadGrad writes g and u, and adds the gradients of z.
func (s *site) spreadGrad() {
	s.turnOut(s.tmp, s.a, s.arg("ga"), mapWidth)
	s.turnOut(s.tmp, s.u, s.arg("u"), mapWidth)
	scale, z, rho, dz, g := s.arg("scale"), s.arg("z"), s.arg("rho"), s.arg("dz"), s.arg("ga")
	s.turnIn(z, s.tmp, s.u, mapWidth)
	drho, tokens := s.zero(), s.tokens()
	for i := range mapWidth {
		du := s.mul(s.load(at(s.tmp, s.a+s.size*i)), s.spread(at(scale, 4*min(i/streams, 2))))
		s.fma(drho, du, at(s.tmp, s.u+s.size*i))
	}
	s.store(drho, at(s.arg("drho"), 0))
	first, post, rest := s.spread(at(scale, 0)), s.spread(at(scale, 4)), s.spread(at(scale, 8))
	if s.size > ymm {
		s.VINSERTF32X4(operand.Imm(1), post.AsX(), first, first)
	} else {
		s.VPERM2F128(operand.Imm(0x30), post, first, first)
	}
	s.eights(func() {
		for t := range tokens {
			r := s.spread(at(rho, 4*t))
			for c := 0; c < mapWidth; c += 8 {
				w, m := first, 4*(t*mapWidth+c)
				if c > 0 {
					w = rest
				}
				d := s.load(at(dz, m))
				s.fma(d, s.mul(w.AsY().(vec), at(g, m)), r)
				s.store(d, at(dz, m))
			}
		}
	})
}

// eights has body written for registers of eight lanes.
func (g *gen) eights(body func()) {
	size := g.size
	g.size = ymm
	body()
	g.size = size
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
