package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

var update = flag.Bool("update", false, "write the figures of testdata anew")

var (
	noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	self = run.Holder{PID: 1, Host: "here", Boot: "b", Attempt: 1}
)

// A maker writes a run step by step, as a trainer does.
type maker struct {
	t   *testing.T
	dir *run.Dir
	now time.Time
}

func (m *maker) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func begin(t *testing.T, resume string) *maker {
	t.Helper()
	m := &maker{t: t, now: noon}
	open, path := run.Create, filepath.Join(t.TempDir(), "a-run")
	if resume != "" {
		open, path = run.Resume, resume
	}
	d, err := open(path, run.Options{
		Now: func() time.Time { return m.now }, Log: slog.New(slog.DiscardHandler), Self: self, Planned: 60,
		Text: func(id int32) []byte { return words[int(id)%len(words)] },
	})
	m.must(err)
	m.dir = d
	return m
}

// words are the texts of tokens: hostile ones among them.
var words = [][]byte{
	[]byte(" the"), []byte(" sum"), []byte("\n"), []byte("<script>window.__x=1</script>"), []byte("\u202e"),
	{0xe2, 0x80},
	[]byte("42"), []byte("</p>"), []byte("{{7*7}}"),
	[]byte(strings.Repeat("\u0301", 10000)),
	{0},
	[]byte("\x1b[31m"), []byte(strings.Repeat("long", 1000)),
}

const hostile = "<script>window.__x=1</script></script><img src=x onerror=__x=1>\"><svg/onload=__x=1>{{7*7}}\u2028\x00\u202e\u2066\x1b[31m"

// values are those of a cycle; gap is 0 throughout where exact.
func values(c int, exact bool) map[string]float64 {
	x := float64(c)
	v := map[string]float64{
		"rollout/raw_reward": 0.4 + 0.004*x + 0.03*math.Sin(2.4*x), "rollout/truncated_ratio": 0.1 + 0.01*math.Sin(x), "rollout/samples": 16, "rollout/tokens": 4000,
		"train/logp_diff/mean": 0.09 + 0.004*math.Sin(1.7*x), "train/logp_diff/p99": 0.4 + 0.05*math.Sin(1.3*x), "train/logp_diff/max": 2, "train/tokens": 4000, "train/samples": 16,
		"reward/invalid_samples": 0, "update/attested": 1, "update/version": x, "update/retries": 0, "update/refused": 0,
		"perf/step_time": 10, "perf/rollout_wait_time": 5, "perf/reward_wait_time": 0.5, "perf/train_time": 3.5, "perf/update_weights_time": 0.5, "perf/eval_time": 0, "perf/save_model_time": 0.25, "perf/other_time": 0.25,
		"perf/tokens_per_gpu_per_sec": 18000 + 500*math.Sin(x), "perf/actor_train_tok_per_s": 24000, "rollout/staleness/mean": 1, "rollout/staleness/max": 1,
	}
	if c%9 == 0 {
		v["rollout/staleness/max"] = 2
	}
	if exact {
		v["train/logp_diff/mean"], v["train/logp_diff/p99"], v["train/logp_diff/max"] = 0, 0, 0
	}
	return v
}

// row writes a cycle; change may alter what it holds.
func (m *maker) row(c int, v map[string]float64) {
	m.t.Helper()
	m.now = m.now.Add(10 * time.Second)
	m.dir.Progress(c, "train", "")
	m.must(m.dir.WriteRow(metrics.Row{Kind: metrics.Cycle, Cycle: c, Step: c, Version: rl.NewVersion(m.dir.Attempt()-1, c), Values: v}))
}

// eval writes an evaluation in which so many of four problems' answers are right.
func (m *maker) eval(c, right int) {
	m.t.Helper()
	v := map[string]float64{"eval/held-truncated_ratio": 0.1, "eval/held-problems": 4}
	e := run.Evaluation{Name: "held", Cycle: c, Version: rl.NewVersion(0, c+1), Settings: map[string]any{"seed": 3}}
	for k := 1; k <= 8; k *= 2 {
		p := float64(right) / 8 * (1 + 0.1*math.Log2(float64(k)))
		v[fmt.Sprintf("eval/held-pass@%d", k)], v[fmt.Sprintf("eval/held-pass@%d_lo", k)], v[fmt.Sprintf("eval/held-pass@%d_hi", k)] = p, p-0.05, p+0.05
	}
	for i := range 4 {
		e.Problems = append(e.Problems, run.Problem{ID: fmt.Sprintf("p%d", i), N: 8, C: max(0, right-2*i)})
	}
	m.must(m.dir.WriteRow(metrics.Row{Kind: metrics.Eval, Cycle: c, Step: c, Version: rl.NewVersion(0, c+1), Values: v}))
	m.must(m.dir.WriteEval(e))
}

