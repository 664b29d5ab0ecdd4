package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/chat"
	"furlong/reward"
)

// clean returns n rows without anything to find. Their words are drawn, so that none is near another.
func clean(n int) []map[string]any {
	r := rand.New(rand.NewPCG(1, 2))
	things := strings.Fields("apples boxes trains rivers coins stairs lamps ropes birds cards stones maps tables wheels doors plants songs cups")
	doing := strings.Fields("buys sells finds loses paints counts lifts moves turns holds draws gives keeps folds opens joins cuts hides")
	var out []map[string]any
	for i := range n {
		var b strings.Builder
		for range 6 {
			fmt.Fprintf(&b, "Ada %s %d %s and then %s the %s. ", doing[r.IntN(len(doing))], r.IntN(90)+2, things[r.IntN(len(things))], doing[r.IntN(len(doing))], things[r.IntN(len(things))])
		}
		b.WriteString(`What is $\frac{1}{2}\times\theta$ of them?` + "\nneed not be a whole number")
		out = append(out, map[string]any{"id": fmt.Sprint("c", i), "input": b.String(), "label": fmt.Sprint(i)})
	}
	return out
}

func write(t *testing.T, name string, rows ...any) string {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		if text, ok := r.(string); ok {
			b.WriteString(text + "\n")
			continue
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func options(t *testing.T, file string) Options {
	t.Helper()
	o := Default()
	o.Files, o.Data.LabelKey = []string{file}, "label"
	var err error
	if o.Grades, err = reward.New("gsm8k"); err != nil {
		t.Fatal(err)
	}
	return o
}

func examine(t *testing.T, o Options) (*Examination, *Report) {
	t.Helper()
	e, r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return e, r
}

// found returns the findings as kind and count.
func found(r *Report) map[string]int {
	out := map[string]int{}
	for _, f := range r.Findings {
		out[f.Kind] = f.Count
	}
	return out
}

func anyRows(rows []map[string]any) []any {
	var out []any
	for _, r := range rows {
		out = append(out, r)
	}
	return out
}

func TestCleanFileHasNoFinding(t *testing.T) {
	_, r := examine(t, options(t, write(t, "clean.jsonl", anyRows(clean(300))...)))
	if len(r.Findings) != 0 || r.Rows != 300 || r.Problems != 300 || r.Largest != 1 || r.Harmful() != 0 {
		t.Errorf("report of a clean file is\n%v", r)
	}
}

// Each thing that is planted into a clean file is found once, and nothing else is.
func TestPlanted(t *testing.T) {
	base := clean(30)
	text := func(i int) string { return base[i]["input"].(string) }
	row := func(input, label any) map[string]any { return map[string]any{"input": input, "label": label} }
	other := "Bob walks along a long road for 11 days and sees 4 owls each night"
	for _, tt := range []struct {
		kind string
		row  any
		harm bool
	}{
		{"malformed", `{"input": "x`, true},
		{"malformed", "\xff", true},
		{"no-prompt", map[string]any{"label": "1"}, true},
		{"no-prompt", row("", "1"), true},
		{"no-label", row(other, " "), true},
		{"no-label", row(other, nil), true},
		{"ungradable", row(other, "blue"), true},
		{"id", map[string]any{"id": "c3", "input": other, "label": "1"}, true},
		{"duplicate", row("  "+strings.ReplaceAll(text(4), " ", "\n "), "4"), true},
		{"conflict", row(text(4), "5"), true},
		{"near-duplicate", row(strings.Replace(text(4), "Ada", "Eve", 1), "4"), false},
		{"broken-escape", row(other+" \frac{1}{2}", "1"), true},
		{"broken-escape", row(other+" 3\times 4", "1"), true},
		{"broken-escape", row(other+" x\neq 4", "1"), true},
		{"broken-escape", row(other+" \theta", "1"), true},
		{"broken-escape", row(other+" \boxed{3}", "1"), true},
		{"double-escape", row(other+` \\frac{1}{2}`, "1"), true},
		{"lost-backslash", row(other+` $frac{1}{2}$`, "1"), true},
		{"control-character", row(other+"\x01", "1"), false},
		{"misread", row(other+" donâ€™t", "1"), false},
		{"too-long", row(other+strings.Repeat(" again", 400), "1"), false},
		{"mixed-prompts", row([]any{map[string]any{"role": "user", "content": other}}, "1"), false},
		{"mixed-labels", row(other, 1), false},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			o := options(t, write(t, "planted.jsonl", append(anyRows(base), tt.row)...))
			o.Data.MaxPromptTokens = 1500
			_, r := examine(t, o)
			if got := found(r); !reflect.DeepEqual(got, map[string]int{tt.kind: 1}) {
				t.Fatalf("findings are %v, want one %s\n%v", got, tt.kind, r)
			}
			f := r.Findings[0]
			if f.Harm != tt.harm || len(f.Examples) != 1 || !strings.HasPrefix(tt.kind, "mixed") && !strings.Contains(f.Examples[0], "planted.jsonl:31") {
				t.Errorf("finding is %+v, want harm %t in line 31", f, tt.harm)
			}
		})
	}
}

