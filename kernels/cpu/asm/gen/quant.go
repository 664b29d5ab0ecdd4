package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
)

// quant writes what package quant packs and unpacks with. All functions walk tiles that lie side by side, each of so many rows of n
// elements and with a scale of its own; 32 elements are done at a time.
func (g *gen) quant() {
	for _, of := range []source{sourceF32, sourceBF16} {
		g.largestOf(of)
		g.encode(of, smallE4M3, false)
		g.encode(of, smallE4M3, true)
		g.encode(of, smallE2M1, false)
		g.decodeE4M3(of)
		g.decodeE2M1(of)
	}
}

// atOnce is how many elements are done at a time.
const atOnce = 32

// A source is a format of numbers.
type source struct {
	name, kind string
	bytes      int // of 32 elements
}

var (
	sourceF32  = source{"F32", "float32", 128}
	sourceBF16 = source{"BF16", "uint16", 64}
)

// A small is a format of codes.
type small struct {
	name   string
	bytes  int // of 32 codes
	most   float32
	lowest float32 // the smallest normal number
	cut    uint64  // bits of a float32's mantissa that it has no room for
}

var (
	smallE4M3 = small{"E4M3", 32, maxE4M3, lowestE4M3, cutE4M3}
	smallE2M1 = small{"E2M1", 16, 6, 1, 22}
)

const tilesArgs = "n, groups, rows, ld int)"

// A side is memory that tiles are walked in.
type side struct {
	arg   string
	bytes int // of 32 elements
}

// tiles runs part for every 32 elements, where each side's pointer stands. first and last surround a tile.
func (g *gen) tiles(sides []side, first func(), part func(p []gp), last func()) {
	tile, row, p, ld := make([]gp, len(sides)), make([]gp, len(sides)), make([]gp, len(sides)), make([]gp, len(sides))
	for i, s := range sides {
		tile[i], row[i], p[i], ld[i] = g.arg(s.arg), g.GP64(), g.GP64(), g.scaled("ld", s.bytes)
	}
	groups, rows, left := g.arg("groups"), g.GP64(), g.GP64()
	g.loop(groups, func() {
		first()
		g.move(tile, row)
		g.MOVQ(g.memory("rows"), rows)
		g.loop(rows, func() {
			g.move(row, p)
			g.MOVQ(g.memory("n"), left)
			g.SHRQ(operand.Imm(5), left)
			g.loop(left, func() {
				part(p)
				for i, s := range sides {
					g.ADDQ(operand.U32(s.bytes), p[i])
				}
			})
			for i := range sides {
				g.ADDQ(ld[i], row[i])
			}
		})
		last()
		for i, s := range sides {
			g.ADDQ(g.scaled("n", s.bytes), tile[i])
		}
	})
}

func (g *gen) move(from, to []gp) {
	for i := range from {
		g.MOVQ(from[i], to[i])
	}
}

// scaled returns an argument that counts elements in bytes, of which 32 elements have so many.
func (g *gen) scaled(name string, bytes int) gp {
	r := g.arg(name)
	if bytes < atOnce {
		g.SHRQ(operand.Imm(1), r)
		return r
	}
	for ; bytes > atOnce; bytes /= 2 {
		g.SHLQ(operand.Imm(1), r)
	}
	return r
}

// largestOf writes a function for the largest magnitudes, compared as whole numbers, of which NaN and infinity are the largest.
func (g *gen) largestOf(of source) {
	g.fn("Largest"+of.name, "(amax *uint32, x *"+of.kind+", "+tilesArgs,
		"Largest"+of.name+" sets amax of each tile to the float32 bits of its largest magnitude.")
	amax, acc := g.arg("amax"), g.ymms(2)
	magnitudes := g.load(g.bits(map[string]uint32{"F32": 0x7fffffff, "BF16": 0x7fff7fff}[of.name]))
	g.tiles([]side{{"x", of.bytes}}, func() {
		for _, a := range acc {
			g.VPXOR(a, a, a)
		}
	}, func(p []gp) {
		for i := range of.bytes / lane {
			v, a := g.YMM(), acc[i%2]
			g.VPAND(at(p[0], lane*i), magnitudes, v)
			if of == sourceF32 {
				g.VPMAXSD(v, a, a)
			} else {
				g.VPMAXUW(v, a, a)
			}
		}
	}, func() {
		x, r := g.XMM(), g.GP32()
		if of == sourceF32 {
			g.VPMAXSD(acc[1], acc[0], acc[0])
			x = g.mostOf8(acc[0])
			g.VMOVD(x, r)
		} else {
			g.VPMAXUW(acc[1], acc[0], acc[0])
			g.VEXTRACTI128(operand.Imm(1), acc[0], x)
			g.VPMAXUW(acc[0].AsX(), x, x)
			g.VPXOR(g.bits(0xffffffff), x, x) // the largest becomes the smallest, which one instruction finds
			g.VPHMINPOSUW(x, x)
			g.VMOVD(x, r)
			g.NOTL(r)
			g.SHLL(operand.Imm(16), r)
		}
		g.MOVL(r, at(amax, 0))
		g.ADDQ(operand.Imm(4), amax)
	})
	g.end()
}

