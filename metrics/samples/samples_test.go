package samples

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/rl"
)

// words are the texts of tokens 0 to 7: blanks, half a character, nothing, a hostile one.
var words = []string{"a", " b", "\n", "\xe2\x82", "\xac", "", "</script>", "é"}

func text(token int32) []byte { return []byte(words[int(token)%len(words)]) }

func spell(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.Write(text(id))
	}
	return b.String()
}

// draw makes a sample whose optional parts are there or not as chance has it.
func draw(r *rand.Rand, group int64, slot int) Sample {
	ids := func(n int) []int32 {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(r.IntN(len(words)))
		}
		return v
	}
	n := r.IntN(20)
	floats := func(scale float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(-scale * r.ExpFloat64())
		}
		return v
	}
	maybe := func(v []float32) []float32 {
		if r.IntN(2) == 0 {
			return nil
		}
		return v
	}
	p := &rl.Prompt{ID: fmt.Sprint("p", group), Group: group, Tokens: ids(r.IntN(5)), Label: "42", Set: []string{"gsm8k", "math"}[group%2]}
	p.Text, p.Metadata = spell(p.Tokens), []byte(`{"level":3}`)
	s := Sample{
		Sample: &rl.Sample{
			Request: int64(r.IntN(1000)), Prompt: p, Index: slot, Response: ids(n), LogProbs: floats(.3), TruncLogProbs: maybe(floats(.2)),
			TrainLogProbs: maybe(floats(.3)), RefLogProbs: maybe(floats(.3)), Entropy: maybe(floats(.5)), Stop: rl.Stop(1 + r.IntN(3)), Verdict: rl.Verdict(r.IntN(4)), Reward: r.NormFloat64(),
			Advantage: r.NormFloat64(), Why: "last box is 41", Note: rl.Note(r.IntN(3)), CachedTokens: r.IntN(3), Retractions: r.IntN(2), Sampling: rl.Sampling{Temperature: .8, TopP: .9, TopK: 50, MinP: .1, MaxTokens: 20, StopIDs: []int32{5}, Seed: r.Uint64()},
		},
		Ratio: maybe(floats(1)), Dropped: r.IntN(3) == 0,
	}
	s.Text = spell(s.Response)
	if n > 0 {
		s.Versions = []rl.Span{{Version: rl.NewVersion(0, 36), Tokens: n}}
	}
	if n > 4 {
		s.Versions = []rl.Span{{Version: rl.NewVersion(0, 36), Tokens: 3}, {Version: rl.NewVersion(1, 38), Tokens: n - 3}}
		s.Mask = make([]bool, n)
		for i := range s.Mask {
			s.Mask[i] = r.IntN(3) > 0
		}
	}
	s.Experts, s.TrainExperts = choose(uint64(group), slot, len(p.Tokens)+n-1)
	return s
}

// choose makes the experts of n tokens, told by both engines, one or none; at times they chose alike.
func choose(seed uint64, slot, n int) (drawn, trained *rl.Routes) {
	r := rand.New(rand.NewPCG(seed, uint64(slot)))
	if n < 1 {
		return nil, nil
	}
	drawn, trained = rl.NewRoutes(3, 2, 5), rl.NewRoutes(3, 2, 5)
	for range n {
		row := make([]int32, 3*2)
		for i := range row {
			row[i] = int32(r.IntN(5))
		}
		drawn.Add(row)
		row[r.IntN(len(row))] = int32(r.IntN(5))
		trained.Add(row)
	}
	switch r.IntN(4) {
	case 0:
		return nil, trained
	case 1:
		return drawn, nil
	}
	return drawn, trained
}

// reports are fields that bodies do not hold: what only rl.Report asks for, and entries, which are for the step alone.
var reports = map[string]bool{
	"rl.Sample.PromptLogProbs": true, "rl.Sample.PromptTold": true, "rl.Sample.Told": true,
	"rl.Sample.Entries": true, "rl.Sample.LossMask": true, // the last is kept as Sample.Mask
}

