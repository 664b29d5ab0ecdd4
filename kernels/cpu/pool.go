package cpu

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"furlong/kernels/cpu/asm"
)

// work is something cut into chunks that may run in any order and at the same time. A chunk gets the
// scratch memory of the goroutine that runs it.
type work interface {
	chunk(i int, s *scratch)
}

// A pool runs the chunks of several callers on the callers themselves and on helpers.
//
// The caller claims chunks from the front, helpers from the back, until they meet. So a helper that sleeps or lost its processor costs
// nothing: the caller takes what nobody took, and waits only for chunks that somebody has claimed. And where both work, the caller
// does the first rows of one kernel after the other and a helper the last: what a core wrote it reads again, out of its own
// cache. Two cores that share no cache lose half their speed otherwise.
type pool struct {
	slots   [numSlots]slot
	threads int                  // of a caller, itself included
	guests  atomic.Int32         // goroutines that work here while they wait for something
	spin    int                  // looks for work before a helper sleeps
	now     func() time.Duration // nil: nobody knows
	shared  atomic.Int64         // until when the processors are taken to be shared, and helpers sleep at once; 0 for never
	parked  atomic.Int32
	wake    chan struct{}
	ended   chan struct{}
	closed  atomic.Bool
	helpers sync.WaitGroup
	scratch sync.Pool
}

const (
	numSlots  = 8  // callers that can have helpers at once; one more works alone
	indexBits = 20 // of a chunk's number
	indexMask = 1<<indexBits - 1
	restLook  = 256  // who spins lets other goroutines run once in so many looks
	patience  = 2000 // looks of a caller at chunks that others run, before it sleeps: they may have lost the processor to it
)

// Whoever spins uses up the time that a busy machine gives its thread, and is without a processor when there is work; one that slept gets a
// processor at once. So nobody spins for a while after a spinning thread has lost its processor. It shows by the clock: restLook looks take some 10 microseconds.
const (
	lostTime   = time.Millisecond
	sharedTime = 250 * time.Millisecond
)

// A slot holds the work of one caller. claim says which chunks nobody has taken, from front (the middle bits) up to, not including, back (the
// low bits); the bits above count generations, so that a claim on work that has gone fails.
type slot struct {
	taken atomic.Bool
	claim atomic.Uint64
	done  atomic.Uint32
	fail  atomic.Pointer[failure]
	work  work

	asleep atomic.Bool   // the caller sleeps until a chunk is done
	ready  chan struct{} // what wakes it
	_      [64]byte      // slots of two callers don't share a line
}

// A failure is a panic in a chunk.
type failure struct {
	value any
	stack []byte
}

// newPool returns a pool whose callers, so many at a time, have threads each: themselves and helpers. now may be nil.
func newPool(threads, callers, spin int, now func() time.Duration) *pool {
	p := &pool{threads: threads, spin: spin, now: now, wake: make(chan struct{}, threads*callers), ended: make(chan struct{})}
	p.scratch.New = func() any { return new(scratch) }
	for i := range p.slots {
		p.slots[i].ready = make(chan struct{}, 1)
	}
	for range callers * (threads - 1) {
		p.helpers.Go(func() { p.serve(p.ended) })
	}
	return p
}

// close stops the helpers and waits for them.
func (p *pool) close() {
	if !p.closed.Swap(true) {
		close(p.ended)
	}
	p.helpers.Wait()
}

// hands returns how many work for a caller now.
func (p *pool) hands() int { return p.threads + int(p.guests.Load()) }

// run runs n chunks of w and returns when all are done. A panic in a chunk comes out here.
func (p *pool) run(n int, w work) {
	sl := p.open(n, w)
	if sl == nil {
		p.alone(n, w)
		return
	}
	p.call(n - 1)
	s := p.scratch.Get().(*scratch)
	for sl.step(s, front) {
	}
	p.scratch.Put(s)
	sl.wait(p, uint32(n))
	f := sl.fail.Load()
	sl.close()
	if f != nil {
		panic(fmt.Sprintf("%v\n\nin a chunk of the pool:\n%s", f.value, f.stack))
	}
}

// alone runs n chunks of w on the caller.
func (p *pool) alone(n int, w work) {
	s := p.scratch.Get().(*scratch)
	for i := range n {
		s.reset()
		w.chunk(i, s)
	}
	p.scratch.Put(s)
}

// open publishes w in a free slot. It returns nil if there is nobody or nothing to share.
func (p *pool) open(n int, w work) *slot {
	if n < 2 || n > indexMask || p.hands() < 2 {
		return nil
	}
	for i := range p.slots {
		if sl := &p.slots[i]; !sl.taken.Load() && sl.taken.CompareAndSwap(false, true) {
			sl.publish(n, w)
			return sl
		}
	}
	return nil
}