// mostOf8 returns the largest of eight whole numbers in the lowest lane.
func (g *gen) mostOf8(m vec) vec {
	h, s := g.XMM(), g.XMM()
	g.VEXTRACTI128(operand.Imm(1), m, h)
	g.VPMAXSD(m.AsX(), h, h)
	for _, half := range []uint64{0xee, 0x55} { // upper two lanes, then the second
		g.VPSHUFD(operand.Imm(half), h, s)
		g.VPMAXSD(s, h, h)
	}
	return h
}

// encode writes a function that rounds numbers to codes. Powers of two are multiplied by; other scales must be divided by, since their
// inverses are rounded.
func (g *gen) encode(of source, to small, divide bool) {
	name, says := "Encode"+to.name+of.name, "times its factor"
	if divide {
		name, says = name+"Over", "over its factor"
	}
	if divide && to == smallE2M1 {
		return
	}
	g.fn(name, "(codes *byte, x *"+of.kind+", factors *float32, "+tilesArgs,
		name+" sets codes to the "+to.name+" codes of each tile "+says+", to nearest with ties to even, saturated.",
		"A NaN is not for it.")
	e := &encoding{gen: g, small: to, divide: divide, factor: g.YMM()}
	factors := g.arg("factors")
	if of == sourceF32 {
		e.order = g.load(g.lanes("inOrder", [8]uint32{0, 4, 1, 5, 2, 6, 3, 7}))
	}
	g.tiles([]side{{"codes", to.bytes}, {"x", of.bytes}}, func() {
		g.VBROADCASTSS(at(factors, 0), e.factor)
		g.ADDQ(operand.Imm(4), factors)
	}, func(p []gp) {
		switch {
		case of == sourceF32:
			e.fromF32(p[0], p[1])
		case to == smallE4M3:
			e.eightFromBF16(p[0], p[1])
		default:
			e.fourFromBF16(p[0], p[1])
		}
	}, func() {})
	g.end()
}

// An encoding is the state of a function that encodes.
type encoding struct {
	*gen
	small
	divide bool
	factor vec
	order  vec // of words that were packed by halves
}

// code turns numbers into the codes of their magnitudes. Adding the power of two whose last bit is worth the step between neighbours makes
// the adder round, and leaves the number of steps in the lowest bits.
func (e *encoding) code(v vec) vec {
	y := e.YMM()
	if e.divide {
		e.VDIVPS(e.factor, v, y)
	} else {
		e.VMULPS(e.factor, v, y)
	}
	c, bias := e.YMM(), uint32(math.Float32bits(e.lowest)>>exponentOne)+uint32(e.cut)
	e.VPAND(e.bits(^uint32(signBit)), y, y)
	e.VPMINSD(e.all(e.most), y, y)
	e.VPAND(e.bits(0xff<<exponentOne), y, c)
	e.VPMAXSD(e.all(e.lowest), c, c)
	e.VPADDD(e.bits(uint32(e.cut)<<exponentOne), c, c)
	e.VADDPS(c, y, y)
	e.VPSUBD(c, y, y)
	e.VPSRLD(operand.Imm(e.cut), c, c)
	e.VPSUBD(e.bits(bias<<(exponentOne-e.cut)), c, c)
	e.VPADDD(c, y, y)
	return y
}

