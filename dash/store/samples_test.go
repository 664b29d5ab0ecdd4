package store

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/dash/api"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// A plainRow is a row of the index beside the version that was newest in its body.
type plainRow struct {
	samples.Row
	eval   string
	set    string
	newest int
}

// everyRow reads all rows that count by the index's own reader of whole rows.
func everyRow(t testing.TB, dir string) []plainRow {
	t.Helper()
	x, err := samples.OpenIndex(filepath.Join(dir, "samples", "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var all []plainRow
	for k, rows := range x.All() {
		if !x.Live(k) {
			continue
		}
		newest := 0
		for _, r := range rows {
			newest = max(newest, r.Version.Count()+int(r.Span))
		}
		for _, r := range rows {
			all = append(all, plainRow{r, k.Eval, x.Sets[r.Set], newest})
		}
	}
	return all
}

// holds is the filter's meaning told a second time, over whole rows and without a parser: a random term is made together with its meaning.
type holds func(plainRow) bool

// randomTerm makes a term and what it means.
func randomTerm(rng *rand.Rand) (string, holds) {
	nums := map[string]func(plainRow) float64{
		"cycle": func(r plainRow) float64 { return float64(r.Cycle) }, "group": func(r plainRow) float64 { return float64(r.Group) }, "slot": func(r plainRow) float64 { return float64(r.Slot) },
		"reward": func(r plainRow) float64 { return float64(r.Reward) }, "advantage": func(r plainRow) float64 { return float64(r.Advantage) }, "prompt": func(r plainRow) float64 { return float64(r.PromptLen) },
		"len": func(r plainRow) float64 { return float64(r.ResponseLen) }, "version": func(r plainRow) float64 { return float64(r.Version.Count()) }, "span": func(r plainRow) float64 { return float64(r.Span) },
		"gap": func(r plainRow) float64 { return float64(r.GapMean) }, "max": func(r plainRow) float64 { return float64(r.GapMax) }, "entropy": func(r plainRow) float64 { return float64(r.Entropy) },
		"pos": func(r plainRow) float64 { return float64(r.GapPos) }, "stale": func(r plainRow) float64 { return float64(r.newest - r.Version.Count()) },
	}
	names := []string{"cycle", "group", "slot", "reward", "advantage", "prompt", "len", "version", "span", "gap", "max", "entropy", "pos", "stale"}
	switch rng.IntN(6) {
	case 0:
		i := rng.IntN(7)
		return flagWords[i], func(r plainRow) bool { return r.Flags&(1<<i) != 0 }
	case 1:
		v := rl.Verdict(rng.IntN(4))
		return v.String(), func(r plainRow) bool { return r.Verdict == v }
	case 2:
		s := []string{"gsm8k", "aime-2024", "none"}[rng.IntN(3)]
		return "set:" + s, func(r plainRow) bool { return r.set == s }
	}
	n := names[rng.IntN(len(names))]
	get := nums[n]
	scale := map[string]float64{"cycle": 330, "group": 1400, "len": 40, "version": 330, "prompt": 20, "pos": 30}[n]
	value := func() float64 {
		if scale == 0 {
			return float64(float32(rng.Float64()))
		}
		return math.Floor(rng.Float64() * scale)
	}
	a, b := value(), value()
	a, b = min(a, b), max(a, b)
	switch rng.IntN(7) {
	case 0:
		return fmt.Sprintf("%s:%v..%v", n, a, b), func(r plainRow) bool { return get(r) >= a && get(r) <= b }
	case 1:
		return fmt.Sprintf("%s<%v", n, a), func(r plainRow) bool { return get(r) < a }
	case 2:
		return fmt.Sprintf("%s>=%v", n, a), func(r plainRow) bool { return get(r) >= a }
	case 3:
		return fmt.Sprintf("%s!=%v", n, a), func(r plainRow) bool { return get(r) != a }
	case 4:
		return fmt.Sprintf("%s:%v", n, a), func(r plainRow) bool { return get(r) == a }
	case 5:
		return fmt.Sprintf("%s:..%v", n, b), func(r plainRow) bool { return get(r) <= b }
	}
	return fmt.Sprintf("%s>%v", n, a), func(r plainRow) bool { return get(r) > a }
}

// randomFilter makes a filter of up to three terms, some of them alternatives, some turned around.
func randomFilter(rng *rand.Rand) (string, holds) {
	var terms []string
	var all []holds
	for range rng.IntN(4) {
		text, h := randomTerm(rng)
		if rng.IntN(3) == 0 {
			more, g := randomTerm(rng)
			first := h
			text, h = text+"|"+more, func(r plainRow) bool { return first(r) || g(r) }
		}
		if rng.IntN(4) == 0 {
			yes := h
			text, h = "-"+text, func(r plainRow) bool { return !yes(r) }
		}
		terms, all = append(terms, text), append(all, h)
	}
	return strings.Join(terms, " "), func(r plainRow) bool {
		for _, h := range all {
			if !h(r) {
				return false
			}
		}
		return r.eval == ""
	}
}

// Random filters find what a scan of whole rows finds, page by page, in the order asked for.
func TestFiltersAgainstScan(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing here runs beside anything else, and it takes long under the race detector")
	}
	r := smallRun(t)
	all := everyRow(t, r.Dir())
	rng := rand.New(rand.NewPCG(3, 4))
	some := 0
	for i := range 300 {
		q, h := randomFilter(rng)
		want := map[string]bool{}
		for _, row := range all {
			if h(row) {
				want[fmt.Sprint(row.Cycle, "/", row.Group, "/", row.Slot)] = true
			}
		}
		some += one(len(want) > 0 && len(want) < len(all))
		got := pages(t, r, SampleAsk{Q: q, Sort: []string{"-gap", "len", "-cycle", "max", "-stale", "version"}[i%6], Limit: 1000}, len(want))
		if len(got) != len(want) {
			t.Fatalf("%q finds %d, a scan %d", q, len(got), len(want))
		}
		for _, id := range got {
			if !want[id] {
				t.Fatalf("%q finds %s, a scan does not", q, id)
			}
		}
		f, err := ParseFilter(q)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseFilter(f.String()); err != nil || again.String() != f.String() {
			t.Fatalf("%q is printed as %q, which is read as %v (%v)", q, f, again, err)
		}
	}
	if some < 100 {
		t.Errorf("%d filters found some and not all, want 100 for the test to mean something", some)
	}
}

// pages walks through all pages and returns what they hold, and checks count, order and that nothing comes twice.
func pages(t testing.TB, r *Run, a SampleAsk, count int) []string {
	t.Helper()
	var ids []string
	seen := map[string]bool{}
	last := math.Inf(-1)
	for range 100 {
		p, err := r.Samples(a)
		if err != nil {
			t.Fatalf("%q: %v", a.Q, err)
		}
		if p.Count != count {
			t.Fatalf("%q: count is %d, want %d", a.Q, p.Count, count)
		}
		for _, s := range p.Rows {
			id := fmt.Sprint(s.Cycle, "/", s.Group, "/", s.Slot)
			if seen[id] {
				t.Fatalf("%q: %s comes twice", a.Q, id)
			}
			seen[id] = true
			ids = append(ids, id)
			v := map[string]float64{"-gap": -number(s.Gap), "len": float64(s.Len), "-cycle": -float64(s.Cycle), "max": number(s.GapMax), "-stale": -number(s.Stale)}[a.Sort]
			if v < last {
				t.Fatalf("%q by %s: %v after %v", a.Q, a.Sort, v, last)
			}
			last = v
		}
		if p.Next == "" {
			return ids
		}
		a.After = p.Next
	}
	t.Fatalf("%q has no end", a.Q)
	return nil
}

// While rows arrive, paging yields each row that was there once.
func TestPagingWhileRowsArrive(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, run.RowsFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := samples.Open(filepath.Join(dir, run.SamplesDir), samples.Options{Attempt: 1, Text: func(int32) []byte { return nil }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	add := func(c int) {
		var rows []samples.Row
		for i := range 50 {
			rows = append(rows, samples.Row{Cycle: uint32(c), Group: uint32(i), ResponseLen: uint32((i * 7) % 13), GapMean: float32(math.NaN())})
		}
		if err := w.AddRows(c, []string{"a"}, rows); err != nil {
			t.Fatal(err)
		}
	}
	for c := 1; c <= 4; c++ {
		add(c)
	}
	r := open(t, dir)
	for i, by := range []string{"-len", "len", "-cycle", "gap"} {
		seen := map[string]int{}
		a := SampleAsk{Sort: by, Limit: 33}
		for c := 5; ; c++ {
			p, err := r.Samples(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Rows {
				seen[fmt.Sprint(s.Cycle, "/", s.Group)]++
			}
			if a.After = p.Next; a.After == "" {
				break
			}
			if c < 8 {
				add(100*(i+1) + c)
			}
		}
		for c := 1; c <= 4; c++ {
			for g := range 50 {
				if n := seen[fmt.Sprint(c, "/", g)]; n != 1 {
					t.Fatalf("by %s: cycle %d group %d came %d times", by, c, g, n)
				}
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Fatalf("by %s: %s came %d times", by, id, n)
			}
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for q, want := range map[string][2]string{
		"trucated":               {"column 1", "truncated"},
		"right  rewrd<1":         {"column 8", "reward"},
		"gap":                    {"column 4", ""},
		"gap>x":                  {"column 5", ""},
		"cycle:5..2":             {"column 7", ""},
		"cycle:..":               {"column 7", ""},
		`text:"open`:             {"column 6", ""},
		"right,wrong":            {"column 6", ""},
		"-":                      {"column 2", ""},
		"right|":                 {"column 7", ""},
		"set:":                   {"column 5", ""},
		"set<a":                  {"column 5", ""},
		"<3":                     {"column 1", ""},
		strings.Repeat("a", 3e3): {"2048", ""},
	} {
		_, err := ParseFilter(q)
		var a *Asked
		if !errors.As(err, &a) || a.Status != Wrong || !strings.Contains(err.Error(), want[0]) || !strings.Contains(a.Reply.Hint, want[1]) {
			t.Errorf("%.20q: %v, want %v", q, err, want)
		}
	}
}

// The parser answers or refuses, and what it understood reads back as the same.
func FuzzFilter(f *testing.F) {
	for _, q := range []string{"", "cycle:37..40 truncated -right reward<0.5 len>3000 gap>1 version:37 group:1193 set:gsm8k", `text:"a \" b"|right`, "-gap:..1e3", "stale!=1", "max=inf", "-", `set:"`} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		p, err := ParseFilter(q)
		if err != nil {
			return
		}
		again, err := ParseFilter(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is printed as %q, which is read as %v (%v)", q, p, again, err)
		}
	})
}

// A search for a text finds the answers that hold it.
func TestText(t *testing.T) {
	r := smallRun(t)
	all, err := r.Samples(SampleAsk{Q: "cycle:320..330", Limit: 1000, Text: true})
	if err != nil {
		t.Fatal(err)
	}
	word, want := "", 0
	for _, s := range all.Rows {
		if f := strings.Fields(s.Text); word == "" && len(f) > 0 && len(f[0]) > 5 {
			word = f[0]
		}
	}
	for _, s := range all.Rows {
		in, err := r.Inspect(SampleID{s.Cycle, s.Group, s.Slot, ""}, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		want += one(strings.Contains(strings.ToLower(strings.Join(in.Response.Text, "")), strings.ToLower(word)))
	}
	got := 0
	a := SampleAsk{Q: `cycle:320..330 text:"` + strings.ToUpper(word) + `"`, Limit: 1}
	for {
		p, err := r.Samples(a)
		if err != nil {
			t.Fatal(err)
		}
		got += len(p.Rows)
		if a.After = p.Next; a.After == "" {
			break
		}
	}
	if want == 0 || got != want {
		t.Errorf("%q: %d answers, want %d", word, got, want)
	}
	none, err := r.Samples(SampleAsk{Q: `text:"` + word + `" -text:"` + word + `"`})
	if err != nil || len(none.Rows) != 0 {
		t.Errorf("a text and not the text: %d rows, %v", len(none.Rows), err)
	}
}

// From the jump to the planted token: the drawer's first sample has it as its largest gap, and n walks down the gaps, p back.
func TestJumpLeadsToItsToken(t *testing.T) {
	r := smallRun(t)
	c, err := r.Cycle(37, "train/logp_diff/p99")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Sentence, "Gap p99 rose to ") || !strings.Contains(c.Sentence, "samples of problem 151 make") {
		t.Errorf("sentence is %q", c.Sentence)
	}
	s := c.Samples[0]
	if s.Group != 151 || s.Pos != 1018 || number(s.Share) < 0.2 {
		t.Errorf("first sample is %+v", s)
	}
	in, err := r.Inspect(SampleID{37, s.Group, s.Slot, ""}, 1000, 1030)
	if err != nil {
		t.Fatal(err)
	}
	if in.Rollout[18] != "-0.218" || in.Order[0] != 1018 || in.Len != len(in.Rollout)-30+in.Len || len(in.Response.IDs) != 30 {
		t.Errorf("token has rollout %s, order begins with %v", in.Rollout[18], in.Order[:3])
	}
	at := NextAsk{At: SampleID{37, s.Group, s.Slot, ""}, Pos: -1, Among: "cycle"}
	last := math.Inf(1)
	var walk []int
	for range 50 {
		n, err := r.Next(at)
		if err != nil {
			t.Fatal(err)
		}
		if v := number(n.Gap); v > last {
			t.Fatalf("gap %v after %v", v, last)
		} else {
			last = v
		}
		walk = append(walk, n.Rank)
		at.At.Group, at.At.Slot, at.Pos = n.Group, n.Slot, n.Pos
	}
	at.Up = true
	for i := len(walk) - 2; i >= 0; i-- {
		n, err := r.Next(at)
		if err != nil || n.Rank != walk[i] {
			t.Fatalf("back: rank %v, %v, want %d", n, err, walk[i])
		}
		at.At.Group, at.At.Slot, at.Pos = n.Group, n.Slot, n.Pos
	}
	var a *Asked
	if _, err := r.Next(at); !errors.As(err, &a) || a.Status != Missing {
		t.Errorf("above the largest: %v, want that there is none", err)
	}
}

func TestNotKept(t *testing.T) {
	r := smallRun(t)
	var a *Asked
	if _, err := r.Inspect(SampleID{200, 800, 0, ""}, 0, -1); !errors.As(err, &a) || a.Status != Gone {
		t.Errorf("tokens that were dropped: %v, want status 410", err)
	}
	if _, err := r.Inspect(SampleID{200, 9, 0, ""}, 0, -1); !errors.As(err, &a) || a.Status != Missing {
		t.Errorf("a group that is not there: %v, want status 404", err)
	}
	g, err := r.Group(200, 800, "")
	if err != nil || len(g.Rows) != 2 || g.Rows[0].Kept {
		t.Errorf("a group whose tokens were dropped: %+v, %v, want its rows", g, err)
	}
}

// An index that is damaged or gone is made again from the bodies.
func TestReindex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(smallRun(t).Dir())); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	before, err := r.Samples(SampleAsk{Q: "cycle:315..330", Limit: 1000, Sort: "-gap"})
	if err != nil {
		t.Fatal(err)
	}
	tail := filepath.Join(dir, "samples", "index", "tail.fli")
	if err := os.WriteFile(tail, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Reindex(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	after, err := r.Samples(SampleAsk{Q: "cycle:315..330", Limit: 1000, Sort: "-gap"})
	if err != nil || after.Count != before.Count || !slices.EqualFunc(after.Rows, before.Rows, func(a, b api.Sample) bool { return a.Gap == b.Gap && a.Group == b.Group }) {
		t.Errorf("%d rows before, %d after, %v", before.Count, after.Count, err)
	}
}
