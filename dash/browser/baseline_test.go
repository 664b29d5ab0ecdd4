package browser

import (
	"strings"
	"testing"
)

// TestBaselines draws lines of reference into pass@k: within the axis, and named in the key as text.
func TestBaselines(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", "--baseline", "published=0.975", `<b id="no">=0.02`, "--", made(t)), open(t, 1280, 800)
	for _, page := range []string{"/r/made/", "/r/made/evals"} {
		tb.to(s.url + page)
		tb.until(`document.querySelector('[data-id="pass"] .plot')?.chart?.u`)
		tb.until(`document.querySelector('[data-id="pass"]').textContent.includes("published")`)
		if got := eval[string](tb, `document.querySelector('[data-id="pass"]').textContent`); !strings.Contains(got, `<b id="no">`) {
			t.Errorf("%s: the card of pass@k says %q", page, got)
		}
		if eval[bool](tb, `Boolean(document.querySelector("#no"))`) {
			t.Errorf("%s: the name of a line became markup", page)
		}
		if y := eval[[]float64](tb, `(() => { const y = document.querySelector('[data-id="pass"] .plot').chart.u.scales.y; return [y.min, y.max]; })()`); y[0] > 0.02 || y[1] < 0.975 {
			t.Errorf("%s: the axis goes from %v to %v", page, y[0], y[1])
		}
	}
	tb.to(s.url + "/r/made/")
	tb.drawn()
	tb.shot("baselines")
}
