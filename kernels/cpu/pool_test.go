package cpu

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furlong/dtype"
	"furlong/tensor"
)

// tally counts how often each chunk ran.
type tally []atomic.Int32

func (c tally) chunk(i int, _ *scratch) { c[i].Add(1) }

func (c tally) check(t *testing.T, name string) {
	t.Helper()
	for i := range c {
		if n := c[i].Load(); n != 1 {
			t.Errorf("%s: chunk %d ran %d times, want 1", name, i, n)
		}
	}
}

// TestPoolRunsEachChunkOnce has more callers than slots, and helpers that sleep or spin.
func TestPoolRunsEachChunkOnce(t *testing.T) {
	for _, tt := range []struct{ threads, spin, callers int }{{1, 1, 3}, {2, 1, 1}, {2, 100, 3}, {4, 1, numSlots + 4}} {
		name := fmt.Sprintf("%d threads, %d looks, %d callers", tt.threads, tt.spin, tt.callers)
		p := newPool(tt.threads, 1, tt.spin, nil)
		var callers sync.WaitGroup
		for c := range tt.callers {
			callers.Go(func() {
				for round := range 300 {
					work := make(tally, (round*7+c)%23)
					p.run(len(work), work)
					work.check(t, name)
				}
			})
		}
		callers.Wait()
		p.close()
	}
}

// A jumping clock is further by step at every reading.
func jumping(step time.Duration) func() time.Duration {
	var t atomic.Int64
	return func() time.Duration { return time.Duration(t.Add(int64(step))) }
}

// TestPoolParksWhenProcessorsAreShared has helpers that would spin for ever. They sleep once the clock says that they lost their processors, chunks
// run all the same, and after a while without such a loss helpers spin again.
func TestPoolParksWhenProcessorsAreShared(t *testing.T) {
	p := newPool(3, 1, 1<<62, jumping(2*lostTime))
	for p.parked.Load() < 2 {
		runtime.Gosched()
	}
	if !p.isShared() {
		t.Error("helpers sleep and the pool does not know why")
	}
	for round := range 300 {
		work := make(tally, round%23)
		p.run(len(work), work)
		work.check(t, "shared")
	}
	for n := 0; p.isShared(); n++ { // every question takes its time
		if runtime.Gosched(); n > 10000 {
			t.Fatalf("still shared %v after the last loss", sharedTime)
		}
	}
	p.close()
}

// TestPoolSpins wants helpers awake as long as the clock goes on as it should.
func TestPoolSpins(t *testing.T) {
	p := newPool(1, 1, 20*restLook, jumping(lostTime))
	var r rests
	for range 100 {
		if !r.rest(p) {
			t.Fatalf("a rest %v after the last counts as a loss of the processor", lostTime)
		}
	}
	if p.isShared() {
		t.Error("processors count as shared")
	}
	p.close()
}

// meeting is work of two chunks that end only when both run.
type meeting chan struct{}

func (m meeting) chunk(int, *scratch) {
	select {
	case m <- struct{}{}:
	case <-m:
	}
}

// TestPoolLends wants a guest to work beside the caller, whether it spins or sleeps, and to leave when it is called.
func TestPoolLends(t *testing.T) {
	for _, spin := range []int{sleepy, 1 << 62} {
		p := newPool(1, 2, spin, nil)
		end, left := make(chan struct{}), make(chan struct{})
		go func() {
			p.lend(end)
			close(left)
		}()
		for p.hands() < 2 {
			runtime.Gosched()
		}
		for range 100 {
			p.run(2, make(meeting))
		}
		close(end)
		<-left
		alone := make(tally, 9)
		p.run(9, alone)
		alone.check(t, "after the guest has left")
		p.close()
	}
}

// A trap is work whose chunk at panics.
type trap struct {
	tally
	at int
}

func (w trap) chunk(i int, s *scratch) {
	if i == w.at {
		panic("chunk gone wrong")
	}
	w.tally.chunk(i, s)
}

// TestPoolPanics wants the panic of a chunk, wherever it ran, in the caller, and the pool fit for more.
func TestPoolPanics(t *testing.T) {
	p := newPool(3, 1, 1, nil)
	defer p.close()
	for round := range 50 {
		w := trap{make(tally, 9), round % 9}
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "chunk gone wrong") {
					t.Errorf("round %d: recovered %q, want the panic of the chunk", round, v)
				}
			}()
			p.run(9, w)
		}()
		after := make(tally, 9)
		p.run(9, after)
		after.check(t, "after a panic")
	}
}

func TestNames(t *testing.T) {
	b := New(2)
	defer b.Close()
	if b.Name() != "cpu" {
		t.Errorf("Name() = %q, want cpu", b.Name())
	}
	for set, want := range map[isa]string{avx512: "avx512", avx2: "avx2", plain: "go"} {
		b := open(Options{Threads: 1}, set)
		if b.Unit() != want {
			t.Errorf("Unit() = %q, want %q", b.Unit(), want)
		}
		b.Close()
	}
	d := New(0)
	defer d.Close()
	if d.pool.threads < 1 {
		t.Error("New(0) has no thread")
	}
}

// Pieces of work run once each, also from several callers and where kernels run inside, and a panic of one comes out.
func TestFork(t *testing.T) {
	b := open(Options{Threads: 2, Sleepy: true}, best())
	defer b.Close()
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for n := range 9 {
				work := make(tally, n)
				b.Fork(n, func(i int) {
					x := tensor.New(dtype.F32, 64, 64)
					b.Zero(x)
					work[i].Add(1)
				})
				work.check(t, fmt.Sprintf("%d pieces", n))
			}
		})
	}
	callers.Wait()
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "piece 1 is broken") {
			t.Errorf("%q came out, want the panic of the piece", v)
		}
	}()
	b.Fork(2, func(i int) {
		if i == 1 {
			panic("piece 1 is broken")
		}
	})
}