// batch draws groups of two samples.
func batch(cycle, groups int) Batch {
	r := rand.New(rand.NewPCG(uint64(cycle), 1))
	b := Batch{Cycle: cycle}
	for g := range groups {
		b.Samples = append(b.Samples, draw(r, int64(100*cycle+g), 0), draw(r, int64(100*cycle+g), 1))
	}
	return b
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func open(t testing.TB, dir string, attempt int) *Writer {
	t.Helper()
	w, err := Open(dir, Options{Attempt: attempt, Text: text, Log: quiet(), sealAt: 90})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func add(t testing.TB, w *Writer, b Batch) {
	t.Helper()
	if err := w.Add(b); err != nil {
		t.Fatal(err)
	}
}

// keys returns what an index has, as cycle.attempt[eval]=rows, superseded bodies with a !.
func keys(t testing.TB, dir string) []string {
	t.Helper()
	x, err := OpenIndex(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var got []string
	for k, rows := range x.All() {
		dead := ""
		if !x.Live(k) {
			dead = "!"
		}
		got = append(got, fmt.Sprintf("%d.%d%s=%d%s", k.Cycle, k.Attempt, k.Eval, len(rows), dead))
	}
	for _, p := range x.Problems {
		got = append(got, p.Error())
	}
	return got
}

// sameSample compares what was written with what was read; a nil slice and an empty one are the same. It notes in seen
// which fields held anything.
func sameSample(t *testing.T, want Sample, got *Stored, seen map[string]bool) {
	t.Helper()
	w, g := *want.Sample, *got.Sample.Sample
	sameFields(t, *w.Prompt, *g.Prompt, seen)
	w.Prompt, g.Prompt = nil, nil
	sameFields(t, w, g, seen)
	w2, g2 := want, got.Sample
	w2.Sample, g2.Sample = nil, nil
	sameFields(t, w2, g2, seen)
}

func sameFields(t *testing.T, want, got any, seen map[string]bool) {
	t.Helper()
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		a, b, name := w.Field(i), g.Field(i), w.Type().String()+"."+w.Type().Field(i).Name
		none := a.IsZero() || a.Kind() == reflect.Slice && a.Len() == 0
		if none && b.Kind() == reflect.Slice && b.Len() == 0 {
			continue
		}
		seen[name] = seen[name] || !none
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			t.Errorf("%s: read %v, wrote %v", name, b, a)
		}
	}
}

func TestBodyRoundTrip(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, 3)
	b := batch(37, 20)
	empty := Sample{Sample: &rl.Sample{Prompt: &rl.Prompt{Text: "not what no tokens spell"}, Text: "not \xff either", Reward: math.Inf(1)}}
	b.Samples = append(b.Samples, empty)
	add(t, w, b)
	body, err := OpenBody(filepath.Join(dir, Name(37, "")))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if body.Key != (Key{37, 3, ""}) || len(body.Rows) != len(b.Samples) || !slices.Equal(body.Sets, []string{"gsm8k", "math", ""}) {
		t.Errorf("body is %v with %d rows and sets %q", body.Key, len(body.Rows), body.Sets)
	}
	seen := map[string]bool{}
	for i, want := range b.Samples {
		got, err := body.Sample(i)
		if err != nil {
			t.Fatal(err)
		}
		sameSample(t, want, got, seen)
		if strings.Join(got.Texts, "") != spell(want.Tokens()) || len(got.Texts) != len(want.Tokens()) {
			t.Errorf("sample %d: texts are %q", i, got.Texts)
		}
	}
	// A field that is new in package rl must be stored, or named here.
	for _, v := range []any{rl.Sample{}, rl.Prompt{}, Sample{}} {
		for f := range reflect.TypeOf(v).Fields() {
			name := reflect.TypeOf(v).String() + "." + f.Name
			if !seen[name] && !reports[name] && name != "rl.Sample.Prompt" && name != "samples.Sample.Sample" {
				t.Errorf("no sample of the test fills %s", name)
			}
		}
	}
	if err := body.Verify(); err != nil {
		t.Error(err)
	}
	if got := body.At(3705, 1); got != 11 {
		t.Errorf("At(3705, 1) = %d, want 11", got)
	}
	if got := body.At(1, 1); got != -1 {
		t.Errorf("At(1, 1) = %d, want -1", got)
	}
}

func TestTextWithoutStopToken(t *testing.T) {
	s := Sample{Sample: &rl.Sample{Prompt: &rl.Prompt{}, Response: []int32{0, 1, 6}, Text: "a b"}}
	f := newFacts(&s, [][]byte{text(0), text(1), text(6)})
	if f.Text != nil || f.TextTokens != 2 {
		t.Errorf("facts keep text %v and %d tokens, want none and 2", f.Text, f.TextTokens)
	}
}

