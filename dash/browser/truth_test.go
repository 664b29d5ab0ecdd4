package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// What the charts of the overview show by line: the card, the number of the line, its series.
var lines = []struct {
	card string
	line int
	key  string
}{
	{"reward", 0, "rollout/raw_reward"},
	{"gap", 0, "train/logp_diff/mean"},
	{"gap", 1, "train/logp_diff/p99"},
	{"truncated", 0, "rollout/truncated_ratio"},
	{"throughput", 0, "perf/tokens_per_gpu_per_sec"},
	{"throughput", 1, "perf/actor_train_tok_per_s"},
	{"staleness", 0, "rollout/staleness/mean"},
	{"staleness", 1, "rollout/staleness/max"},
}

// plain is a value as a page writes it: without the quotes of what is not finite, a dash where there is none.
func plain(raw string) string {
	if raw == "" || raw == "null" {
		return "–"
	}
	return strings.Trim(raw, `"`)
}

// TestNumbersAreTheFiles holds tables and hover texts to the bytes of metrics.jsonl, at places drawn by lot.
func TestNumbersAreTheFiles(t *testing.T) {
	need(t)
	rows := stored(t, made(t))
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	cycles := cyclesWith(rows, "rollout/raw_reward")
	dice := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		l, c := lines[dice.IntN(len(lines))], cycles[dice.IntN(len(cycles))]
		p := tb.at(l.card, c, l.line)
		tb.mouse(input.DispatchMouseEventTypeMouseMoved, min(p.X, p.Right-1), (p.Top+p.Bottom)/2)
		c = tb.hovered(l.card, c)
		got := eval[[]string](tb, fmt.Sprintf(`[...document.querySelectorAll('[data-id="%s"] .tip div')].map((d) => d.querySelector("b")?.textContent)`, l.card))
		if want := plain(rows[c][l.key]); !slices.Contains(got[1:], want) {
			t.Errorf("hover of cycle %d on %s says %q, the file %s for %s", c, l.card, got, want, l.key)
		}
	}
	for _, card := range []string{"reward", "gap", "truncated", "throughput", "staleness"} {
		tb.table(card, rows)
	}
}

// hovered waits for the card's hover text and gives the cycle it is about: a pixel may hold two, so the next one will do.
func (tb *tab) hovered(card string, c int) int {
	tb.t.Helper()
	says := fmt.Sprintf(`+(/^cycle (\d+)$/.exec(document.querySelector('[data-id="%s"] .tip:not([hidden]) b')?.textContent)?.[1] ?? -9)`, card)
	tb.until(fmt.Sprintf(`Math.abs(%s - %d) <= 1`, says, c))
	return eval[int](tb, says)
}

func cyclesWith(rows map[int]map[string]string, key string) (out []int) {
	for c, r := range rows {
		if r[key] != "" {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}

// table turns a chart into a table and holds every cell to the file.
func (tb *tab) table(card string, rows map[int]map[string]string) {
	tb.t.Helper()
	eval[any](tb, fmt.Sprintf(`(document.querySelector('[data-id="%s"] .plot').focus(), null)`, card))
	tb.key("t")
	tb.until(fmt.Sprintf(`document.querySelector('[data-id="%s"] .table')`, card))
	cells := eval[[][]string](tb, fmt.Sprintf(`[...document.querySelectorAll('[data-id="%s"] .table tr')].map((r) => [...r.children].map((c) => c.textContent))`, card))
	if len(cells) < 100 {
		tb.t.Fatalf("%s has %d rows as a table", card, len(cells))
	}
	for _, row := range cells[1:] {
		cycle, err := strconv.Atoi(row[0])
		if err != nil {
			tb.t.Fatal(err)
		}
		for i, got := range row[1:] {
			if want := plain(rows[cycle][cells[0][i+1]]); got != want {
				tb.t.Errorf("%s, cycle %d: the table says %s for %s, the file %s", card, cycle, got, cells[0][i+1], want)
			}
		}
	}
	tb.key("t")
}

// TestAverageIsTheReference computes the moving average of the reward slowly and compares.
func TestAverageIsTheReference(t *testing.T) {
	need(t)
	rows := stored(t, made(t))
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	got := eval[struct {
		Cycle  []int
		Avg    []*float64
		Window int
	}](tb, `(() => { const r = document.querySelector('[data-id="reward"] .plot').chart.rows; return {Cycle: r.cycle, Avg: r.avg["rollout/raw_reward"], Window: r.window}; })()`)
	if want := 9; got.Window != want { // 186 planned cycles / 20
		t.Errorf("the average is over %d, want %d", got.Window, want)
	}
	var before []float64
	compared := 0
	for i, c := range got.Cycle {
		v, err := strconv.ParseFloat(rows[c]["rollout/raw_reward"], 64)
		if err != nil || math.IsNaN(v) {
			continue
		}
		before = append(before, v)
		if len(before) < (got.Window+1)/2 {
			continue
		}
		sum, n := 0.0, 0
		for k := len(before) - 1; k >= 0 && n < got.Window; k-- {
			sum, n = sum+before[k], n+1
		}
		if got.Avg[i] == nil || math.Abs(*got.Avg[i]-sum/float64(n)) > 1e-12 {
			t.Errorf("cycle %d: the average is %v, want %v", c, got.Avg[i], sum/float64(n))
		}
		compared++
	}
	if compared < 150 {
		t.Errorf("%d averages compared, want most of 186", compared)
	}
}

// TestWordsAreTheClosingJSON holds the sentence about evaluations to what furlong train --json closed with.
func TestWordsAreTheClosingJSON(t *testing.T) {
	need(t)
	dir := trained(t)
	b, err := os.ReadFile(dir + ".json")
	if err != nil {
		t.Fatal(err)
	}
	diff, ci := closing(t, b)
	s, tb := serve(t, "127.0.0.1:0", dir), open(t, 1280, 800)
	tb.to(s.url + "/r/trained/")
	tb.drawn()
	said := eval[string](tb, `document.querySelector('.verdict[data-id="learning"]').textContent`)
	want := fmt.Sprintf("%s [%s, %s]", signed(diff), signed(ci[0]), signed(ci[1]))
	if !strings.Contains(said, want) {
		t.Errorf("the page says %q, want %q in it, as the run closed", said, want)
	}
}

// closing finds the difference of pass@1 anywhere in the closing JSON.
func closing(t *testing.T, b []byte) (diff float64, ci [2]float64) {
	t.Helper()
	var any map[string]json.RawMessage
	if err := json.Unmarshal(b, &any); err != nil {
		t.Fatal(err)
	}
	var found struct {
		Diff float64    `json:"pass@1"`
		CI   [2]float64 `json:"pass@1_ci95"`
	}
	i := strings.Index(string(b), `"diff":{`)
	if i < 0 {
		t.Fatalf("the closing JSON has no diff: %s", b)
	}
	if err := json.NewDecoder(strings.NewReader(string(b[i+len(`"diff":`):]))).Decode(&found); err != nil {
		t.Fatal(err)
	}
	return found.Diff, found.CI
}

// signed is a number with its sign and two decimals, as words have it.
func signed(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	switch {
	case s == "0.00":
		return "0.00"
	case v < 0:
		return "−" + s
	}
	return "+" + s
}