// sample makes a sample of so many tokens; every third token has a gap where there is one at all.
func sample(group int64, slot, n int, gap float32) samples.Sample {
	s := &rl.Sample{
		Prompt: &rl.Prompt{ID: hostile, Group: group, Tokens: []int32{0, 1}, Text: " the sum" + hostile, Set: "train", Label: hostile}, Index: slot,
		Reward: float64(slot % 2), Verdict: []rl.Verdict{rl.Wrong, rl.Right}[slot%2], Why: hostile, Advantage: float64(slot%2)*2 - 1,
	}
	var text strings.Builder
	for i := range n {
		id := i % len(words)
		if i >= 40 {
			id = i % 9 // the long ones a few times only
		}
		s.Response = append(s.Response, int32(id))
		s.LogProbs = append(s.LogProbs, -0.5)
		d := float32(0)
		if i%3 == 0 {
			d = gap
		}
		s.TrainLogProbs = append(s.TrainLogProbs, -0.5-d)
		s.Entropy = append(s.Entropy, 0.3)
		text.Write(words[id])
	}
	s.Text = text.String()
	s.Versions = []rl.Span{{Version: rl.NewVersion(0, 1), Tokens: n - n/2}, {Version: rl.NewVersion(0, 2), Tokens: n / 2}}
	if slot == 3 {
		s.Stop = rl.StopLength
	}
	return samples.Sample{Sample: s}
}

func (m *maker) samples(c, n int) {
	m.t.Helper()
	b := samples.Batch{Cycle: c}
	for g := range int64(4) {
		for slot := range 4 {
			b.Samples = append(b.Samples, sample(g, slot, n, float32(slot)*0.4))
		}
	}
	m.must(m.dir.WriteSamples(b))
}

// wholes are the runs that whole has written, by whether they are exact.
var wholes = map[bool]string{}

// whole returns a copy of a run of 60 cycles with everything, and a hole of four cycles.
func whole(t *testing.T, exact bool) string {
	if wholes[exact] == "" {
		dir, err := os.MkdirTemp(scratch, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(write(t, exact))); err != nil {
			t.Fatal(err)
		}
		wholes[exact] = dir
	}
	dir := filepath.Join(t.TempDir(), "a-run")
	if err := os.CopyFS(dir, os.DirFS(wholes[exact])); err != nil {
		t.Fatal(err)
	}
	return dir
}

// scratch is a folder for what several tests read.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func write(t *testing.T, exact bool) string {
	m := begin(t, "")
	_, err := m.dir.WriteConfig(map[string]run.Setting{
		"recipe": {Value: "tiny-arithmetic", Origin: "default"}, "num-rollout": {Value: 60, Origin: "flag"}, "loop": {Value: "sync", Origin: "recipe tiny-arithmetic"}, "lr": {Value: 1e-5, Origin: "file it's.flags"},
		"rollout-seed": {Value: 42, Origin: "default"}, "rollout-max-response-len": {Value: 4096, Origin: "recipe"}, "build": {Value: "furlong v1", Origin: "build"}, "skip": {Value: false, Origin: "flag"}, "key": {Value: "x", Origin: "flag", Secret: true},
		"label": {Value: hostile, Origin: "flag"},
	})
	m.must(err)
	m.eval(0, 3)
	for c := 1; c <= 60; c++ {
		v := values(c, exact)
		switch c {
		case 20, 21, 22, 23:
			continue
		case 30:
			v["rollout/raw_reward"] = math.NaN()
		case 31:
			delete(v, "rollout/raw_reward")
		case 40:
			v["update/retries"] = 1
		}
		m.row(c, v)
	}
	m.samples(59, 12)
	m.samples(60, 40)
	m.eval(60, 6)
	m.must(m.dir.WriteExperts(run.Experts{Cycle: 60, Sides: 1, Layers: 2, Experts: 4, Tokens: []uint32{10, 10, 10, 10, 0, 1, 40, 3}, Agreement: []float32{1, 1}}))
	m.must(m.dir.WriteAlarm(run.Alarm{Kind: run.Raised, ID: "truncated", Severity: "warning", Cycle: 12, Text: "half of it " + hostile}))
	m.must(m.dir.WriteAlarm(run.Alarm{Kind: run.Raised, ID: "gap", Severity: "error", Cycle: 13, Text: "differ"}))
	m.must(m.dir.WriteAlarm(run.Alarm{Kind: run.Cleared, ID: "gap", Cycle: 15}))
	m.must(m.dir.End(run.Finished, "all cycles are done"))
	return m.dir.Path()
}

