package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestOverview is the first look: everything is there, at once, in place, and from this server alone.
func TestOverview(t *testing.T) {
	for _, run := range []struct {
		name string
		dir  func(*testing.T) string
	}{{"made", made}, {"trained", trained}} {
		t.Run(run.name, func(t *testing.T) {
			need(t)
			s, tb := serve(t, "127.0.0.1:0", run.dir(t)), open(t, 1280, 800)
			tb.to(s.url + "/r/" + run.name + "/")
			tb.drawn()
			if n := eval[int](tb, `document.querySelectorAll(".verdict").length`); n != 4 {
				t.Errorf("%d verdicts, want 4", n)
			}
			if low := eval[float64](tb, `Math.max(...[...document.querySelectorAll("main > div > .grid .card")].map((c) => c.getBoundingClientRect().bottom))`); low > 800 {
				t.Errorf("the lowest of the seven cards ends at %.0f, want at most 800", low)
			}
			for _, cut := range eval[[]string](tb, `[...document.querySelectorAll(".verdict:not(.alarms)")].filter((v) => v.scrollHeight > v.clientHeight).map((v) => v.textContent)`) {
				t.Errorf("a verdict is cut: %s", cut)
			}
			ms := firstPaint(tb, s.url+"/r/"+run.name+"/")
			t.Logf("first paint after %.0f ms, wanted under 1000", ms)
			if ms > 1000 && os.Getenv("FURLONG_TEST_TIMES") != "" { // beside other work a time says nothing
				t.Error("that is too long")
			}
			if labels := eval[string](tb, `[...document.querySelectorAll(".plot")].find((p) => p.chart.spec.share).chart.yLabels([0, 0.0002, 0.0004, 0.0006]).join()`); labels != "0%,0.02%,0.04%,0.06%" {
				t.Errorf("labels of small shares are %s", labels)
			}
			for _, r := range tb.requests() {
				if !strings.HasPrefix(r, s.url+"/") && !strings.HasPrefix(r, "data:") && !strings.HasPrefix(r, "about:") {
					t.Errorf("the page asked %s", r)
				}
			}
			tb.shot("overview-" + run.name + "-1280-light")
			tb.media("prefers-color-scheme", "dark")
			tb.drawn()
			tb.shot("overview-" + run.name + "-1280-dark")
		})
	}
}

// firstPaint is the quickest of up to five visits, since other work on the machine only makes them slower.
func firstPaint(tb *tab, url string) float64 {
	tb.t.Helper()
	const paint = `performance.getEntriesByName("first-contentful-paint")[0].startTime`
	least := eval[float64](tb, paint)
	for range 4 {
		if least <= 1000 {
			break
		}
		tb.to(url)
		tb.drawn()
		least = min(least, eval[float64](tb, paint))
	}
	return least
}

// pages are all screens of a made run.
func pages(t *testing.T) []string {
	p := planted(t)
	g := p.Jump.Group
	return []string{"/", "/r/made/", "/r/made/?c=37", "/r/made/samples", fmt.Sprintf("/r/made/group/37/%d", g), fmt.Sprintf("/r/made/sample/37/%d/0", g), "/r/made/evals", "/r/made/experts", "/r/made/time?c=37", "/r/made/config", "/r/made/log", "/compare?a=made&b=trained"}
}

// settled waits until a page shows what it has.
func (tb *tab) settled() {
	tb.t.Helper()
	tb.until(`document.querySelector("main").children.length && !/Reading…/.test(document.body.innerText) && [...document.querySelectorAll(".plot")].every((n) => n.chart?.u || n.querySelector(".says")?.textContent || n.getBoundingClientRect().top > innerHeight)`)
}

// name is what a page's pictures are called.
func name(page string) string {
	if page == "/" {
		return "runs"
	}
	if short := strings.Trim(strings.TrimPrefix(page, "/r/made"), "/"); short != "" {
		return strings.NewReplacer("/", "-", "?", "", "=", "-", "&", "-").Replace(short)
	}
	return "overview"
}

// TestEveryPage loads every page at both widths and shows it in both themes: no console entry, nothing wider than the window, no rule of WCAG broken.
func TestEveryPage(t *testing.T) {
	need(t)
	source := axe(t)
	s, tb := serve(t, "127.0.0.1:0", made(t), trained(t)), open(t, 1280, 800)
	for _, page := range pages(t) {
		for _, width := range []int{1280, 390} {
			tb.size(width, map[int]int{1280: 800, 390: 844}[width])
			tb.media("prefers-color-scheme", "light")
			tb.to(s.url + page)
			tb.settled()
			judge := source != "" && width == 1280
			if judge {
				eval[any](tb, source+"; null")
			}
			for _, theme := range []string{"light", "dark"} {
				tb.media("prefers-color-scheme", theme)
				tb.settled()
				if w := eval[int](tb, `document.documentElement.scrollWidth`); w != width {
					t.Errorf("%s is %d wide at %d: %s", page, w, width, eval[string](tb, widest))
				}
				tb.shot(fmt.Sprintf("page-%s-%d-%s", name(page), width, theme))
				if judge {
					tb.judged(page, theme)
				}
			}
		}
	}
}

// widest names the element that reaches furthest right.
const widest = `(() => { let best = null, r = 0; for (const n of document.querySelectorAll("main *")) { const b = n.getBoundingClientRect(); if (b.right > r && b.width) { r = b.right; best = n; } } return best ? best.tagName + "." + best.className + " to " + r : ""; })()`
