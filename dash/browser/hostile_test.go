package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watch notes from the first moment on what a page's policy refuses.
const watch = `window.__refused = []; document.addEventListener("securitypolicyviolation", (e) => window.__refused.push(e.violatedDirective + " " + e.blockedURI));`

// TestHostileTextIsShown visits every page that shows texts of the hostile cycle: nothing runs, nothing is refused, nothing is wider, and the texts are there to read.
func TestHostileTextIsShown(t *testing.T) {
	need(t)
	c := planted(t).Hostile
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	if _, err := chromedp.Call(tb.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		t.Fatal(err)
	}
	tb.to(s.url + fmt.Sprintf("/r/made/samples?q=cycle%%3A%d", c))
	tb.until(`document.querySelector(".row")`)
	tb.harmless(t, "samples")
	if !strings.Contains(eval[string](tb, `document.querySelector(".rows").textContent`), "<script>window.__x=1</script>") {
		t.Error("the rows of samples do not show the script's text")
	}
	if !strings.Contains(eval[string](tb, `document.body.innerText`), "U+202E") {
		t.Error("no box says U+202E, which turns the direction of writing")
	}
	first := eval[string](tb, `document.querySelector(".row span").textContent`)
	parts := strings.Split(strings.ReplaceAll(first, " ", ""), "/")
	if len(parts) != 3 {
		t.Fatalf("the first row is %q, want cycle / group / slot", first)
	}
	for _, p := range []string{
		fmt.Sprintf("/r/made/group/%s/%s", parts[0], parts[1]), fmt.Sprintf("/r/made/sample/%s/%s/%s", parts[0], parts[1], parts[2]), fmt.Sprintf("/r/made/?c=%d", c),
		"/r/made/config", "/r/made/log?level=DEBUG", "/r/made/evals", fmt.Sprintf("/r/made/time?c=%d", c), "/", "/r/made/?series=all", "/r/%3Cscript%3Ewindow.__x=1%3C%2Fscript%3E/", "/r/made/samples?q=%3Cimg%20src%3Dx%20onerror%3D__x%3D1%3E",
	} {
		if strings.Contains(p, "%3C") {
			tb.expect("404")
			tb.expect("400")
		}
		tb.to(s.url + p)
		tb.until(`document.querySelector("main").children.length && !/Reading…/.test(document.body.innerText)`)
		if strings.Contains(p, "series=all") {
			tb.until(`document.querySelectorAll("details.fold").length === 2`)
			eval[any](tb, `(document.querySelectorAll("details.fold").forEach((d) => (d.open = true)), null)`)
			tb.until(`document.querySelectorAll("details.fold tbody tr").length > 50`)
		}
		tb.harmless(t, p)
	}
	tb.shot("hostile")
}

// harmless holds that nothing of a page's texts ran, and that they are no wider than the window.
func (tb *tab) harmless(t *testing.T, where string) {
	t.Helper()
	if eval[bool](tb, `window.__x !== undefined`) {
		t.Errorf("%s: text of the run was run", where)
	}
	if refused := eval[[]string](tb, `window.__refused`); len(refused) != 0 {
		t.Errorf("%s: the policy refused %q", where, refused)
	}
	if n := eval[int](tb, `document.querySelectorAll("main script, main img, main svg [onload], main iframe, main [onerror]").length`); n != 0 {
		t.Errorf("%s: %d elements came out of text", where, n)
	}
	if w := eval[int](tb, `document.documentElement.scrollWidth`); w != 1280 {
		t.Errorf("%s is %d wide: %s", where, w, eval[string](tb, widest))
	}
	for _, bad := range []string{"\u202e", "\u2066", "\x00", "\u2028"} {
		if strings.Contains(eval[string](tb, `document.body.textContent`), bad) {
			t.Errorf("%s: U+%04X reached the page as it is", where, []rune(bad)[0])
		}
	}
}
