package store

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
)

// A line is read as the other reader of rows reads it, or is refused; nothing of a refused line reaches a column.
func FuzzRows(f *testing.F) {
	for _, s := range []string{
		`{"kind":"cycle","cycle":1,"attempt":1,"a":1,"b":null,"c":"NaN","d":[1,{"x":2}]}`, `{"kind":"eval","cycle":0,"attempt":2,"a":1e999,"a":2}`, `{"cycle":1}`, `{}`, ``, `{"kind":"cycle","cycle":-1,"attempt":1}`,
		`{"kind":"cycle","cycle":1,"attempt":1,"\u0061":1,"":2}`, `{"kind":"cycle","cycle":99999999999,"attempt":1}`, "{\"kind\":\"cycle\",\"cycle\":1,\"attempt\":1,\"x\xff\":1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := newRowReader()
		r.read(0, raw)
		want, err := metrics.ParseRow(raw)
		if len(r.lines) == 0 {
			if len(r.ids) != 0 || len(r.bad) != 1 {
				t.Fatalf("%q: refused, but %d numbers and %d reasons", raw, len(r.ids), len(r.bad))
			}
			return
		}
		if err != nil {
			return // the other one is stricter about step, version and time
		}
		for i, id := range r.ids {
			if _, twice := want.Values[r.names[id]]; !twice {
				t.Errorf("%q: %q is a number here and not there", raw, r.names[id])
			} else if v := want.Values[r.names[id]]; math.Float64bits(v) != math.Float64bits(r.values[i]) && len(r.ids) == len(want.Values) {
				t.Errorf("%q: %q is %v, want %v", raw, r.names[id], r.values[i], v)
			}
		}
	})
}

// Whatever stands in the files of a run, every answer is an answer or an error.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("{\"kind\":\"cycle\",\"cycle\":3,\"attempt\":1,\"time\":1,\"rollout/raw_reward\":0.5}\n"), []byte(`{"state":"running"}`), []byte("{\"kind\":\"raised\",\"id\":\"x\"}\n"))
	f.Add([]byte("x\n"), []byte("{"), []byte("\x00\n{}"))
	f.Fuzz(func(t *testing.T, rows, status, lines []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{run.RowsFile: rows, run.StatusFile: status, run.AlarmsFile: lines, run.LogFile: lines, run.ConfigFile: status, run.SpansFile(3): lines} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(dir, "r", Options{Now: func() time.Time { return time.Unix(begun, 0) }})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, _ = r.Head(true)
		_, _ = r.Rows(Ask{Keys: []string{rewardKey}, From: math.NaN(), To: math.NaN(), Pixels: 10, Average: -1, Fit: []string{rewardKey}, X: "time"})
		_, _ = r.Cycle(3, "")
		_, _ = r.Log(LogAsk{Q: "a"})
		_, _ = r.Config()
		_, _ = r.Time(3)
	})
}
