package store

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
		checkAgain(t, raw)
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

// checkAgain reads a line behind others that look like it or nearly so, which is the quick way if there is one. It must be read as alone.
func checkAgain(t *testing.T, raw []byte) {
	t.Helper()
	alone, behind := newRowReader(), newRowReader()
	alone.read(0, raw)
	for _, before := range []string{string(raw), `{"kind":"cycle","cycle":1,"step":2,"version":3,"attempt":1,"time":5.5,"a":1,"b":2.5,"c":"NaN"}`, `{"kind":"eval","cycle":0,"attempt":2,"a":1,"c":2}`} {
		behind.read(0, []byte(before))
	}
	behind.begin()
	behind.read(0, raw)
	if len(alone.lines) != len(behind.lines) || len(alone.bad) != len(behind.bad) {
		t.Fatalf("%q: %d rows and %d reasons alone, %d and %d behind others", raw, len(alone.lines), len(alone.bad), len(behind.lines), len(behind.bad))
	}
	if len(alone.lines) == 0 {
		return
	}
	a, b := alone.lines[0], behind.lines[0]
	if math.Float64bits(a.step) != math.Float64bits(b.step) || math.Float64bits(a.time) != math.Float64bits(b.time) {
		t.Fatalf("%q: %+v alone, %+v behind others", raw, a, b)
	}
	if a.step, a.time, b.step, b.time = 0, 0, 0, 0; a != b || len(alone.ids) != len(behind.ids) {
		t.Fatalf("%q: %+v with %d numbers alone, %+v with %d behind others", raw, a, len(alone.ids), b, len(behind.ids))
	}
	for i, id := range alone.ids {
		as := behind.ids[i]
		if alone.names[id] != behind.names[as] || math.Float64bits(alone.values[i]) != math.Float64bits(behind.values[i]) || !bytes.Equal(alone.last[id], behind.last[as]) {
			t.Fatalf("%q: %s is %v alone; %s is %v behind others", raw, alone.names[id], alone.values[i], behind.names[as], behind.values[i])
		}
	}
}

// Lines that differ from those before in an order, a name, a number or a blank are read as they are alone, and those that do not differ are read the quick way.
func TestQuickRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	words := []string{`"kind":"cycle"`, `"kind":"eval"`, `"cycle":1`, `"cycle":2.0`, `"cycle":-0`, `"attempt":1`, `"attempt":0`, `"step":2`, `"time":1.5`, `"version":3`, `"a":1`, `"a":1.50`, `"b":-2.5e-7`, `"b":"NaN"`, `"c":null`, `"c":"x"`, `"d":[1,{"a":2}]`, `"\u0061":4`, `"e": 5`, `"":6`, `"a\\":7`, `"f":"Infinity"`, `"g":01`, `"time":"NaN"`, `"version":"x"`}
	for range 4000 {
		line := []string{words[rng.IntN(2)], words[2], words[5]}
		for range rng.IntN(8) {
			line = append(line, words[rng.IntN(len(words))])
		}
		if rng.IntN(4) == 0 {
			rng.Shuffle(len(line), func(i, j int) { line[i], line[j] = line[j], line[i] })
		}
		checkAgain(t, []byte("{"+strings.Join(line, ",")+"}"))
	}
	r := newRowReader()
	for range 3 {
		for _, l := range []string{`{"kind":"cycle","cycle":1,"attempt":1,"a":1,"b":2}`, `{"kind":"cycle","cycle":1,"attempt":1,"b":2,"c":"NaN"}`, `{"kind":"eval","cycle":1,"attempt":1,"z":1}`, `{"kind":"cycle","cycle":1,"attempt":1,"c":1e-9,"a":1,"b":2}`} {
			r.read(0, []byte(l))
		}
	}
	if r.slow != 3 || len(r.bad) > 0 {
		t.Errorf("%d of 12 lines were read the slow way, want 3: the first of each kind, and the one with a name that is new", r.slow)
	}
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
