package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	escapes "html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"furlong/metrics/run"
)

// A stored row is a line of metrics.jsonl as encoding/json reads it.
type storedRow struct {
	kind    string
	cycle   int
	numbers map[string]float64 // finite ones
}

// storedRows reads metrics.jsonl on a way of its own.
func storedRows(t *testing.T, dir string) (all []storedRow) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, run.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.Lines(b) {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		r := storedRow{kind: m["kind"].(string), cycle: int(m["cycle"].(float64)), numbers: map[string]float64{}}
		for k, v := range m {
			if n, ok := v.(float64); ok {
				r.numbers[k] = n
			}
		}
		all = append(all, r)
	}
	return all
}

// series are the finite values of a key over the cycles.
func series(rows []storedRow, key string) (x, y []float64) {
	for _, r := range rows {
		if v, ok := r.numbers[key]; ok && r.kind == "cycle" {
			x, y = append(x, float64(r.cycle)), append(y, v)
		}
	}
	return x, y
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// slopeOf is the slope of the least-squares line, by the textbook.
func slopeOf(x, y []float64) float64 {
	mx, my, sxy, sxx := meanOf(x), meanOf(y), 0.0, 0.0
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
	}
	return sxy / sxx
}

// clock writes seconds as the page does from a minute on, and below.
func clock(s float64) string {
	s = math.Round(s)
	if s < 60 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
}

var (
	figureTags = regexp.MustCompile(`(?s)<(?:style|script|svg)\b.*?</(?:style|script|svg)>`)
	tags       = regexp.MustCompile(`<[^>]*>`)
	blanks     = regexp.MustCompile(`\s+`)
)

// textOf is the text of a page without its figures.
func textOf(page string) string {
	page = tags.ReplaceAllString(figureTags.ReplaceAllString(page, " "), " ")
	return blanks.ReplaceAllString(escapes.UnescapeString(page), " ")
}

// expected is what the page must say, worked out from the rows of the file alone.
func expected(rows []storedRow) (all []string) {
	x, y := series(rows, "rollout/raw_reward")
	third := len(y) / 3
	all = append(all, fmt.Sprintf("Reward %.2f → %.2f %+.3f per 100 cycles [", meanOf(y[:third]), meanOf(y[len(y)-third:]), 100*slopeOf(x, y)))
	_, gap := series(rows, "train/logp_diff/mean")
	all = append(all, fmt.Sprintf("Gap %#.3g nats", meanOf(gap)))
	var pass []float64
	for _, r := range rows {
		if r.kind != "eval" {
			continue
		}
		n := r.numbers
		pass = append(pass, n["eval/held-pass@1"])
		line := fmt.Sprintf(" %d ", r.cycle)
		cells := []string{}
		for _, k := range []string{"1", "2", "4", "8"} {
			key := "eval/held-pass@" + k
			cells = append(cells, fmt.Sprintf("%.3f [%.3f, %.3f]", n[key], n[key+"_lo"], n[key+"_hi"]))
		}
		all = append(all, line, strings.Join(cells, " ")+fmt.Sprintf(" %.0f %% %.0f ", 100*n["eval/held-truncated_ratio"], n["eval/held-problems"]))
	}
	all = append(all, fmt.Sprintf("Held-out pass@1 %.2f → %.2f:", pass[0], pass[len(pass)-1]))
	_, step := series(rows, "perf/step_time")
	total := meanOf(step) * float64(len(step))
	for name, key := range map[string]string{"rollout": "rollout_wait", "reward": "reward_wait", "train": "train", "update": "update_weights", "save": "save_model", "other": "other"} {
		_, part := series(rows, "perf/"+key+"_time")
		sum := meanOf(part) * float64(len(part))
		all = append(all, fmt.Sprintf(" %s %s %.0f %% ", name, clock(sum), 100*sum/total))
	}
	return append(all, " all cycles "+clock(total)+" ")
}

// Every number that the page says of rows is that of metrics.jsonl, read and worked out on another way.
func TestNumbersAreTheFiles(t *testing.T) {
	dir := whole(t, false)
	// Other values than the smooth ones, so that a column or a row too far shows.
	path := filepath.Join(dir, run.RowsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seed := 1
	raw = regexp.MustCompile(`("perf/(?:rollout_wait|train)_time"|"rollout/raw_reward"|"train/logp_diff/mean"|"eval/held-[^"]*"):([0-9.]+)`).ReplaceAllFunc(raw, func(m []byte) []byte {
		i := bytes.LastIndexByte(m, ':') + 1
		var v float64
		fmt.Sscan(string(m[i:]), &v)
		seed = (seed*48271 + 11) % 2147483647
		v *= 1 + 0.02*float64(seed%1000)/1000
		if strings.HasSuffix(string(m[:i]), `problems":`) {
			v = 4
		}
		return fmt.Appendf(m[:i:i], "%.9f", v)
	})
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	rows := storedRows(t, dir)
	r := read(t, dir)
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	text := textOf(string(page))
	want := expected(rows)
	if len(want) < 14 {
		t.Fatalf("only %d numbers are expected", len(want))
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			at := max(0, strings.Index(text, strings.Fields(w)[0]))
			t.Errorf("the page does not say %q, but near it %q", w, text[at:min(len(text), at+160)])
		}
	}
	// The sentences are those of the summary that programs read.
	for _, v := range r.Summary().Verdict {
		if v.ID != "alarms" && !strings.Contains(text, v.Big) {
			t.Errorf("the page does not say %q", v.Big)
		}
	}
	if i := slices.IndexFunc(rows, func(r storedRow) bool { return math.IsNaN(r.numbers["rollout/raw_reward"]) }); i >= 0 {
		t.Errorf("row %d is counted as finite", i)
	}
}
