package cpu

// A run is a block of a product while it is computed: the piece at hand, and the scratch memory of its pieces.
type run struct {
	*product
	block
	simd bool
	t    tile

	m0, rows int // rows of the piece
	k0, kc   int // its part of k
	first    []float32
	as, ak   int // strides of first, which is a at (m0, k0)

	copyA, copyB, edge []float32
}

// all computes the block with k in pieces of cut.
func (r *run) all(s *scratch, cut int) {
	tall := max(pieceA/cut/tallest*tallest, 4*tallest)
	r.reserve(s, min(tall, r.r1-r.r0), cut)
	for r.k0 = 0; r.k0 < r.k; r.k0 += cut {
		r.kc = min(cut, r.k-r.k0)
		r.t.k, r.t.from, r.t.add = r.kc, r.from || r.k0 > 0, r.add
		for r.m0 = r.r0; r.m0 < r.r1; r.m0 += r.rows {
			r.rows = min(tall, r.r1-r.m0)
			r.takeA()
			r.sweep()
		}
	}
}

// reserve takes the scratch memory that pieces of rows x cut need.
func (r *run) reserve(s *scratch, rows, cut int) {
	if r.copies() {
		r.copyA = s.f32(rows*cut + 8)
	}
	if r.b.packed == nil {
		r.copyB = s.f32(panel * cut * widest) // the last piece may be low, and then takes more panels than this one
	}
	r.edge = s.f32(rows * panel)
}

// copies reports whether a is copied piece by piece. A piece that many panels read is worth the copy when its lines
// lie far apart: they would compete for the same sets of the cache.
func (r *run) copies() bool {
	if r.turned() {
		return r.r1-r.r0 > tallest && r.p1-r.p0 >= 2
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
		r.eachTile(tallest, func(row, height, n int) {
			for i := range n {
				at := row + i*height
				packTile(r.simd, r.copyA[at*r.kc:], r.first[at:], r.kc, r.ak, height)
			}
		})
	default:
		for i := range r.rows {
			copy(r.copyA[i*r.kc:][:r.kc], r.first[i*r.as:])
		}
		r.first, r.as = r.copyA, r.kc
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
	for p := r.p0; p < r.p1; {
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
	if p+2 <= r.p1 && r.left(p) == 3*vec && panel*p >= r.b.shift && !(r.copyA != nil && r.turned()) {
		return 3
	}
	n := 1
	switch {
	case r.rows == 1:
		n = widest
	case r.rows <= 3:
		n = 2
	}
	for n > 1 && (p+n > r.p1 || !r.inside(p, n)) {
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

// mostWork is the multiply-adds of one call of assembly: about 40 microseconds.
const mostWork = 1 << 21

// stacks returns how many times n panels from p on one call can take: what is not stored in panels comes piece by
// piece.
func (r *run) stacks(p, n int) int {
	if r.b.packed == nil && (r.b.half == nil || r.rows > tallest) || !r.inside(p, n) {
		return 1
	}
	m := 1
	for p+(m+1)*n <= r.p1 && r.inside(p, (m+1)*n) && (m+1)*n*panel*r.rows*r.kc <= mostWork {
		m++
	}
	return m
}

// takeB points the tile at the piece of n panels from p on, unpacked if it is not stored so.
func (r *run) takeB(p, n int) {
	b := &r.b
	at := (p*r.k + r.k0) * panel
	r.t.half = nil
	r.t.bk, r.t.bp, r.t.bm = panel, panel*r.k, n*panel*r.k
	r.t.ahead = r.ahead(n)
	switch {
	case b.packed != nil:
		r.t.b = b.packed[at:]
		return
	case b.half != nil && r.rows <= tallest:
		r.t.half = b.half[at:]
		return
	}
	r.t.b, r.t.bp, r.t.ahead = r.copyB, panel*r.kc, 0
	for i := range n {
		r.unpack(r.copyB[i*panel*r.kc:][:panel*r.kc], p+i)
	}
}

// ahead returns how far ahead packed lines are fetched: in the next panel if this one stays in the cache for many
// tiles, else a little further on.
func (r *run) ahead(panels int) int {
	if r.rows > tallest {
		return panel * r.k * panels
	}
	return 512
}

// unpack writes the piece of panel p to dst [kc, 16]. Columns beyond the last are zero.
func (r *run) unpack(dst []float32, p int) {
	b, at := &r.b, r.k0*r.b.ld+panel*p
	switch {
	case b.half != nil:
		widenPanel(r.simd, dst, b.half[(p*r.k+r.k0)*panel:], r.kc)
	case b.codes != nil:
		b.codes.unpack(r.simd, dst, b.at+p, r.k0, r.kc)
	case b.coded != nil:
		codeRows(r.simd, dst, b.coded, b.at+at, min(panel, r.n-panel*p), r.kc)
	case panel*(p+1) > r.n:
		b.packEdge(dst, at, r.n-panel*p, r.kc)
	case b.rows != nil:
		packRows(r.simd, dst, b.rows[at:], r.kc, b.ld)
	default:
		widenRows(r.simd, dst, b.short[at:], r.kc, b.ld)
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
	tall := tallest
	if vecs == 3 {
		tall = 4
	}
	r.eachTile(tall, func(row, height, n int) {
		t := &r.t
		t.rows, t.n, t.vecs, t.m = height, n, vecs, m
		t.c, t.cs = dst[row*cs:], cs
		r.tileA(row, height)
		t.multiply(r.simd)
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
