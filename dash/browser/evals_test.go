package browser

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// wide is a run of 300 evaluations of 30 problems.
func wide(t *testing.T) string {
	t.Helper()
	return generated(t, "wide", "-cycles", "3000", "-groups", "1", "-n", "2", "-tokens", "8", "-bodies", "last:1")
}

// A matrix is what the page shows of the problems by checkpoints.
type matrix struct {
	Cells, Stops int    // cells in the page, and how many of them Tab reaches
	First, Last  string // first and last checkpoint in view
	Blank        int    // places in view where no cell is
	Focus        string // title of the cell with the focus
}

// seen reads the matrix as it is painted: at each place of a grid over the part of it that is in view there must be a cell.
func (tb *tab) seen() matrix {
	tb.t.Helper()
	return eval[matrix](tb, `(async () => {
		await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));
		const m = document.querySelector(".matrix"), b = m.closest(".scroll").getBoundingClientRect(), corner = m.rows[0].cells[0].getBoundingClientRect(), heads = [];
		let blank = 0;
		for (let x = corner.right + 4; x < Math.min(b.right, innerWidth) - 4; x += 20) {
			const h = document.elementFromPoint(x, corner.top + 8)?.closest(".matrix thead th");
			if (h && h.ariaColIndex > 2) heads.push(h.textContent);
			for (let y = corner.bottom + 4; y < Math.min(b.bottom, innerHeight) - 20; y += 20) blank += !document.elementFromPoint(x, y)?.closest(".matrix td");
		}
		const cells = [...m.querySelectorAll("tbody td:not(.num)")], stops = m.querySelectorAll('[tabindex="0"]');
		return {Cells: cells.length, Stops: stops.length, First: heads[0] ?? "", Last: heads.at(-1) ?? "", Blank: blank, Focus: m.contains(document.activeElement) ? document.activeElement.title : ""};
	})()`)
}

// TestManyEvaluations holds the matrix to what is in view, however many checkpoints there are: it scrolls to the last, without holes, and keys alone reach any cell.
func TestManyEvaluations(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", wide(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/wide/evals")
	tb.until(`document.querySelector(".matrix td a")`)
	t.Logf("the page asked and drew within %.0f ms", eval[float64](tb, `performance.now()`))
	if all := eval[int](tb, `+document.querySelector(".matrix").ariaColCount - 2`); all != 300 {
		t.Fatalf("the matrix has %d checkpoints, want 300", all)
	}
	eval[any](tb, `scrollTo(0, document.querySelector(".matrix").closest(".panel").getBoundingClientRect().top + scrollY - 60), null`)
	check := func(when string, m matrix, first, last string) {
		t.Helper()
		if m.Cells > 2000 || m.Cells < 300 || m.Stops > 1 || m.Blank > 0 {
			t.Errorf("%s the page holds %d cells of 9,000, %d of them reached by Tab, and %d places without any; want at most 2,000, 1 and 0", when, m.Cells, m.Stops, m.Blank)
		}
		if first != "" && m.First != first || last != "" && m.Last != last {
			t.Errorf("%s the checkpoints from %q to %q are in view, want %q to %q", when, m.First, m.Last, first, last)
		}
	}
	check("at first", tb.seen(), "0 a", "")
	tb.shot("evals-wide-begin")
	for _, part := range []float64{0.13, 0.5, 0.77, 1} {
		eval[any](tb, fmt.Sprintf(`(() => { const n = document.querySelector(".matrix").closest(".scroll"); n.scrollLeft = %g * (n.scrollWidth - n.clientWidth); })(), null`, part))
		check(fmt.Sprintf("scrolled by %g", part), tb.seen(), "", map[bool]string{true: "3,000 b"}[part == 1])
	}
	tb.shot("evals-wide-end")
	eval[any](tb, `document.querySelector(".matrix").closest(".scroll").scrollLeft = 0, document.querySelector(".matrix").closest(".scroll").focus(), null`)
	check("scrolled back", tb.seen(), "0 a", "")
	tb.key(kb.Tab)
	for range 25 { // none is of cycle 120, which a crash took
		tb.key(kb.ArrowRight)
	}
	tb.key(kb.ArrowDown)
	m := tb.seen()
	check("25 to the right", m, "", "")
	second := eval[string](tb, `document.querySelectorAll(".matrix tbody th")[1].title`)
	if want := second + ", cycle 260: "; !strings.HasPrefix(m.Focus, want) {
		t.Errorf("the focus is at %q, want at %q", m.Focus, want)
	}
	tb.key(kb.End)
	if m := tb.seen(); !strings.HasPrefix(m.Focus, second+", cycle 3000: ") || m.Last != "3,000 b" {
		t.Errorf("End leads to %q, with %s in view as last", m.Focus, m.Last)
	}
	tb.key(kb.Home)
	check("after Home", tb.seen(), "0 a", "")
	tb.expect("404") // its answers were not kept
	tb.key(kb.Enter)
	tb.until(`location.pathname.startsWith("/r/wide/group/0/")`)
}