// Rows that a run refuses are found under the part that is wrong, with the run's words.
func TestRefusals(t *testing.T) {
	say := func(role string) string {
		return `{"input":[{"role":"system","content":"s"},{"role":"` + role + `","content":"What is it?"}],"label":"1"}`
	}
	for _, tt := range []struct{ row, kind, want string }{
		{say("bot"), "no-prompt", `message 1: role is "bot", want system`},
		{say("assistant"), "no-prompt", "want one to answer"},
		{say("user"), "", ""},
		{say("developer"), "", ""},
		{`{"input":[{"role":"user","content":"u"},{"role":"latest_reminder","content":"r"},{"role":"user","content":"u"}],"label":"1"}`, "", ""},
		{`{"input":"a","label":true}`, "bad-label", "label is true, want a text, a number, a list of these, or an object"},
		{`{"input":"a","label":{}}`, "bad-label", "label is {}, want a text"},
		{`{"input":"a","label":[]}`, "bad-label", "label is [], want a text"},
		{`{"input":"a","label":[null]}`, "bad-label", "label is [null], want a text"},
		{`{"input":"a","label":"1","metadata":[]}`, "bad-metadata", "metadata is [], want an object"},
		{`{"id":{},"input":"a","label":"1"}`, "bad-id", "id is {}, want a text or a number"},
		{`{"id":true,"input":"a","label":"1"}`, "bad-id", "id is true"},
		{`{"input":"a","label":"1","label":"2"}`, "repeated-key", `key "label" is there twice`},
		{`{"input":"a","label":"1","\u006cabel":"1"}`, "repeated-key", `key "label" is there twice`},
		{`{"input":[{"role":"user","role":"system","content":"a"}],"label":"1"}`, "repeated-key", `key "input.role" is there twice`},
	} {
		_, r := examine(t, options(t, write(t, "a.jsonl", tt.row)))
		if tt.kind == "" {
			if len(r.Findings) != 0 {
				t.Errorf("%s: report is\n%v", tt.row, r)
			}
			continue
		}
		if len(r.Findings) != 1 || r.Findings[0].Kind != tt.kind || !r.Findings[0].Harm || !strings.Contains(r.Findings[0].Examples[0], tt.want) {
			t.Errorf("%s: report is\n%v\nwant %s: %s", tt.row, r, tt.kind, tt.want)
		}
	}
}

// A model's own template decides, where there is one.
func TestTemplatesOfTheRunDecide(t *testing.T) {
	o := options(t, write(t, "a.jsonl", `{"input":[{"role":"user","content":"u"},{"role":"assistant","content":"a","reasoning_content":"r"},{"role":"user","content":"v"}],"label":"1"}`))
	if _, r := examine(t, o); r.Harmful() != 0 {
		t.Errorf("some template renders thoughts, but the report is\n%v", r)
	}
	o.Templates = []chat.Template{chat.Plain{}}
	if _, r := examine(t, o); found(r)["no-prompt"] != 1 {
		t.Errorf("plain text has no thoughts, but the report is\n%v", r)
	}
}

// A problem of a set to be evaluated on counts as one of the file's own, as often as it stands there.
func TestOverlapsAreCounted(t *testing.T) {
	base := anyRows(clean(4))
	o := options(t, write(t, "train.jsonl", append(append([]any{}, base[:3]...), base[:2]...)...))
	o.Against = []string{write(t, "held-out.jsonl", base[1:]...)}
	if _, r := examine(t, o); r.Rows != 5 || r.Problems != 3 || r.Largest != 2 {
		t.Errorf("%d rows, %d problems, the largest of %d rows, want 5, 3, 2\n%v", r.Rows, r.Problems, r.Largest, r)
	}
}

