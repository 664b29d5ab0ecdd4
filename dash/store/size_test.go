package store

import (
	"bufio"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"furlong/dash/api"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

const (
	sizeCycles = 2000 // a fifth of what docs/dashboard.md measures; what is counted grows with the rows
	sizeKeys   = 150
	sizeBatch  = 256 // samples a cycle
)

// sized makes a run as large, and returns the sizes of its rows, of its evaluations and of its index.
func sized(t testing.TB) (dir string, rows, evals, index int64) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "sized")
	if err := os.MkdirAll(filepath.Join(dir, run.SamplesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, run.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	w, err := samples.Open(filepath.Join(dir, run.SamplesDir), samples.Options{Attempt: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	batch := make([]samples.Row, sizeBatch)
	for c := 1; c <= sizeCycles; c++ {
		writeSizedRow(out, rng, c)
		for i := range batch {
			batch[i] = samples.Row{Cycle: uint32(c), Group: uint32(c*32 + i/8), Slot: uint16(i % 8), Verdict: rl.Verdict(1 + rng.IntN(2)), Reward: rng.Float32(), GapMean: rng.Float32(), GapMax: rng.Float32(), ResponseLen: uint32(rng.IntN(300)), Version: rl.NewVersion(0, c)}
		}
		if err := w.AddRows(c, []string{"gsm8k"}, batch); err != nil {
			t.Fatal(err)
		}
		if c%10 == 0 {
			writeEval(t, dir, c, 2, strings.Repeat(`{"id":"more","n":4,"c":1,"truncated":0,"group":9,"samples":[`+strings.Repeat(`{"slot":0},`, 900)+`{}]}`+"\n", 1))
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, bytesIn(t, filepath.Join(dir, run.RowsFile)), bytesIn(t, filepath.Join(dir, "eval")), bytesIn(t, filepath.Join(dir, indexDir))
}

func writeSizedRow(out *bufio.Writer, rng *rand.Rand, c int) {
	fmt.Fprintf(out, `{"kind":"cycle","cycle":%d,"step":%d,"version":%d,"attempt":1,"time":%d.5,"rollout/raw_reward":%s,"perf/step_time":40.25,"train/logp_diff/mean":%s,"train/logp_diff/p99":%s`, c, c, c, c*40, api.Float(rng.Float64()), api.Float(rng.Float64()), api.Float(rng.Float64()))
	for k := range sizeKeys - 4 {
		fmt.Fprintf(out, `,"train/grad_norm/block_%05d":%s`, k, api.Float(rng.NormFloat64()))
	}
	out.WriteString("}\n")
}

// bytesIn sums the sizes of a file or of what is below a folder.
func bytesIn(t testing.TB, path string) (n int64) {
	t.Helper()
	err := filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readBytes returns how many bytes this process has read by its calls.
func readBytes(t testing.TB) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("no /proc says what was read")
	}
	if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
		t.Skip(err)
	}
	return n
}

// reads returns how many bytes do reads, and how many are allocated meanwhile: by what runs beside it as well, so bounds leave room.
func reads(t testing.TB, do func() error) (bytes, allocated int64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := readBytes(t)
	if err := do(); err != nil {
		t.Fatal(err)
	}
	bytes = readBytes(t) - from
	runtime.ReadMemStats(&after)
	return bytes, int64(after.TotalAlloc - before.TotalAlloc)
}

// What answers cost is counted: every byte of the rows is read once, and only new ones again; a filter reads the columns and blocks that it needs; what stays in memory is the
// numbers.
func TestSizeByCounts(t *testing.T) {
	dir, rows, evals, index := sized(t)
	r := open(t, dir)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	const small = 256 << 10
	for _, tt := range []struct {
		what      string
		do        func() error
		read, mem int64 // at most
	}{
		{"the first head reads every row once", func() error { _, err := r.Head(true); return err }, rows + small, 64 << 20},
		{"the next reads nothing", func() error { _, err := r.Head(false); return err }, small / 4, 16 << 20},
		{"rows for a chart come from memory", func() error {
			_, err := r.Rows(Ask{Keys: []string{rewardKey, gapMean}, From: math.NaN(), To: math.NaN(), Pixels: 300, Average: -1})
			return err
		}, small / 4, 16 << 20},
		{"the first list reads every evaluation once", func() error { _, err := r.Evals(); return err }, evals + small, 16 << 20},
		{"the next reads none", func() error { _, err := r.Evals(); return err }, small / 4, 16 << 20},
		{"the matrix reads none either", func() error { _, err := r.Eval(EvalAsk{Name: "held", A: -1, B: -1}); return err }, small / 4, 16 << 20},
		{"a filter by cycle opens the index, and reads the blocks of that cycle", func() error { _, err := r.Samples(SampleAsk{Q: "cycle:37"}); return err }, index / 3, 64 << 20},
		{"again it reads these blocks alone", func() error { _, err := r.Samples(SampleAsk{Q: "cycle:37"}); return err }, index / 10, 16 << 20},
		{"a filter by two columns, sorted by a third, reads some of the fourteen", func() error { _, err := r.Samples(SampleAsk{Q: "-right", Sort: "-gap"}); return err }, index / 2, 16 << 20},
	} {
		if read, mem := reads(t, tt.do); read > tt.read || mem > tt.mem {
			t.Errorf("%s: %d KB were read and %d KB taken, want at most %d and %d", tt.what, read>>10, mem>>10, tt.read>>10, tt.mem>>10)
		} else {
			t.Logf("%s: %d KB read, %d KB taken", tt.what, read>>10, mem>>10)
		}
	}
	if n := r.table.bulkSlow; n > 3*(runtime.GOMAXPROCS(0)+1) {
		t.Errorf("%d of %d rows were read the slow way, want the first of each reader", n, sizeCycles)
	}
	f, err := os.OpenFile(filepath.Join(dir, run.RowsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	writeSizedRow(out, rand.New(rand.NewPCG(1, 1)), sizeCycles+1)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if read, _ := reads(t, func() error { _, err := r.Head(false); return err }); read > small/4 {
		t.Errorf("one row more has %d KB read", read>>10)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	numbers := int64(8 * sizeCycles * sizeKeys)
	tail := int64(2 * 65_536 * samples.RowBytes) // of the index, as rows and as columns
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 2*numbers+tail+2<<20 {
		t.Errorf("%d KB stay in memory, want at most twice the %d KB of numbers, the %d KB of the index's tail and 2 MB", held>>10, numbers>>10, tail>>10)
	} else {
		t.Logf("%d KB stay in memory, of which numbers %d KB", held>>10, numbers>>10)
	}
	runtime.KeepAlive(r)
}
