package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/dash/api"
	"furlong/dash/dashgen"
	"furlong/metrics/run"
)

// small is a made run of 330 cycles, whose faults up to cycle 300 are planted, shared by tests that only read it.
var small = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dash")
	if err != nil {
		return "", err
	}
	o := dashgen.Default()
	o.Cycles, o.Groups, o.N, o.Tokens, o.Bodies, o.Seed, o.Keys = 330, 4, 2, 8, "last:20", 7, 45
	return dir, dashgen.Make(filepath.Join(dir, "small"), o)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := small(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// now is a clock that tests move.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { c.t = c.t.Add(time.Second); return c.t }

func open(t testing.TB, dir string) *Run {
	t.Helper()
	c := &clock{time.Unix(1764500000, 0)}
	r, err := Open(dir, filepath.Base(dir), Options{Now: c.now, Self: run.Holder{Host: "here", Boot: "boot"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func smallRun(t testing.TB) *Run {
	t.Helper()
	dir, err := small()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Join(dir, "small"))
}

// A rawRow is a row as a second reader sees it: encoding/json, with the digits of numbers.
type rawRow struct {
	kind           string
	cycle, attempt int
	values         map[string]string
}

// raws reads the rows that count with a second reader.
func raws(t testing.TB, dir string) []rawRow {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, run.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	var all []rawRow
	for l := range strings.SplitSeq(string(b), "\n") {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(l), &m) != nil || m["cycle"] == nil {
			continue
		}
		r := rawRow{kind: strings.Trim(string(m["kind"]), `"`), values: map[string]string{}}
		fmt.Sscan(string(m["cycle"]), &r.cycle)
		fmt.Sscan(string(m["attempt"]), &r.attempt)
		for k, v := range m {
			r.values[k] = string(v)
		}
		i := slices.IndexFunc(all, func(o rawRow) bool { return o.kind == r.kind && o.cycle == r.cycle })
		switch {
		case i < 0:
			all = append(all, r)
		case r.attempt >= all[i].attempt:
			all[i] = r
		}
	}
	return all
}

// Every number that is answered stands so in the file, digit for digit.
func TestRowsAreTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	r := smallRun(t)
	h, err := r.Head(true)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[int]string{}
	for _, row := range raws(t, r.Dir()) {
		for k, v := range row.values {
			if want[k] == nil {
				want[k] = map[int]string{}
			}
			if _, had := want[k][row.cycle]; !had || row.kind == "cycle" {
				want[k][row.cycle] = v
			}
		}
	}
	checked := 0
	for _, k := range h.Keys {
		rows, err := r.Rows(Ask{Keys: []string{k.Name}, From: math.NaN(), To: math.NaN()})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range rows.Cycle {
			got, err := json.Marshal(rows.Cols[k.Name][i])
			if err != nil {
				t.Fatal(err)
			}
			w, ok := want[k.Name][c]
			if !ok {
				w = "null"
			}
			if string(got) != w {
				t.Fatalf("%s of cycle %d is %s, the file has %s", k.Name, c, got, w)
			}
			checked++
		}
	}
	if checked < 10_000 {
		t.Errorf("%d numbers were checked, want 10,000", checked)
	}
}

// A number in other digits than ours is shown as it stands.
func TestForeignDigits(t *testing.T) {
	dir := t.TempDir()
	lines := `{"kind": "cycle", "cycle": 1, "attempt": 1, "step": 1, "a": 1.50, "b": 1e-5, "c": 1e999, "d": -0.0, "e": null, "f": 12345678901234567890}` + "\n" +
		`{"kind":"cycle","cycle":2,"attempt":1,"a":"NaN","b":"-Infinity","c":0.1,"d":"text","e":{"x":1}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, run.RowsFile), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := open(t, dir).Rows(Ask{Keys: []string{"a", "b", "c", "d", "e", "f"}, From: math.NaN(), To: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]api.Number{
		"a": {"1.50", `"NaN"`}, "b": {"1e-5", `"-Infinity"`}, "c": {`"Infinity"`, "0.1"}, "d": {"-0.0", ""}, "e": {"", ""}, "f": {"12345678901234567890", ""},
	}
	for k, w := range want {
		if !slices.Equal(rows.Cols[k], w) {
			t.Errorf("%s is %q, want %q", k, rows.Cols[k], w)
		}
	}
}

// Average and fit equal slow references; the average of the first hundred rows does not change when there are more.
func TestAverageIsOfAllRowsBefore(t *testing.T) {
	r := smallRun(t)
	const key = "rollout/raw_reward"
	ask := Ask{Keys: []string{key}, From: math.NaN(), To: math.NaN(), Average: 15, Pixels: 10, Fit: []string{key}}
	rows, err := r.Rows(ask)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Rows(Ask{Keys: []string{key}, From: math.NaN(), To: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	var x, y []float64
	for i, n := range all.Cols[key] {
		if n != "" {
			x, y = append(x, float64(all.Cycle[i])), append(y, number(n))
		}
	}
	for i, c := range rows.Cycle {
		at := slices.Index(x, float64(c))
		if at < 0 {
			continue
		}
		if at+1 < 8 {
			if rows.Avg[key][i] != "" {
				t.Errorf("average of cycle %d is %s, want none yet", c, rows.Avg[key][i])
			}
			continue
		}
		sum := 0.0
		from := max(0, at-14)
		for _, v := range y[from : at+1] {
			sum += v
		}
		if want := sum / float64(at+1-from); math.Abs(number(rows.Avg[key][i])-want) > 1e-12 {
			t.Errorf("average of cycle %d is %s, want %v", c, rows.Avg[key][i], want)
		}
	}
	if rows.Kept >= all.Kept {
		t.Errorf("%d of %d rows were sent for 10 pixels", rows.Kept, all.Kept)
	}
	if got, want := number(rows.Fit[key].Slope), slope(x, y); math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("slope is %v, want %v", got, want)
	}
}

// slope is the textbook's: covariance over variance, from raw moments in another order.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := len(x) - 1; i >= 0; i-- {
		a, b := x[i]-x[0], y[i]-0.5
		sx, sy, sxx, sxy = sx+a, sy+b, sxx+a*a, sxy+a*b
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// A spike one row wide survives at every width, rows are at most four a pixel and key, and the extremes of each pixel are there.
func TestDecimationKeepsSpikes(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	rng := rand.New(rand.NewPCG(1, 1))
	const n, spike = 10_000, 6173
	var y []float64
	for c := 1; c <= n; c++ {
		v := rng.Float64()
		if c == spike {
			v = 50
		}
		y = append(y, v)
		fmt.Fprintf(&b, `{"kind":"cycle","cycle":%d,"attempt":1,"a":%s,"b":%s}`+"\n", c, api.Float(v), api.Float(-v))
	}
	if err := os.WriteFile(filepath.Join(dir, run.RowsFile), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	for _, px := range []int{300, 400, 1200} {
		rows, err := r.Rows(Ask{Keys: []string{"a", "b"}, From: math.NaN(), To: math.NaN(), Pixels: px})
		if err != nil {
			t.Fatal(err)
		}
		if rows.Total != n || rows.Kept > 4*px*2 || rows.Kept != len(rows.X) {
			t.Errorf("%d pixels: %d of %d rows, want at most %d of %d", px, rows.Kept, rows.Total, 8*px, n)
		}
		if !slices.Contains(rows.Cycle, spike) {
			t.Errorf("%d pixels: the spike is gone", px)
		}
		for i, c := range rows.Cycle {
			if number(rows.Cols["a"][i]) != y[c-1] {
				t.Fatalf("cycle %d is %s, want %v", c, rows.Cols["a"][i], y[c-1])
			}
		}
	}
	few, err := r.Rows(Ask{Keys: []string{"a"}, From: 100, To: 200, Pixels: 300})
	if err != nil || few.Total != 101 || few.Kept != 103 {
		t.Errorf("a range of 101 rows: total %d, kept %d, %v, want all and one on either side", few.Total, few.Kept, err)
	}
}

func TestGapsAndAttempts(t *testing.T) {
	r := smallRun(t)
	rows, err := r.Rows(Ask{Keys: []string{"rollout/raw_reward"}, From: math.NaN(), To: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]int{{118, 121}}
	if !slices.Equal(rows.Gaps, want) || !slices.Equal(rows.Lost, want) {
		t.Errorf("gaps %v, lost %v, want %v", rows.Gaps, rows.Lost, want)
	}
	if !slices.IsSorted(rows.Cycle) {
		t.Error("cycles go back")
	}
	h, err := r.Head(false)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Attempts) != 2 || h.Attempts[1].Text != "resumed from 114; 4 cycles ran twice, 1 with unequal values, first 300" {
		t.Errorf("attempts are %+v", h.Attempts)
	}
	if len(h.Problems) != 1 || h.Problems[0].N != 2 || h.Problems[0].File != run.RowsFile {
		t.Errorf("problems are %+v, want two lines of %s", h.Problems, run.RowsFile)
	}
	var kinds []string
	for _, m := range h.Marks {
		kinds = append(kinds, fmt.Sprint(m.Kind, m.Cycle))
	}
	if !slices.Equal(kinds, []string{"resume115", "skipped240"}) {
		t.Errorf("marks are %v", kinds)
	}
}

// Columns that do not fit are read from the file again, and are the same.
func TestColdColumns(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	warm, cold := smallRun(t), smallRun(t)
	cold.limit.Store(20 << 10)
	h, err := warm.Head(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range h.Keys {
		ask := Ask{Keys: []string{k.Name}, From: math.NaN(), To: math.NaN()}
		a, errA := warm.Rows(ask)
		b, errB := cold.Rows(ask)
		if errA != nil || errB != nil || !slices.Equal(a.Cols[k.Name], b.Cols[k.Name]) {
			t.Fatalf("%s: cold column is another (%v, %v)", k.Name, errA, errB)
		}
	}
	if cold.table.hot > 40<<10 {
		t.Errorf("columns take %d bytes, want about 20 KiB", cold.table.hot)
	}
}

// Reading by pieces gives what reading line by line gives.
func TestBulk(t *testing.T) {
	r := smallRun(t)
	raw, err := os.ReadFile(filepath.Join(r.Dir(), run.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all []byte
	for len(all) < bulkFrom+bulkPiece {
		all = append(all, raw[:len(raw)-50]...)
		all = append(all, '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, run.RowsFile), all, 0o644); err != nil {
		t.Fatal(err)
	}
	fast, slow := open(t, dir).table, open(t, dir).table
	if err := fast.refresh(); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.follow.Poll(slow.add); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(fast.lines, slow.lines) || !slices.Equal(fast.points, slow.points) || fast.bad != slow.bad || fast.follow.Offset() != slow.follow.Offset() || len(fast.cols) != len(slow.cols) {
		t.Fatalf("%d and %d lines, %v and %v bad", len(fast.lines), len(slow.lines), fast.bad, slow.bad)
	}
	for i, c := range fast.cols {
		s := slow.cols[i]
		if c.name != s.name || c.n != s.n || c.odd != s.odd || string(c.last) != string(s.last) || !slices.EqualFunc(c.values, s.values, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Errorf("%s differs", c.name)
		}
	}
}
