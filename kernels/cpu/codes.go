package cpu

import (
	"encoding/binary"
	"fmt"

	"furlong/dtype"
	"furlong/kernels/cpu/asm"
	"furlong/tensor"
)

// codes is a quantised weight as products read it: panels of sixteen columns like those of [panels], but of codes, with a line of sixteen
// scales for each block of k. Products turn a piece of a panel into float32 at a time.
//
// A panel is units of 32 bytes: two lines of E4M3, or four of E2M1; see [pairAt] and [quadAt].
type codes struct {
	e, n, k int
	block   int            // k that share scales
	type_   dtype.Type     // of the codes
	mem     *tensor.Tensor // U8
	scales  *tensor.Tensor // F32 for E4M3, E8M0 for E2M1: [e*n/16, k/block, 16]
	odd     *tensor.Tensor // U8: 1 for a panel that the assembly has no words for: a code that is NaN, a scale near float32's ends
}

// Memory returns codes, scales and what is known of panels.
func (c *codes) Memory() [][]byte { return [][]byte{c.mem.Mem, c.scales.Mem, c.odd.Mem} }

// prepareCodes is Prepare for a quantised weight.
func (b *Backend) prepareCodes(w *tensor.Tensor) {
	checkCodes(w)
	e, n, k := shape(w)
	c, ok := w.Layout.(*codes)
	if !ok || c.e != e || c.n != n || c.k != k || c.type_ != w.Type || c.block != w.Block[1] {
		c = newCodes(w, e, n, k)
		w.Layout = c
	}
	b.each(e*blocks(n), k*panel/4, func(lo, hi int, _ *scratch) {
		for i := lo; i < hi; i++ {
			c.pack(b.isa.simd(), w, i)
		}
	})
}

// checkCodes panics unless w is in a format that products have.
func checkCodes(w *tensor.Tensor) {
	s := w.Scale.Type
	switch {
	case w.Len() == 0 || w.Block[0] < 1 || w.Block[1] < 1 || w.Block[1]%panel != 0 || w.Fused < 1:
	case w.Type == dtype.E4M3 && (s == dtype.E8M0 || s == dtype.F32):
		return
	case w.Type == dtype.E2M1 && s == dtype.E8M0 && w.Dim()%2 == 0:
		return
	}
	panic(fmt.Sprintf("prepare: weight is %v by %v in blocks of %v, want F8_E4M3 by F8_E8M0 or F32, or F4 with an even number of columns by F8_E8M0, "+
		"no empty axis, and a multiple of %d columns in a block", w, w.Scale, w.Block, panel))
}

func newCodes(w *tensor.Tensor, e, n, k int) *codes {
	c := &codes{e: e, n: n, k: k, block: w.Block[1], type_: w.Type}
	scale := dtype.F32
	if w.Type == dtype.E2M1 {
		scale = dtype.E8M0
	}
	c.mem = tensor.New(dtype.U8, e*blocks(n), c.panelBytes())
	c.scales = tensor.New(scale, e*blocks(n), c.lines(), panel)
	c.odd = tensor.New(dtype.U8, e*blocks(n))
	return c
}

// panelBytes is the size of a panel's codes.
func (c *codes) panelBytes() int {
	if c.type_ == dtype.E2M1 {
		return (c.k + 3) / 4 * unit
	}
	return (c.k + 1) / 2 * unit
}

// lines returns how many lines of scales a panel has.
func (c *codes) lines() int { return (c.k + c.block - 1) / c.block }

// pack fills panel i, counted over all matrices.
func (c *codes) pack(simd bool, w *tensor.Tensor, i int) {
	first := i % blocks(c.n) * panel
	rows, from := min(panel, c.n-first), i/blocks(c.n)*c.n+first
	to := c.mem.Mem[i*c.panelBytes():][:c.panelBytes()]
	line := c.scales.Type.Bytes(c.lines() * panel)
	clear(c.scales.Mem[i*line:][:line]) // of columns that there are none of, too: nothing may depend on what the memory held
	ld := w.Type.Bytes(c.k)
	done, odd := c.turn(simd, to, w.Mem[from*ld:][:rows*ld], rows, ld)
	clear(to[done*unit:])
	for r := range rows {
		row := w.Mem[(from+r)*ld:][2*done : ld]
		if c.type_ == dtype.E2M1 {
			packE2M1(to[done*unit:], row, r)
		} else {
			odd = packE4M3(to[done*unit:], row, r) || odd
		}
		odd = c.packScales(w, i, r, from+r) || odd
	}
	c.odd.Mem[i] = 0
	if odd {
		c.odd.Mem[i] = 1
	}
}

// turn sets the first units of a panel in assembly, and returns how many, and whether a code is NaN.
func (c *codes) turn(simd bool, to, rows []byte, n, ld int) (done int, nan bool) {
	done = turned(simd, n, ld/2)
	if c.type_ == dtype.E2M1 {
		turnQuads(to, rows, done, ld)
		return done, false
	}
	return done, turnPairs(to, rows, done, ld)
}

