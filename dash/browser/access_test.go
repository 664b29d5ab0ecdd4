package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// axeVersion is what is fetched where a package client is and no copy is named.
const axeVersion = "4.14.1"

// axe is the source of axe-core, empty where it is not to be had. It is used by tests only and is no part of this repository.
func axe(t *testing.T) string {
	t.Helper()
	file := os.Getenv("FURLONG_TEST_AXE")
	if file == "" {
		dir, err := once("axe", func() (string, error) {
			npm, err := exec.LookPath("npm")
			if err != nil {
				return "", err
			}
			dir := filepath.Join(place, "axe")
			b, err := exec.Command(npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, "axe-core@"+axeVersion).CombinedOutput()
			if err != nil {
				return "", fmt.Errorf("%w: %s", err, b)
			}
			return dir, nil
		})
		if err != nil {
			t.Logf("axe-core is not here and could not be fetched, the rules of WCAG are NOT CHECKED: %v", err)
			return ""
		}
		file = filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// judged holds a page as it is shown to WCAG 2 A and AA. What a theme can change is contrast, so the other rules are for the first one.
func (tb *tab) judged(page, theme string) {
	tb.t.Helper()
	rules := `{type: "tag", values: ["wcag2a", "wcag2aa"]}`
	if theme == "dark" {
		rules = `{type: "rule", values: ["color-contrast"]}`
	}
	for _, v := range eval[[]string](tb, `axe.run(document, {runOnly: `+rules+`}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")))`) {
		tb.t.Errorf("%s, %s: %s", page, theme, v)
	}
}

// TestKeyboardAlone reaches the planted token without a mouse, and never loses the focus.
func TestKeyboardAlone(t *testing.T) {
	need(t)
	jump := planted(t).Jump
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	for range 60 { // a walk through the page: each stop is visible
		tb.key(kb.Tab)
		if lost := eval[string](tb, focusFault); lost != "" {
			t.Fatalf("after a Tab: %s", lost)
		}
	}
	tb.key("/")
	tb.until(`document.activeElement.matches("dialog input")`)
	eval[any](tb, `(document.activeElement.value = "", null)`) // the driver sends the character apart from the key, which a keyboard does not
	tb.key(fmt.Sprint(jump.Cycle))
	tb.until(fmt.Sprintf(`document.querySelector("dialog li a")?.textContent === "Cycle %d"`, jump.Cycle))
	tb.key(kb.Enter)
	tb.until(`document.querySelector(".drawer table a")`)
	for range 12 {
		tb.key(kb.Tab)
		if eval[bool](tb, `document.activeElement.matches(".drawer table a")`) {
			break
		}
		if !eval[bool](tb, `document.querySelector(".drawer").contains(document.activeElement)`) {
			t.Fatal("the focus left the open drawer")
		}
	}
	tb.key(kb.Enter)
	tb.until(`document.querySelector(".tok.on")`)
	if at := eval[string](tb, `location.pathname`); !strings.HasPrefix(at, fmt.Sprintf("/r/made/sample/%d/%d/", jump.Cycle, jump.Group)) {
		t.Errorf("the keys lead to %s", at)
	}
	tb.key("g")
	tb.key("o")
	tb.until(`location.pathname === "/r/made/"`)
	tb.key("?")
	tb.until(`document.querySelector("dialog[open]")`)
	tb.shot("keys")
	tb.key(kb.Escape)
	tb.until(`!document.querySelector("dialog")`)
	tb.key("d")
	tb.until(`document.documentElement.dataset.theme === "light"`)
}

// TestKeysReachEveryPage goes from page to page by keys, and walks through the stops of each: a focus is always seen.
func TestKeysReachEveryPage(t *testing.T) {
	need(t)
	g := planted(t).Jump.Group
	s, tb := serve(t, "127.0.0.1:0", made(t), trained(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.settled()
	for _, page := range []struct{ key, path string }{{"s", "/r/made/samples"}, {"e", "/r/made/evals"}, {"x", "/r/made/experts"}, {"t", "/r/made/time"}, {"c", "/r/made/config"}, {"l", "/r/made/log"}, {"o", "/r/made/"}} {
		tb.key("g")
		tb.key(page.key)
		tb.until(fmt.Sprintf(`location.pathname === %q`, page.path))
		tb.settled()
		tb.walk(page.path)
	}
	for _, path := range []string{"/", fmt.Sprintf("/r/made/group/37/%d", g), fmt.Sprintf("/r/made/sample/37/%d/0", g), "/compare?a=made&b=trained"} {
		tb.to(s.url + path)
		tb.settled()
		tb.walk(path)
	}
}

// walk goes through the first stops of a page that lie in its content.
func (tb *tab) walk(page string) {
	tb.t.Helper()
	seen := map[string]bool{}
	for range 14 {
		tb.key(kb.Tab)
		at := eval[[]string](tb, `[`+focusFault+`, document.activeElement.closest("main") ? document.activeElement.outerHTML.slice(0, 200) : ""]`)
		if at[0] != "" {
			tb.t.Errorf("%s: after a Tab: %s", page, at[0])
		}
		if seen[at[1]] = true; len(seen) > 6 {
			return
		}
	}
	if len(seen) < 2 {
		tb.t.Errorf("%s: no Tab leads into the content", page)
	}
}

// focusFault says what is wrong with where the focus is; empty if nothing is.
const focusFault = `(() => { const a = document.activeElement; if (!a || a === document.body) return "";
	const s = getComputedStyle(a), b = a.getBoundingClientRect();
	if (s.outlineStyle === "none" && a.id !== "main") return a.tagName + "." + a.className + " shows no focus";
	return b.width && b.height ? "" : a.tagName + "." + a.className + " has the focus and no size"; })()`

// TestForcedColoursAndZoom keeps pictures of both, and holds that a page reflows at twice the size.
func TestForcedColoursAndZoom(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.media("forced-colors", "active", "prefers-color-scheme", "dark")
	tb.to(s.url + "/r/made/")
	tb.drawn()
	tb.shot("forced-colours")
	tb.media()
	tb.do(chromedp.EmulateViewport(640, 400, chromedp.EmulateScale(2)))
	tb.to(s.url + "/r/made/")
	tb.settled()
	if w := eval[int](tb, `document.documentElement.scrollWidth`); w != 640 {
		t.Errorf("at 200 %% the page is %d wide, want 640", w)
	}
	tb.shot("zoom-200")
}
