package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The product with AVX-512: a register holds a panel, and there are 32. So a tile takes six rows by four panels, with 24 chains; a multiply-add waits
// for four others at most, and what is read stays far below what is multiplied. Rows and panels are those of the narrow tiles, and so are the bits:
// each element is one chain over k.

// wideColumns are the widths of tiles. One of 24 columns is for a last panel that is half full.
var wideColumns = []int{64, 32, 24, 16}

func (g *gen) gemmWide() {
	for rows := 6; rows > 0; rows-- {
		for _, columns := range wideColumns {
			g.wideTile(rows, columns, false)
			g.wideTile(rows, columns, true)
		}
	}
}

// A wideTile is the state of one product function.
type wideTile struct {
	*gen
	rows, columns int
	half          bool // b is bfloat16

	a0, as, as3, as5 gp // row r of a is at as*r
	ak, bk, bp, bp3  gp
	c, a, b          gp
	early            gp // what is fetched early, by tiles of more than three rows
	acc              [][]vec
	order            vec // of the bytes of a panel of bfloat16 that make numbers
}

func (g *gen) wideTile(rows, columns int, half bool) {
	name, of := fmt.Sprintf("GemmWide%dx%d", rows, columns), "float32"
	if half {
		name, of = name+"H", "uint16"
	}
	g.fn(name, "(c, a *float32, b *"+of+", k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)",
		fmt.Sprintf("%s multiplies n tiles of %d rows by m times %d columns.", name, rows, columns))
	t := &wideTile{gen: g, rows: rows, columns: columns, half: half}
	left := g.AllocLocal(8)
	t.load()
	strip, next, again := g.label("strip"), g.label("tile"), g.label("k")
	g.Label(strip)
	t.begin(left)
	g.Label(next)
	t.start()
	t.fetch()
	k := g.arg("k")
	g.MOVQ(t.a0, t.a)
	g.MOVQ(t.memory("b"), t.b)
	g.Label(again)
	t.step()
	g.DECQ(k)
	g.JNZ(operand.LabelRef(again))
	t.finish()
	t.advance()
	g.DECQ(left)
	g.JNZ(operand.LabelRef(next))
	t.nextPanels(columns)
	g.JNZ(operand.LabelRef(strip))
	g.end()
}

// panels returns how many panels the tile takes.
func (t *wideTile) panels() int { return (t.columns + 15) / 16 }

// load brings the arguments that stay in registers.
func (t *wideTile) load() {
	t.as, t.ak, t.bk = t.arg("as"), t.arg("ak"), t.arg("bk")
	t.c, t.a0, t.a, t.b = t.GP64(), t.GP64(), t.GP64(), t.GP64()
	if t.rows > 3 {
		t.as3, t.early = t.triple(t.as), t.GP64()
	}
	if t.rows > 5 {
		t.as5 = t.GP64()
		t.LEAQ(idx(t.as, t.as, 4, 0), t.as5)
	}
	if t.panels() > 1 {
		t.bp = t.arg("bp")
	}
	if t.panels() > 3 {
		t.bp3 = t.triple(t.bp)
	}
	if t.half {
		t.order = t.ZMM()
		t.VMOVDQU64(t.wordOrder(), t.order)
	}
	t.acc = make([][]vec, t.rows)
	for r := range t.acc {
		t.acc[r] = t.across()
	}
}

// across returns new registers for a row of the tile: a panel each, and half of one for the last eight columns.
func (t *wideTile) across() []vec {
	var v []vec
	for left := t.columns; left > 0; left -= 16 {
		if left < 16 {
			v = append(v, t.YMM())
		} else {
			v = append(v, t.ZMM())
		}
	}
	return v
}

// like returns v as wide as w.
func like(w, v vec) reg.Register {
	if w.Size() == lane {
		return v.AsY()
	}
	return v
}

// wordOrder returns the bytes that make sixteen numbers of a panel's line, which lies in both halves of a register: word j holds column j (low)
// and j+8, and goes to the upper half of each number.
func (t *wideTile) wordOrder() operand.Mem {
	return t.table("words", 64, func(i int) operand.Constant {
		if i%4 < 2 {
			return operand.U8(0x80)
		}
		number := i / 4
		return operand.U8(4*(number%4) + number/8*2 + i%2) // each quarter of a register finds its words in itself
	})
}

