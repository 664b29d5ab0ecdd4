package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"furlong/figure"
	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
	"furlong/verdict"
)

// Largest is how many bytes a page has at most.
const Largest = 1_500_000

// Tokens is how many tokens of samples a page shows at most.
const Tokens = 6000

//go:embed page.html
var pageHTML string

//go:embed style.css
var style string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"visible": verdict.Visible,
	"count":   func(n any) string { return verdict.Count(number(n)) },
	"version": verdict.Version,
	"inc":     func(n int) int { return n + 1 },
	"lines":   func(n int) []struct{} { return make([]struct{}, min(n, 40)) },
}).Parse(pageHTML))

// number returns a whole number of whatever type.
func number(n any) float64 {
	switch v := n.(type) {
	case int:
		return float64(v)
	case uint32:
		return float64(v)
	case int64:
		return float64(v)
	}
	return math.NaN()
}

// HTML returns the page. It is shorter than [Largest]: where it would not be, there are fewer samples, and at last none.
func (r *Run) HTML() ([]byte, error) { return r.within(Largest) }

// within returns the page with as many samples as so many bytes have room for.
func (r *Run) within(limit int) ([]byte, error) {
	v := r.view()
	for {
		var b bytes.Buffer
		if err := page.Execute(&b, v); err != nil {
			return nil, fmt.Errorf("report of %s: %w", r.Dir, err)
		}
		if b.Len() < limit || len(v.Samples) == 0 {
			return b.Bytes(), nil
		}
		v.Samples = v.Samples[:len(v.Samples)/2]
		v.Cut = true
	}
}

// A view is what the page shows.
type view struct {
	Style                        template.CSS
	Name, Dir, State, Glyph      string
	Tone                         verdict.Tone
	Facts                        []string // under the title
	Sentences                    []verdict.Sentence
	Large, Small                 []template.HTML
	Load                         template.HTML
	Evals                        []evalTable
	Alarms                       []alarmRow
	Time                         []timeRow
	TimeTotal                    string
	Recipe                       string
	Settings                     []settingRow
	AllSettings                  int
	Samples                      []sampleView
	Legend                       []legendCell
	Exact, Cut                   bool // no token differs; samples were left out
	Command, Seed, Build, Digest string
	DigestOf, Again              string
	Account                      []accountRow
	Twice                        []string
	Problems                     []string
	Log                          []logRow
	Data                         Summary
}

// legendCell is a bin of colours.
type legendCell struct{ Class, Text string }

func (r *Run) view() view {
	s := r.Sentences()
	v := view{
		Style: template.CSS(figure.CSS() + style), Name: verdict.Visible(r.name()), Dir: verdict.Visible(r.Dir), State: string(r.Life.State), Glyph: verdict.Glyph(r.Life.State), Tone: s[0].Tone, //nolint:gosec // both are ours
		Facts: r.facts(), Sentences: s, Evals: r.evalTables(), Alarms: r.alarmRows(), Recipe: r.setting("recipe"), AllSettings: len(r.Settings),
		Legend: legend(), Exact: r.exact(), Command: r.Command(), Seed: r.setting("rollout-seed"), Build: r.setting("build"), Digest: r.Digest,
		Account: r.account(), Twice: r.twice(), Problems: r.Problems, Data: r.Summary(),
	}
	for i, f := range r.Figures() {
		h := template.HTML(f.Inline()) //nolint:gosec // our own drawing, whose texts are escaped
		if i < 3 {
			v.Large = append(v.Large, h)
		} else {
			v.Small = append(v.Small, h)
		}
	}
	if f := r.Load(); f != nil {
		v.Load = template.HTML(f.Inline()) //nolint:gosec // our own drawing, whose texts are escaped
	}
	v.Time, v.TimeTotal = r.timeRows()
	v.Settings = r.settingRows()
	for _, s := range r.Samples {
		v.Samples = append(v.Samples, newSampleView(s))
	}
	if r.Digest != "" {
		v.DigestOf = fmt.Sprintf("SHA-256 of metrics.jsonl, %s", verdict.Bytes(float64(r.Bytes)))
	}
	v.Log, v.Again = r.ending()
	return v
}

func (r *Run) name() string {
	if path, err := filepath.Abs(r.Dir); err == nil {
		return filepath.Base(path)
	}
	return filepath.Base(r.Dir)
}

// facts are what is said under the title.
func (r *Run) facts() (all []string) {
	if recipe := r.setting("recipe"); recipe != "" {
		all = append(all, "recipe "+verdict.Visible(recipe))
	}
	if t := r.Life.Status.Started; t > 0 {
		all = append(all, "started "+moment(t))
	}
	if t := r.Life.Status.Beat; t > 0 {
		all = append(all, "last sign of life "+moment(t))
	}
	if n := r.Life.Status.Attempt; n > 1 {
		all = append(all, fmt.Sprintf("start %d of the run", n))
	}
	return all
}

func moment(unix float64) string {
	return time.UnixMicro(int64(unix * 1e6)).UTC().Format("2 January 2006 15:04 UTC")
}

