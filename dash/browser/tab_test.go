package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// A tab is one page with its console.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	console []string // what it got, but for what may
	asked   []string // addresses of requests
	may     []string // parts of console lines that are expected
}

// one is the browser of all tests, started by the first that needs it and stopped by TestMain.
var one struct {
	ctx  context.Context
	stop func()
}

// started gives the browser. It has an empty folder of its own.
func started() (context.Context, error) {
	_, err := once("browser", func() (string, error) {
		dir, err := os.MkdirTemp("", "furlong-chromium")
		if err != nil {
			return "", err
		}
		alloc, cancel := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(chromium()), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.NoFirstRun, chromedp.WindowSize(1280, 800), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
		ctx, stop := chromedp.NewContext(alloc)
		one.ctx, one.stop = ctx, func() { stop(); cancel(); os.RemoveAll(dir) }
		return dir, chromedp.Do(ctx) // the first call's context is the browser's own
	})
	return one.ctx, err
}

// open makes a tab that shares nothing with the tabs of other tests: no storage, no cookies, no cache.
func open(t *testing.T, width, height int) *tab {
	t.Helper()
	need(t)
	browser, err := started()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	tb := &tab{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	t.Cleanup(func() {
		if t.Failed() {
			tb.shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		stop()
		reading.Wait()
		for _, line := range tb.said() {
			t.Errorf("console: %s", line)
		}
	})
	tb.do(chromedp.EmulateViewport(int64(width), int64(height)))
	messages, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	reading.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			tb.heard(fmt.Sprintf("%s (%s)", m, m.URL))
		}
	})
	reading.Go(func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			tb.mu.Lock()
			tb.asked = append(tb.asked, r.Request.URL)
			tb.mu.Unlock()
		}
	})
	return tb
}

func (tb *tab) heard(line string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, m := range tb.may {
		if strings.Contains(line, m) {
			return
		}
	}
	tb.console = append(tb.console, line)
}

func (tb *tab) said() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]string(nil), tb.console...)
}

// expect says that lines of the console with this part are as they should be.
func (tb *tab) expect(part string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.may = append(tb.may, part)
}

func (tb *tab) requests() []string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]string(nil), tb.asked...)
}

func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		tb.t.Fatal(err)
	}
}

// to visits an address.
func (tb *tab) to(url string) {
	tb.t.Helper()
	tb.do(chromedp.Navigate(url))
}

// theme is light or dark, as a system would ask for.
func (tb *tab) media(features ...string) {
	tb.t.Helper()
	p := emulation.SetEmulatedMediaParams{}
	for i := 0; i+1 < len(features); i += 2 {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	if _, err := chromedp.Call(tb.ctx, emulation.SetEmulatedMedia, p); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *tab) size(width, height int) {
	tb.t.Helper()
	tb.do(chromedp.EmulateViewport(int64(width), int64(height)))
}

// eval gives the value of an expression.
func eval[T any](tb *tab, js string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits for an expression to be true.
func (tb *tab) until(js string) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("Boolean("+js+")", chromedp.WithPollingTimeout(patience))); err != nil {
		tb.t.Fatalf("waiting for %s: %v; the page is at %s", js, err, eval[string](tb, `location.href`))
	}
}

// key presses a key as a person would.
func (tb *tab) key(k string, mods ...chromedp.Modifier) {
	tb.t.Helper()
	tb.do(chromedp.KeyEvent(k, chromedp.KeyModifiers(mods...)))
}

func (tb *tab) mouse(kind input.DispatchMouseEventType, x, y float64, o ...chromedp.MouseOption) {
	tb.t.Helper()
	tb.do(chromedp.MouseEvent(kind, x, y, o...))
}

func (tb *tab) click(x, y float64) {
	tb.t.Helper()
	tb.do(chromedp.MouseClickXY(x, y))
}

// drag presses at one place and lets go at another.
func (tb *tab) drag(x0, y0, x1, y1 float64) {
	tb.t.Helper()
	tb.mouse(input.DispatchMouseEventTypeMouseMoved, x0, y0)
	tb.mouse(input.DispatchMouseEventTypeMousePressed, x0, y0, chromedp.ButtonLeft, chromedp.ClickCount(1))
	for i := range 8 {
		tb.mouse(input.DispatchMouseEventTypeMouseMoved, x0+(x1-x0)*float64(i+1)/8, y0+(y1-y0)*float64(i+1)/8, chromedp.ButtonLeft)
	}
	tb.mouse(input.DispatchMouseEventTypeMouseReleased, x1, y1, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// screenshots is where pictures of a test run are kept, beside the tests unless another folder is named.
func screenshots() string {
	if dir := os.Getenv("FURLONG_TEST_SCREENSHOTS"); dir != "" {
		return dir
	}
	return "screenshots"
}

// shot keeps a picture of what is in view.
func (tb *tab) shot(name string) {
	tb.t.Helper()
	b, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		tb.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(screenshots(), strings.ReplaceAll(name, " ", "-")+".png"), b, 0o644); err != nil {
		tb.t.Fatal(err)
	}
}

// chart is where a cycle lies on a chart of the overview, in pixels of the window, and the plot's edges.
type spot struct{ X, Y, Left, Top, Right, Bottom float64 }

// at finds a cycle on the chart with this id. Series is the number of its line.
func (tb *tab) at(id string, cycle, series int) spot {
	tb.t.Helper()
	return eval[spot](tb, fmt.Sprintf(`(() => {
		const c = document.querySelector('[data-id="%s"] .plot').chart, b = c.u.over.getBoundingClientRect(), i = c.rows.cycle.indexOf(%d);
		const y = c.u.data[%d][i];
		return {X: b.left + c.u.valToPos(c.xOf(%d), "x"), Y: b.top + (Number.isFinite(y) ? c.u.valToPos(y, "y") : 5), Left: b.left, Top: b.top, Right: b.right, Bottom: b.bottom};
	})()`, id, cycle, series+1, cycle))
}

// drawn waits for the seven charts.
func (tb *tab) drawn() {
	tb.t.Helper()
	tb.until(`(() => { const p = [...document.querySelectorAll("main > div > .grid .plot")]; return p.length === 7 && p.every((n) => n.chart?.u || n.querySelector(".says")?.textContent); })()`)
}
