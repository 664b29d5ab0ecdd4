package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// grow appends to the rows of a run.
func grow(t *testing.T, dir string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// watched is a run of so many cycles with its page open.
func watched(t *testing.T, cycles int, query string) (dir string, s *site, tb *tab) {
	t.Helper()
	dir = small(t, rows(1, cycles))
	s, tb = serve(t, "127.0.0.1:0", dir), open(t, 1280, 800)
	tb.to(s.url + "/r/small/" + query)
	tb.drawn()
	return dir, s, tb
}

const shown = `(document.querySelector('[data-id="reward"] .plot')?.chart?.rows?.cycle ?? [])`

// TestLive appends rows to a run that is looked at: whole, torn, in a server's absence, in place of what was there.
func TestLive(t *testing.T) {
	need(t)
	dir := small(t, rows(1, 30))
	s, tb := serve(t, "127.0.0.1:0", dir), open(t, 1280, 800)
	tb.expect("ERR_CONNECTION_REFUSED") // while the server is away
	tb.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	tb.expect("ERR_CONNECTION_RESET")
	tb.expect("ERR_EMPTY_RESPONSE")
	tb.to(s.url + "/r/small/")
	tb.drawn()

	tb.pauses()
	began := time.Now()
	grow(t, dir, join(t, rows(31, 31)))
	tb.until(shown + `.at(-1) === 31`)
	t.Logf("a row is on the page after %s", time.Since(began).Round(10*time.Millisecond))
	if ms := eval[float64](tb, `window.__pauses.reduce((sum, ms) => sum + ms, 0)`); ms > 1500 { // the server's look at the files is a quarter of a second more
		t.Errorf("the page waits %.0f ms of its own before a row is drawn, want a row within two seconds", ms)
	}
	if n := eval[int](tb, `window.__rows`); n != 1 {
		t.Errorf("%d rows came by the stream, want 1", n)
	}

	line := join(t, rows(32, 32))
	grow(t, dir, line[:40])
	grow(t, dir, line[40:])
	grow(t, dir, join(t, rows(33, 33))[:60]) // stays torn
	tb.until(shown + `.at(-1) === 32`)
	grow(t, dir, join(t, rows(33, 33))[60:])
	tb.until(shown + `.at(-1) === 33`)

	s.stop()
	tb.until(`/Disconnected at/.test(document.querySelector(".life").textContent)`)
	if n := eval[int](tb, shown+`.length`); n != 33 {
		t.Errorf("%d rows are left on the page without a server, want 33", n)
	}
	tb.shot("disconnected")
	grow(t, dir, join(t, rows(34, 36)))
	serve(t, strings.TrimPrefix(s.url, "http://"), dir)
	tb.until(shown + `.at(-1) === 36`)
	if n := eval[int](tb, fmt.Sprintf(`new Set(%s).size * 1000 + %[1]s.length`, shown)); n != 36036 {
		t.Errorf("after the server came back %d cycles in %d rows, want 36 in 36", n/1000, n%1000)
	}
	tb.until(`!/Disconnected/.test(document.querySelector(".life").textContent)`)

	write(t, filepath.Join(dir, "metrics.jsonl"), join(t, rows(1, 12))) // shorter: another file
	tb.until(shown + `.length === 12`)
}

// pauses notes from now on each wait that the page asks for, from the moment a row comes by the stream.
func (tb *tab) pauses() {
	tb.t.Helper()
	eval[any](tb, `(async () => {
		const { now } = await import("/assets/main.js"), later = window.setTimeout;
		window.__pauses = [];
		window.__rows = 0;
		now.live.source.addEventListener("row", () => window.__rows++, { capture: true });
		window.setTimeout = (f, ms, ...more) => { if (/assets/.test(new Error().stack)) window.__pauses.push(ms || 0); return later(f, ms, ...more); };
		return null;
	})()`)
}

// TestResumeUnderThePage has a run die and go on from an earlier cycle while it is looked at, and the page loaded anew in between: each cycle stands once,
// with the values of the later start.
func TestResumeUnderThePage(t *testing.T) {
	need(t)
	dir, _, tb := watched(t, 30, "")
	again := rows(28, 33)
	for _, r := range again {
		r["attempt"], r["rollout/raw_reward"] = 2, 0.9
	}
	grow(t, dir, join(t, again[:2]))
	tb.until(`(() => { const r = document.querySelector('[data-id="reward"] .plot')?.chart?.rows; return r?.cols["rollout/raw_reward"][r.cycle.indexOf(29)] === 0.9; })()`)
	tb.do(chromedp.Reload())
	tb.drawn()
	grow(t, dir, join(t, again[2:]))
	tb.until(shown + `.at(-1) === 33`)
	got := eval[struct {
		Cycle  []int
		Reward []float64
	}](tb, `(() => { const r = document.querySelector('[data-id="reward"] .plot').chart.rows; return {Cycle: r.cycle, Reward: r.cols["rollout/raw_reward"]}; })()`)
	if len(got.Cycle) != 33 {
		t.Fatalf("%d rows are shown, want one for each of 33 cycles: %v", len(got.Cycle), got.Cycle)
	}
	for i, c := range got.Cycle {
		want := row(c)["rollout/raw_reward"]
		if c >= 28 {
			want = 0.9
		}
		if c != i+1 || got.Reward[i] != want {
			t.Errorf("row %d is of cycle %d with a reward of %v, want cycle %d with %v", i, c, got.Reward[i], i+1, want)
		}
	}
}

// TestZoomedViewStays holds a zoomed view still while rows come, and says how many.
func TestZoomedViewStays(t *testing.T) {
	need(t)
	dir, _, tb := watched(t, 30, "?from=5&to=20")
	grow(t, dir, join(t, rows(31, 33)))
	tb.until(`/new cycle/.test(document.querySelector(".bar").textContent) && !document.querySelector(".bar > button").hidden`)
	tb.until(`[...document.querySelectorAll("main > div > .grid .plot")].every((p) => !p.chart.u || (p.chart.u.scales.x.min === 5 && p.chart.u.scales.x.max === 20))`)
	tb.key("f")
	tb.until(shown + `.at(-1) === 33`)
}

// TestHiddenHoldsNoStream hides a page and shows it again.
func TestHiddenHoldsNoStream(t *testing.T) {
	need(t)
	dir, _, tb := watched(t, 30, "")
	const stream = `(await import("/assets/main.js")).now.live.source`
	hide := func(hidden bool) {
		eval[any](tb, fmt.Sprintf(`(Object.defineProperty(document, "hidden", {value: %v, configurable: true}), document.dispatchEvent(new Event("visibilitychange")), null)`, hidden))
	}
	if !eval[bool](tb, `(async () => Boolean(`+stream+`))()`) {
		t.Error("a visible page holds no stream")
	}
	hide(true)
	if eval[bool](tb, `(async () => Boolean(`+stream+`))()`) {
		t.Error("a hidden page holds a stream")
	}
	grow(t, dir, join(t, rows(31, 31)))
	hide(false)
	tb.until(shown + `.at(-1) === 31`)
}

// TestHeapStaysFlat lets many rows come and holds what the page keeps.
func TestHeapStaysFlat(t *testing.T) {
	need(t)
	dir, _, tb := watched(t, 300, "")
	heap := func() float64 {
		if _, err := chromedp.Call(tb.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		u, err := chromedp.Call(tb.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		return u.UsedSize
	}
	before, last := heap(), 300
	for range 20 {
		grow(t, dir, join(t, rows(last+1, last+20)))
		last += 20
		tb.until(fmt.Sprintf(shown+`.at(-1) === %d`, last))
	}
	if grew := heap() - before; grew > 10<<20 {
		t.Errorf("400 rows made the page %.1f MB larger, want under 10", grew/(1<<20))
	}
}
