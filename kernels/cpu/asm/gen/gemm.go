package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tiles of the product, rows by panels of 16 columns. Fewer rows take more panels, so that at least eight chains
// run and the latency of a multiply-add is hidden.
var tiles = []struct{ rows, panels int }{
	{6, 1}, {5, 1}, {4, 1}, {3, 1}, {2, 1}, {1, 1},
	{3, 2}, {2, 2}, {1, 2}, {1, 4},
}

const afar = 2048 // bytes ahead in panels that low tiles fetch

func (g *gen) gemm() {
	for _, t := range tiles {
		g.tile(t.rows, t.panels, false)
		g.tile(t.rows, t.panels, true)
	}
}

// A tile is the state of one product function.
type tile struct {
	*gen
	rows, panels int
	half         bool // b is bfloat16

	c, cs, a, b     reg.GPVirtual
	as, as3, as5    reg.GPVirtual // row r of a is at as*r
	ak, bk          reg.GPVirtual
	bp, bp3         reg.GPVirtual // panel p of b is at bp*p
	ahead           reg.GPVirtual // bytes from b to what it fetches, when there is one panel
	acc             []reg.VecVirtual
	b0, b1, x, high reg.VecVirtual
}

func (g *gen) tile(rows, panels int, half bool) {
	name, of := fmt.Sprintf("Gemm%dx%d", rows, 16*panels), "float32"
	if half {
		name, of = name+"H", "uint16"
	}
	g.fn(name, "(c, a *float32, b *"+of+", k, n, m, cs, as, at, ak, bk, bp, bm, ahead, mode int)",
		fmt.Sprintf("%s multiplies n tiles of %d rows by m times %d panels.", name, rows, panels))
	t := &tile{gen: g, rows: rows, panels: panels, half: half}
	t.load()

	strip, next, again := g.label("strip"), g.label("tile"), g.label("k")
	one, test, done := g.label("one"), g.label("test"), g.label("done")
	n := g.GP64()
	g.Label(strip)
	t.begin(n)
	g.Label(next)
	t.start()
	if rows > 3 {
		t.fetch()
	}
	a, b, k := g.GP64(), g.GP64(), g.arg("k")
	g.MOVQ(t.a, a)
	g.MOVQ(t.b, b)
	g.SUBQ(operand.Imm(4), k)
	g.JLT(operand.LabelRef(test))
	g.Label(again)
	for range 4 {
		t.step(a, b)
	}
	g.SUBQ(operand.Imm(4), k)
	g.JGE(operand.LabelRef(again))
	g.Label(test)
	g.ADDQ(operand.Imm(4), k)
	g.JZ(operand.LabelRef(done))
	g.Label(one)
	t.step(a, b)
	g.DECQ(k)
	g.JNZ(operand.LabelRef(one))
	g.Label(done)
	t.finish()
	t.advance()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(next))
	t.nextPanels()
	g.JNZ(operand.LabelRef(strip))
	g.end()
}

// load brings the arguments that stay in registers.
func (t *tile) load() {
	t.c, t.a, t.b = t.GP64(), t.GP64(), t.GP64()
	t.as, t.ak, t.bk = t.arg("as"), t.arg("ak"), t.arg("bk")
	t.cs = t.arg("cs")
	if t.rows > 3 {
		t.as3 = t.times(t.as, 3)
	}
	if t.rows > 5 {
		t.as5 = t.times(t.as, 5)
	}
	if t.panels > 1 {
		t.bp = t.arg("bp")
	} else {
		t.ahead = t.arg("ahead")
	}
	if t.panels > 3 {
		t.bp3 = t.times(t.bp, 3)
	}
	t.acc = t.ymms(2 * t.rows * t.panels)
	t.b0, t.b1, t.x = t.YMM(), t.YMM(), t.YMM()
	if t.half {
		t.high = t.YMM()
		t.VPCMPEQD(t.high, t.high, t.high)
		t.VPSLLD(operand.Imm(16), t.high, t.high)
	}
}

// begin points at the first tile of the panels at hand.
func (t *tile) begin(n gp) {
	t.Load(t.Param("c"), t.c)
	t.Load(t.Param("a"), t.a)
	t.Load(t.Param("b"), t.b)
	t.Load(t.Param("n"), n)
}

// nextPanels moves the arguments, which are the function's own, to the next panels. It leaves the flags of what is left of m.
func (t *tile) nextPanels() {
	r := t.arg("bm")
	t.ADDQ(r, t.memory("b"))
	t.ADDQ(operand.U32(64*t.panels), t.memory("c"))
	t.DECQ(t.memory("m"))
}

// times returns r*m in a new register, m 3 or 5.
func (t *tile) times(r reg.GPVirtual, m uint8) reg.GPVirtual {
	d := t.GP64()
	t.LEAQ(idx(r, r, m-1, 0), d)
	return d
}