func read(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Read(dir, self, noon.Add(time.Hour), Tokens)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func html(t *testing.T, r *Run) string {
	t.Helper()
	b, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFiguresAreGolden(t *testing.T) {
	for name, exact := range map[string]bool{"mixed": false, "exact": true} {
		for _, f := range read(t, whole(t, exact)).Figures() {
			path := filepath.Join("testdata", name+"-"+f.Name+".svg")
			got := f.Inline()
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != got {
				t.Errorf("figure is not %s (%v); look at it, then go test ./report -update", path, err)
			}
		}
	}
}

var drawings = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// The page is whole, parses, needs nothing from elsewhere, and is the same text each time.
func TestPage(t *testing.T) {
	dir := whole(t, false)
	r := read(t, dir)
	page := html(t, r)
	if len(page) > Largest || page != html(t, read(t, dir)) {
		t.Errorf("page of %d bytes, want at most %d, and the same twice", len(page), Largest)
	}
	all := drawings.FindAllString(page, -1)
	figures := 0
	for _, svg := range all {
		if strings.Contains(svg, `class="figure"`) {
			figures++
		}
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("a figure is no XML: %v in %.200s", err, svg)
			}
		}
	}
	if figures != 8 {
		t.Errorf("%d figures, want seven and the experts'", figures)
	}
	for _, want := range []string{
		"Finished, 60 of 60 cycles", "Reward 0.44 → 0.61", "Held-out pass@1 0.38 → 0.75", "cycle 60, group 0, sample 3", "✕ wrong", "✓ right", "largest gap", "by lot", "truncated", "v1 → v2",
		"num-rollout", "flag", "it&#39;s.flags", "not written", r.Digest, "furlong v1", "class=\"l4\"", "since cycle 12", "cycles 13 to 15", "U+202E", "⟨E2 80⟩", "⟨76 marks⟩", "⏎",
		"Problems without a right answer at first and with one at last: 1", "pass@1 from cycle 0 to 60: ", "9 min 20 s", "50 %",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	body, _, _ := strings.Cut(page, `<script type="application/json"`)
	for _, want := range []string{"--num-rollout 60", "<td>42</td>", "furlong v1", r.Digest, "Reward 0.44 → 0.61", "half of it"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q to people", want)
		}
	}
	for _, foreign := range []string{"src=", "http-equiv=\"refresh", "@import", "url(", "javascript:", "<link rel=\"stylesheet"} {
		if strings.Contains(strings.ReplaceAll(page, "img src=x", ""), foreign) {
			t.Errorf("the page holds %q", foreign)
		}
	}
	if n := strings.Count(page, "http"); n != strings.Count(page, "http-equiv")+strings.Count(page, "http://www.w3.org/2000/svg") {
		t.Errorf("%d addresses or so on the page", n)
	}
}

