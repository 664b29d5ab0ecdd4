package split

import (
	"runtime"
	"sync"
	"sync/atomic"

	"furlong/kernels"
)

// Share calls f for 0 up to n, each once, on the parts of a split of k, several at a time. A panic of f comes out of Share, when all that was begun has ended.
func Share(k kernels.Backend, n int, f func(k kernels.Backend, i int)) {
	parts := k.Split(runtime.GOMAXPROCS(0))
	s := share{n: int64(n), f: f, end: NewFinish(len(parts))}
	var others sync.WaitGroup
	for _, part := range parts[1:] {
		others.Go(func() { s.run(part) })
	}
	s.run(parts[0])
	others.Wait()
	if v := s.panicked.Load(); v != nil {
		panic(*v)
	}
}

// A share is the state of one Share.
type share struct {
	n        int64
	f        func(k kernels.Backend, i int)
	next     atomic.Int64
	end      *Finish
	panicked atomic.Pointer[any]
}

// run calls f as long as there is something left and nothing has panicked.
func (s *share) run(k kernels.Backend) {
	defer s.end.Wait(k)
	defer func() {
		if v := recover(); v != nil {
			s.panicked.CompareAndSwap(nil, &v)
		}
	}()
	for i := s.next.Add(1) - 1; i < s.n && s.panicked.Load() == nil; i = s.next.Add(1) - 1 {
		s.f(k, int(i))
	}
}

// A Finish is where those who compute on parts of a split wait for each other.
type Finish struct {
	left atomic.Int32
	all  chan struct{} // closed when nobody is left
}

// NewFinish returns the finish of n.
func NewFinish(n int) *Finish {
	f := &Finish{all: make(chan struct{})}
	f.left.Store(int32(n))
	return f
}

// Wait says that one has come, waits for the others, and works for them.
func (f *Finish) Wait(k kernels.Backend) {
	if f.left.Add(-1) == 0 {
		close(f.all)
	}
	kernels.Await(k, f.all)
}