// fromF32 does 32 numbers: their codes and, apart, their signs become bytes, which come by halves and are put in order.
func (e *encoding) fromF32(codes, x gp) {
	var q [4]vec
	for i := range q {
		q[i] = e.code(e.load(at(x, lane*i)))
	}
	s0, s1 := e.load(at(x, 0)), e.load(at(x, 2*lane))
	e.VPACKSSDW(at(x, lane), s0, s0)
	e.VPACKSSDW(at(x, 3*lane), s1, s1)
	e.VPACKSSWB(s1, s0, s0)
	e.VPACKUSDW(q[1], q[0], q[0])
	e.VPACKUSDW(q[3], q[2], q[2])
	e.VPACKUSWB(q[2], q[0], q[0])
	if e.small == smallE2M1 {
		e.VPSRLW(operand.Imm(4), s0, s0)
		e.VPAND(e.bits(0x08080808), s0, s0)
	} else {
		e.VPAND(e.bits(0x80808080), s0, s0)
	}
	e.VPOR(s0, q[0], q[0])
	e.VPERMD(q[0], e.order, q[0])
	if e.small == smallE4M3 {
		e.store(q[0], at(codes, 0))
		return
	}
	e.VPMADDUBSW(e.bits(0x10011001), q[0], q[0]) // the odd one sixteenfold
	e.bytesOf(q[0], codes)
}

// bytesOf stores sixteen words as bytes.
func (e *encoding) bytesOf(w vec, to gp) {
	h := e.XMM()
	e.VEXTRACTI128(operand.Imm(1), w, h)
	e.VPACKUSWB(h, w.AsX(), h)
	e.VMOVDQU(h, at(to, 0))
}

// words returns the codes of sixteen numbers in bfloat16, as words in order.
func (e *encoding) words(raw vec) vec {
	even, odd := e.YMM(), e.YMM()
	e.VPSLLD(operand.Imm(16), raw, even)
	e.VPAND(e.bits(0xffff0000), raw, odd)
	even, odd = e.code(even), e.code(odd)
	e.VPSLLD(operand.Imm(16), odd, odd)
	e.VPOR(odd, even, even)
	return even
}

func (e *encoding) eightFromBF16(codes, x gp) {
	a, b := e.load(at(x, 0)), e.load(at(x, lane))
	v, w := e.words(a), e.words(b)
	e.VPACKUSWB(w, v, v)
	e.VPACKSSWB(b, a, a)
	e.VPAND(e.bits(0x80808080), a, a)
	e.VPOR(a, v, v)
	e.VPERMQ(operand.Imm(0xd8), v, v)
	e.store(v, at(codes, 0))
}

func (e *encoding) fourFromBF16(codes, x gp) {
	var pair [2]vec
	for i := range pair {
		raw := e.load(at(x, lane*i))
		pair[i] = e.words(raw)
		e.VPSRLW(operand.Imm(12), raw, raw)
		e.VPAND(e.bits(0x00080008), raw, raw)
		e.VPOR(raw, pair[i], pair[i])
		e.VPMADDWD(e.bits(0x00100001), pair[i], pair[i]) // the odd one sixteenfold
	}
	e.VPACKUSDW(pair[1], pair[0], pair[0])
	e.VPERMQ(operand.Imm(0xd8), pair[0], pair[0])
	e.bytesOf(pair[0], codes)
}

