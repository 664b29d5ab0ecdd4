package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Tiles of the product, rows by vectors of 8 columns, two to a panel. Fewer rows take more columns, so that at least eight
// chains run and the latency of a multiply-add is hidden. Three vectors are for a last panel that is half full.
var tiles = []struct{ rows, vecs int }{
	{6, 2}, {5, 2}, {4, 2}, {3, 2}, {2, 2}, {1, 2},
	{4, 3}, {3, 3}, {2, 3}, {1, 3},
	{3, 4}, {2, 4}, {1, 4}, {1, 8},
}

const afar = 2048 // bytes ahead in panels that low tiles fetch

func (g *gen) gemm() {
	for _, t := range tiles {
		g.tile(t.rows, t.vecs, false)
		g.tile(t.rows, t.vecs, true)
	}
	g.packPanels()
}

// A tile is the state of one product function.
type tile struct {
	*gen
	rows, vecs, panels int
	half               bool // b is bfloat16

	c, cs, a, b  reg.GPVirtual
	as, as3, as5 reg.GPVirtual // row r of a is at as*r
	ak, bk       reg.GPVirtual
	bk3          reg.GPVirtual // of a tall tile
	bp, bp3      reg.GPVirtual // panel p of b is at bp*p
	early        reg.GPVirtual // what is fetched early, when there is one panel
	next         reg.GPVirtual // bytes from a to the next tile's, when that is fetched along the way
	acc, bs      []reg.VecVirtual
	x, high      reg.VecVirtual
}

func (g *gen) tile(rows, vecs int, half bool) {
	name, of := fmt.Sprintf("Gemm%dx%d", rows, 8*vecs), "float32"
	if half {
		name, of = name+"H", "uint16"
	}
	g.fn(name, "(c, a *float32, b *"+of+", k, n, m, cs, as, at, ak, bk, bp, bm, ahead, pace, mode int)",
		fmt.Sprintf("%s multiplies n tiles of %d rows by m times %d columns.", name, rows, 8*vecs))
	t := &tile{gen: g, rows: rows, vecs: vecs, panels: (vecs + 1) / 2, half: half}
	t.load()

	strip, next, again := g.label("strip"), g.label("tile"), g.label("k")
	one, test, done := g.label("one"), g.label("test"), g.label("done")
	n := g.GP64()
	g.Label(strip)
	t.begin(n)
	g.Label(next)
	t.start()
	if rows > 3 {
		t.fetchTile(t.c, t.cs, t.a, t.as, rows, 1)
	}
	a, b, k := g.GP64(), g.GP64(), g.arg("k")
	g.MOVQ(t.a, a)
	g.MOVQ(t.b, b)
	g.SUBQ(operand.Imm(4), k)
	g.JLT(operand.LabelRef(test))
	if t.tall() {
		t.fours(a, b, k)
	} else {
		g.Label(again)
		t.fetchA(a)
		for range 4 {
			t.one(a, b)
		}
		g.SUBQ(operand.Imm(4), k)
		g.JGE(operand.LabelRef(again))
	}
	g.Label(test)
	g.ADDQ(operand.Imm(4), k)
	g.JZ(operand.LabelRef(done))
	if t.tall() {
		t.rowsOfA()
	}
	g.Label(one)
	t.one(a, b)
	g.DECQ(k)
	g.JNZ(operand.LabelRef(one))
	g.Label(done)
	t.finish()
	t.advance()
	g.DECQ(n)
	g.JNZ(operand.LabelRef(next))
	t.nextPanels(8 * vecs)
	g.JNZ(operand.LabelRef(strip))
	g.end()
}

// load brings the arguments that stay in registers.
func (t *tile) load() {
	t.c, t.a, t.b = t.GP64(), t.GP64(), t.GP64()
	t.as, t.ak, t.bk = t.arg("as"), t.arg("ak"), t.arg("bk")
	t.cs = t.arg("cs")
	if !t.tall() {
		t.rowsOfA()
	}
	if t.panels > 1 {
		t.bp = t.arg("bp")
	} else {
		t.early = t.GP64()
	}
	if t.along() {
		t.next = t.arg("at")
	}
	if t.panels > 3 {
		t.bp3 = t.times(t.bp, 3)
	}
	t.acc = t.vectors(t.rows * t.vecs)
	t.bs, t.x = t.vectors(t.loads()), t.YMM()
	if t.half && t.roomy() {
		t.high = t.YMM()
		t.VPCMPEQD(t.high, t.high, t.high)
		t.VPSLLD(operand.Imm(16), t.high, t.high)
	}
}