// Problems from one template with other numbers are not near, whatever their labels; with other labels neither.
func TestTemplatesAreNotNear(t *testing.T) {
	text := "A farmer has %d cows and buys %d more at the market in town. How many legs do all of the cows of the farmer have after the market?"
	rows := []any{}
	for i := range 20 {
		rows = append(rows, map[string]any{"input": fmt.Sprintf(text, 10+i, 50-i), "label": "240"})
	}
	less := strings.Replace(text, "How many", "At least how many", 1)
	rows = append(rows, map[string]any{"input": fmt.Sprintf(less, 10, 50), "label": "1"})
	if _, r := examine(t, options(t, write(t, "a.jsonl", rows...))); len(r.Findings) > 0 {
		t.Errorf("report is\n%v", r)
	}
	rows = append(rows, map[string]any{"input": fmt.Sprintf(less, 10, 50) + " Think.", "label": "1"})
	if _, r := examine(t, options(t, write(t, "a.jsonl", rows...))); found(r)["near-duplicate"] != 1 {
		t.Errorf("report is\n%v", r)
	}
}

// What only looks like a finding is none.
func TestNoFinding(t *testing.T) {
	for _, text := range []string{
		`a matrix $\begin{pmatrix} 1 \\ 2 \\[2pt] 3\end{pmatrix}$, \\\frac{1}{2}`, "a\tb\tc and code:\n\tfor x in y:\n\t\treturn", `sqrt(2) and \frac{1}{2} and $x\sqrt{3}$`,
		"negative\nnegation, or not in\nequal parts", "line\r\nright there\r\nrho", `\\hline`, "été, naïve, 3° and ½",
	} {
		out := []string{}
		textFaults(text, func(kind, _ string, _ ...any) { out = append(out, kind) })
		if len(out) > 0 {
			t.Errorf("%q has %q", text, out)
		}
	}
}

func TestOverlap(t *testing.T) {
	base := clean(20)
	rule := "Solve the problem. The last line is Answer: $Answer.\n\n"
	var held []any
	for i := range 6 { // in the form of chats with an instruction, the last one worded otherwise
		text := base[i]["input"].(string)
		if i == 5 {
			text = strings.Replace(text, "Ada", "Eve", 1)
		}
		held = append(held, map[string]any{"question": []any{map[string]any{"role": "user", "content": rule + text}}, "answer": base[i]["label"]})
	}
	o := options(t, write(t, "train.jsonl", anyRows(base[1:])...))
	o.Against, o.AgainstInput, o.AgainstLabel = []string{write(t, "eval.jsonl", held...)}, "question", "answer"
	e, r := examine(t, o)
	if got := found(r); !reflect.DeepEqual(got, map[string]int{"overlap": 4, "near-overlap": 1}) {
		t.Fatalf("findings are %v\n%v", got, r)
	}
	out := filepath.Join(t.TempDir(), "clean.jsonl")
	f, err := e.Fix(t.Context(), out)
	if err != nil || f.Kept != 14 || f.LeftOut["overlap"] != 4 || f.LeftOut["near-overlap"] != 1 {
		t.Errorf("fixed is %+v, %v", f, err)
	}
}

