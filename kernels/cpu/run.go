package cpu

// A run is a block of a product while it is computed: the piece at hand, and the scratch memory of its pieces.
type run struct {
	*product
	block
	isa isa
	t   tile

	m0, rows int // rows of the piece
	k0, kc   int // its part of k
	q0, q1   int // its panels
	first    []float32
	as, ak   int // strides of first, which is a at (m0, k0)

	straight           bool // b is read where it lies
	group              int  // panels of a piece
	held               int  // first panel of copyB, -1 if there is none
	copyA, copyB, edge []float32
}

// all computes the block with k in pieces of cut.
func (r *run) all(s *scratch, cut int) {
	tall := r.tall(cut)
	r.reserve(s, min(tall, r.r1-r.r0), cut)
	for r.k0 = 0; r.k0 < r.k; r.k0 += cut {
		r.kc = min(cut, r.k-r.k0)
		r.t.k, r.t.from, r.t.add = r.kc, r.from || r.k0 > 0, r.add
		r.held = -1
		for r.m0 = r.r0; r.m0 < r.r1; r.m0 += r.rows {
			r.rows = min(tall, r.r1-r.m0)
			r.takeA()
			for r.q0 = r.p0; r.q0 < r.p1; r.q0 = r.q1 {
				r.q1 = min(r.q0+r.group, r.p1)
				r.fill()
				r.sweep()
			}
		}
	}
}

// tall returns the rows of a piece that is cut deep: whole tiles, and not much fewer in the last piece.
func (r *run) tall(cut int) int {
	rows, size := r.r1-r.r0, pieceA
	if (r.p1-r.p0)*panel*cut > pieceB {
		size *= 2
	}
	most := max(size/cut/tallest*tallest, 4*tallest)
	pieces := (rows + most - 1) / most
	tiles := (rows + tallest*pieces - 1) / (tallest * pieces)
	return tallest * tiles
}

// reserve takes the scratch memory that pieces of rows x cut need.
func (r *run) reserve(s *scratch, rows, cut int) {
	if r.copies(cut) {
		r.copyA = s.f32(rows*cut + 8)
	}
	r.straight, r.group = r.direct(cut), r.p1-r.p0
	switch {
	case !r.straight:
		r.group = min(r.group, max(pieceB/(panel*cut), widest))
		r.copyB = s.f32(r.group * panel * cut)
	case r.b.rows != nil:
		r.copyB = s.f32(panel * cut) // for a last panel that is not full
	}
	r.edge = s.f32(rows * panel)
}

// direct reports whether b is read where it lies, with k in pieces of cut: in panels of numbers, or in rows that the tiles read up to four
// times, or more often out of the second cache where tiles are deep enough to wait for it meanwhile, or that stay near.
func (r *run) direct(cut int) bool {
	rows, size := r.r1-r.r0, cut*r.b.ld
	switch {
	case r.b.packed != nil:
		return true
	case r.b.half != nil:
		return rows <= tallest
	}
	times := 4
	if cut >= deep {
		times = 24
	}
	return r.b.rows != nil && (rows <= 4*tallest || rows <= times*tallest && size <= pieceB || size <= near)
}

// copies reports whether a is copied piece by piece. A piece that many panels read is worth the copy when its lines
// lie far apart: they would compete for the same sets of the cache. A few panels have read them out of the second cache before the copy is made.
func (r *run) copies(cut int) bool {
	if r.turned() {
		return r.r1-r.r0 > tallest && r.p1-r.p0 > 8 && cut*r.product.ak > near
	}
	return r.r1-r.r0 > tallest && r.p1-r.p0 >= 8 && r.product.as >= 512
}

// turned reports whether a runs along the rows of c, so that a tile takes a few elements of many lines.
func (r *run) turned() bool { return r.product.as == 1 && r.k > 1 }

