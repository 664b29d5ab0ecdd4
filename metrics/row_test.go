package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/rl"
)

func row() Row {
	return Row{Kind: Cycle, Cycle: 37, Step: 37, Version: rl.NewVersion(1, 38), Attempt: 2, Time: 1764403200.25, Values: map[string]float64{
		"train/loss":             -0.002,
		"rollout/raw_reward":     0.30000000000000004,
		"train/grad_norm":        math.NaN(),
		"train/logp_diff/max":    math.Inf(1),
		"train/logp_diff/signed": math.Inf(-1),
		"train/logp_diff/mean":   5e-324,
		"rollout/tokens":         123456789,
		"update/bytes":           1e21,
		"perf/step_time":         41.5,
		"eval/aime-2024-pass@1":  math.Copysign(0, -1),
		"train/logp_diff/p50":    1e-6,
	}}
}

func TestAppend(t *testing.T) {
	got, err := row().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"kind":"cycle","cycle":37,"step":37,"version":16777254,"attempt":2,"time":1764403200.25,"eval/aime-2024-pass@1":-0,"perf/step_time":41.5,` +
		`"rollout/raw_reward":0.30000000000000004,"rollout/tokens":123456789,"train/grad_norm":"NaN","train/logp_diff/max":"Infinity",` +
		`"train/logp_diff/mean":5e-324,"train/logp_diff/p50":0.000001,"train/logp_diff/signed":"-Infinity","train/loss":-0.002,"update/bytes":1e+21}` + "\n"
	if string(got) != want {
		t.Errorf("Append = %s, want %s", got, want)
	}
	if !json.Valid(got) {
		t.Error("Append made invalid JSON")
	}
}

func TestRowRoundTrip(t *testing.T) {
	line, err := row().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseRow(line)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Append(nil)
	if err != nil || string(again) != string(line) {
		t.Errorf("read and written again: %s, %v, want %s", again, err, line)
	}
	if len(got.Values) != len(row().Values) || len(got.Other) != 0 {
		t.Errorf("ParseRow found %d values and %v, want %d and none", len(got.Values), got.Other, len(row().Values))
	}
}

func TestAppendRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Row)
		want   []string
	}{
		{"unknown series", func(r *Row) { r.Values["train/los"] = 1; r.Values["xyz"] = 2 }, []string{`series "train/los" is not in the table`, `series "xyz" is not`}},
		{"no kind", func(r *Row) { r.Kind = "" }, []string{`kind is ""`}},
		{"no attempt", func(r *Row) { r.Attempt = 0 }, []string{"attempt 0, want at least 0, 0, 1"}},
		{"negative cycle", func(r *Row) { r.Cycle = -1 }, []string{"cycle -1"}},
	} {
		r := row()
		tt.change(&r)
		b, err := r.Append([]byte("before"))
		if string(b) != "before" {
			t.Errorf("%s: wrote %q, want nothing", tt.name, b)
		}
		for _, w := range tt.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want %q in it", tt.name, err, w)
			}
		}
	}
}

func TestParseRow(t *testing.T) {
	for _, tt := range []struct {
		line   string
		values map[string]float64
		other  []string
		err    string
	}{
		{`{"kind":"cycle","cycle":1,"attempt":1,"new/series":2e3,"a":null}`, map[string]float64{"new/series": 2000}, nil, ""},
		{` { "kind" : "eval" , "cycle" : 0 , "attempt" : 1 , "x" : [1,{"a":"]"}] , "y" : "s\"" , "\u0062" : true } `, map[string]float64{}, []string{"x", "y", "b"}, ""},
		{`{"kind":"cycle","cycle":1,"attempt":1,"a":1,"a":2,"b":1e999}`, map[string]float64{"a": 2, "b": math.Inf(1)}, nil, ""},
		{`{"kind":"cycle","attempt":1}`, nil, nil, "row has no cycle"},
		{`{"kind":"cycle","cycle":1}`, nil, nil, "row has no attempt"},
		{`{"cycle":1,"attempt":1}`, nil, nil, "row has no kind"},
		{`{"kind":"cycle","cycle":1.5,"attempt":1}`, nil, nil, "cycle: "},
		{`{"kind":"cycle","cycle":99999999999999999999,"attempt":1}`, nil, nil, "cycle: "},
		{`{"kind":"cycle","cycle":1,"attempt":1`, nil, nil, "want , or }"},
		{`{"kind":"cycle","cycle":1,"attempt":1}}`, nil, nil, "want the end of the line"},
		{`[1]`, nil, nil, "not a JSON object"},
		{``, nil, nil, "not a JSON object"},
	} {
		got, err := ParseRow([]byte(tt.line))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("ParseRow(%s): error %v, want %q in it", tt.line, err, tt.err)
			}
			continue
		}
		if err != nil || !maps.Equal(got.Values, tt.values) || !slices.Equal(got.Other, tt.other) {
			t.Errorf("ParseRow(%s) = %v, %v, %v, want %v, %v", tt.line, got.Values, got.Other, err, tt.values, tt.other)
		}
	}
}

// FuzzFields holds Fields against encoding/json: they accept the same lines and find the same members.
func FuzzFields(f *testing.F) {
	line, _ := row().Append(nil)
	for _, s := range []string{
		string(line), `{}`, `{"a":[1,{"b":"]}"}],"c":"\u0041\"","d":-0.5e+3}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":"\x"}`, `{"\ud800":tru}`,
		`{"a" 1}`, `{"a":1,}`, `{,}`, `{"a":1}x`, "{\"a\":\"\x01\"}", "{\"\xff\":1}", `{"a":nul`, `{"a":{}`, `{"a":`, `{"a`, `{"a\`, `null`, `{"a":-}`, `{"":""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := map[string]json.RawMessage{}
		err := Fields(line, func(k, raw []byte) error { got[string(k)] = append(json.RawMessage(nil), raw...); return nil })
		trimmed := strings.TrimLeft(string(line), " \t\r\n")
		if ok := json.Valid(line) && strings.HasPrefix(trimmed, "{"); ok != (err == nil) {
			t.Fatalf("Fields(%q): %v; encoding/json says valid object: %v", line, err, ok)
		}
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) && !badUTF8(want) {
			t.Fatalf("Fields(%q) found %d members, want %d", line, len(got), len(want))
		}
		for k, w := range want {
			if string(got[k]) != string(w) && !badUTF8(want) {
				t.Errorf("Fields(%q): %q is %s, want %s", line, k, got[k], w)
			}
		}
	})
}

