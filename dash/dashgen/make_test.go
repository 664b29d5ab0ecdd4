package dashgen

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// Two runs of one seed are the same bytes; the reward of each row is the mean of its samples to the last bit, and the parts of its clock add up.
func TestMake(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	o := Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Keys, o.Bodies = 55, 2, 3, 8, 40, "last:2"
	one, two := filepath.Join(t.TempDir(), "r"), filepath.Join(t.TempDir(), "r")
	for _, d := range []string{one, two} {
		if err := Make(d, o); err != nil {
			t.Fatal(err)
		}
	}
	err := fs.WalkDir(os.DirFS(one), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		a, errA := os.ReadFile(filepath.Join(one, path))
		b, errB := os.ReadFile(filepath.Join(two, path))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v, %v)", path, errA, errB)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	agree(t, one, 3*2)
	if err := Make(one, o); err == nil {
		t.Error("a directory that holds a run: no error")
	}
}

func agree(t *testing.T, dir string, n int) {
	t.Helper()
	x, err := samples.OpenIndex(filepath.Join(dir, run.SamplesDir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rewards := map[int]float64{}
	for k, rows := range x.All() {
		if k.Eval != "" {
			continue
		}
		if len(rows) != n {
			t.Errorf("cycle %d has %d samples, want %d", k.Cycle, len(rows), n)
		}
		for _, r := range rows {
			rewards[int(k.Cycle)] += float64(r.Reward)
		}
	}
	rows, bad, err := metrics.ReadRows(filepath.Join(dir, run.RowsFile))
	if err != nil || len(bad) != 2 {
		t.Fatalf("%d bad lines, %v, want the two that are planted", len(bad), err)
	}
	for _, r := range rows {
		if r.Kind != metrics.Cycle {
			continue
		}
		if got, want := r.Values["rollout/raw_reward"], rewards[r.Cycle]/float64(n); got != want {
			t.Errorf("cycle %d: reward is %v, its samples' mean %v", r.Cycle, got, want)
		}
		sum := 0.0
		for _, s := range metrics.All() {
			if s.Part {
				sum += r.Values[s.Name]
			}
		}
		if got := strconv.FormatFloat(sum, 'f', 6, 64); got != strconv.FormatFloat(r.Values["perf/step_time"], 'f', 6, 64) {
			t.Errorf("cycle %d: parts add up to %s, the cycle took %v", r.Cycle, got, r.Values["perf/step_time"])
		}
	}
}