// takeA sets first to the piece of a, copied if that pays.
func (r *run) takeA() {
	r.first, r.as, r.ak = r.a[r.m0*r.product.as+r.k0*r.product.ak:], r.product.as, r.product.ak
	switch {
	case r.copyA == nil:
	case r.turned():
		r.turnA()
	default:
		for i := range r.rows {
			copy(r.copyA[i*r.kc:][:r.kc], r.first[i*r.as:])
		}
		r.first, r.as = r.copyA, r.kc
	}
}

// turnA copies the piece of a tile by tile, a few elements of many lines each: so few k at a time that those lines stay near until the
// last tile has been there.
func (r *run) turnA() {
	few := max(near/r.rows, vec)
	for k := 0; k < r.kc; k += few {
		n := min(few, r.kc-k)
		r.eachTile(tallest, func(row, height, tiles int) {
			for range tiles {
				packTile(r.isa.simd(), r.copyA[row*r.kc+k*height:], r.first[row+k*r.ak:], n, r.ak, height)
				row += height
			}
		})
	}
}

// tileA points the tile at n tiles of a from row on.
func (r *run) tileA(row, height int) {
	t := &r.t
	if r.copyA != nil && r.turned() {
		t.a, t.as, t.ak, t.at = r.copyA[row*r.kc:], 1, height, height*r.kc
		return
	}
	t.a, t.as, t.ak, t.at = r.first[row*r.as:], r.as, r.ak, height*r.as
}

// sweep runs the rows of the piece over all panels of the block.
func (r *run) sweep() {
	for p := r.q0; p < r.q1; {
		vecs := r.abreast(p)
		n := (vecs + 1) / 2
		m := r.stacks(p, n)
		r.takeB(p, n)
		if 8*vecs > r.left(p) || panel*p < r.b.shift {
			r.partly(p)
		} else {
			r.tiles(r.c[r.m0*r.cs+panel*p-r.b.shift:], r.cs, vecs, m)
		}
		p += n * m
	}
}

// abreast returns how many vectors a tile takes at once from panel p on: low tiles take more, to have enough chains.
func (r *run) abreast(p int) int {
	if p+2 <= r.q1 && r.left(p) == 3*vec && panel*p >= r.b.shift && (r.isa.tall(3) == tallest || !(r.copyA != nil && r.turned())) {
		return 3
	}
	n := r.isa.abreast(r.rows)
	for n > 1 && (p+n > r.q1 || !r.inside(p, n) || n*panel*r.rows*r.kc > r.isa.mostWork()) {
		n /= 2
	}
	return 2 * n
}

// left returns how many columns c has from panel p on.
func (r *run) left(p int) int { return r.n + r.b.shift - panel*p }

// inside reports whether panels p to p+n have all their columns in c.
func (r *run) inside(p, n int) bool {
	return panel*p >= r.b.shift && panel*(p+n)-r.b.shift <= r.n
}

// stacks returns how many times n panels from p on one call can take.
func (r *run) stacks(p, n int) int {
	if !r.inside(p, n) {
		return 1
	}
	m := 1
	for p+(m+1)*n <= r.q1 && r.inside(p, (m+1)*n) && (m+1)*n*panel*r.rows*r.kc <= r.isa.mostWork() {
		m++
	}
	return m
}

// fill unpacks the panels of the piece, unless b is read where it lies or they are there already.
func (r *run) fill() {
	if r.straight || r.held == r.q0 {
		return
	}
	r.held = r.q0
	p := r.q0
	if r.b.rows != nil {
		if whole := min(r.q1, r.n/panel); whole > p {
			packPanels(r.isa.simd(), r.copyB, r.b.rows[r.k0*r.b.ld+panel*p:], r.kc, whole-p, r.b.ld)
			p = whole
		}
	}
	for ; p < r.q1; p++ {
		r.unpack(r.copyB[(p-r.q0)*panel*r.kc:][:panel*r.kc], p)
	}
}

