package browser

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ranges are the ranges of x of all charts, and where their cursors are as cycles.
type ranges struct {
	Min, Max []float64
	Cursor   []int
}

func (tb *tab) ranges() ranges {
	tb.t.Helper()
	return eval[ranges](tb, `(() => { const cs = [...document.querySelectorAll("main > div > .grid .plot")].map((p) => p.chart).filter((c) => c.u);
		const near = (c) => { const x = c.u.posToVal(c.u.cursor.left, "x"); let best = 0; c.rows.x.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(c.rows.x[best] - x)) best = i; }); return c.rows.cycle[best]; };
		return {Min: cs.map((c) => c.u.scales.x.min), Max: cs.map((c) => c.u.scales.x.max), Cursor: cs.map((c) => c.u.cursor.left < 0 ? -1 : near(c))}; })()`)
}

// all waits until every chart has this range.
func (tb *tab) all(from, to float64) {
	tb.t.Helper()
	tb.until(fmt.Sprintf(`(() => { const cs = [...document.querySelectorAll("main > div > .grid .plot")].map((p) => p.chart); return cs.length === 7 && cs.every((c) => c.u && Math.abs(c.u.scales.x.min - %v) < 1e-6 && Math.abs(c.u.scales.x.max - %v) < 1e-6); })()`, from, to))
}

// TestOneCursorOneRange hovers, zooms by a drag, goes back, and changes the axis: all seven charts follow.
func TestOneCursorOneRange(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	p := tb.at("reward", 37, 0)
	tb.mouse(input.DispatchMouseEventTypeMouseMoved, p.X, p.Y)
	tb.until(`/cycle 37/.test(document.querySelector(".bar .end").textContent)`)
	for i, c := range tb.ranges().Cursor {
		if c != 37 {
			t.Errorf("the cursor of chart %d is at cycle %d, want 37", i, c)
		}
	}
	tb.all(0, 186)

	a, b := tb.at("reward", 30, 0), tb.at("reward", 74, 0)
	tb.drag(a.X, a.Top+60, b.X, a.Top+80)
	tb.all(30, 74)
	if u := eval[string](tb, `location.search`); !strings.Contains(u, "from=30") || !strings.Contains(u, "to=74") {
		t.Errorf("the address ends in %q, want from=30 and to=74", u)
	}
	if eval[bool](tb, `Boolean(document.querySelector(".drawer"))`) {
		t.Error("a drag opened a cycle")
	}
	tb.shot("zoomed")
	tb.key("0")
	tb.all(0, 186)
	tb.do(chromedp.NavigateBack())
	tb.all(30, 74)
	tb.do(chromedp.NavigateBack())
	tb.all(0, 186)
}

// TestAxisKeepsTheCycle changes to tokens and time with the cursor on a cycle, which stays under it.
func TestAxisKeepsTheCycle(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	eval[any](tb, `(document.querySelector('[data-id="reward"] .plot').focus(), null)`)
	for range 3 {
		tb.key(kb.ArrowLeft) // from the newest
	}
	tb.until(`/cycle 18[34]/.test(document.querySelector(".bar .end").textContent)`)
	was := tb.ranges().Cursor[0]
	for _, axis := range []string{"4", "3", "2"} {
		tb.key(axis)
		tb.until(fmt.Sprintf(`document.querySelector('[aria-label="Axis"] [aria-pressed="true"]').textContent === %q`, map[string]string{"4": "tokens", "3": "time", "2": "step"}[axis]))
		tb.until(`[...document.querySelectorAll("main > div > .grid .plot")].every((p) => Math.abs(p.chart.u.scales.x.max - p.chart.rows.to) < 1e-6 && p.chart.rows.x.at(-1) === p.chart.rows.to)`)
		for i, c := range tb.ranges().Cursor {
			if c != was && math.Abs(float64(c-was)) > 0 {
				t.Errorf("axis %s: the cursor of chart %d is at cycle %d, want %d", axis, i, c, was)
			}
		}
	}
	tb.shot("axis-step")
	tb.do(chromedp.NavigateBack())
	tb.until(`document.querySelector('[aria-label="Axis"] [aria-pressed="true"]').textContent === "time"`)
}

// TestReloadShowsTheSame reloads a zoomed view with an open cycle.
func TestReloadShowsTheSame(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/?x=step&from=20&to=60&avg=20&c=37")
	for range 2 {
		tb.drawn()
		tb.all(20, 60)
		tb.until(`document.querySelector(".drawer h1")?.textContent === "Cycle 37" && document.querySelector('select[aria-label="Average over"]').value === "20"`)
		tb.do(chromedp.Reload())
	}
}
