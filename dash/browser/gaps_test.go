package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// painted counts the pixels of a colour between two cycles on a chart, edges left out.
func (tb *tab) painted(card, colour string, from, to float64) int {
	tb.t.Helper()
	tb.expect("willReadFrequently") // said of this very reading
	return eval[int](tb, fmt.Sprintf(`(async () => {
		const { colour } = await import("/assets/dom.js"), want = colour(%q).match(/\d+/g).map(Number), c = document.querySelector('[data-id="%s"] .plot').chart, u = c.u, r = devicePixelRatio;
		const x0 = Math.ceil(u.valToPos(c.xOf(%v), "x", true)) + 3, x1 = Math.floor(u.valToPos(c.xOf(%v), "x", true)) - 3, d = u.ctx.getImageData(x0, u.bbox.top, Math.max(1, x1 - x0), u.bbox.height).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - want[0]) + Math.abs(d[i + 1] - want[1]) + Math.abs(d[i + 2] - want[2]) < 60) n++;
		return n;
	})()`, colour, card, from, to))
}

// TestGapsAreGaps looks at the pixels: lost cycles are not painted over, what is measured now and then is joined, and no line goes back.
func TestGapsAreGaps(t *testing.T) {
	need(t)
	lost := planted(t).Crash.Lost
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/?from=100&to=140")
	tb.drawn()
	tb.all(100, 140)
	for _, c := range []string{"teal", "orange"} {
		if n := tb.painted("gap", c, float64(lost[0]-1), float64(lost[1]+1)); n != 0 {
			t.Errorf("%d %s pixels lie in the lost cycles %v", n, c, lost)
		}
		if n := tb.painted("gap", c, 102, 110); n == 0 {
			t.Errorf("no %s pixel lies between cycles 102 and 110", c)
		}
	}
	if n := tb.painted("pass", "purple", 112, 118); n == 0 {
		t.Error("evaluations are not joined across the cycles between them")
	}
	if back := eval[int](tb, `Math.min(...[...document.querySelectorAll(".plot")].map((p) => p.chart?.u ? p.chart.u.data[0].reduce((n, x, i, a) => n + (i && x <= a[i - 1] ? 1 : 0), 0) : 0))`); back != 0 {
		t.Errorf("a line goes left %d times", back)
	}
	tb.shot("gap-after-crash")
}

// small writes a run of its own rows beside the settings of the made one.
func small(t *testing.T, rows []map[string]any) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"config.json", "status.json", "run.lock"} {
		b, err := os.ReadFile(filepath.Join(made(t), f))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, f), b)
	}
	write(t, filepath.Join(dir, "metrics.jsonl"), join(t, rows))
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

func join(t *testing.T, rows []map[string]any) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, r := range rows {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

// row is a plausible row of a cycle.
func row(c int) map[string]any {
	return map[string]any{
		"kind": "cycle", "cycle": c, "step": c, "version": c + 1, "attempt": 1, "time": 1764403200 + 40*c, "train/step": c, "rollout/raw_reward": 0.4 + 0.001*float64(c%37),
		"train/logp_diff/mean": 0.09 + 0.0001*float64(c%11), "train/logp_diff/p99": 0.4 + 0.001*float64(c%7), "perf/step_time": 40, "perf/train_time": 40, "train/tokens_total": 1000 * c, "train/tokens": 1000,
	}
}

func rows(from, to int) (out []map[string]any) {
	for c := from; c <= to; c++ {
		out = append(out, row(c))
	}
	return out
}

// TestLonelyAndOddValues paints a value that stands alone, breaks the line at what is missing, and counts what is not finite.
func TestLonelyAndOddValues(t *testing.T) {
	need(t)
	all := rows(1, 60)
	for _, c := range []int{20, 21, 22, 24, 25, 26} { // 23 stands alone
		delete(all[c-1], "train/logp_diff/mean")
	}
	all[39]["train/logp_diff/mean"] = "NaN"
	all[44]["train/logp_diff/mean"] = "Infinity"
	s, tb := serve(t, "127.0.0.1:0", small(t, all)), open(t, 1280, 800)
	tb.to(s.url + "/r/small/")
	tb.drawn()
	if n := tb.painted("gap", "teal", 22.3, 23.7); n == 0 {
		t.Error("a value that stands alone is not painted")
	}
	for _, hole := range [][2]float64{{19, 22.3}, {23.8, 27}, {39, 41}, {44, 46}} {
		if n := tb.painted("gap", "teal", hole[0], hole[1]); n != 0 {
			t.Errorf("%d pixels of the line lie between cycles %v, where nothing was measured", n, hole)
		}
	}
	if n := tb.painted("gap", "bad", 39, 41); n == 0 {
		t.Error("no cross stands where the gap is NaN")
	}
	if said := eval[string](tb, `document.querySelector('[data-id="gap"] .now').textContent`); !bytes.Contains([]byte(said), []byte("2 non-finite")) {
		t.Errorf("the card says %q, want 2 non-finite", said)
	}
	tb.shot("lonely")
}

// TestStates shows something in words for runs with nothing to draw.
func TestStates(t *testing.T) {
	need(t)
	for name, tt := range map[string]struct {
		rows []map[string]any
		says string
	}{
		"no rows": {nil, "No cycle is done yet|This run has no cycles"},
		"one row": {rows(1, 1), "a fit needs 10 cycles"},
		"no eval": {rows(1, 30), "No evaluation yet"},
	} {
		t.Run(name, func(t *testing.T) {
			s, tb := serve(t, "127.0.0.1:0", small(t, tt.rows)), open(t, 1280, 800)
			tb.to(s.url + "/r/small/")
			tb.until(fmt.Sprintf(`/%s/.test(document.body.innerText)`, tt.says))
			tb.shot("state-" + name)
		})
	}
	t.Run("no run", func(t *testing.T) {
		s, tb := serve(t, "127.0.0.1:0", t.TempDir()), open(t, 1280, 800)
		tb.to(s.url + "/")
		tb.until(`/No run here/.test(document.body.innerText) && /furlong train/.test(document.body.innerText)`)
		tb.expect("404")
		tb.to(s.url + "/r/nothing/")
		tb.until(`document.querySelector("[role=alert]")`)
	})
}