// A fixed file has no harm, keeps the order, and says of each row that is missing why.
func TestFix(t *testing.T) {
	base := clean(20)
	bad := []any{
		map[string]any{"id": "c1", "input": "Another 7 problem", "label": "1"},
		map[string]any{"input": base[2]["input"], "label": ""}, // the good row of this problem stays
		base[3], base[3], "{",
		map[string]any{"input": base[4]["input"], "label": "77"}, // neither row of this problem stays
		map[string]any{"input": "so \frac{1}{2}", "label": "1"},
	}
	all := slices.Concat(anyRows(base[:2]), bad[1:2], anyRows(base[2:5]), bad[:1], bad[2:], anyRows(base[5:]))
	e, r := examine(t, options(t, write(t, "bad.jsonl", all...)))
	out := filepath.Join(t.TempDir(), "clean.jsonl")
	f, err := e.Fix(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	_, again := examine(t, options(t, out))
	if r.Harmful() != 6 || again.Harmful() != 0 || again.Rows != 19 || again.Problems != 19 || f.Kept != 19 {
		t.Errorf("before\n%v\nafter\n%v\n%v", r, again, f)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for line := range strings.Lines(string(text)) {
		var row struct{ ID string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		n := slices.IndexFunc(base, func(m map[string]any) bool { return m["id"] == row.ID })
		if n <= last || n == 4 {
			t.Errorf("row %s comes after row c%d", row.ID, last)
		}
		last = n
	}
	missing, err := os.ReadFile(f.LeftOutFile)
	if n := strings.Count(string(missing), "\n"); err != nil || n != len(all)-19 {
		t.Errorf("%d rows are said to be missing, want %d: %s", n, len(all)-19, missing)
	}
}

// The order of rows changes which row is first, not what is found.
func TestOrderDoesNotMatter(t *testing.T) {
	base := clean(60)
	rows := anyRows(base)
	for i := range 20 {
		rows = append(rows, base[i], map[string]any{"input": strings.Replace(base[i+20]["input"].(string), "Ada", "Eve", 1), "label": base[i+20]["label"]})
	}
	_, want := examine(t, options(t, write(t, "a.jsonl", rows...)))
	if got := found(want); !reflect.DeepEqual(got, map[string]int{"duplicate": 20, "near-duplicate": 20}) {
		t.Fatalf("findings are %v", got)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		if _, got := examine(t, options(t, write(t, "b.jsonl", rows...))); !reflect.DeepEqual(found(got), found(want)) || got.Problems != want.Problems {
			t.Errorf("shuffled: %v and %d problems, want %v and %d", found(got), got.Problems, found(want), want.Problems)
		}
	}
}

// The raw file of DAPO holds each problem about a hundred times.
func TestManyCopies(t *testing.T) {
	base := anyRows(clean(50))
	var rows []any
	for range 100 {
		rows = append(rows, base...)
	}
	e, r := examine(t, options(t, write(t, "raw.jsonl", rows...)))
	if r.Rows != 5000 || r.Problems != 50 || r.Largest != 100 || found(r)["duplicate"] != 4950 || len(e.problems) != 50 {
		t.Errorf("report is\n%v", r)
	}
}

func TestEmptyAndMissingFiles(t *testing.T) {
	_, r := examine(t, options(t, write(t, "none.jsonl")))
	if found(r)["empty"] != 1 || r.Harmful() != 1 {
		t.Errorf("report is\n%v", r)
	}
	if _, _, err := Run(t.Context(), options(t, "nowhere.jsonl")); err == nil || !strings.Contains(err.Error(), "nowhere.jsonl") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Run(ctx, options(t, write(t, "a.jsonl", anyRows(clean(3))...))); err == nil {
		t.Error("an ended context is no error")
	}
}

// Columns of Parquet without a form in JSON are named, and alone harm nothing.
func TestColumnsNotRead(t *testing.T) {
	o := options(t, "../rows/testdata/zstd-v2.parquet")
	o.Data.InputKey, o.Data.LabelKey = "reward_model.ground_truth", "rank"
	_, r := examine(t, o)
	at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == "not-read" })
	want := []string{o.Files[0] + ": flags", o.Files[0] + ": raw"}
	if at < 0 || r.Findings[at].Harm || r.Findings[at].Count != 2 || !slices.Equal(r.Findings[at].Examples, want) {
		t.Errorf("report is\n%v", r)
	}
}

// The estimate agrees with the share of common pairs of words, worked out as sets.
func TestSignatureEstimates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	sum, n := 0.0, 0
	for range 400 {
		var a, b []string
		for i := range 60 {
			w := fmt.Sprintf("w%c%c", 'a'+i%26, 'a'+r.IntN(26))
			a = append(a, w)
			if r.IntN(8) > 0 {
				b = append(b, w)
			}
		}
		sa, _ := sign(strings.Join(a, " "))
		sb, _ := sign(strings.Join(b, " "))
		same := 0
		for k := range sa {
			if sa[k] == sb[k] {
				same++
			}
		}
		sum += float64(same)/hashes - jaccard(a, b)
		n++
	}
	if bias := sum / float64(n); bias < -0.02 || bias > 0.02 {
		t.Errorf("the estimate is off by %.3f in the mean, want less than 0.02", bias)
	}
}

func jaccard(a, b []string) float64 {
	set := func(words []string) map[string]bool {
		out := map[string]bool{}
		for i := range len(words) - 1 {
			out[words[i]+" "+words[i+1]] = true
		}
		return out
	}
	x, y := set(a), set(b)
	both := 0
	for k := range x {
		if y[k] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both)
}

func FuzzTextFaults(f *testing.F) {
	for _, s := range []string{`\\frac`, "\frac", `frac{`, `\\`, "\n", `\\\\sqrt\\`, "\u00e9\n\n\u00e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		textFaults(text, func(string, string, ...any) {})
		w := wrapper{"\u00e9", "b"}
		if p := w.problem(text); w.problem(p) != p && !strings.Contains(text, "\n\n") {
			t.Errorf("%q becomes %q and %q", text, p, w.problem(p))
		}
		words(text)
		sign(text)
	})
}