// publish opens a new generation. Until the last line nothing can be claimed.
func (sl *slot) publish(n int, w work) {
	generation := (sl.claim.Load()>>(2*indexBits) + 1) << (2 * indexBits)
	sl.claim.Store(generation)
	sl.done.Store(0)
	sl.fail.Store(nil)
	sl.work = w
	sl.claim.Store(generation | uint64(n))
}

// close frees the slot. Every chunk is done.
func (sl *slot) close() {
	sl.work = nil
	sl.taken.Store(false)
}

// An end is one that chunks are claimed from.
type end uint8

const (
	front end = iota
	back
)

// step claims and runs one chunk. It returns false when none is left.
func (sl *slot) step(s *scratch, from end) bool {
	for {
		c := sl.claim.Load()
		lo, hi := c>>indexBits&indexMask, c&indexMask
		if lo >= hi {
			return false
		}
		i, rest := lo, c+1<<indexBits
		if from == back {
			i, rest = hi-1, c-1
		}
		if sl.claim.CompareAndSwap(c, rest) {
			sl.do(int(i), s)
			return true
		}
	}
}

// do runs chunk i, and keeps its panic for the caller.
func (sl *slot) do(i int, s *scratch) {
	defer func() {
		if v := recover(); v != nil {
			sl.fail.Store(&failure{v, debug.Stack()})
		}
		sl.done.Add(1)
		if sl.asleep.Load() {
			select {
			case sl.ready <- struct{}{}:
			default: // a token is there already, and the caller looks at done after it
			}
		}
	}()
	s.reset()
	sl.work.chunk(i, s)
}

// wait returns when all n chunks are done.
func (sl *slot) wait(p *pool, n uint32) {
	var r rests
	for i := 0; i < patience && sl.done.Load() < n; i++ {
		pause(1)
		if i%restLook == restLook-1 && !r.rest(p) {
			break
		}
	}
	if sl.done.Load() == n {
		return
	}
	sl.asleep.Store(true)
	for sl.done.Load() < n {
		<-sl.ready
	}
	sl.asleep.Store(false)
	r.rest(p) // a long sleep was for a helper without a processor, or for a long chunk, beside which it costs little to wake helpers
}

// call wakes up to n sleeping helpers.
func (p *pool) call(n int) {
	for range min(n, int(p.parked.Load())) {
		select {
		case p.wake <- struct{}{}:
		default:
			return
		}
	}
}

// lend has the calling goroutine work as a helper until a channel is closed.
func (p *pool) lend(until <-chan struct{}) {
	p.guests.Add(1)
	p.serve(until)
	p.guests.Add(-1)
}

// serve is the life of a helper, which ends when a channel is closed.
func (p *pool) serve(until <-chan struct{}) {
	s := p.scratch.Get().(*scratch)
	defer p.scratch.Put(s)
	for !isClosed(until) {
		if p.search(s, until) {
			continue
		}
		p.parked.Add(1)
		if !p.look(s) {
			select {
			case <-p.wake:
			case <-until:
			}
		}
		p.parked.Add(-1)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// search looks for chunks as often as the pool spins, once where processors are shared. It returns true if it ran any, or is to end.
func (p *pool) search(s *scratch, until <-chan struct{}) bool {
	looks := p.spin
	if p.isShared() {
		looks = sleepy
	}
	var r rests
	for i := range looks {
		if p.look(s) || isClosed(until) {
			return true
		}
		pause(1)
		if i%restLook == restLook-1 && !r.rest(p) {
			return false
		}
	}
	return false
}

// rests are the pauses of one who spins: it lets other goroutines run, and reads the clock.
type rests struct {
	last time.Duration
	seen bool
}

// rest returns false if much more time has passed since the last rest than spinning takes: the thread has been without a processor.
func (r *rests) rest(p *pool) bool {
	runtime.Gosched()
	if p.now == nil {
		return true
	}
	t := p.now()
	lost := r.seen && t-r.last > lostTime
	r.last, r.seen = t, true
	if lost {
		p.shared.Store(int64(t + sharedTime))
	}
	return !lost
}

// isShared reports whether a spinning thread has lost its processor lately. The clock is read only after it has happened.
func (p *pool) isShared() bool {
	until := p.shared.Load()
	if until == 0 {
		return false
	}
	if p.now() < time.Duration(until) {
		return true
	}
	p.shared.CompareAndSwap(until, 0)
	return false
}

// look runs all chunks it can claim. It returns true if it ran any.
func (p *pool) look(s *scratch) bool {
	found := false
	for i := range p.slots {
		for p.slots[i].step(s, back) {
			found = true
		}
	}
	return found
}

// pause waits about 40 cycles n times.
func pause(n int) {
	if asm.Available() {
		asm.Pause(n)
	} else {
		runtime.Gosched()
	}
}