func TestRowOfSample(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tt := range []struct {
		name             string
		rollout, trainer []float32
		mask             []bool
		mean, max        float32
		pos              uint32
		flags            Flags
	}{
		{"not scored", []float32{-1, -2}, nil, nil, nan, nan, 0, 0},
		{"first of equals", []float32{-1, -2, -3}, []float32{-1.5, -1.5, -3}, nil, float32(1) / 3, .5, 0, 0},
		{"same bits", []float32{-1, -2}, []float32{-1, -2}, nil, 0, 0, 0, 0},
		{"masked token", []float32{-1, 0}, []float32{-1.25, -9}, []bool{true, false}, .25, .25, 0, 0},
		{"wholly masked", []float32{-1, 0}, []float32{-1.25, -9}, []bool{false, false}, 4.625, 9, 1, Masked},
		{"not a number", []float32{-1, -2, -1}, []float32{-1.5, nan, -inf}, nil, .5, inf, 1, 0},
		{"both infinite", []float32{-inf}, []float32{-inf}, nil, nan, inf, 0, 0},
	} {
		s := Sample{Sample: &rl.Sample{
			Prompt: &rl.Prompt{Group: 7}, Response: make([]int32, len(tt.rollout)), LogProbs: tt.rollout, TrainLogProbs: tt.trainer,
			Versions: []rl.Span{{Version: 1, Tokens: len(tt.rollout)}},
		}, Mask: tt.mask}
		r := s.row(5, 2, false)
		same := func(a, b float32) bool { return a == b || a != a && b != b }
		if !same(r.GapMean, tt.mean) || !same(r.GapMax, tt.max) || r.GapPos != tt.pos || r.Flags != tt.flags {
			t.Errorf("%s: gap %v, %v at %d, flags %v, want %v, %v at %d, %v", tt.name, r.GapMean, r.GapMax, r.GapPos, r.Flags.Names(), tt.mean, tt.max, tt.pos, tt.flags.Names())
		}
	}
}

func TestFlagsAndVersions(t *testing.T) {
	s := Sample{Sample: &rl.Sample{
		Prompt: &rl.Prompt{}, Response: make([]int32, 3), Stop: rl.StopLength, Text: strings.Repeat("again ", 2000) + "\x01",
		Versions: []rl.Span{{Version: rl.NewVersion(1, 9), Tokens: 1}, {Version: rl.NewVersion(0, 7), Tokens: 2}},
	}, Dropped: true}
	r := s.row(1, 0, true)
	if want := []string{"truncated", "dropped", "repeated", "garbled", "mixed", "eval"}; !slices.Equal(r.Flags.Names(), want) {
		t.Errorf("flags are %v, want %v", r.Flags.Names(), want)
	}
	if r.Version != rl.NewVersion(0, 7) || r.Span != 2 {
		t.Errorf("version %v, span %d, want 7 and 2", r.Version, r.Span)
	}
	if f := (&Sample{Sample: &rl.Sample{Stop: rl.StopAbort}}).flags(false); f != Aborted {
		t.Errorf("flags are %v, want aborted", f.Names())
	}
}

func TestRowBytes(t *testing.T) {
	sum := 0
	for c := range numColumns {
		sum += c.Width()
	}
	if sum != RowBytes {
		t.Errorf("columns are %d bytes together, want %d", sum, RowBytes)
	}
	rows := []Row{{1, 2, 3, rl.Wrong, 5, Truncated | Eval, 7.5, -8.5, 9, 10, 11, 12, 13.5, 14.5, 15.5, 16}, {Cycle: math.MaxUint32, Slot: math.MaxUint16, Set: 255, GapPos: 1}}
	b := appendRows(nil, rows)
	if len(b) != 2*RowBytes || !slices.Equal(readRows(b), rows) {
		t.Errorf("rows are %d bytes and read back as %v, want %d and %v", len(b), readRows(b), 2*RowBytes, rows)
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		text             string
		repeats, garbled bool
	}{
		{"", false, false},
		{"abc é\n\t\r", false, false},
		{strings.Repeat("a", 99), false, false},
		{strings.Repeat("a", 20_000), true, false},
		{strings.Repeat("é", 9_000) + "ende", true, false},
		{strings.Repeat("a", 20_000) + random(9_999), false, false},
		{random(20_000) + strings.Repeat("a", 10_000), true, false},
		{"cut \xe2\x82", false, false},
		{"cut \xf0\x9f\x98", false, false},
		{"broken \xe2\x82x", false, true},
		{"broken \x82", false, true},
		{"replaced \ufffd.", false, true},
		{"bell \a", false, true},
	} {
		if r, g := Repeats(tt.text), IsGarbled(tt.text); r != tt.repeats || g != tt.garbled {
			t.Errorf("%.20q: repeats %v, garbled %v, want %v, %v", tt.text, r, g, tt.repeats, tt.garbled)
		}
	}
}

