package cpu

// Decoding has hundreds of products of a few rows in each pass. What a job and a run cost would be as much as such a product
// takes, so what needs neither pieces nor copies nor several threads goes without them.

// atOnce computes p, of a kernel of total multiply-adds, if it is such a product. It returns false if not.
func (p *product) atOnce(on isa, total int) bool {
	u := block{r1: p.m, p1: p.panels()}
	if total >= alone || !p.low(on, u) {
		return false
	}
	p.strips(on, u)
	return true
}

// low reports whether a block is a single tile high, its chains start from zero, its panels are read as they are stored, and the
// last one is full or goes with the one before it.
func (p *product) low(on isa, u block) bool {
	stored := (p.b.packed != nil || p.b.half != nil) && p.b.shift == 0
	if !stored || p.from || p.add || u.r1-u.r0 > tallest {
		return false
	}
	left := p.n - panel*u.p1
	return left >= 0 || left == -vec && u.p1-u.p0 > 1 && u.r1-u.r0 <= on.tall(3)
}

// strips computes a block of few rows.
func (p *product) strips(on isa, u block) {
	t := tile{rows: u.r1 - u.r0, n: 1, k: p.k, cs: p.cs, as: p.as, ak: p.ak, bk: panel, bp: panel * p.k, ahead: 512, pace: panel}
	t.a, t.at = p.a[u.r0*p.as:], t.rows*p.as
	i, full := u.p0, u.p1
	if panel*u.p1 > p.n {
		full -= 2
	}
	for n := on.abreast(t.rows); i < full; i += n * t.m {
		for n > full-i {
			n /= 2
		}
		t.vecs, t.m = 2*n, (full-i)/n
		p.strip(on, &t, u.r0, i)
	}
	if i < u.p1 {
		t.vecs, t.m = 3, 1
		p.strip(on, &t, u.r0, i)
	}
}

// strip runs t on the panels that it takes from panel i on, for c from row r on.
func (p *product) strip(on isa, t *tile, r, i int) {
	t.c, t.bm = p.c[r*p.cs+i*panel:], t.panels()*t.bp
	if p.b.half != nil {
		t.half = p.b.half[i*t.bp:]
	} else {
		t.b = p.b.packed[i*t.bp:]
	}
	t.multiply(on)
}
