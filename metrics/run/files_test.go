package run

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/metrics/disk"
	"furlong/rl"
)

func TestConfig(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	first := map[string]Setting{
		"lr":           {Value: 1.5e-4, Origin: "recipe tiny-arithmetic"},
		"eval-names":   {Value: []string{"aime"}, Origin: "flag"},
		"tracker-key":  {Value: "s3cret", Origin: "environment", Secret: true},
		"build.commit": {Value: "abc", Origin: "build"},
	}
	if changed, err := d.WriteConfig(first); err != nil || changed != nil {
		t.Errorf("WriteConfig = %v, %v, want nothing changed", changed, err)
	}
	die(d)
	b, _ := os.ReadFile(filepath.Join(path, ConfigFile))
	if bytes.Contains(b, []byte("s3cret")) {
		t.Errorf("config.json holds the secret: %s", b)
	}
	got, err := ReadConfig(path)
	if err != nil || got["lr"] != (Setting{1.5e-4, "recipe tiny-arithmetic", false}) || got["tracker-key"] != (Setting{nil, "environment", true}) || len(got) != 4 {
		t.Errorf("ReadConfig = %v, %v", got, err)
	}

	d = resume(t, path, io.Discard)
	if changed, err := d.WriteConfig(first); err != nil || changed != nil {
		t.Errorf("the same again: %v, %v, want nothing changed", changed, err)
	}
	die(d)
	d = resume(t, path, io.Discard)
	second := map[string]Setting{"lr": {Value: 1e-4, Origin: "flag"}, "eval-names": {Value: []string{"aime", "gsm"}, Origin: "file"}, "tracker-key": first["tracker-key"], "seed": {Value: 1, Origin: "flag"}}
	changed, err := d.WriteConfig(second)
	var said []string
	for _, c := range changed {
		said = append(said, c.String())
	}
	if want := []string{`build.commit is no setting, was "abc"`, "eval-names is [\"aime\",\"gsm\"], was [\"aime\"]", "lr is 0.0001, was 0.00015", "seed is 1, was no setting"}; err != nil || !slices.Equal(said, want) {
		t.Errorf("WriteConfig = %q, %v, want %q", said, err, want)
	}
	if old, _ := os.ReadFile(filepath.Join(path, "config-2.json")); !bytes.Equal(old, b) {
		t.Errorf("config-2.json is %s, want the settings of attempt 2", old)
	}
	if s, err := ReadConfig(t.TempDir()); s != nil || err != nil {
		t.Errorf("without a file: %v, %v", s, err)
	}
	if _, err := d.WriteConfig(map[string]Setting{"x": {Value: math.NaN()}}); err == nil || !strings.Contains(err.Error(), ConfigFile) {
		t.Errorf("a setting that JSON does not have: %v", err)
	}
}