// badUTF8 reports a key that encoding/json may have mended; Fields keeps the bytes.
func badUTF8(m map[string]json.RawMessage) bool {
	for k := range m {
		if strings.ContainsRune(k, '\ufffd') {
			return true
		}
	}
	return false
}

func FuzzParseRow(f *testing.F) {
	line, _ := row().Append(nil)
	f.Add(line)
	f.Add([]byte(`{"kind":"cycle","cycle":1,"attempt":1,"version":4294967296}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRow(line)
		if err == nil && (r.Kind == "" || r.Cycle < 0 || r.Attempt < 1) {
			t.Errorf("ParseRow(%q) = %+v, which has no name", line, r)
		}
	})
}

func write(t *testing.T, rows ...Row) string {
	t.Helper()
	var b []byte
	for _, r := range rows {
		var err error
		if b, err = r.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRowsTornAtEveryByte(t *testing.T) {
	path := write(t, at(1, 1, .5), at(2, 1, .6))
	whole, _ := os.ReadFile(path)
	first := slices.Index(whole, '\n') + 1
	for cut := first; cut <= len(whole); cut++ {
		os.WriteFile(path, whole[:cut], 0o644)
		want := 1
		if cut == len(whole) {
			want = 2
		}
		rows, bad, err := ReadRows(path)
		if len(rows) != want || len(bad) != 0 || err != nil {
			t.Errorf("cut at %d: %d rows, %v, %v, want %d rows", cut, len(rows), bad, err, want)
		}
	}
	if rows, bad, err := ReadRows(path + ".none"); rows != nil || bad != nil || err != nil {
		t.Errorf("missing file: %v, %v, %v, want nothing", rows, bad, err)
	}
}

// at is a row with one reward.
func at(cycle, attempt int, reward float64) Row {
	return Row{
		Kind: Cycle, Cycle: cycle, Step: cycle, Version: rl.NewVersion(attempt-1, cycle), Attempt: attempt, Time: float64(100*attempt + cycle),
		Values: map[string]float64{"rollout/raw_reward": reward, "perf/step_time": float64(attempt)},
	}
}

func TestMerge(t *testing.T) {
	eval := at(2, 1, .9)
	eval.Kind = Eval
	rows := []Row{at(1, 1, .1), at(2, 1, .2), eval, at(3, 1, .3), at(4, 1, .4), at(2, 2, .2), at(3, 2, .35), at(3, 2, .36)}
	live, repeats := Merge(rows)
	var got []string
	for _, r := range live {
		got = append(got, fmt.Sprint(r.Kind, r.Cycle, r.Attempt, r.Values["rollout/raw_reward"]))
	}
	if want := []string{"cycle1 1 0.1", "cycle2 2 0.2", "eval2 1 0.9", "cycle3 2 0.36", "cycle4 1 0.4"}; !slices.Equal(got, want) {
		t.Errorf("Merge = %q, want %q", got, want)
	}
	want := []Repeat{{Cycle, 2, []int{1, 2}, nil}, {Cycle, 3, []int{1, 2, 2}, []string{"rollout/raw_reward"}}}
	if !reflect.DeepEqual(repeats, want) {
		t.Errorf("repeats are %v, want %v", repeats, want)
	}
}

func TestComparable(t *testing.T) {
	r := row().Comparable()
	if r.Time != 0 || r.Attempt != 1 || r.Version != 38 || len(r.Values) != len(row().Values)-1 {
		t.Errorf("Comparable = %+v", r)
	}
	if got := row().Values["perf/step_time"]; got != 41.5 {
		t.Error("Comparable changed its receiver's map")
	}
}

func TestCompare(t *testing.T) {
	a := []Row{at(1, 1, .1), at(2, 1, math.NaN()), at(3, 1, .3)}
	for _, tt := range []struct {
		name string
		b    []Row
		want string
	}{
		{"same", a, ""},
		{"broken off and resumed", []Row{at(1, 1, .1), at(2, 1, 7), at(2, 2, math.NaN()), at(3, 2, .3)}, ""},
		{"another value", []Row{at(1, 1, .1), at(2, 1, .2), at(3, 1, .3)}, "cycle 2: rollout/raw_reward differs: NaN and 0.2"},
		{"short", a[:2], "one run has 3 rows, the other 2"},
		{"gap", []Row{a[0], a[2]}, "row 1 is cycle 2 in one run and cycle 3 in the other"},
	} {
		err := Compare(a, tt.b)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: Compare = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestUnix(t *testing.T) {
	if got := Unix(time.Unix(1764403200, 250_000_999)); got != 1764403200.25 {
		t.Errorf("Unix = %v", got)
	}
}

func BenchmarkParseRow(b *testing.B) {
	r := row()
	for i := range 150 {
		r.Values[fmt.Sprintf("train/grad_norm/g%d", i)] = float64(i) * 1.2345678
	}
	line, err := r.Append(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := ParseRow(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFields(b *testing.B) {
	r := row()
	for i := range 150 {
		r.Values[fmt.Sprintf("train/grad_norm/g%d", i)] = float64(i) * 1.2345678
	}
	line, _ := r.Append(nil)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		Fields(line, func(_, _ []byte) error { return nil })
	}
}

func ExampleRow_Append() {
	r := Row{
		Kind: Cycle, Cycle: 1, Step: 1, Version: rl.NewVersion(0, 2), Attempt: 1, Time: 1764403200,
		Values: map[string]float64{"train/loss": 0.25, "rollout/raw_reward": 0.5},
	}
	line, _ := r.Append(nil)
	fmt.Print(string(line))
	// Output: {"kind":"cycle","cycle":1,"step":1,"version":2,"attempt":1,"time":1764403200,"rollout/raw_reward":0.5,"train/loss":0.25}
}