// TestDamage spoils files one by one, of which a page shows many, and finds them named on it: what is left is shown, and nothing stops.
func TestDamage(t *testing.T) {
	need(t)
	dir := filepath.Join(t.TempDir(), "made")
	if err := os.CopyFS(dir, os.DirFS(made(t))); err != nil {
		t.Fatal(err)
	}
	spoil := func(pattern string, n, keep int) string { // n files, but not the last ones
		t.Helper()
		files, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no file is called %s: %v", pattern, err)
		}
		files = files[max(0, len(files)-keep-n) : len(files)-keep]
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f), []byte("spoilt\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return files[0]
	}
	s, tb := serve(t, "127.0.0.1:0", dir), open(t, 1280, 800)
	named := func(page, file, also string) {
		t.Helper()
		tb.to(s.url + "/r/made/" + page)
		tb.settled()
		tb.until(`document.querySelector("main .damage, main .failed")`)
		if got := eval[string](tb, `document.querySelector("main").innerText`); !strings.Contains(got, file) || !strings.Contains(got, also) {
			t.Errorf("%s does not name %s with %q: %s", page, file, also, got)
		}
		if eval[bool](tb, `Boolean(document.querySelector("main .failed"))`) {
			t.Errorf("%s shows nothing but the fault", page)
		}
		if w := eval[int](tb, `document.documentElement.scrollWidth`); w != 1280 {
			t.Errorf("%s is %d wide", page, w)
		}
		tb.shot("damage-" + page)
	}
	named("evals", spoil("eval/*/*", 3, 1), "Problems by checkpoint")
	named("evals", spoil("eval/*/*", 100, 0), "No evaluation of this set can be read")
	named("experts", spoil("experts/*", 2, 1), "Tokens over the fair share")
	named("time", spoil("spans/*", 100, 0), "The trainer's clock")
	tail := spoil("samples/index/*", 100, 0)
	named("samples", tail, "furlong dash --reindex")
	if got := eval[string](tb, `document.querySelector("main").innerText`); !strings.Contains(got, "No sample can be read") || strings.Contains(got, "No samples yet") {
		t.Errorf("the samples' page says of a spoilt index: %s", got)
	}
	compared(t, dir)
}

// compared finds the damaged files of a run on the page that compares it with another, after the letter of the run.
func compared(t *testing.T, dir string) {
	t.Helper()
	s, tb := serve(t, "127.0.0.1:0", trained(t), dir), open(t, 1280, 800)
	tb.to(s.url + "/compare?a=trained&b=made")
	tb.settled()
	tb.until(`document.querySelector("main .damage")`)
	got := eval[[]string](tb, `[...document.querySelectorAll("main .damage p")].map((p) => p.innerText)`)
	if all := strings.Join(got, "\n"); !strings.Contains(all, "B eval/") || !strings.Contains(all, "B metrics.jsonl at byte ") || strings.Contains(all, "A ") {
		t.Errorf("the comparison names %q, want the spoilt evaluations and the odd lines of B, and nothing of A", got)
	}
	tb.shot("damage-compare")
}
