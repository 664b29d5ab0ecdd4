package cpu

import (
	"runtime"
	"sync"
	"time"

	"furlong/kernels"
	"furlong/kernels/ref"
)

// A Backend runs every kernel on the processor's cores. What it does not do itself, the embedded reference does: the
// same bits, slower. Several goroutines may use one Backend at once; their chunks share the helpers.
type Backend struct {
	*ref.Backend[float32]
	isa   isa
	pool  *pool
	jobs  sync.Pool // *job
	grads sync.Pool // *attentionGrad

	splitting sync.Mutex
	splits    map[int][]kernels.Backend // what Split made, by their number
}

var (
	_ kernels.Backend = (*Backend)(nil)
	_ kernels.Lender  = (*Backend)(nil)
	_ kernels.Keeper  = (*Backend)(nil)
	_ kernels.Forker  = (*Backend)(nil)
)

// Options say how a Backend uses the machine. The zero value is good for a process that has it to itself.
type Options struct {
	Threads int  // cores to use, the caller's included; 0 for GOMAXPROCS
	Sleepy  bool // idle helpers sleep at once: for machines that other busy processes share

	// Now is a clock that never goes back. By it threads see that they have lost their processors to others, and helpers are sleepy for a while. It
	// changes no result.
	Now func() time.Duration
}

// spin is how often a helper looks for work before it sleeps, about 100 microseconds; sleepy ones look once.
const (
	spin   = 4000
	sleepy = 1
)

// New returns a Backend that uses threads cores, or GOMAXPROCS if threads is not positive. Close ends it.
func New(threads int) *Backend { return Open(Options{Threads: threads}) }

// Open returns a Backend as o says. Close ends it.
func Open(o Options) *Backend { return open(o, best()) }

func open(o Options, u isa) *Backend {
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	looks := spin
	if o.Sleepy {
		looks = sleepy
	}
	return on(newPool(o.Threads, 1, looks, o.Now), u)
}

// on returns a backend whose chunks run on p.
func on(p *pool, u isa) *Backend {
	b := &Backend{Backend: ref.New[float32](), isa: u, pool: p}
	b.jobs.New = func() any { return new(job) }
	b.grads.New = func() any { return new(attentionGrad) }
	return b
}

// Split returns up to n backends that share the threads out evenly.
func (b *Backend) Split(n int) []kernels.Backend {
	n = max(1, min(n, b.pool.threads))
	if n == 1 {
		return []kernels.Backend{b}
	}
	b.splitting.Lock()
	defer b.splitting.Unlock()
	if b.splits == nil {
		b.splits = map[int][]kernels.Backend{}
	}
	if b.splits[n] == nil {
		p := newPool(b.pool.threads/n, n, b.pool.spin, b.pool.now)
		for range n {
			b.splits[n] = append(b.splits[n], on(p, b.isa))
		}
	}
	return b.splits[n]
}

// Fork runs pieces of work on the backend's own threads, which are not those of its parts.
func (b *Backend) Fork(n int, f func(i int)) { b.pool.run(n, pieces(f)) }

// pieces are work that is not a kernel's.
type pieces func(i int)

func (f pieces) chunk(i int, _ *scratch) { f(i) }

// Lend has the caller run chunks of those who compute on the same threads, which are the parts of a split, until a channel is closed.
func (b *Backend) Lend(until <-chan struct{}) { b.pool.lend(until) }

// Close stops the helpers. No kernel may be running, and none may be called afterwards.
func (b *Backend) Close() {
	b.pool.close()
	for _, parts := range b.splits {
		for _, k := range parts {
			k.(*Backend).Close()
		}
	}
}

// Name returns "cpu".
func (*Backend) Name() string { return "cpu" }

// Unit returns what does the arithmetic: "avx512", "avx2", or "go" where there is no assembly for the machine.
func (b *Backend) Unit() string { return b.isa.String() }