// begin points at the first tile of the panels at hand.
func (t *wideTile) begin(left operand.Mem) {
	n := t.arg("n")
	t.MOVQ(n, left)
	t.Load(t.Param("c"), t.c)
	t.Load(t.Param("a"), t.a0)
	if t.rows > 3 {
		t.Load(t.Param("ahead"), t.early)
		t.ADDQ(t.memory("b"), t.early)
	}
}

// step does one k of every chain and moves a and b on.
func (t *wideTile) step() {
	line := t.across()
	for p := range line {
		m := multiple(t.b, t.bp, t.bp3, p, 0)
		if t.rows <= 3 {
			t.PREFETCHT0(m.Offset(afar))
		}
		t.panel(m, line[p])
	}
	if t.rows > 3 {
		t.PREFETCHT1(at(t.early, 0))
		t.ADDQ(t.memory("pace"), t.early)
	}
	x := t.ZMM()
	for r := range t.acc {
		t.VBROADCASTSS(t.rowA(r), x)
		for p, y := range line {
			t.VFMADD231PS(y, like(y, x), t.acc[r][p])
		}
	}
	t.ADDQ(t.ak, t.a)
	t.ADDQ(t.bk, t.b)
}

// rowA is element a[r] of the step.
func (t *wideTile) rowA(r int) operand.Mem {
	if r == 5 {
		return idx(t.a, t.as5, 1, 0)
	}
	return byRow(t.a, t.as, t.as3, r, 0)
}

// byRow is memory at disp from base+r*stride, r up to 4.
func byRow(base, stride, stride3 reg.Register, r, disp int) operand.Mem {
	if r == 4 {
		return idx(base, stride, 4, disp)
	}
	return multiple(base, stride, stride3, r, disp)
}

// panel loads a line of a panel.
func (t *wideTile) panel(m operand.Mem, to vec) {
	switch {
	case !t.half:
		t.VMOVUPS(m, to)
	case to.Size() == lane:
		t.VMOVDQU(m, to)
		t.VPSLLD(operand.Imm(16), to, to)
	default:
		t.VBROADCASTI64X4(m, to)
		t.VPSHUFB(t.order, to, to)
	}
}

// tileC calls f for each accumulator and its memory in c.
func (t *wideTile) tileC(f func(v vec, m operand.Mem)) {
	p, cs := t.clonePointer(t.c), t.arg("cs")
	for r := range t.acc {
		for i, v := range t.acc[r] {
			f(v, at(p, 64*i))
		}
		if r+1 < t.rows {
			t.ADDQ(cs, p)
		}
	}
}

// start sets the accumulators to zero, or to c if mode has bit 0.
func (t *wideTile) start() {
	zero, done := t.label("zero"), t.label("start")
	t.BTQ(operand.Imm(0), t.arg("mode"))
	t.JCC(operand.LabelRef(zero))
	t.tileC(func(v vec, m operand.Mem) { t.VMOVUPS(m, v) })
	t.JMP(operand.LabelRef(done))
	t.Label(zero)
	for _, row := range t.acc {
		for _, v := range row {
			t.VPXORD(v, v, v)
		}
	}
	t.Label(done)
}

// fetch asks for what the next tile needs, if there are rows enough to hide that behind.
func (t *wideTile) fetch() {
	if t.rows > 3 {
		t.fetchTile(t.c, t.arg("cs"), t.a0, t.as, t.rows, t.panels())
	}
}

// finish writes the accumulators to c, plus c if mode has bit 1.
func (t *wideTile) finish() {
	store := t.label("store")
	t.BTQ(operand.Imm(1), t.arg("mode"))
	t.JCC(operand.LabelRef(store))
	t.tileC(func(v vec, m operand.Mem) { t.VADDPS(m, v, v) })
	t.Label(store)
	t.tileC(func(v vec, m operand.Mem) { t.VMOVUPS(v, m) })
}

// advance moves a and c to the next tile.
func (t *wideTile) advance() {
	t.ADDQ(t.memory("at"), t.a0)
	cs := t.arg("cs")
	for range t.rows {
		t.ADDQ(cs, t.c)
	}
}