// TestShortTextsDoNotRepeat asks zlib itself about the texts that shrink most, and a squeezer that was used before for the same lengths.
func TestShortTextsDoNotRepeat(t *testing.T) {
	for n := 1; n <= 400; n++ {
		text := strings.Repeat("a", n)
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		if got := squeezed(text); got != b.Len() {
			t.Errorf("%d bytes: squeezed to %d, zlib makes %d", n, got, b.Len())
		}
		if got, want := Repeats(text), n > 10*b.Len(); got != want {
			t.Errorf("%d bytes: Repeats = %v, want %v of %d bytes", n, got, want, b.Len())
		}
	}
}

func random(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

func TestAddRefuses(t *testing.T) {
	w := open(t, t.TempDir(), 1)
	add(t, w, batch(1, 1))
	one := func(change func(*Sample)) Batch {
		b := batch(2, 4)
		b.Samples[5].Prompt.Group = 9
		change(&b.Samples[5])
		return b
	}
	for _, tt := range []struct {
		b    Batch
		want string
	}{
		{batch(1, 2), "samples of cycle 1: were written before by attempt 1"},
		{Batch{Cycle: -1}, "want a cycle of 0"},
		{Batch{Cycle: 2, Eval: "../x"}, `evaluation "../x"`},
		{one(func(s *Sample) { s.LogProbs = make([]float32, 77) }), "group 9 sample 1: 77 rollout logprobs, want"},
		{one(func(s *Sample) { s.Entropy = make([]float32, 77) }), "77 entropies"},
		{one(func(s *Sample) { s.Mask = make([]bool, 77) }), "77 mask"},
		{one(func(s *Sample) { s.Versions = []rl.Span{{Version: 1, Tokens: 77}} }), "77 tokens of version runs"},
		{one(func(s *Sample) { s.Prompt.Group = -1 }), "group -1"},
		{one(func(s *Sample) { s.Index = 70_000 }), "sample 70000"},
		{one(func(s *Sample) { s.Sampling.Temperature = math.NaN() }), "unsupported value"},
	} {
		if err := w.Add(tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Add = %v, want %q in it", err, tt.want)
		}
	}
	if got := keys(t, w.dir); !slices.Equal(got, []string{"1.1=2"}) {
		t.Errorf("index has %v, want cycle 1 alone", got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, Name(2, ""))); err == nil {
		t.Error("a body of cycle 2 was written")
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cycle uint32
		eval  string
		ok    bool
	}{
		{"c000037.fls", 37, "", true},
		{"c1234567.fls", 1234567, "", true},
		{"c000120-aime-2024.fls", 120, "aime-2024", true},
		{"c37.fls", 0, "", false},
		{"c0000037.fls", 0, "", false},
		{"c9999999999.fls", 0, "", false},
		{"c000037.fls.tmp", 0, "", false},
		{"c000037-.fls", 0, "", false},
		{"c000037-a/b.fls", 0, "", false},
	} {
		cycle, eval, ok := ParseName(tt.name)
		if ok != tt.ok || ok && (cycle != tt.cycle || eval != tt.eval || Name(cycle, eval) != tt.name) {
			t.Errorf("ParseName(%q) = %d, %q, %v", tt.name, cycle, eval, ok)
		}
	}
}

// Example writes two cycles and looks for the worst sample.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	w, _ := Open(dir, Options{Attempt: 1, Text: text, Log: slog.New(slog.DiscardHandler)})
	for cycle := 1; cycle <= 2; cycle++ {
		w.Add(Batch{Cycle: cycle, Samples: []Sample{{Sample: &rl.Sample{
			Prompt: &rl.Prompt{Group: int64(cycle), Set: "sums"}, Response: []int32{0, 1}, Text: "a b", Versions: []rl.Span{{Version: 1, Tokens: 2}},
			LogProbs: []float32{-1, -1}, TrainLogProbs: []float32{-1, -1 - float32(cycle)},
		}}}})
	}
	w.Close()

	x, _ := OpenIndex(filepath.Join(dir, "index"))
	defer x.Close()
	var worst Row
	for k, rows := range x.All() {
		for _, r := range rows {
			if x.Live(k) && r.GapMax > worst.GapMax {
				worst = r
			}
		}
	}
	body, _ := OpenBody(filepath.Join(dir, Name(worst.Cycle, "")))
	defer body.Close()
	s, _ := body.Sample(body.At(worst.Group, worst.Slot))
	fmt.Printf("cycle %d, token %d %q: rollout %v, trainer %v\n", worst.Cycle, worst.GapPos, s.Texts[worst.GapPos], s.LogProbs[worst.GapPos], s.TrainLogProbs[worst.GapPos])
	// Output: cycle 2, token 1 " b": rollout -1, trainer -3
}
