package cpu

// rows is a loop over n rows cut into chunks of whole units, of which a chunk takes at most so many at a time.
type rows struct {
	n, unit, most int
	chunks        int
	body          func(lo, hi int, s *scratch)
}

func (r *rows) units() int { return (r.n + r.unit - 1) / r.unit }

func (r *rows) chunk(i int, s *scratch) {
	lo, hi := r.units()*i/r.chunks, r.units()*(i+1)/r.chunks
	for ; lo < hi; lo += r.most {
		s.reset()
		r.body(lo*r.unit, min(min(lo+r.most, hi)*r.unit, r.n), s)
	}
}

// each runs body over rows 0 to n, in chunks if there is enough to do. cost is the work of a row in multiply-adds:
// what else it does counts as the multiply-adds of the same time, about sixteen a cycle.
func (b *Backend) each(n, cost int, body func(lo, hi int, s *scratch)) {
	b.share(rows{n: n, unit: 1, most: n, body: body}, cost)
}

// mostCost is the work of one call of assembly: it cannot be interrupted, and the collector waits for it.
const mostCost = 1_500_000

// eachShort is each for a body that is one call of assembly: it runs for a few rows at a time.
func (b *Backend) eachShort(n, cost int, body func(lo, hi int, s *scratch)) {
	b.share(rows{n: n, unit: 1, most: max(1, mostCost/max(cost, 1)), body: body}, cost)
}

// eachElement is eachShort over elements, which are cut between cache lines.
func (b *Backend) eachElement(n, cost int, body func(lo, hi int, s *scratch)) {
	const unit = 64
	b.share(rows{n: n, unit: unit, most: max(1, mostCost/(unit*cost)), body: body}, unit*cost)
}

// eachColumn is each over columns, cut into whole units; cost is the work of a column.
func (b *Backend) eachColumn(n, unit, cost int, body func(lo, hi int, s *scratch)) {
	b.share(rows{n: n, unit: unit, most: n, body: body}, unit*cost)
}

// share runs r, whose units have the given cost. What is not worth a fork, such as most of decoding, runs here, and allocates no more than its body.
func (b *Backend) share(r rows, cost int) {
	units := r.units()
	if units == 0 {
		return
	}
	r.chunks = 1
	if total, hands := units*cost, b.pool.hands(); hands > 1 && total >= alone {
		r.chunks = max(1, min(units, hands*perThread, total/(alone/4)))
	}
	if r.chunks == 1 {
		s := b.borrow()
		r.chunk(0, s)
		b.give(s)
		return
	}
	shared := r
	b.pool.run(r.chunks, &shared)
}

// whole reports whether rows of the given channels are whole vectors of eight that the assembly can take.
func (b *Backend) whole(dims ...int) bool {
	for _, d := range dims {
		if d%8 != 0 || d == 0 {
			return false
		}
	}
	return b.isa.simd()
}

// part returns the address of n elements from i on, which must exist.
func part[E any](x []E, i, n int) *E { return &x[i : i+n][0] }