// lanes returns a memory constant of eight lanes.
func (g *gen) lanes(name string, t [8]uint32) operand.Mem {
	if m, ok := g.consts[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, x := range t {
		g.AppendDatum(operand.U32(x))
	}
	g.consts[name] = m
	return m
}

// decodeE4M3 writes a function that multiplies codes by scales. It tells whether there was a code of NaN, which comes out as 480.
func (g *gen) decodeE4M3(to source) {
	name := "DecodeE4M3" + to.name
	g.fn(name, "(x *"+to.kind+", codes *byte, scales *float32, "+tilesArgs[:len(tilesArgs)-1]+") (nan int)",
		name+" sets x to the codes of each tile times its scale. It returns 0 unless a code is NaN, whose number is then wrong.")
	scales, scale, seen := g.arg("scales"), g.YMM(), g.zero()
	g.tiles([]side{{"x", to.bytes}, {"codes", 32}}, func() {
		g.VBROADCASTSS(at(scales, 0), scale)
		g.ADDQ(operand.Imm(4), scales)
	}, func(p []gp) {
		c := g.load(g.bits(0x7f7f7f7f))
		g.VPAND(at(p[1], 0), c, c)
		g.VPCMPEQB(g.bits(0x7f7f7f7f), c, c)
		g.VPOR(c, seen, seen)
		if to == sourceF32 {
			for i := range 4 {
				v := g.numbers(at(p[1], 8*i), g.all(tooSmall))
				g.store(g.mul(v, scale), at(p[0], lane*i))
			}
			return
		}
		for i := range 2 {
			g.store(g.sixteen(at(p[1], 16*i), scale), at(p[0], lane*i))
		}
	}, func() {})
	r := g.GP32()
	g.VPMOVMSKB(seen, r)
	g.MOVQ(r.As64(), g.result("nan"))
	g.end()
}

// result is where a named result lies.
func (g *gen) result(name string) operand.Mem {
	p, err := g.Return(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// sixteen returns the numbers of sixteen E4M3 codes in bfloat16, rounded to nearest with ties to even.
func (g *gen) sixteen(m operand.Mem, scale vec) vec {
	w, even, odd := g.YMM(), g.YMM(), g.YMM()
	g.VPMOVSXBW(m, w)
	g.VPSLLW(operand.Imm(4), w, w)
	g.VPAND(g.bits(inPlace|inPlace>>16), w, w)
	g.VPSLLD(operand.Imm(16), w, even)
	g.VPAND(g.bits(0xffff0000), w, odd)
	for _, v := range []vec{even, odd} {
		last := g.YMM()
		g.VMULPS(g.all(tooSmall), v, v)
		g.VMULPS(scale, v, v)
		g.VPSLLD(operand.Imm(15), v, last)
		g.VPSRLD(operand.Imm(31), last, last)
		g.VPADDD(g.bits(0x7fff), v, v)
		g.VPADDD(last, v, v)
	}
	g.VPSRLD(operand.Imm(16), even, even)
	g.VPAND(g.bits(0xffff0000), odd, odd)
	g.VPOR(odd, even, even)
	return even
}

// decodeE2M1 writes a function that looks magnitudes up in a table of eight, which the scale was multiplied into.
func (g *gen) decodeE2M1(to source) {
	name := "DecodeE2M1" + to.name
	doc := []string{name + " sets x to the codes of each tile, two a byte, times its scale."}
	if to == sourceBF16 {
		doc = append(doc, "The products must be exact in bfloat16.")
	}
	g.fn(name, "(x *"+to.kind+", codes *byte, scales *float32, "+tilesArgs, doc...)
	scales, table := g.arg("scales"), g.YMM()
	var magnitudes [8]uint32
	for c, x := range []float32{0, .5, 1, 1.5, 2, 3, 4, 6} {
		magnitudes[c] = math.Float32bits(x)
	}
	all := g.load(g.lanes("magnitudesE2M1", magnitudes))
	shifts := g.load(g.lanes("nibbles", [8]uint32{0, 4, 8, 12, 16, 20, 24, 28}))
	g.tiles([]side{{"x", to.bytes}, {"codes", 16}}, func() {
		g.VBROADCASTSS(at(scales, 0), table)
		g.VMULPS(table, all, table)
		g.ADDQ(operand.Imm(4), scales)
	}, func(p []gp) {
		for i := range to.bytes / lane {
			if to == sourceF32 {
				g.store(g.eightNibbles(at(p[1], 4*i), shifts, table), at(p[0], lane*i))
			} else {
				g.store(g.sixteenNibbles(at(p[1], 8*i), table), at(p[0], lane*i))
			}
		}
	}, func() {})
	g.end()
}

// eightNibbles returns the numbers of four bytes of codes.
func (g *gen) eightNibbles(m operand.Mem, shifts, table vec) vec {
	c, v := g.YMM(), g.YMM()
	g.VPBROADCASTD(m, c)
	g.VPSRLVD(shifts, c, c)
	g.VPERMPS(table, c, v)
	g.VPSLLD(operand.Imm(28), c, c)
	g.VPAND(g.bits(signBit), c, c)
	g.VPXOR(c, v, v)
	return v
}

// sixteenNibbles returns the numbers of eight bytes of codes in bfloat16.
func (g *gen) sixteenNibbles(m operand.Mem, table vec) vec {
	c, high, even, odd := g.YMM(), g.YMM(), g.YMM(), g.YMM()
	g.VPMOVZXBD(m, c)
	g.VPSRLD(operand.Imm(4), c, high)
	g.VPERMPS(table, c, even)
	g.VPERMPS(table, high, odd)
	g.VPSRLD(operand.Imm(16), even, even)
	g.VPOR(odd, even, even)
	g.VPSLLD(operand.Imm(12), c, high)
	g.VPSLLD(operand.Imm(24), c, c)
	g.VPOR(high, c, c)
	g.VPAND(g.bits(signBit|signBit>>16), c, c)
	g.VPXOR(c, even, even)
	return even
}
