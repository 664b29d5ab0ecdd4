package browser

import (
	"fmt"
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
	for _, width := range []int{1280, 390} {
		tb.size(width, 800)
		tb.to(s.url + "/r/made/")
		tb.settled()
		eval[any](tb, `document.querySelector('[data-id="pass"]').scrollIntoView({block: "center"}), null`)
		tb.until(`document.querySelector('[data-id="pass"] .plot')?.chart?.u`)
		if cut := eval[string](tb, cutNames); cut != "" && (width == 1280 || !strings.HasPrefix(cut, "ellipsis in published, ")) {
			t.Errorf("at %d the key of pass@k is cut: %s", width, cut)
		}
		tb.shot(fmt.Sprintf("baselines-%d", width))
	}
}

// cutNames is how far the names of the lines of reference, or what stands before them, reach beyond the key; empty where all can be read.
const cutNames = `(() => {
	const key = document.querySelector('[data-id="pass"] .key'), right = key.getBoundingClientRect().right, names = key.querySelector(".names > span");
	const over = [...key.querySelectorAll("span:not(.last)")].filter((n) => n.getBoundingClientRect().right > right + 1).map((n) => n.textContent);
	return [...over, ...(names.scrollWidth > names.clientWidth + 1 ? ["ellipsis in " + names.textContent] : [])].join("; ");
})()`

// TestManyBaselines has more and longer names than the key has room for: they end in an ellipsis, and the title has them all with their values.
func TestManyBaselines(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", "--baseline", "the base model of the paper=0.39", "published checkpoint after two epochs=0.52", "another=0.6", "fourth=0.61", "--", made(t)), open(t, 390, 844)
	tb.to(s.url + "/r/made/evals")
	tb.until(`document.querySelector('[data-id="pass"] .plot')?.chart?.u && document.querySelector('[data-id="pass"] .names')`)
	if over := eval[float64](tb, `(() => { const k = document.querySelector('[data-id="pass"] .key'), n = k.querySelector(".names"); return n.getBoundingClientRect().right - k.getBoundingClientRect().right; })()`); over > 1 {
		t.Errorf("the names reach %.0f px beyond the key", over)
	}
	if title, want := eval[string](tb, `document.querySelector('[data-id="pass"] .names').title`), "the base model of the paper = 0.39\npublished checkpoint after two epochs = 0.52\nanother = 0.6\nfourth = 0.61"; title != want {
		t.Errorf("the title is %q, want %q", title, want)
	}
	for _, o := range eval[[]string](tb, overlaps) {
		t.Errorf("names at the lines lie on each other: %s", o)
	}
	tb.shot("baselines-many")
}

// overlaps are the pairs of names at lines of reference that are drawn onto each other.
const overlaps = `(() => {
	const out = [], all = [], p = CanvasRenderingContext2D.prototype, was = p.fillText, names = document.querySelector('[data-id="pass"] .names').title;
	p.fillText = function (words, x, y) {
		const w = this.measureText(words).width, left = this.textAlign === "right" ? x - w : x;
		if (names.includes(words + " = ")) all.push({ words, left, right: left + w, y, high: parseFloat(this.font) });
		return was.call(this, words, x, y);
	};
	document.querySelector('[data-id="pass"] .plot').chart.redraw();
	p.fillText = was;
	if (all.length < 3) return ["only " + all.length + " names are drawn"];
	all.forEach((a, i) => all.slice(i + 1).forEach((b) => { if (Math.abs(a.y - b.y) < a.high && a.left < b.right && b.left < a.right) out.push(a.words + " and " + b.words); }));
	return out;
})()`
