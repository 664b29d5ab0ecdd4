package store

import (
	"os"
	"syscall"
	"testing"
	"time"

	"furlong/metrics/run"
)

// large opens the run that FURLONG_DASH_RUN names, one of 10,000 cycles and 2.56 million samples for the figures of docs/dashboard.md.
func large(b *testing.B) *Run {
	b.Helper()
	dir := os.Getenv("FURLONG_DASH_RUN")
	if dir == "" {
		b.Skip("FURLONG_DASH_RUN names no run; go run ./cmd/dashgen DIR makes one")
	}
	self, err := run.Self()
	if err != nil {
		b.Fatal(err)
	}
	r, err := Open(dir, "large", Options{Now: time.Now, Self: self})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

// spent reports what the processor spent on each round as well: the clock alone says little where others work beside.
func spent(b *testing.B, do func()) {
	var from, to syscall.Rusage
	n := 0
	b.ResetTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &from) // it can't fail for one's own process
	for b.Loop() {
		do()
		n++
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &to)
	used := to.Utime.Nano() + to.Stime.Nano() - from.Utime.Nano() - from.Stime.Nano()
	b.ReportMetric(float64(used)/1e6/float64(n), "cpu-ms/op")
}

// BenchmarkOpen is what the first look at a run costs: all rows, and the head.
func BenchmarkOpen(b *testing.B) {
	spent(b, func() {
		if _, err := large(b).Head(true); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkHead is the head of a run that was looked at before.
func BenchmarkHead(b *testing.B) {
	r := large(b)
	if _, err := r.Head(true); err != nil {
		b.Fatal(err)
	}
	spent(b, func() {
		if _, err := r.Head(false); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkFilter is one pass over all samples: counts, histograms and the first hundred.
func BenchmarkFilter(b *testing.B) {
	for _, q := range []string{"", "cycle:37", "truncated -right", "gap>0.12 reward=1", "len>300|max>2", "stale:1", "set:gsm8k -wrong"} {
		b.Run(q, func(b *testing.B) {
			r := large(b)
			spent(b, func() {
				if _, err := r.Samples(SampleAsk{Q: q, Sort: "-gap"}); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