// rowsOfA finds where rows of a lie. A tall tile finds out anew each time, to have registers for other things in between.
func (t *tile) rowsOfA() {
	if t.rows > 3 {
		t.as3 = t.times(t.as, 3)
	}
	if t.rows > 5 {
		t.as5 = t.times(t.as, 5)
	}
}

// begin points at the first tile of the panels at hand.
func (t *tile) begin(n gp) {
	t.Load(t.Param("c"), t.c)
	t.Load(t.Param("a"), t.a)
	t.Load(t.Param("b"), t.b)
	t.Load(t.Param("n"), n)
	if t.panels == 1 {
		t.Load(t.Param("ahead"), t.early)
		t.ADDQ(t.b, t.early)
	}
}

// nextPanels moves the arguments of a product, which are the function's own, on by so many columns. It leaves the flags of what is left of m.
func (g *gen) nextPanels(columns int) {
	r := g.arg("bm")
	g.ADDQ(r, g.memory("b"))
	g.ADDQ(operand.U32(4*columns), g.memory("c"))
	g.DECQ(g.memory("m"))
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

// panelB is panel p of the i-th step. Only a tile of one panel has steps beyond the first.
func (t *tile) panelB(b reg.Register, i, p, disp int) operand.Mem {
	if t.panels == 1 {
		return multiple(b, t.bk, t.bk3, i, disp)
	}
	return multiple(b, t.bp, t.bp3, p, disp)
}

// roomy reports whether there is a register more than the product itself needs.
func (t *tile) roomy() bool { return len(t.acc)+t.loads()+1 < 16 }

// loads returns how many vectors of b are held at once: all if there is room, so that each a is spread but once, else those of a
// panel.
func (t *tile) loads() int {
	if t.rows > 1 && t.rows*t.vecs+t.vecs < 16 {
		return t.vecs
	}
	return 2
}

// tall reports whether t has rows enough that what it does besides multiplying counts: it takes four k at a time, and fetches early once for all of them.
func (t *tile) tall() bool { return t.rows > 3 && t.panels == 1 }

// fours does four k of every chain as long as there are so many: k is four less than what is left. Either the elements of a row of a lie side by side or those of a
// column, so that one pointer serves four k. Few rows go through b so fast that four lines have to be fetched each time.
func (t *tile) fours(a, b, k reg.GPVirtual) {
	turned, fast, done := t.label("turned"), t.label("fast"), t.label("fours")
	t.bk3 = t.times(t.bk, 3)
	t.CMPQ(t.ak, operand.Imm(4))
	t.JNE(operand.LabelRef(turned))
	t.rowsOfA()
	near := func(i, r int) operand.Mem { return t.rowA(a, r).Offset(4 * i) }
	on := func() { t.ADDQ(operand.Imm(16), a) }
	t.CMPQ(t.memory("pace"), operand.Imm(64))
	t.JG(operand.LabelRef(fast))
	t.four(b, k, 1, near, on)
	t.JMP(operand.LabelRef(done))
	t.Label(fast)
	t.four(b, k, 4, near, on)
	t.JMP(operand.LabelRef(done))
	t.Label(turned)
	ak3 := t.times(t.ak, 3)
	t.four(b, k, 1, func(i, r int) operand.Mem { return multiple(a, t.ak, ak3, i, 4*r) }, func() { t.LEAQ(idx(a, t.ak, 4, 0), a) })
	t.Label(done)
}

// four does four k of every chain again and again, and fetches lines early. Element r of a's i-th k is at a(i, r).
func (t *tile) four(b, k reg.GPVirtual, lines int, a func(i, r int) operand.Mem, advance func()) {
	again := t.label("four")
	t.Label(again)
	for line := range lines {
		t.PREFETCHT1(at(t.early, 64*line))
	}
	t.ADDQ(t.memory("pace"), t.early)
	for i := range 4 {
		t.step(b, i, func(r int) operand.Mem { return a(i, r) })
	}
	advance()
	t.LEAQ(idx(b, t.bk, 4, 0), b)
	t.SUBQ(operand.Imm(4), k)
	t.JGE(operand.LabelRef(again))
}

// multiple is memory at disp from base+i*stride, i up to 3.
func multiple(base, stride, stride3 reg.Register, i, disp int) operand.Mem {
	switch i {
	case 0:
		return at(base, disp)
	case 3:
		return idx(base, stride3, 1, disp)
	}
	return idx(base, stride, uint8(i), disp)
}

// one does one k of every chain and moves a and b on.
func (t *tile) one(a, b reg.GPVirtual) {
	t.step(b, 0, func(r int) operand.Mem { return t.rowA(a, r) })
	t.ADDQ(t.ak, a)
	t.ADDQ(t.bk, b)
}

// step does the i-th k of every chain from b on, with a[r] of each row.
func (t *tile) step(b reg.Register, i int, a func(r int) operand.Mem) {
	if t.rows == 1 {
		t.VBROADCASTSS(a(0), t.x)
	}
	for v := 0; v < t.vecs; v += len(t.bs) {
		n := min(len(t.bs), t.vecs-v)
		for j := 0; j < n; j += 2 {
			t.panel(b, i, (v+j)/2, t.bs[j:min(j+2, n)])
		}
		for r := range t.rows {
			if t.rows > 1 {
				t.VBROADCASTSS(a(r), t.x)
			}
			for j, y := range t.bs[:n] {
				t.VFMADD231PS(y, t.x, t.acc[r*t.vecs+v+j])
			}
		}
	}
}

// panel loads one or two vectors of a panel. In a bfloat16 panel, word j holds columns j (low) and j+8.
func (t *tile) panel(b reg.Register, i, p int, to []reg.VecVirtual) {
	switch {
	case t.along(), t.tall():
	case t.panels > 1:
		t.PREFETCHT0(t.panelB(b, 0, p, afar))
	default:
		t.PREFETCHT1(at(t.early, 0))
		t.ADDQ(t.memory("pace"), t.early)
	}
	if !t.half {
		for j, y := range to {
			t.VMOVUPS(t.panelB(b, i, p, 32*j), y)
		}
		return
	}
	high := to[len(to)-1]
	t.VMOVDQU(t.panelB(b, i, p, 0), high)
	t.VPSLLD(operand.Imm(16), high, to[0])
	switch {
	case len(to) == 1:
	case t.roomy():
		t.VPAND(t.high, high, high)
	default:
		t.VPAND(t.bits(0xffff0000), high, high)
	}
}

// along reports whether the next tile's a is fetched along the way: three vectors are for deep products of few columns, which
// read more of a than of b.
func (t *tile) along() bool { return t.vecs == 3 && t.rows > 3 }

// fetchA asks for what the next tile reads instead of what is read now.
func (t *tile) fetchA(a reg.Register) {
	if !t.along() {
		return
	}
	p := t.GP64()
	t.LEAQ(idx(a, t.next, 1, 0), p)
	for r := range t.rows {
		t.PREFETCHT0(t.rowA(p, r))
	}
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
		for v := range t.vecs {
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

// fetchTile asks for the rows of the next tiles of c, some lines each, and a while this one is computed: they often come from afar.
func (g *gen) fetchTile(c, cs, a, as gp, rows, lines int) {
	p := g.clonePointer(c)
	for range rows {
		g.ADDQ(cs, p)
	}
	for range rows {
		for line := range lines {
			g.PREFETCHT0(at(p, 64*line))
		}
		g.ADDQ(cs, p)
	}
	g.MOVQ(a, p)
	g.ADDQ(g.memory("at"), p)
	for range rows {
		g.PREFETCHT0(at(p, 0))
		g.PREFETCHT0(at(p, 64))
		g.ADDQ(as, p)
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

// packPanels goes row by row, so that memory is read in the order in which it lies.
func (g *gen) packPanels() {
	g.fn("PackPanels", "(dst, b *float32, n, panels, ld, ps int)",
		"PackPanels copies n rows of panels*16 elements, ld apart, to panels [n, 16], ps apart.")
	dst, b, n, ld, ps := g.arg("dst"), g.arg("b"), g.arg("n"), g.bytes("ld"), g.bytes("ps")
	v := g.vectors(2)
	g.loop(n, func() {
		from, to, left := g.GP64(), g.GP64(), g.arg("panels")
		g.MOVQ(b, from)
		g.MOVQ(dst, to)
		g.loop(left, func() {
			for i, y := range v {
				g.VMOVUPS(at(from, 32*i), y)
				g.VMOVUPS(y, at(to, 32*i))
			}
			g.ADDQ(operand.Imm(64), from)
			g.ADDQ(ps, to)
		})
		g.ADDQ(ld, b)
		g.ADDQ(operand.Imm(64), dst)
	})
	g.end()
}