// exact reports whether no token of the samples shown differs.
func (r *Run) exact() bool {
	return !slices.ContainsFunc(r.Samples, func(s Shown) bool { return s.Row.GapMax != 0 })
}

func legend() (all []legendCell) {
	for i := len(edges); i > 0; i-- {
		all = append(all, legendCell{fmt.Sprintf("l%d", i), "≤ −" + verdict.Significant(edges[i-1], 1)})
	}
	all = append(all, legendCell{"", "less than " + verdict.Significant(edges[0], 1)})
	for i, e := range edges {
		all = append(all, legendCell{fmt.Sprintf("h%d", i+1), "≥ " + verdict.Significant(e, 1)})
	}
	return all
}

// A sampleView is a sample with its facts in words.
type sampleView struct {
	Shown
	Place   string
	Verdict string
	Tone    verdict.Tone
	Facts   []string
	Why     string // of the grader
	Label   string
	Prompt  []verdict.Piece
}

// promptChars is how many characters of a prompt are shown.
const promptChars = 1200

func newSampleView(s Shown) sampleView {
	row := s.Row
	v := sampleView{
		Shown: s, Place: fmt.Sprintf("cycle %s, group %s, sample %d", verdict.Count(float64(row.Cycle)), verdict.Count(float64(row.Group)), row.Slot),
		Verdict: "○ " + row.Verdict.String(), Tone: verdict.None, Why: short(s.Sample.Why), Label: short(s.Stored.Prompt.Label),
	}
	switch row.Verdict {
	case rl.Right:
		v.Verdict, v.Tone = "✓ right", verdict.OK
	case rl.Wrong:
		v.Verdict, v.Tone = "✕ wrong", verdict.Bad
	case rl.Invalid:
		v.Verdict, v.Tone = "▲ invalid", verdict.Warn
	}
	v.Facts = append(v.Facts, "reward "+verdict.Table(float64(row.Reward)), verdict.Count(float64(row.ResponseLen))+" tokens", "advantage "+verdict.Signed(float64(row.Advantage), 2))
	if g := float64(row.GapMax); !math.IsNaN(float64(row.GapMean)) {
		v.Facts = append(v.Facts, fmt.Sprintf("gap %s mean, %s largest", verdict.Nats(float64(row.GapMean)), verdict.Nats(g)))
	}
	v.Facts = append(v.Facts, ages(row))
	for _, n := range row.Flags.Names() {
		if row.Flags&samples.Mixed == 0 || n != "mixed" {
			v.Facts = append(v.Facts, n)
		}
	}
	for i, line := range strings.Split(verdict.Short(s.Stored.Prompt.Text, promptChars), "\n") {
		if i > 0 {
			v.Prompt = append(v.Prompt, verdict.Piece{Text: "⏎ ", Box: true})
		}
		v.Prompt = append(v.Prompt, verdict.Pieces(line)...)
	}
	return v
}

func short(text string) string { return verdict.Visible(verdict.Short(text, 300)) }

// ages says which versions chose a sample's tokens.
func ages(row samples.Row) string {
	if row.Span == 0 {
		return verdict.Version(row.Version)
	}
	return verdict.Version(row.Version) + " → " + verdict.Version(rl.NewVersion(row.Version.Epoch(), row.Version.Count()+int(row.Span)))
}

// twice says which cycles were run more than once.
func (r *Run) twice() (all []string) {
	equal, unequal := 0, []string{}
	for _, t := range r.Attempts() {
		switch {
		case t.Kind != metrics.Cycle:
		case len(t.Differ) == 0:
			equal++
		default:
			unequal = append(unequal, fmt.Sprintf("cycle %d: %s", t.Cycle, verdict.Short(verdict.Visible(strings.Join(t.Differ, ", ")), 200)))
		}
	}
	if equal > 0 {
		all = append(all, fmt.Sprintf("%s ran twice with equal values.", countCycles(equal)))
	}
	if len(unequal) > 0 {
		all = append(all, fmt.Sprintf("%s ran twice with unequal values: %s.", countCycles(len(unequal)), verdict.Short(strings.Join(unequal, "; "), 800)))
	}
	return all
}

// countCycles says how many cycles.
func countCycles(n int) string {
	if n == 1 {
		return "1 cycle"
	}
	return fmt.Sprintf("%d cycles", n)
}

type logRow struct{ Time, Level, Text string }

// ending returns the last lines of the log of a run that ended badly, and the command that goes on.
func (r *Run) ending() (lines []logRow, again string) {
	for _, l := range r.Log {
		lines = append(lines, logRow{l.Time.UTC().Format("15:04:05"), l.Level.String(), verdict.Visible(verdict.Short(l.Message+attrs(l.Attrs), 400))})
	}
	switch r.Life.State {
	case run.Crashed, run.Failed, run.Stopped:
		again = "furlong train --run-dir " + quote(r.Dir) + " --resume"
	}
	return lines, again
}

func attrs(all map[string]any) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, " %s=%v", k, all[k])
	}
	return b.String()
}
