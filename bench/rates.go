package bench

import (
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/tensor"
)

// Rates are what the machine was seen to do with all its threads.
type Rates struct {
	Matrix Rate `json:"matrix_flop_per_s"` // float32 product of 1024 x 1024 matrices
	Copy   Rate `json:"copy_bytes_per_s"`  // read plus written, far larger than caches
}

// A Rate sums up the measurements of one rate.
type Rate struct {
	Best   float64 `json:"best"`
	Median float64 `json:"median"`
	Count  int     `json:"count"`
}

func rateOf(seen []float64) Rate {
	s := slices.Sorted(slices.Values(seen))
	if len(s) == 0 {
		return Rate{}
	}
	return Rate{Best: s[len(s)-1], Median: s[len(s)/2], Count: len(s)}
}

// looks is the number of measurements of each rate before each work, and after the last.
const looks = 5

// A meter measures the machine's rates now and then.
type meter struct {
	k            kernels.Backend
	threads      int
	side         int // of the matrices
	bytes        int // to copy
	matrix, copy []float64
	beside       *product // for looks between the runs of a work
	held         int64    // bytes that it takes
}

func newMeter(k kernels.Backend, threads int) meter {
	return meter{k: k, threads: threads, side: 1024, bytes: 128 << 20}
}

// look measures both rates a few times. All memory is given back.
func (m *meter) look() {
	m.beside, m.held = nil, 0
	m.lookMatrix()
	m.lookCopy()
	debug.FreeOSMemory()
}

func (m *meter) rates() Rates { return m.around(0, len(m.matrix)/looks) }

// around returns the rates of the looks from number lo up to hi.
func (m *meter) around(lo, hi int) Rates {
	of := func(seen []float64) Rate { return rateOf(seen[min(lo*looks, len(seen)):min(hi*looks, len(seen))]) }
	return Rates{of(m.matrix), of(m.copy)}
}

func (m *meter) lookMatrix() {
	p := newProduct(m.k, m.side)
	m.matrix = append(m.matrix, repeat(p.ops, looks, p.run)...)
}

// open makes what now needs. It is held until the next look.
func (m *meter) open() {
	before := memory().now
	m.beside = newProduct(m.k, m.side)
	m.held = max(0, memory().now-before)
}

// now returns the matrix rate of this moment: the best of a few products, of the fewest that one interruption does not spoil.
func (m *meter) now() float64 {
	const few = 3
	return slices.Max(repeat(m.beside.ops, few, m.beside.run))
}

// A product is that of two square matrices, the second one prepared as weights are.
type product struct {
	k       kernels.Backend
	x, w, y *tensor.Tensor
	ops     float64
}

func newProduct(k kernels.Backend, side int) *product {
	p := &product{k: k, x: ramp(side), w: ramp(side), y: tensor.New(dtype.F32, side, side)}
	p.ops = 2 * float64(side) * float64(side) * float64(side)
	k.Prepare(p.w)
	return p
}

func (p *product) run() { p.k.Linear(p.y, p.x, p.w, 1) }

// ramp returns a square matrix of small numbers, none of them zero.
func ramp(side int) *tensor.Tensor {
	t := tensor.New(dtype.F32, side, side)
	for i := range t.F32() {
		t.F32()[i] = float32(i%251+1) / 256
	}
	return t
}

func (m *meter) lookCopy() {
	from, to := make([]byte, m.bytes), make([]byte, m.bytes)
	for i := range from {
		from[i] = byte(i) // memory never written is all one page
	}
	m.copy = append(m.copy, repeat(2*float64(m.bytes), looks, func() {
		var all sync.WaitGroup
		for i := range m.threads {
			lo, hi := m.bytes*i/m.threads, m.bytes*(i+1)/m.threads
			all.Go(func() { copy(to[lo:hi], from[lo:hi]) })
		}
		all.Wait()
	})...)
	runtime.KeepAlive(to)
}

// repeat returns the rates of n runs of f, each of so much work, after one to warm up.
func repeat(work float64, n int, f func()) []float64 {
	f()
	out := make([]float64, n)
	for i := range out {
		start := time.Now()
		f()
		out[i] = work / time.Since(start).Seconds()
	}
	return out
}
