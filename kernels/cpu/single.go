package cpu

// single computes a block of one row whose b is panels of codes: two panels at a time straight from their codes, for nothing is
// read twice. Panels that c has not all columns of, or that are odd or left alone, are unpacked first.
func (p *product) single(s *scratch, u block) {
	r := &s.run
	*r = run{product: p, block: u, simd: true}
	for i := u.p0; i < u.p1; {
		if r.pair(i) {
			p.b.codes.dot(p.c[u.r0*p.cs+panel*i-p.b.shift:], p.a[u.r0*p.as:], p.b.at+i)
			i += 2
			continue
		}
		r.p0 = i
		for i++; i < u.p1 && !r.pair(i); i++ {
		}
		r.p1 = i
		r.all(s, p.cut(u))
		r.p1 = u.p1
	}
}

// pair reports whether panels i and i+1 of the block can be multiplied as codes.
func (r *run) pair(i int) bool {
	at := r.b.at + i
	return i+2 <= r.p1 && r.inside(i, 2) && !r.b.codes.oddIn(at, at+2)
}
