package cpu

import (
	"runtime"
	"testing"

	"furlong/kernels"
	"furlong/kernels/kerneltest"
)

// units returns a backend for each kind of arithmetic of this machine and each way to cut the work.
func units(t testing.TB) map[string]*Backend {
	m := map[string]*Backend{
		"go":   open(Options{Threads: 2, Sleepy: true}, plain),
		"one":  open(Options{Threads: 1}, best()),
		"five": open(Options{Threads: 5, Sleepy: true}, best()),
	}
	if best() == avx512 { // or else "one" and "five" are what this would be
		m["avx2"] = open(Options{Threads: 3, Sleepy: true}, avx2)
	}
	for _, b := range m {
		t.Cleanup(b.Close)
	}
	return m
}

func TestConformance(t *testing.T) {
	for name, b := range units(t) {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "five" {
				kerneltest.RunBeside(t, b)
				return
			}
			kerneltest.Run(t, b)
		})
	}
}

// A part of a split gives the same bits while who computes on the other part works for it.
func TestConformanceWithGuest(t *testing.T) {
	b := open(Options{Threads: 2, Sleepy: true}, best())
	defer b.Close()
	parts := b.Split(2)
	if len(parts) != 2 {
		t.Fatalf("two threads are split into %d parts", len(parts))
	}
	end, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		kernels.Await(parts[1], end)
	}()
	for parts[0].(*Backend).pool.hands() < 2 {
		runtime.Gosched()
	}
	if testing.Short() {
		kerneltest.RunBeside(t, parts[0])
	} else {
		kerneltest.Run(t, parts[0])
	}
	close(end)
	<-left
	if n := parts[0].(*Backend).pool.hands(); n != 1 {
		t.Errorf("%d threads work for a part that is alone, want 1", n)
	}
}

func TestThreads(t *testing.T) {
	kerneltest.RunThreads(t, func(threads int) kernels.Backend {
		b := open(Options{Threads: threads, Sleepy: true}, best())
		t.Cleanup(b.Close)
		return b
	})
}
