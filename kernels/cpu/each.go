package cpu

// rows is a loop over rows cut into chunks.
type rows struct {
	n, chunks int
	body      func(lo, hi int, s *scratch)
}

func (r *rows) chunk(i int, s *scratch) {
	r.body(r.n*i/r.chunks, r.n*(i+1)/r.chunks, s)
}

// each runs body over rows 0 to n, in chunks if there is enough to do. cost is the work of a row, in the time of
// a multiply-add of a vector kernel (about 1/16 of a cycle).
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
