package browser

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// beat writes the status of a run on another machine, whose lock can't be seen from here: alive while its heart beats.
func beat(t *testing.T, dir, state string, serving int) {
	t.Helper()
	now := float64(time.Now().UnixMilli()) / 1000
	b, err := json.Marshal(map[string]any{
		"state": state, "pid": 1, "host": "elsewhere", "started": now - 100, "beat": now, "attempt": 1, "cycle": 30, "planned": 100, "phase": "train", "phase_since": now, "exit": map[string]string{"failed": "out of memory"}[state], "serving": serving,
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "status.json"), b)
}

// TestCrashMovesNothing has a run fail while its page is read: how it ended and how to go on are said, and nothing that somebody may be reading moves.
func TestCrashMovesNothing(t *testing.T) {
	need(t)
	for _, width := range []int{1280, 390} {
		dir := small(t, rows(1, 30))
		write(t, filepath.Join(dir, "checkpoints", "step-000020", "manifest.json"), []byte("{}"))
		beat(t, dir, "running", 31)
		s, tb := serve(t, "127.0.0.1:0", dir), open(t, width, 800)
		tb.to(s.url + "/r/small/")
		tb.settled()
		tb.until(`/running/.test(document.querySelector(".life").textContent)`)
		const places = `[...document.querySelectorAll(".verdict, .verdict h2, main .bar, main > div > .grid .card")].map((n) => { const b = n.getBoundingClientRect(); return [n.className, b.left, b.top, b.width].join(" "); })`
		before := eval[[]string](tb, places)
		beat(t, dir, "failed", 31)
		tb.until(`/Failed in cycle/.test(document.querySelector(".verdict").textContent)`)
		alive := eval[string](tb, `document.querySelector('[data-id="alive"]').textContent`)
		for _, want := range []string{"out of memory", "step-000020", "furlong train --run-dir", "--resume", "Last "} {
			if !strings.Contains(alive, want) {
				t.Errorf("at %d the first verdict says %q, want %q in it", width, alive, want)
			}
		}
		after := eval[[]string](tb, places)
		for i := range before {
			if before[i] != after[i] {
				t.Errorf("at %d, %s moved to %s", width, before[i], after[i])
			}
		}
		tb.shot("crash-" + map[int]string{1280: "1280", 390: "390"}[width])
	}
}

// TestServingIsOfNow has weights be pushed while a page is open: it says what serves now, and, when the run is over, what served last.
func TestServingIsOfNow(t *testing.T) {
	need(t)
	all := rows(1, 30)
	for _, r := range all {
		r["rollout/staleness/mean"] = 0
	}
	dir := small(t, all)
	beat(t, dir, "running", 31)
	s, tb := serve(t, "127.0.0.1:0", dir), open(t, 1280, 800)
	tb.to(s.url + "/r/small/")
	tb.drawn()
	const key = `document.querySelector('[data-id="staleness"] .key').textContent`
	tb.until(`/serving v31$/.test(` + key + `)`)
	beat(t, dir, "running", 32)
	tb.until(`/serving v32$/.test(` + key + `)`)
	beat(t, dir, "finished", 33)
	tb.until(`/served last v33$/.test(` + key + `)`)
}
