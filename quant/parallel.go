package quant

import (
	"runtime"
	"sync"
	"sync/atomic"

	"furlong/tensor"
)

// A call is what a kernel works on: codes and scales q, and numbers or other codes w of the same shape.
type call struct {
	frame
	q, w *tensor.Tensor
	x    []float32 // the numbers of w if it is F32
	b    []uint16  // if it is BF16
	rule Rule      // nil for rounding up
	enc  *encoders
}

// A job runs a kernel over all bands of a tensor. Jobs are kept, so that a loop of equal calls allocates nothing.
type job struct {
	call
	kernel func(c *call, band int) int
	chunk  int          // bands that a goroutine takes at a time
	next   atomic.Int64 // the first band that nobody has taken
	sum    atomic.Int64 // of what the kernel returned
	wait   sync.WaitGroup
	work   func() // made once: a go statement with an argument would allocate
}

// idle are jobs that nobody uses. A pool of the garbage collector's would forget them now and then.
var idle = make(chan *job, 16)

func takeJob() *job {
	select {
	case j := <-idle:
		return j
	default:
	}
	j := &job{}
	j.work = func() {
		j.drain()
		j.wait.Done()
	}
	return j
}

func (j *job) giveBack() {
	j.call, j.kernel = call{}, nil
	select {
	case idle <- j:
	default: // more at once than are worth keeping
	}
}

// chunkElements is what a goroutine takes at a time: some ten microseconds of work.
const chunkElements = 1 << 15

// run calls kernel for every band, on all processors if there is enough to do, and returns the sum of what it returns. Bands share
// nothing that is written, so their order and the number of goroutines leave the result alone.
func run(c call, kernel func(c *call, band int) int) int {
	if c.bands == 0 || c.cols == 0 {
		return 0
	}
	j := takeJob()
	j.call, j.kernel, j.chunk = c, kernel, max(1, chunkElements/(c.block.Rows*c.cols))
	j.next.Store(0)
	j.sum.Store(0)
	helpers := min(runtime.GOMAXPROCS(0), ceil(c.bands, j.chunk)) - 1
	j.wait.Add(helpers)
	for range helpers {
		go j.work()
	}
	j.drain()
	j.wait.Wait()
	sum := int(j.sum.Load())
	j.giveBack()
	return sum
}

func (j *job) drain() {
	for {
		lo := int(j.next.Add(int64(j.chunk))) - j.chunk
		if lo >= j.bands {
			return
		}
		for i := lo; i < min(lo+j.chunk, j.bands); i++ {
			j.sum.Add(int64(j.kernel(&j.call, i)))
		}
	}
}
