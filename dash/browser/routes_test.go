package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// layersShown lists the table of experts as the page has it: a line a layer, its cells in order.
const layersShown = `[...document.querySelectorAll(".routes tbody tr")].map((tr) => [...tr.querySelectorAll("td")].map((td) => td.textContent.trim()).join(" | "))`

// layersTold lists it from the server's answer about a token.
const layersTold = `fetch(%q).then((r) => r.json()).then(({experts: x}) => {
	const t = x.tokens.find((t) => t.pos === %d), cut = (a, l) => a.slice(l * x.choices, (l + 1) * x.choices);
	return Array.from({length: x.layers}, (_, l) => {
		if (t.same) return cut(t.rollout, l).join(" ");
		const a = cut(t.rollout, l), b = cut(t.train, l), both = a.filter((e) => b.includes(e)).length;
		return [a.join(" "), b.join(" "), both < x.choices ? "≠ " + both + " of " + x.choices : "same"].join(" | ");
	});
})`

// TestExpertsOfToken looks at where tokens went: behind the planted gap one layer differs and is marked, elsewhere the engines chose alike.
func TestExpertsOfToken(t *testing.T) {
	need(t)
	jump := planted(t).Jump
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	place := fmt.Sprintf("/sample/%d/%d/%d", jump.Cycle, jump.Group, jump.Samples[0].Slot)
	api, pos := s.url+"/api/r/made"+place, jump.Samples[0].Pos
	tb.to(fmt.Sprintf("%s/r/made%s#t%d", s.url, place, pos))
	tb.until(`document.querySelector(".routes tbody tr")`)
	holdLayers(tb, api, pos)
	if got := eval[string](tb, `document.querySelector(".side").textContent`); !strings.Contains(got, "The engines differ in 1 of 4 layers: 7 of 8 choices shared.") {
		t.Errorf("the panel says %q", got)
	}
	if got := eval[[]string](tb, `[...document.querySelectorAll(".routes tr:has(.expert.apart) th")].map((n) => n.textContent)`); len(got) != 1 || got[0] != fmt.Sprint(jump.Samples[0].Layer) {
		t.Errorf("layers %v are marked, planted is %d", got, jump.Samples[0].Layer)
	}
	if got := eval[int](tb, `document.querySelectorAll(".routes .expert.apart").length`); got != 2 {
		t.Errorf("%d experts are marked, want one of each engine", got)
	}
	tb.shot("inspector-experts")
	byAgreement(tb, pos)
	tb.to(fmt.Sprintf("%s/r/made%s#t3", s.url, place))
	tb.until(`document.querySelector(".tok.on")?.dataset.i === "3" && document.querySelector(".routes")`)
	holdLayers(tb, api, 3)
	if got := eval[string](tb, `document.querySelector(".side").textContent`); !strings.Contains(got, "Both engines chose alike in all 4 layers.") {
		t.Errorf("the panel says %q", got)
	}
}

// holdLayers holds the table to what the server told.
func holdLayers(tb *tab, api string, pos int) {
	tb.t.Helper()
	got, want := eval[[]string](tb, layersShown), eval[[]string](tb, fmt.Sprintf(layersTold, api, pos))
	if len(got) != 4 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		tb.t.Errorf("token %d: the table is\n%s\nwant\n%s", pos, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// byAgreement colours the tokens by what the engines share.
func byAgreement(tb *tab, pos int) {
	tb.t.Helper()
	eval[any](tb, `(() => { const s = document.querySelector('select[aria-label="Colour by"]'); s.value = "routing"; s.dispatchEvent(new Event("change")); })()`)
	if got := eval[string](tb, fmt.Sprintf(`document.querySelector("#t%d").className`, pos)); !strings.Contains(got, "h2") { // 7 of 8
		tb.t.Errorf("the planted token is coloured %q", got)
	}
	if got := eval[string](tb, `document.querySelector("#t3").className.trim()`); got != "tok" {
		tb.t.Errorf("a token on which the engines agree is coloured %q", got)
	}
}

// TestExpertsByKeyboard reaches the table with the Tab key and scrolls in it.
func TestExpertsByKeyboard(t *testing.T) {
	need(t)
	jump := planted(t).Jump
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(fmt.Sprintf("%s/r/made/sample/%d/%d/%d#t%d", s.url, jump.Cycle, jump.Group, jump.Samples[0].Slot, jump.Samples[0].Pos))
	tb.until(`document.querySelector(".routes tbody tr")`)
	for range 60 {
		if tb.key(kb.Tab); eval[bool](tb, `document.activeElement.matches(".routes")`) {
			break
		}
	}
	if got := eval[string](tb, `document.activeElement.className + " " + document.getElementById(document.activeElement.getAttribute("aria-labelledby"))?.textContent`); got != "routes Experts by layer" {
		t.Errorf("Tab came to %q", got)
	}
}

// TestExpertsInHand looks at the same on a telephone, and at a run of the default settings, whose engines compute the same bits.
func TestExpertsInHand(t *testing.T) {
	need(t)
	s, tb := serve(t, "127.0.0.1:0", trained(t)), open(t, 390, 800)
	tb.to(s.url + "/r/trained/samples")
	tb.to(s.url + "/r/trained/sample/1/" + eval[string](tb, `fetch("/api/r/trained/samples?q=cycle:1&limit=1").then((r) => r.json()).then((a) => a.rows[0].group + "/" + a.rows[0].slot)`) + "#t2")
	tb.until(`document.querySelector(".tok.on")`)
	eval[any](tb, `document.querySelector("#t2").click()`)
	tb.until(`document.querySelector(".side.open .routes tbody tr")`)
	if got := eval[string](tb, `document.querySelector(".side").textContent`); !strings.Contains(got, "Both engines chose alike in all 6 layers.") {
		t.Errorf("the panel says %q", got)
	}
	if w := eval[int](tb, `document.documentElement.scrollWidth`); w != 390 {
		t.Errorf("the page is %d wide, want 390", w)
	}
	if over := eval[bool](tb, `(() => { const r = document.querySelector(".routes"); return r.scrollWidth > r.clientWidth; })()`); over {
		t.Error("the table of experts is wider than its panel")
	}
	eval[any](tb, `document.querySelector(".routes").scrollIntoView({block: "center"})`)
	tb.shot("inspector-experts-390")
}
