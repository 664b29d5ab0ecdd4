package samples

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// processor is the time that the process has had of processors: what a busy machine does not change.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCycle writes the samples of a cycle, body and index, as a run does: those of the default recipe (256 samples of about 57 tokens, 2 of 16 experts in each of
// 6 layers), with and without experts, and a few long ones of a large model, of which the worst tokens' experts stay.
func BenchmarkCycle(b *testing.B) {
	small, large := routed(6, 2, 16, 256, 54), routed(43, 6, 256, 8, 4096)
	for _, bb := range []struct {
		name, keep string
		batch      Batch
	}{
		{"default/experts=none", "none", small},
		{"default/experts=all", "auto", small},
		{"large/experts=none", "none", large},
		{"large/experts=worst", "auto", large},
		{"large/experts=all", "all", large},
	} {
		b.Run(bb.name, func(b *testing.B) {
			keep, err := ParseKeepExperts(bb.keep)
			if err != nil {
				b.Fatal(err)
			}
			w, err := Open(b.TempDir(), Options{Attempt: 1, Text: text, Log: quiet(), Experts: keep})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			before := processor()
			for cycle := 1; b.Loop(); cycle++ {
				bb.batch.Cycle = cycle
				if err := w.Add(bb.batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processor()-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
			info, err := os.Stat(filepath.Join(w.dir, Name(1, "")))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size()), "bytes/body")
		})
	}
}
