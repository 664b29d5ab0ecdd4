package main

import "github.com/mmcloughlin/avo/operand"

// quant writes what package quant packs and unpacks with. All functions walk groups that lie end to end, each of n elements and with a
// scale of its own; 32 elements are done at a time.
func (g *gen) quant() {
	for _, of := range []source{sourceF32, sourceBF16} {
		g.largestOf(of)
		g.encodeE4M3(of, false)
		g.encodeE4M3(of, true)
		g.encodeE2M1(of)
		g.decodeE4M3(of)
		g.decodeE2M1(of)
	}
}

// A source is a format of numbers.
type source struct {
	name, kind string
	bytes      int // of 32 elements
}

var (
	sourceF32  = source{"F32", "float32", 128}
	sourceBF16 = source{"BF16", "uint16", 64}
)

const groupsArgs = "n, groups int)"

// A side is memory that groups are walked in.
type side struct {
	arg   string
	bytes int // of 32 elements
	early int // how many bytes ahead memory is asked for, 0 if it is not
}

// How early memory is asked for. The look at numbers asks for the next ones. Rounding finds its numbers near, since they were looked at:
// it asks for those of the next look, a strip of package quant ahead. Unpacking asks for the place of what it writes.
const (
	earlyLook   = 1 << 10
	earlyEncode = 1 << 13
	earlyDecode = 1 << 11
	cacheLine   = 64
)

// groups runs part for every 32 elements, where each side's pointer stands. first and last surround a group.
func (g *gen) groups(sides []side, first func(), part func(p []gp), last func()) {
	p := make([]gp, len(sides))
	for i, s := range sides {
		p[i] = g.arg(s.arg)
	}
	groups, parts, left := g.arg("groups"), g.arg("n"), g.GP64()
	g.SHRQ(operand.Imm(5), parts)
	g.loop(groups, func() {
		first()
		g.MOVQ(parts, left)
		g.loop(left, func() {
			for i, s := range sides {
				for line := 0; line < s.bytes && s.early > 0; line += cacheLine {
					g.PREFETCHT0(at(p[i], s.early+line))
				}
			}
			part(p)
			for i, s := range sides {
				g.ADDQ(operand.U32(s.bytes), p[i])
			}
		})
		last()
	})
}

// float sets v to the next of some float32 scales, in all lanes.
func (g *gen) float(scales gp, v vec) {
	g.VBROADCASTSS(at(scales, 0), v)
	g.ADDQ(operand.Imm(4), scales)
}

// exponent returns the next of some bytes of scales.
func (g *gen) exponent(scales gp) gp {
	s := g.GP64()
	g.MOVBLZX(at(scales, 0), s.As32())
	g.INCQ(scales)
	return s
}

// largestOf writes a function for the largest magnitudes, compared as whole numbers, of which NaN and infinity are the largest.
func (g *gen) largestOf(of source) {
	g.fn("Largest"+of.name, "(amax *uint32, x *"+of.kind+", "+groupsArgs,
		"Largest"+of.name+" raises amax of each group to the float32 bits of its largest magnitude.")
	amax, acc := g.arg("amax"), g.vectors(2)
	magnitudes := g.load(g.bits(map[string]uint32{"F32": 0x7fffffff, "BF16": 0x7fff7fff}[of.name]))
	g.groups([]side{{"x", of.bytes, earlyLook}}, func() {
		g.VMOVD(at(amax, 0), acc[0].AsX())
		if of == sourceBF16 {
			g.VPSRLD(operand.Imm(16), acc[0].AsX(), acc[0].AsX())
		}
		g.VPXOR(acc[1], acc[1], acc[1])
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
		r := g.GP32()
		if of == sourceF32 {
			g.VPMAXSD(acc[1], acc[0], acc[0])
			g.VMOVD(g.mostOf8(acc[0]), r)
		} else {
			g.VPMAXUW(acc[1], acc[0], acc[0])
			g.mostOf16(acc[0], r)
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

// mostOf16 sets the upper half of r to the largest of sixteen words.
func (g *gen) mostOf16(m vec, r gp) {
	x := g.XMM()
	g.VEXTRACTI128(operand.Imm(1), m, x)
	g.VPMAXUW(m.AsX(), x, x)
	g.VPXOR(g.bits(0xffffffff), x, x) // the largest becomes the smallest, which one instruction finds
	g.VPHMINPOSUW(x, x)
	g.VMOVD(x, r)
	g.NOTL(r)
	g.SHLL(operand.Imm(16), r)
}

// lanes returns a memory constant of eight lanes.
func (g *gen) lanes(name string, t [8]uint32) operand.Mem {
	return g.table(name, len(t), func(i int) operand.Constant { return operand.U32(t[i]) })
}

// result is where a named result lies.
func (g *gen) result(name string) operand.Mem {
	p, err := g.Return(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