// takeB points the tile at n panels of the piece from p on.
func (r *run) takeB(p, n int) {
	b, t := &r.b, &r.t
	t.half, t.bk, t.bp = nil, panel, panel*r.k
	at := (p*r.k + r.k0) * panel
	switch {
	case !r.straight:
		t.b, t.bp = r.copyB[(p-r.q0)*panel*r.kc:], panel*r.kc
	case b.packed != nil:
		t.b = b.packed[at:]
	case b.half != nil:
		t.half = b.half[at:]
	case r.inside(p, n) || r.left(p) == 3*vec:
		t.b, t.bk, t.bp = b.rows[r.k0*b.ld+panel*p:], b.ld, panel
	default:
		r.unpack(r.copyB, p)
		t.b, t.bp = r.copyB, panel*r.kc
	}
	t.bm = n * t.bp
	r.lookAhead(n)
}

// lookAhead has memory fetched early: the next n panels, evenly while many tiles use these, or else a little more of these.
func (r *run) lookAhead(n int) {
	t := &r.t
	switch {
	case t.bk != panel && r.rows > 2*tallest: // it stays near
		t.ahead, t.pace = 0, 0
	case t.bk != panel:
		t.ahead, t.pace = 8*t.bk, t.bk
	case r.rows > tallest:
		t.ahead, t.pace = n*t.bp, (tallest*n*panel+r.rows-1)/r.rows
	default:
		t.ahead, t.pace = 512, panel
	}
}

// unpack writes the piece of panel p to dst [kc, 16]. Columns beyond the last are zero.
func (r *run) unpack(dst []float32, p int) {
	b, at := &r.b, r.k0*r.b.ld+panel*p
	switch {
	case b.half != nil:
		widenPanel(r.isa.simd(), dst, b.half[(p*r.k+r.k0)*panel:], r.kc)
	case b.codes != nil:
		b.codes.unpack(r.isa.simd(), dst, b.at+p, r.k0, r.kc)
	case b.coded != nil:
		codeRows(r.isa.simd(), dst, b.coded, b.at+at, min(panel, r.n-panel*p), r.kc)
	case panel*(p+1) > r.n:
		b.packEdge(dst, at, r.n-panel*p, r.kc)
	case b.rows != nil:
		packRows(r.isa.simd(), dst, b.rows[at:], r.kc, b.ld)
	default:
		widenRows(r.isa.simd(), dst, b.short[at:], r.kc, b.ld)
	}
}

// eachTile cuts the piece's rows into tiles no taller than tall and calls f for each run of equal ones. Heights are chosen so
// that none is below four, or below tall/2, where that can be helped.
func (r *run) eachTile(tall int, f func(row, height, n int)) {
	high, rest := r.rows/tall, r.rows%tall
	if rest > 0 && rest < 4 && high > 0 {
		high, rest = high-1, rest+tall
	}
	row := 0
	if high > 0 {
		f(0, tall, high)
		row = high * tall
	}
	if rest > tall {
		f(row, (rest+1)/2, 1)
		row, rest = row+(rest+1)/2, rest/2
	}
	if rest > 0 {
		f(row, rest, 1)
	}
}

// tiles multiplies the piece's rows with m times vecs vectors at hand into dst.
func (r *run) tiles(dst []float32, cs, vecs, m int) {
	r.eachTile(r.isa.tall(vecs), func(row, height, n int) {
		t := &r.t
		t.rows, t.n, t.vecs, t.m = height, n, vecs, m
		t.c, t.cs = dst[row*cs:], cs
		r.tileA(row, height)
		t.multiply(r.isa)
	})
}

// partly computes a panel that c has not all columns of, by way of a tile in scratch memory.
func (r *run) partly(p int) {
	lo := max(0, r.b.shift-panel*p)
	hi := min(panel, r.n+r.b.shift-panel*p)
	for i := range r.rows {
		copy(r.edge[i*panel+lo:i*panel+hi], r.edgeC(i, p, lo))
	}
	r.tiles(r.edge, panel, 2, 1)
	for i := range r.rows {
		copy(r.edgeC(i, p, lo)[:hi-lo], r.edge[i*panel+lo:])
	}
}

// edgeC returns c from row i of the piece and column lo of panel p on.
func (r *run) edgeC(i, p, lo int) []float32 {
	return r.c[(r.m0+i)*r.cs+panel*p+lo-r.b.shift:]
}