// Whatever a run's files say is text: no tag, no attribute and no end of a script comes of it.
func TestHostileText(t *testing.T) {
	page := html(t, read(t, whole(t, false)))
	for _, bad := range []string{"<script>window", "<img", "<svg/onload", "\u202e", "\u2066", "\x1b", "\x00", "\u2028"} {
		if at := strings.Index(page, bad); at >= 0 {
			t.Errorf("the page holds %q: %.120q", bad, page[max(0, at-40):])
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d script elements, want the one with data", n)
	}
	if strings.Contains(page, "49") && strings.Contains(page, "{{") {
		if !strings.Contains(page, "{{7*7}}") {
			t.Error("a template within text was carried out")
		}
	}
	from := strings.Index(page, `id="run">`) + len(`id="run">`)
	var s Summary
	if err := json.Unmarshal([]byte(page[from:from+strings.Index(page[from:], "</script>")]), &s); err != nil || s.State != run.Finished || len(s.Alarms) != 2 {
		t.Errorf("the data of the page are %+v, %v", s, err)
	}
}

// Gaps are gaps: of the 60 cycles four have no row, one no reward, and one's reward is no number.
func TestGaps(t *testing.T) {
	r := read(t, whole(t, false))
	c := r.data.of("rollout/raw_reward")
	if len(c.X) != 57 { // 56 rows, and one place where the four are missing
		t.Errorf("%d places, want 57", len(c.X))
	}
	if c.N != 54 || !slices.Equal(c.Odd, []float64{30}) {
		t.Errorf("%d rewards, not finite in %v, want 54 and cycle 30", c.N, c.Odd)
	}
	for i, x := range c.X {
		missing := x >= 20 && x <= 23 || x == 30 || x == 31
		if missing != math.IsNaN(c.Y[i]) {
			t.Errorf("cycle %v is %v", x, c.Y[i])
		}
	}
	if spans := r.data.lost(); len(spans) != 1 || spans[0] != [2]float64{19.5, 23.5} {
		t.Errorf("lost are %v, want 20 to 23", spans)
	}
	all := r.average("rollout/raw_reward", c, 5)
	for i, x := range c.X {
		if (x == 30 || x == 31 || x == 22) && !math.IsNaN(all[i]) {
			t.Errorf("the average of cycle %v is %v", x, all[i])
		}
	}
}

// Where no token differs, the gap's figure is the sentence, and no token has a colour.
func TestExact(t *testing.T) {
	r := read(t, whole(t, true))
	if f := r.Figures()[1]; f.Note != "0 in all 56 cycles: the same bits for 224,000 tokens." {
		t.Errorf("the gap's figure says %q", f.Note)
	}
}

func TestEmptyAndBroken(t *testing.T) {
	empty := t.TempDir()
	if page := html(t, read(t, empty)); !strings.Contains(page, "No run here") || !strings.Contains(page, "No sample is kept") {
		t.Error("an empty directory is told as something else")
	}
	if _, err := Read(filepath.Join(empty, "gone"), self, noon, Tokens); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := Read("report_test.go", self, noon, Tokens); err == nil {
		t.Error("a file is read as a run")
	}
	m := begin(t, "")
	page := html(t, read(t, m.dir.Path()))
	if !strings.Contains(page, "No cycle is finished yet") || !strings.Contains(page, "● running") {
		t.Error("a run without rows is told as something else")
	}
	m.must(m.dir.End(run.Failed, "disk is full"))
	if page := html(t, read(t, m.dir.Path())); !strings.Contains(page, "It said: disk is full") || !strings.Contains(page, "--resume") {
		t.Error("a run that failed is told as something else")
	}

	dir := whole(t, false)
	for name, text := range map[string]string{"metrics.jsonl": "not JSON\n{\"kind\":", "alarms.jsonl": "[]\n", "config.json": "{", "status.json": "]", "samples/index/tail.fli": "garbage", "eval/held/c000060.jsonl": "{}\n", "experts/c000060.bin": "short"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	r := read(t, dir)
	page = html(t, r)
	if !strings.Contains(page, "Not read") || len(r.Problems) < 5 || len(r.Figures()) != 7 {
		t.Errorf("damaged files are told as %q", r.Problems)
	}
	if strings.Contains(strings.Join(r.Problems, " "), dir) {
		t.Errorf("problems name the whole path: %q", r.Problems)
	}
}

// One row, one evaluation: points and bars, no lines, no panic.
func TestSingleRow(t *testing.T) {
	m := begin(t, "")
	m.eval(0, 3)
	m.row(1, values(1, false))
	m.must(m.dir.End(run.Stopped, "interrupted"))
	r := read(t, m.dir.Path())
	if page := html(t, r); strings.Contains(page, "NaN") || !strings.Contains(page, "Stopped after 1 of 60 cycles") {
		t.Error("a run of one row is told wrongly")
	}
}

// Cycles that ran again are told, and alarms of lost cycles are not.
func TestResumed(t *testing.T) {
	m := begin(t, "")
	for c := 1; c <= 12; c++ {
		m.row(c, values(c, false))
	}
	m.must(m.dir.WriteAlarm(run.Alarm{Kind: run.Raised, ID: "lost", Cycle: 12, Text: "of a cycle that ran again"}))
	m.must(m.dir.End(run.Stopped, ""))
	n := begin(t, m.dir.Path())
	for c := 11; c <= 14; c++ {
		v := values(c, false)
		if c == 12 {
			v["rollout/raw_reward"]++
		}
		n.row(c, v)
	}
	n.must(n.dir.End(run.Finished, ""))
	page := html(t, read(t, m.dir.Path()))
	for _, want := range []string{"1 cycle ran twice with equal values.", "cycle 12: rollout/raw_reward", "start 2 of the run", "Cycles that ran twice with unequal values: 12"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "of a cycle that ran again") {
		t.Error("an alarm of a lost cycle is told")
	}
}

func TestCommand(t *testing.T) {
	r := read(t, whole(t, false))
	got := r.Command()
	if want := "furlong train --label '<script>"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " --lr 0.00001 --num-rollout 60 --no-skip") {
		t.Errorf("command is %q", got)
	}
	if got := quote("it's"); got != `'it'\''s'` {
		t.Errorf("quoted: %s", got)
	}
}

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		n, place, room int
		want           string
	}{
		{5, 2, 8, "0 1 2 3 4"},
		{20, 10, 8, "0 1 8 9 10 11 18 19"},
		{20, 0, 8, "0 1 18 19"},
		{0, 0, 8, ""},
	} {
		if got := strings.Trim(fmt.Sprint(window(tt.n, tt.place, tt.room)), "[]"); got != tt.want {
			t.Errorf("of %d around %d there are %s, want %s", tt.n, tt.place, got, tt.want)
		}
	}
}

