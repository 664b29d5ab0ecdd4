package cpu

import (
	"furlong/dtype"
	"furlong/kernels/cpu/asm"
)

type (
	dotE4M3 func(c, a *float32, codes *byte, scales *float32, n, first, block, cs, as, bp, sp int)
	dotE2M1 func(c, a *float32, codes, scales *byte, n, first, block, cs, as, bp, sp int)
)

// The functions that multiply rows by codes, by rows. One row takes two panels, more rows take one.
var (
	dotsE4M3 = [...]dotE4M3{1: asm.Dot1xE4M3, 2: asm.Dot2xE4M3, 3: asm.Dot3xE4M3, 4: asm.Dot4xE4M3}
	dotsE2M1 = [...]dotE2M1{1: asm.Dot1xE2M1, 2: asm.Dot2xE2M1, 3: asm.Dot3xE2M1}
)

// mostRows returns the rows that are multiplied by codes as they are.
func (c *codes) mostRows() int {
	if c.type_ == dtype.E2M1 {
		return len(dotsE2M1) - 1
	}
	return len(dotsE4M3) - 1
}

// few computes a block of few rows whose b is panels of codes. Panels that c has not all columns of, or that are odd or
// left alone, are unpacked first.
func (p *product) few(on isa, s *scratch, u block) {
	r := &s.run
	*r = run{product: p, block: u, isa: on}
	n := 1
	if u.r1-u.r0 == 1 {
		n = 2
	}
	for i := u.p0; i < u.p1; {
		if r.words(i, n) {
			p.b.codes.dots(p, u, i, n)
			i += n
			continue
		}
		r.p0 = i
		for i++; i < u.p1 && !r.words(i, n); i++ {
		}
		r.p1 = i
		r.all(s, p.cut(u))
		r.p1 = u.p1
	}
}

// dots sets the block's rows of panels i up to i+n, in equal parts if the functions take fewer.
func (c *codes) dots(p *product, u block, i, n int) {
	rows := u.r1 - u.r0
	parts := (rows + c.mostRows() - 1) / c.mostRows()
	for j := range parts {
		c.dot(p, u.r0+rows*j/parts, u.r0+rows*(j+1)/parts, i, n)
	}
}

// words reports whether the assembly can take n panels of the block from i on.
func (r *run) words(i, n int) bool {
	at := r.b.at + i
	return i+n <= r.p1 && r.inside(i, n) && !r.b.codes.oddIn(at, at+n)
}

// dot sets rows lo up to hi of panels i up to i+n.
func (c *codes) dot(p *product, lo, hi, i, n int) {
	rows, at := hi-lo, p.b.at+i
	y, x := p.c[lo*p.cs+panel*i-p.b.shift:], p.a[lo*p.as:]
	_, _ = y[(rows-1)*p.cs+n*panel-1], x[(rows-1)*p.as+c.k-1]
	mem, line := part(c.mem.Mem, at*c.panelBytes(), n*c.panelBytes()), c.lines()*panel
	if c.type_ == dtype.E2M1 {
		dotsE2M1[rows](&y[0], &x[0], mem, part(c.scales.Mem, at*line, n*line), c.k, c.block, c.block, p.cs, p.as, c.panelBytes(), line)
		return
	}
	dotsE4M3[rows](&y[0], &x[0], mem, part(c.scales.F32(), at*line, n*line), c.k, c.block, c.block, p.cs, p.as, c.panelBytes(), 4*line)
}
