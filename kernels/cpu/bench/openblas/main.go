// Command openblas compares matrix products of the cpu backend with those of OpenBLAS, both in turn in one run.
//
// It needs the peer beside it; run.sh builds and runs both. Rates are GFLOP/s, best and median of nine. One
// thread is timed by the processor's time, which other processes disturb little, two threads by the wall's.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"furlong/dtype"
	"furlong/kernels/cpu"
	"furlong/tensor"
)

const (
	rounds  = 9
	seconds = 0.03                   // of one measurement
	settle  = 250 * time.Millisecond // until idle threads of either side sleep; OpenBLAS waits 2^28 cycles
)

type size struct{ m, n, k int }

func (s size) flops() float64 { return 2 * float64(s.m) * float64(s.n) * float64(s.k) }

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: openblas PEER")
	}
	p, err := start(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("peer:", p.about)
	fmt.Printf("%-16s %7s  %21s  %21s  %s\n", "m x n x k", "threads", "ours best, median", "peer best, median", "ours/peer")
	for _, threads := range []int{1, 2} {
		b := cpu.New(threads)
		for _, s := range []size{{1, 512, 512}, {4, 512, 512}, {16, 512, 512}, {64, 512, 512},
			{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}} {
			if err := compare(b, p, s, threads); err != nil {
				log.Fatal(err)
			}
		}
		b.Close()
	}
}

// compare prints one line: rounds measurements of each side, in turn.
func compare(b *cpu.Backend, p *peer, s size, threads int) error {
	ours, theirs := make([]float64, rounds), make([]float64, rounds)
	calls := max(1, int(seconds*60e9*float64(threads)/s.flops()))
	run := product(b, s, threads)
	for i := range rounds {
		time.Sleep(settle)
		ours[i] = s.flops() * float64(calls) / run(calls) / 1e9
		time.Sleep(settle)
		t, err := p.ask(s, threads, calls)
		if err != nil {
			return err
		}
		theirs[i] = s.flops() * float64(calls) / t / 1e9
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	fmt.Printf("%-16s %7d  %10.1f %10.1f  %10.1f %10.1f  %.2f %.2f\n", fmt.Sprintf("%dx%dx%d", s.m, s.n, s.k), threads,
		ours[rounds-1], ours[rounds/2], theirs[rounds-1], theirs[rounds/2], ours[rounds-1]/theirs[rounds-1], ours[rounds/2]/theirs[rounds/2])
	return nil
}

// product returns a function that runs so many products and returns the seconds they took.
func product(b *cpu.Backend, s size, threads int) func(calls int) float64 {
	x, w, y := random(s.m, s.k), random(s.n, s.k), tensor.New(dtype.F32, s.m, s.n)
	b.Prepare(w)
	b.Linear(y, x, w, 1)
	return func(calls int) float64 {
		start, used := time.Now(), processor()
		for range calls {
			b.Linear(y, x, w, 1)
		}
		if threads == 1 {
			return (processor() - used).Seconds()
		}
		return time.Since(start).Seconds()
	}
}

// processor returns the time that this process has spent on processors.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func random(shape ...int) *tensor.Tensor {
	t := tensor.New(dtype.F32, shape...)
	for i := range t.F32() {
		t.F32()[i] = rand.Float32() - 0.5
	}
	return t
}

// A peer is the other process.
type peer struct {
	to    io.Writer
	from  *bufio.Scanner
	about string
}

func start(path string) (*peer, error) {
	c := exec.Command(path)
	to, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &peer{to: to, from: bufio.NewScanner(from)}
	if !p.from.Scan() {
		return nil, fmt.Errorf("peer %s: no first line: %w", path, io.ErrUnexpectedEOF)
	}
	p.about = p.from.Text()
	return p, nil
}

// ask returns the seconds that the peer took.
func (p *peer) ask(s size, threads, calls int) (seconds float64, err error) {
	if _, err := fmt.Fprintln(p.to, s.m, s.n, s.k, threads, calls); err != nil {
		return 0, err
	}
	if !p.from.Scan() {
		return 0, fmt.Errorf("peer: no answer for %v: %w", s, io.ErrUnexpectedEOF)
	}
	_, err = fmt.Sscan(p.from.Text(), &seconds)
	return seconds, err
}
