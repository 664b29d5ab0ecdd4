package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// TestFrameFirst holds back what the server says of a run: the frame of the page is painted all the same, and nothing moves when the answer comes.
func TestFrameFirst(t *testing.T) {
	need(t)
	target, err := url.Parse(serve(t, "127.0.0.1:0", made(t)).url)
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/r/") {
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	tb := open(t, 1280, 800)
	tb.to(slow.URL + "/r/made/")
	tb.until(`performance.getEntriesByName("first-contentful-paint").length`)
	tb.until(`document.querySelectorAll("nav.pages a").length === 7`)
	for what, n := range map[string]int{".verdict": 4, "main > div > .grid > .card": 7} {
		if got := eval[int](tb, `[...document.querySelectorAll("`+what+`")].filter((n) => n.checkVisibility() && n.querySelector("h2").textContent).length`); got != n {
			t.Errorf("%d of %s stand before the run is known, want %d", got, what, n)
		}
	}
	const places = `[...document.querySelectorAll("header#head nav a, .verdict h2, main .bar .seg, main > div > .grid > .card, main > div > .grid > .card h2")].map((n) => { const b = n.getBoundingClientRect(); return [b.left, b.top, n.tagName === "FIGURE" ? b.height : 0].map(Math.round).join(" "); })`
	before := eval[[]string](tb, places)
	tb.shot("frame-before")
	close(held)
	tb.drawn()
	after := eval[[]string](tb, places)
	tb.shot("frame-after")
	if len(before) != len(after) {
		t.Fatalf("%d things stand in the frame, %d on the page", len(before), len(after))
	}
	for i := range before {
		if before[i] != after[i] {
			t.Errorf("thing %d was at %s and moved to %s", i, before[i], after[i])
		}
	}
	if moved := eval[float64](tb, `new Promise((f) => { let sum = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) sum += e.value; }).observe({type: "layout-shift", buffered: true}); setTimeout(() => f(sum), 100); })`); moved > 0.01 {
		t.Errorf("the layout shifted by %.3f", moved)
	}
}

// TestLabelsAreWhole looks at the words in the inspector's bar of positions: none begins above its upper edge.
func TestLabelsAreWhole(t *testing.T) {
	need(t)
	f := planted(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(fmt.Sprintf("%s/r/made/sample/%d/%d/%d", s.url, f.Jump.Cycle, f.Jump.Group, f.Jump.Samples[0].Slot))
	tb.until(`document.querySelector("canvas.position")?.width`)
	over := eval[[]string](tb, `(() => {
		const out = [], p = CanvasRenderingContext2D.prototype, was = p.fillText;
		p.fillText = function (words, x, y) { out.push([words, y - this.measureText(words).actualBoundingBoxAscent]); return was.call(this, words, x, y); };
		dispatchEvent(new Event("scroll"));
		p.fillText = was;
		return out.length ? out.filter(([, y]) => y < 0).map((v) => v.join(" at ")) : ["no label at all"];
	})()`)
	for _, o := range over {
		t.Errorf("a label of the bar is cut at the top: %s", o)
	}
	tb.shot("inspector-bar")
}

// TestBarShowsWhatIsInView draws the window over the bar of positions: over all of it where the whole answer is in view, over its end where that is.
func TestBarShowsWhatIsInView(t *testing.T) {
	need(t)
	f := planted(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	window := func(path, when string) [2]float64 {
		t.Helper()
		tb.to(s.url + path)
		tb.until(`document.querySelector("canvas.position")?.width && document.querySelector(".tok.on")`)
		return eval[[2]float64](tb, `(async () => {
			`+when+`;
			await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));
			const out = [], p = CanvasRenderingContext2D.prototype, was = p.strokeRect, w = document.querySelector("canvas.position").clientWidth;
			p.strokeRect = function (x, y, width, height) { out.push(x / w, (x + width) / w); return was.call(this, x, y, width, height); };
			dispatchEvent(new Event("scroll"));
			p.strokeRect = was;
			return out;
		})()`)
	}
	tb.to(s.url + "/r/made/")
	short := eval[string](tb, fmt.Sprintf(`fetch("%s/api/r/made/samples?q=len:20..60&limit=1").then((r) => r.json()).then((r) => { const s = r.rows[0]; return [s.cycle, s.group, s.slot].join("/"); })`, s.url))
	if w := window("/r/made/sample/"+short, ""); w[0] > 0.01 || w[1] < 0.99 {
		t.Errorf("all of %s is in view, and the window is from %.2f to %.2f of the bar", short, w[0], w[1])
	}
	long := fmt.Sprintf("/r/made/sample/%d/%d/%d", f.Jump.Cycle, f.Jump.Group, f.Jump.Samples[0].Slot)
	if w := window(long, `document.querySelector(".tok:last-child") && scrollTo(0, 1e6)`); w[0] < 0.1 || w[1] < 0.97 {
		t.Errorf("the end is in view, and the window is from %.2f to %.2f of the bar", w[0], w[1])
	}
}
