package main

import "github.com/mmcloughlin/avo/operand"

// panels writes what lays out weights for products: sixteen rows are turned on their side. A word is one number of bfloat16, two codes of
// E4M3 that follow each other, or four of E2M1; word j of row r goes to place 2*(r%8) + r/8 of line j, so that rows r and r+8 share 32 bits.
func (g *gen) panels() {
	g.turnWords("PackWords", "(dst, w *byte, n, ld int)", nil,
		"PackWords turns 16 rows of n words, ld bytes apart, into n lines of 16 words; n is a multiple of sixteen.")
	g.turnWords("PackPairs", "(dst, w *byte, n, ld int) (nan int)", &turning{nan: true},
		"PackPairs is PackWords for E4M3. It returns 0 unless a code is NaN.")
	g.turnWords("PackQuads", "(dst, w *byte, n, ld int)", &turning{quads: true},
		"PackQuads is PackWords for E2M1, whose codes trade places within a line: see package cpu.")
}

// A turning is what is done besides.
type turning struct {
	nan, quads bool
	seen       vec
}

// turnWords goes by squares of 16 by 16 words. It asks for the next panel while it turns this one.
func (g *gen) turnWords(name, args string, t *turning, doc ...string) {
	g.fn(name, args, doc...)
	dst, w, n, ld := g.arg("dst"), g.arg("w"), g.arg("n"), g.arg("ld")
	if t == nil {
		t = &turning{}
	}
	if t.nan {
		t.seen = g.zero()
	}
	ld3, ahead := g.triple(ld), g.GP64()
	quarters := [4]gp{w, g.GP64(), g.GP64(), g.GP64()}
	for i := range 3 {
		g.LEAQ(idx(quarters[i], ld, 4, 0), quarters[i+1])
	}
	g.LEAQ(idx(quarters[3], ld, 4, 0), ahead)
	g.SHRQ(operand.Imm(4), n)
	g.loop(n, func() {
		var rows []operand.Mem
		for _, q := range quarters {
			rows = append(rows, heads(q, ld, ld3)...)
		}
		for line := range 8 {
			g.PREFETCHT1(at(ahead, 64*line))
		}
		g.halfSquare(dst, rows, 0, t)
		g.halfSquare(dst, rows, 4, t)
		for _, q := range quarters {
			g.ADDQ(operand.Imm(lane), q)
		}
		g.ADDQ(operand.U32(16*lane), ahead)
		g.ADDQ(operand.U32(16*lane), dst)
	})
	if t.nan {
		r := g.GP32()
		g.VPMOVMSKB(t.seen, r)
		g.MOVQ(r.As64(), g.result("nan"))
	}
	g.end()
}

// halfSquare does lines from to from+4 and eight after those: what comes out when 16-bit words of two rows alternate by halves of a vector.
func (g *gen) halfSquare(dst gp, rows []operand.Mem, from int, t *turning) {
	pairs := make([]vec, 8)
	for r := range pairs {
		v := g.load(rows[r])
		if from == 0 {
			t.look(g, v)
			g.VPUNPCKLWD(rows[r+8], v, v)
		} else {
			u := g.load(rows[r+8])
			t.look(g, u)
			g.VPUNPCKHWD(u, v, v)
		}
		pairs[r] = v
	}
	for i, v := range g.turn8(pairs) {
		t.trade(g, v)
		g.store(v, at(dst, lane*(from+i%4+i/4*8)))
	}
}

// look remembers whether there is a NaN among 32 codes of E4M3.
func (t *turning) look(g *gen, v vec) {
	if !t.nan {
		return
	}
	c := g.load(g.bits(0x7f7f7f7f))
	g.VPAND(v, c, c)
	g.VPCMPEQB(g.bits(0x7f7f7f7f), c, c)
	g.VPOR(c, t.seen, t.seen)
}

// trade brings the codes of lines 0 and 2 into one byte and those of 1 and 3 into another, and the bytes of lines 0 and 2 before the others.
func (t *turning) trade(g *gen, v vec) {
	if !t.quads {
		return
	}
	second, third := g.YMM(), g.YMM()
	g.VPAND(g.bits(0x00f000f0), v, second)
	g.VPAND(g.bits(0x0f000f00), v, third)
	g.VPAND(g.bits(0xf00ff00f), v, v)
	g.VPSLLW(operand.Imm(4), second, second)
	g.VPSRLW(operand.Imm(4), third, third)
	g.VPOR(second, v, v)
	g.VPOR(third, v, v)
	g.VPSHUFB(g.bytes16("evenThenOdd", [16]byte{0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15}), v, v)
}