func TestSpans(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	a := Span{Cycle: 999, Lane: "engine", Name: "rollout", T0: 1764403200.123456, T1: 1764403221, Version: rl.NewVersion(0, 999)}
	b := Span{Cycle: 1000, Lane: "trainer", Name: "wait", T0: 1, T1: 2, WaitsFor: "3 of 256 answers"}
	for _, s := range []Span{a, b, a} {
		if err := d.WriteSpans(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.WriteSpans(a, b); err == nil {
		t.Error("spans of two cycles at once were taken")
	}
	if err := d.WriteSpans(Span{T0: math.NaN(), Name: "x"}); err == nil || !strings.Contains(err.Error(), "span x") {
		t.Errorf("a span without a time: %v", err)
	}
	a.Attempt, b.Attempt = 1, 1
	for name, want := range map[string][]Span{"spans/0000.jsonl": {a, a}, "spans/0001.jsonl": {b}} {
		got, bad, err := disk.ReadLines(filepath.Join(path, name), ParseSpan)
		if err != nil || len(bad) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s holds %+v, %v, %v, want %+v", name, got, bad, err, want)
		}
	}
}

func TestAlarms(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	a := Alarm{Kind: Raised, ID: "gap-jump", Severity: "warning", Cycle: 37, Text: "gap p99 0.41 to 4.6; 3 samples make 92 %", Link: "cycle/37"}
	if err := d.WriteAlarm(a); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Alarm{{}, {Kind: "seen", ID: "x"}, {Kind: Raised}} {
		if d.WriteAlarm(bad) == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	got, _, err := disk.ReadLines(filepath.Join(path, AlarmsFile), ParseAlarm)
	a.Attempt, a.Time = 1, got[0].Time
	if err != nil || len(got) != 1 || got[0] != a || a.Time == 0 {
		t.Errorf("alarms are %+v, %v, want %+v", got, err, a)
	}
}

func TestLog(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	slog.New(d.LogHandler(slog.LevelInfo)).With("lane", "trainer").Warn("step skipped", "cycle", 240, "loss", math.NaN(), "up", math.Inf(1), "down", math.Inf(-1))
	slog.New(d.LogHandler(slog.LevelInfo)).Debug("not this")
	got, bad, err := disk.ReadLines(filepath.Join(path, LogFile), ParseLog)
	if err != nil || len(bad) > 0 || len(got) != 1 {
		t.Fatalf("log is %+v, %v, %v, want one line", got, bad, err)
	}
	l := got[0]
	if l.Level != slog.LevelWarn || l.Message != "step skipped" || l.Attempt != 1 || l.Time.IsZero() || !reflect.DeepEqual(l.Attrs, map[string]any{"lane": "trainer", "cycle": 240.0, "loss": "NaN", "up": "Infinity", "down": "-Infinity"}) {
		t.Errorf("line is %+v", l)
	}
	if _, err := ParseLog([]byte("not json")); err == nil {
		t.Error("a line that is not JSON was read")
	}
}

func TestEval(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	prompt := &rl.Prompt{ID: "aime-2024-1", Group: 7}
	p := NewProblem([]*rl.Sample{
		{Prompt: prompt, Verdict: rl.Right, Reward: 1, Response: make([]int32, 30), Stop: rl.StopToken},
		{Prompt: prompt, Index: 1, Verdict: rl.Wrong, Response: make([]int32, 44), Stop: rl.StopLength},
		{Prompt: prompt, Index: 2, Verdict: rl.Invalid, Stop: rl.StopAbort},
	})
	want := Problem{ID: "aime-2024-1", N: 3, C: 1, Truncated: 1, Group: 7, Samples: []Answer{{0, "right", 1, 30, false}, {1, "wrong", 0, 44, true}, {2, "invalid", 0, 0, false}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("NewProblem = %+v, want %+v", p, want)
	}
	e := Evaluation{Name: "aime-2024", Cycle: 120, Version: 120, Settings: map[string]any{"temperature": 1.0, "grader": "math"}, Problems: []Problem{p, {ID: "p2", N: 3, Samples: []Answer{}}}}
	if err := d.WriteEval(e); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, "eval", "aime-2024", "c000120.jsonl")
	got, bad, err := ReadEval(file)
	e.Kind, e.Attempt, e.Time = "eval", 1, got.Time
	if err != nil || len(bad) > 0 || !reflect.DeepEqual(got, e) {
		t.Errorf("ReadEval = %+v, %v, %v, want %+v", got, bad, err, e)
	}

	whole, _ := os.ReadFile(file)
	os.WriteFile(file, append([]byte("x\n"), whole[:len(whole)-1]...), 0o644)
	if got, bad, err := ReadEval(file); err != nil || len(bad) != 1 || len(got.Problems) != 1 {
		t.Errorf("a bad first line and a torn last one: %d problems, %v, %v, want 1 problem and 1 bad line", len(got.Problems), bad, err)
	}
	os.WriteFile(file, nil, 0o644)
	if _, _, err := ReadEval(file); err == nil || !strings.Contains(err.Error(), "holds no evaluation") {
		t.Errorf("an empty file: %v", err)
	}
	if _, _, err := ReadEval(file + ".none"); err == nil {
		t.Error("no file: no error")
	}
	for _, name := range []string{"", "a/b", "..", "step", "x-truncated_ratio", "a b"} {
		if err := d.WriteEval(Evaluation{Name: name}); err == nil {
			t.Errorf("an evaluation called %q was taken", name)
		}
	}
	e.Problems[0].Samples[0].Reward = math.NaN()
	if err := d.WriteEval(e); err == nil || !strings.Contains(err.Error(), "problem aime-2024-1") {
		t.Errorf("a reward that is not a number: %v", err)
	}
}

func experts() Experts {
	return Experts{
		Cycle: 37, Version: rl.NewVersion(1, 36), Sides: 2, Layers: 3, Experts: 4,
		Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, math.MaxUint32}, Agreement: []float32{1, .5, .25},
	}
}

func TestExperts(t *testing.T) {
	path := t.TempDir()
	d := create(t, path)
	e := experts()
	if err := d.WriteExperts(e); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, "experts", "c000037.bin")
	got, err := ReadExperts(file)
	e.Attempt = 1
	if err != nil || !reflect.DeepEqual(got, e) {
		t.Errorf("ReadExperts = %+v, %v, want %+v", got, err, e)
	}
	e.Tokens = e.Tokens[1:]
	if err := d.WriteExperts(e); err == nil || !strings.Contains(err.Error(), "23 counts and 3 agreements, want 2 x 3 x 4 and 3") {
		t.Errorf("WriteExperts = %v", err)
	}
	if _, err := ReadExperts(file + ".none"); err == nil {
		t.Error("no file: no error")
	}
}

func TestDamagedExperts(t *testing.T) {
	b := experts().encode()
	for i := range b {
		b[i] ^= 4
		if _, err := decodeExperts(b); err == nil {
			t.Errorf("byte %d changed: no error", i)
		}
		b[i] ^= 4
		if _, err := decodeExperts(b[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
}

func FuzzExperts(f *testing.F) {
	f.Add(experts().encode())
	f.Add(Experts{}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 4 { // let it past the checksum
			binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
		}
		if e, err := decodeExperts(b); err == nil && !bytes.Equal(e.encode(), b) {
			t.Errorf("%x is written again as %x", b, e.encode())
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-29T08:00:01Z","level":"INFO","msg":"x","attempt":1}`))
	f.Add([]byte(`{"id":"x","n":8,"c":1e99,"samples":[{}]}`))
	f.Add([]byte(`{"kind":"eval","name":"x","settings":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		ParseLog(line)
		ParseSpan(line)
		ParseAlarm(line)
		var e Evaluation
		e.add(line)
		e.add(line)
	})
}