// rowA is element a[r] of the step.
func (t *tile) rowA(a reg.Register, r int) operand.Mem {
	switch r {
	case 0:
		return at(a, 0)
	case 3:
		return idx(a, t.as3, 1, 0)
	case 5:
		return idx(a, t.as5, 1, 0)
	}
	return idx(a, t.as, uint8(r), 0)
}

// panelB is panel p of the step.
func (t *tile) panelB(b reg.Register, p, disp int) operand.Mem {
	switch p {
	case 0:
		return at(b, disp)
	case 3:
		return idx(b, t.bp3, 1, disp)
	}
	return idx(b, t.bp, uint8(p), disp)
}

// step does one k of every chain and moves a and b on.
func (t *tile) step(a, b reg.Register) {
	if t.rows == 1 {
		t.VBROADCASTSS(t.rowA(a, 0), t.x)
	}
	for p := range t.panels {
		t.panel(b, p)
		for r := range t.rows {
			if t.rows > 1 {
				t.VBROADCASTSS(t.rowA(a, r), t.x)
			}
			t.VFMADD231PS(t.b0, t.x, t.acc[2*(r*t.panels+p)])
			t.VFMADD231PS(t.b1, t.x, t.acc[2*(r*t.panels+p)+1])
		}
	}
	t.ADDQ(t.ak, a)
	t.ADDQ(t.bk, b)
}

// panel loads 16 columns. In a bfloat16 panel, word j holds columns j (low) and j+8.
func (t *tile) panel(b reg.Register, p int) {
	if t.panels > 1 {
		t.PREFETCHT0(t.panelB(b, p, afar))
	} else {
		t.PREFETCHT1(idx(b, t.ahead, 1, 0))
	}
	if !t.half {
		t.VMOVUPS(t.panelB(b, p, 0), t.b0)
		t.VMOVUPS(t.panelB(b, p, 32), t.b1)
		return
	}
	t.VMOVDQU(t.panelB(b, p, 0), t.b1)
	t.VPSLLD(operand.Imm(16), t.b1, t.b0)
	t.VPAND(t.high, t.b1, t.b1)
}

// tileC returns the memory of each accumulator in c.
func (t *tile) tileC() []operand.Mem {
	var cs3, cs5 reg.GPVirtual
	if t.rows > 3 {
		cs3 = t.times(t.cs, 3)
	}
	if t.rows > 5 {
		cs5 = t.times(t.cs, 5)
	}
	var m []operand.Mem
	for r := range t.rows {
		for v := range 2 * t.panels {
			switch r {
			case 0:
				m = append(m, at(t.c, 32*v))
			case 3:
				m = append(m, idx(t.c, cs3, 1, 32*v))
			case 5:
				m = append(m, idx(t.c, cs5, 1, 32*v))
			default:
				m = append(m, idx(t.c, t.cs, uint8(r), 32*v))
			}
		}
	}
	return m
}

// start sets the accumulators to zero, or to c if mode has bit 0.
func (t *tile) start() {
	zero, done := t.label("zero"), t.label("start")
	t.BTQ(operand.Imm(0), t.arg("mode"))
	t.JCC(operand.LabelRef(zero))
	for i, m := range t.tileC() {
		t.VMOVUPS(m, t.acc[i])
	}
	t.JMP(operand.LabelRef(done))
	t.Label(zero)
	for _, v := range t.acc {
		t.VXORPS(v, v, v)
	}
	t.Label(done)
}

// fetch asks for the rows of the next tiles of c and a while this one is computed: they often come from afar.
func (t *tile) fetch() {
	p := t.GP64()
	t.MOVQ(t.c, p)
	for range t.rows {
		t.ADDQ(t.cs, p)
	}
	for range t.rows {
		t.PREFETCHT0(at(p, 0))
		t.ADDQ(t.cs, p)
	}
	t.MOVQ(t.a, p)
	t.ADDQ(t.memory("at"), p)
	for range t.rows {
		t.PREFETCHT0(at(p, 0))
		t.PREFETCHT0(at(p, 64))
		t.ADDQ(t.as, p)
	}
}

// finish writes the accumulators to c, plus c if mode has bit 1.
func (t *tile) finish() {
	store := t.label("store")
	c := t.tileC()
	t.BTQ(operand.Imm(1), t.arg("mode"))
	t.JCC(operand.LabelRef(store))
	for i, v := range t.acc {
		t.VADDPS(c[i], v, v)
	}
	t.Label(store)
	for i, v := range t.acc {
		t.VMOVUPS(v, c[i])
	}
}

// advance moves a and c to the next tile.
func (t *tile) advance() {
	t.ADDQ(t.memory("at"), t.a)
	for range t.rows {
		t.ADDQ(t.cs, t.c)
	}
}