func TestShade(t *testing.T) {
	for gap, want := range map[float64]string{0: "", 0.049: "", 0.05: "h1", 0.2: "h2", 0.5: "h3", 1: "h4", 30: "h4", -0.05: "l1", -0.3: "l2", -0.99: "l3", -1: "l4", math.Inf(1): "odd", math.NaN(): "odd"} {
		if got := shade(gap); got != want {
			t.Errorf("a gap of %v is %q, want %q", gap, got, want)
		}
	}
}

// Ten samples, none twice, two for each reason, and the same ten each time.
func TestPick(t *testing.T) {
	dir := whole(t, false)
	names := func(r *Run) (all []string) {
		for _, s := range r.Samples {
			all = append(all, fmt.Sprintf("%s %d/%d/%d", s.Why, s.Row.Cycle, s.Row.Group, s.Row.Slot))
		}
		return all
	}
	got := names(read(t, dir))
	if len(got) != 10 || !slices.Equal(got, names(read(t, dir))) {
		t.Fatalf("samples are %q", got)
	}
	want := []string{"best 60/0/1", "best 60/1/1", "worst 60/0/0", "worst 60/1/0", "largest gap 60/0/3", "largest gap 60/1/3", "truncated 60/2/3", "truncated 60/3/3"}
	if !slices.Equal(got[:8], want) || !strings.HasPrefix(got[8], "by lot ") || !strings.HasPrefix(got[9], "by lot ") {
		t.Errorf("samples are %q, want %q and two by lot", got, want)
	}
	if err := os.Remove(filepath.Join(dir, "samples", samples.Name(60, ""))); err != nil {
		t.Fatal(err)
	}
	for _, n := range names(read(t, dir)) {
		if !strings.Contains(n, " 59/") {
			t.Errorf("%s is shown, whose body is gone", n)
		}
	}
}

// Long answers do not make the page too large: the strip shows what matters, and the page stays below its bound.
func TestLarge(t *testing.T) {
	m := begin(t, "")
	m.row(1, values(1, false))
	m.samples(1, 900)
	m.must(m.dir.End(run.Finished, ""))
	r := read(t, m.dir.Path())
	page := html(t, r)
	if len(page) > Largest || len(r.Samples[0].Cells) > Tokens/10 || !strings.Contains(page, " tokens …") || strings.Contains(page, "left out: the page") {
		t.Errorf("%d bytes, %d tokens of a sample", len(page), len(r.Samples[0].Cells))
	}
	for _, limit := range []int{100_000, 10_000} {
		b, err := r.within(limit)
		if err != nil || len(b) > max(limit, 60_000) || !strings.Contains(string(b), "Further samples are left out") {
			t.Errorf("%d bytes where there is room for %d, %v", len(b), limit, err)
		}
	}
}

func TestSpread(t *testing.T) {
	var got []int
	for i := range 100 {
		if spread(i, 100, 10) {
			got = append(got, i)
		}
	}
	if len(got) != 10 || got[0] != 0 || got[9] != 99 {
		t.Errorf("of 100 rows %v are shown, want ten with both ends", got)
	}
}

// The account that a run keeps is shown, and where it keeps none its sums.
func TestAccount(t *testing.T) {
	r := &Run{data: columns{cycles: []metrics.Row{{Cycle: 1, Values: map[string]float64{"rollout/tokens": 5, "train/tokens": 4}}}}}
	if rows := r.account(); len(rows) != 2 || rows[0].Tokens != "5" || rows[1].Name != "trained" {
		t.Errorf("sums are %+v", rows)
	}
	r.data.cycles[0].Values = map[string]float64{"account/tokens/generated": 1234, "account/samples/generated": 7, "account/tokens/dropped/stale": 3, "account/tokens/dropped/trim": 0}
	rows := r.account()
	if len(rows) != 6 || rows[0] != (accountRow{"generated", "1,234", "7", "–"}) || rows[5].Name != "dropped: stale" || rows[5].Tokens != "3" {
		t.Errorf("account is %+v", rows)
	}
}
