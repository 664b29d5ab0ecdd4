package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A told section of a report: its title, and each line of its tables as it can be read.
type told struct {
	Title string
	Rows  []string
}

// TestReportWithoutScripts opens report.html from a disk in a browser that runs no script: every figure and table that docs/report.md promises is there to be read.
func TestReportWithoutScripts(t *testing.T) {
	need(t)
	for name, dir := range map[string]string{"made": made(t), "trained": trained(t)} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report.html")
			command(t, furlong(t), "report", "--out", file, dir)
			for _, width := range []int{1280, 390} {
				tb := open(t, width, 800)
				tb.withoutScripts()
				tb.to("file://" + file)
				if w := eval[int](tb, `document.documentElement.scrollWidth`); w != width {
					t.Errorf("the page is %d wide at %d", w, width)
				}
				tb.figures(t)
				tb.shot(fmt.Sprintf("report-%s-%d", name, width))
				tb.tables(t, dir)
				for _, r := range tb.requests() {
					if !strings.HasPrefix(r, "file:") && !strings.HasPrefix(r, "data:") {
						t.Errorf("the page asked %s", r)
					}
				}
			}
		})
	}
}

// withoutScripts forbids scripts, and sees that none runs.
func (tb *tab) withoutScripts() {
	tb.t.Helper()
	if _, err := chromedp.Call(tb.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		tb.t.Fatal(err)
	}
	page := filepath.Join(tb.t.TempDir(), "script.html")
	write(tb.t, page, []byte(`<title>as written</title><script>document.title = "a script ran"</script>`))
	tb.to("file://" + page)
	if title := eval[string](tb, `document.title`); title != "as written" {
		tb.t.Fatalf("with scripts forbidden %s", title)
	}
}

// figures looks at the seven figures, and the load of experts: named, described, with words of a size that can be read, and painted.
func (tb *tab) figures(t *testing.T) {
	t.Helper()
	const which = `[...document.querySelectorAll(".plot svg")]`
	type figure struct {
		Title, Desc string
		Words       int
		Least       float64 // height of the smallest words
	}
	all := eval[[]figure](tb, which+`.map((s) => { const words = [...s.querySelectorAll("text")].filter((n) => n.textContent.trim() && n.checkVisibility()), high = words.map((n) => n.getBoundingClientRect().height);
		return {Title: s.querySelector("title")?.textContent ?? "", Desc: s.querySelector("desc")?.textContent ?? "", Words: words.length, Least: Math.min(...high)}; })`)
	wants := []string{"Online reward", "gap", "pass@k", "Truncated", "Throughput", "Time by phase", "Staleness", "experts"}
	if len(all) != len(wants) {
		t.Fatalf("%d figures, want %d: %+v", len(all), len(wants), all)
	}
	for i, f := range all {
		if !strings.Contains(f.Title, wants[i]) || f.Desc == "" || f.Words < 3 || f.Least < 7 {
			t.Errorf("figure %d is %q (%q) with %d words of at least %.1f pixels, want one of %s", i, f.Title, f.Desc, f.Words, f.Least, wants[i])
		}
		eval[any](tb, fmt.Sprintf(`%s[%d].id = "figure-%d", null`, which, i, i))
		if n := colours(t, tb.picture(fmt.Sprintf("#figure-%d", i))); n < 8 {
			t.Errorf("the picture of %q has %d colours: it is blank", f.Title, n)
		}
	}
}

// picture is what is painted of an element.
func (tb *tab) picture(selector string) image.Image {
	tb.t.Helper()
	b, err := chromedp.Run(tb.ctx, chromedp.Screenshot(selector))
	if err != nil {
		tb.t.Fatal(err)
	}
	im, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		tb.t.Fatal(err)
	}
	return im
}

// colours counts the different colours of a picture.
func colours(t *testing.T, im image.Image) int {
	t.Helper()
	seen := map[[3]uint32]bool{}
	for y := im.Bounds().Min.Y; y < im.Bounds().Max.Y; y++ {
		for x := im.Bounds().Min.X; x < im.Bounds().Max.X; x++ {
			r, g, b, _ := im.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// tables looks at what is told in words and lines.
func (tb *tab) tables(t *testing.T, dir string) {
	t.Helper()
	if n := eval[int](tb, `[...document.querySelectorAll(".verdict .card p")].filter((n) => n.checkVisibility() && n.innerText.trim()).length`); n != 8 {
		t.Errorf("%d lines of the verdict can be read, want a short and a long one of four", n)
	}
	sections := eval[[]told](tb, `[...document.querySelectorAll("section:has(> h2)")].map((s) => ({Title: s.querySelector("h2").innerText, Rows: [...s.querySelectorAll("tbody tr")].filter((r) => r.checkVisibility() && r.getBoundingClientRect().height > 8).map((r) => r.innerText.trim())}))`)
	rows := map[string][]string{}
	for _, s := range sections {
		rows[s.Title] = s.Rows
	}
	for title, least := range map[string]int{"Evaluations": evaluations(t, dir), "Time": 3, "Settings that differ from the recipe": 3, "To make it again": 3} {
		if len(rows[title]) < least || strings.Contains(strings.Join(rows[title], "\n"), "\n\n") {
			t.Errorf("%s has %d lines that can be read, want %d at least: %q", title, len(rows[title]), least, rows[title])
		}
	}
	if again := strings.Join(rows["To make it again"], "\n"); !strings.Contains(again, "furlong train") || !strings.Contains(again, "digest") {
		t.Errorf("to make it again: %s", again)
	}
	if _, ok := rows["Alarms"]; !ok {
		t.Error("nothing is said of alarms")
	}
	strips := eval[[]int](tb, `[...document.querySelectorAll("article.sample .strip")].map((s) => [...s.querySelectorAll("span")].filter((n) => n.checkVisibility() && n.getBoundingClientRect().width).length)`)
	if len(strips) != 10 {
		t.Errorf("%d samples are shown, want 10", len(strips))
	}
	for i, n := range strips {
		if n == 0 {
			t.Errorf("no token of sample %d can be read", i)
		}
	}
}

// evaluations counts the evaluations of a run by its files.
func evaluations(t *testing.T, dir string) int {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "eval", "*", "c*.jsonl"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%s has no evaluations: %v", dir, err)
	}
	return len(all)
}
