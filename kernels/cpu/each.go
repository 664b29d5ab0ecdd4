package cpu

// rows is a loop over rows cut into chunks.
type rows struct {
	n, chunks int
	body      func(lo, hi int, s *scratch)
}

func (r *rows) chunk(i int, s *scratch) {
	r.body(r.n*i/r.chunks, r.n*(i+1)/r.chunks, s)
}

// each runs body over rows 0 to n, in chunks if there is enough to do. cost is the work of a row in multiply-adds:
// what else it does counts as the multiply-adds of the same time, about sixteen a cycle.
func (b *Backend) each(n, cost int, body func(lo, hi int, s *scratch)) {
	if n == 0 {
		return
	}
	r := &rows{n: n, body: body, chunks: 1}
	if total := n * cost; b.pool.threads > 1 && total >= alone {
		r.chunks = max(1, min(n, b.pool.threads*perThread, total/(alone/4)))
	}
	b.pool.run(r.chunks, r)
}

// mostCost is the work of one call of assembly: it cannot be interrupted, and the collector waits for it.
const mostCost = 1_500_000

// eachShort is each for a body that is one call of assembly: it runs for a few rows at a time.
func (b *Backend) eachShort(n, cost int, body func(lo, hi int, s *scratch)) {
	most := max(1, mostCost/max(cost, 1))
	b.each(n, cost, func(lo, hi int, s *scratch) {
		for ; lo < hi; lo += most {
			s.reset()
			body(lo, min(lo+most, hi), s)
		}
	})
}

// whole reports whether rows of the given channels are whole vectors of eight that the assembly can take.
func (b *Backend) whole(dims ...int) bool {
	for _, d := range dims {
		if d%8 != 0 || d == 0 {
			return false
		}
	}
	return b.simd
}

// part returns the address of n elements from i on, which must exist.
func part[E any](x []E, i, n int) *E { return &x[i : i+n][0] }
