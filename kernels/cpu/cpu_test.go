package cpu

import (
	"testing"

	"furlong/kernels"
	"furlong/kernels/cpu/asm"
	"furlong/kernels/kerneltest"
)

// units returns a backend for each kind of arithmetic of this machine and each way to cut the work.
func units(t testing.TB) map[string]*Backend {
	m := map[string]*Backend{
		"go":   open(Options{Threads: 2, Sleepy: true}, false),
		"one":  open(Options{Threads: 1}, asm.Available()),
		"five": open(Options{Threads: 5, Sleepy: true}, asm.Available()),
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

func TestThreads(t *testing.T) {
	kerneltest.RunThreads(t, func(threads int) kernels.Backend {
		b := open(Options{Threads: threads, Sleepy: true}, asm.Available())
		t.Cleanup(b.Close)
		return b
	})
}
