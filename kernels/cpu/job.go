package cpu

// A job is the products of one kernel, cut into blocks that run in any order.
type job struct {
	isa      isa
	products []product
	blocks   []block
}

const (
	alone     = 130_000 // multiply-adds: with fewer, a fork costs more than it gives
	leastWork = 200_000 // multiply-adds of a block
	perThread = 4       // blocks for each thread, so that a slow one delays little
	mostApart = 1 << 16 // elements of a block that is computed apart
	resident  = 1 << 16 // elements of a weight that stays in a core's own cache beside the rows
)

// job returns an empty job to fill.
func (b *Backend) job() *job {
	j := b.jobs.Get().(*job)
	j.isa, j.products, j.blocks = b.isa, j.products[:0], j.blocks[:0]
	return j
}

// put adds p to j, and makes a job if there is none yet.
func (b *Backend) put(j *job, p product) *job {
	if j == nil {
		j = b.job()
	}
	j.products = append(j.products, p)
	return j
}

// do runs j, if there is one, and takes it back.
func (b *Backend) do(j *job) {
	if j == nil {
		return
	}
	total := 0
	for i := range j.products {
		total += j.products[i].work()
	}
	hands := b.pool.hands()
	for i := range j.products {
		j.cut(i, total, hands)
	}
	if total < alone {
		b.pool.alone(len(j.blocks), j)
	} else {
		b.pool.run(len(j.blocks), j)
	}
	clear(j.products) // no tensor stays alive by it
	b.jobs.Put(j)
}

func (j *job) chunk(i int, s *scratch) {
	u := j.blocks[i]
	j.products[u.product].compute(j.isa, s, u)
}

// work returns the multiply-adds of p.
func (p *product) work() int { return p.m * p.n * p.k }

// cut cuts product i into blocks, of which there should be about perThread for each thread in the whole job.
func (j *job) cut(i, total, threads int) {
	p := &j.products[i]
	if p.work() == 0 { // no rows; Prepare refuses weights without columns or depth
		return
	}
	want := 1
	if threads > 1 && total >= alone {
		want = min(p.work()/leastWork, p.work()*threads*perThread/total)
	}
	if p.add && p.k > deepK {
		want = max(want, p.m*p.n/mostApart)
	}
	down, across := p.shape(max(want, 1))
	for r := range down {
		for c := range across {
			j.blocks = append(j.blocks, block{
				i,
				p.m * r / down, p.m * (r + 1) / down,
				p.panels() * c / across, p.panels() * (c + 1) / across,
			})
		}
	}
}

// shape returns how often to cut rows and panels for about want blocks, so that the blocks read little: every
// cut of the rows reads b once more, every cut of the panels a. Blocks of few rows are not worth the reading of b. A b that stays in a
// core's cache is no matter: then rows alone are cut, so that a core goes on with the rows that it wrote before.
func (p *product) shape(want int) (down, across int) {
	if !p.add && !p.from && p.n*p.k <= resident && p.m >= 2*tallest*want {
		return want, 1
	}
	down, across = 1, min(want, p.panels())
	best := p.reads(down, across)
	for d := 2; d <= want && p.m/d >= 4*tallest; d++ {
		c := min((want+d-1)/d, p.panels())
		if cost := p.reads(d, c); d*c > down*across || d*c >= want && cost < best {
			down, across, best = d, c, cost
		}
	}
	return down, across
}

// reads returns what the blocks read, in elements for each k. What is not packed is copied, which counts twice.
func (p *product) reads(down, across int) int {
	b := p.n * down
	if p.b.packed == nil {
		b *= 2
	}
	return p.m*across + b
}