// packE4M3 sets column r of a panel. It reports whether a code is NaN.
func packE4M3(to, row []byte, r int) (nan bool) {
	var seen uint16
	for ; len(row) >= 2; row, to = row[2:], to[unit:] {
		b := binary.LittleEndian.Uint16(row)
		seen |= b&0x7f7f + 0x0101 // carries into a byte's top bit
		binary.LittleEndian.PutUint16(to[pairAt(0, r):], b)
	}
	if len(row) > 0 {
		to[pairAt(0, r)] = row[0]
		seen |= uint16(row[0]&0x7f + 1)
	}
	return seen&0x8080 != 0
}

// packE2M1 sets column r of a panel.
func packE2M1(to, row []byte, r int) {
	first, _ := quadAt(0, r)
	second, _ := quadAt(1, r)
	for ; len(row) >= 2; row, to = row[2:], to[unit:] {
		to[first], to[second] = row[0]&15|row[1]<<4, row[0]>>4|row[1]&0xf0
	}
	if len(row) > 0 {
		to[first], to[second] = row[0]&15, row[0]>>4
	}
}

const unit = 2 * panel // bytes that are widened together

// pairAt returns the byte of an E4M3 panel that holds line k of column r: of two lines, columns j and j+8 come together, as they come out of
// AVX2 when it widens bytes in place.
func pairAt(k, r int) int { return k/2*unit + 4*(r%8) + r/8*2 + k%2 }

// quadAt returns the byte of an E2M1 panel that holds line k of column r, and the bits that it lies up, for the same reason.
func quadAt(k, r int) (at, shift int) {
	return k/4*unit + 16*(r%8/4) + 8*(k%2) + 2*(r%4) + r/8, 4 * (k % 4 / 2)
}

// packScales sets column r of panel i's lines to the scales of a row of w. It reports whether one is beyond the assembly.
func (c *codes) packScales(w *tensor.Tensor, i, r, row int) (odd bool) {
	grid, lines := scaleRow(w, row), c.lines()
	at := i*lines*panel + r
	if c.type_ == dtype.E2M1 {
		for l, s := range w.Scale.Mem[grid : grid+lines] {
			c.scales.Mem[at+l*panel] = s
			odd = odd || s == 0 || s == dtype.NaNE8M0
		}
		return odd
	}
	for l := range lines {
		s := scaleOf(w, grid+l)
		c.scales.F32()[at+l*panel] = s
		odd = odd || oddScale(s)
	}
	return odd
}

// oddScale reports whether s times 2^120, which the assembly multiplies E4M3 codes by, is beyond float32.
func oddScale(s float32) bool { return s >= 0x1p8 || s <= -0x1p8 }

// scaleRow returns where the scales of a row begin, counted over all matrices.
func scaleRow(w *tensor.Tensor, row int) int {
	_, n, k := shape(w)
	part := n / w.Fused // rows of one of the matrices that lie one below the other
	parts, in := row/part, row%part
	return (parts*((part+w.Block[0]-1)/w.Block[0]) + in/w.Block[0]) * ((k + w.Block[1] - 1) / w.Block[1])
}

// scaleOf returns scale i of w.
func scaleOf(w *tensor.Tensor, i int) float32 {
	if w.Scale.Type == dtype.F32 {
		return w.Scale.F32()[i]
	}
	return dtype.FromE8M0(w.Scale.Mem[i])
}

// operand returns matrix e from column n on as an operand.
func (c *codes) operand(e, n int) operand {
	return operand{codes: c, at: e*blocks(c.n) + n/panel, shift: n % panel}
}

// size returns the number of elements of the weight.
func (c *codes) size() int { return c.e * c.n * c.k }

// unpack sets dst [n, 16] to lines k up to k+n of panel i.
func (c *codes) unpack(simd bool, dst []float32, i, k, n int) {
	_ = dst[n*panel-1]
	if !simd || c.odd.Mem[i] != 0 {
		c.plain(dst, i, k, n)
		return
	}
	mem, line := i*c.panelBytes(), (i*c.lines()+k/c.block)*panel
	first := c.block - k%c.block
	if c.type_ == dtype.E2M1 {
		asm.UnpackE2M1(&dst[0], &c.mem.Mem[mem+k/4*unit], &c.scales.Mem[line], n, first, c.block)
		return
	}
	asm.UnpackE4M3(&dst[0], &c.mem.Mem[mem+k/2*unit], &c.scales.F32()[line], n, first, c.block)
}

// plain is unpack in Go.
func (c *codes) plain(dst []float32, i, k, n int) {
	mem := c.mem.Mem[i*c.panelBytes():]
	for l := k; l < k+n; l++ {
		line := (i*c.lines() + l/c.block) * panel
		for r := range panel {
			x := &dst[(l-k)*panel+r]
			if c.type_ == dtype.E2M1 {
				at, shift := quadAt(l, r)
				*x = dtype.FromE2M1(mem[at]>>shift) * dtype.FromE8M0(c.scales.Mem[line+r])
				continue
			}
			*x = dtype.FromE4M3(mem[pairAt(l, r)]) * c.scales.F32()[line+r]
		}
	}
}

// oddIn reports whether one of panels i up to j is odd.
func (c *codes) oddIn(i, j int) bool {
	for _, o := range c.odd.Mem[i:j] {
		if o != 0 {
			return true
		}
	}
	return false
}
