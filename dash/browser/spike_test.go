package browser

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestFromSpikeToToken goes the way of somebody who asks why a cycle jumped: two clicks to the planted token.
func TestFromSpikeToToken(t *testing.T) {
	need(t)
	jump := planted(t).Jump
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 1280, 800)
	tb.to(s.url + "/r/made/")
	tb.drawn()
	highest := eval[int](tb, `(() => { const r = document.querySelector('[data-id="gap"] .plot').chart.rows, v = r.cols["train/logp_diff/p99"]; return r.cycle[v.indexOf(Math.max(...v.filter(Number.isFinite)))]; })()`)
	if highest != jump.Cycle {
		t.Fatalf("the highest gap is in cycle %d, planted in %d", highest, jump.Cycle)
	}
	p := tb.at("gap", highest, 1)
	tb.click(p.X, p.Y)
	tb.until(fmt.Sprintf(`document.querySelector(".drawer h1")?.textContent === "Cycle %d" && document.querySelector(".drawer table a")`, jump.Cycle))
	tb.shot("drawer-37")
	if lead := eval[string](tb, `document.querySelector(".drawer .lead").textContent`); len(lead) < 20 {
		t.Errorf("the drawer says %q of the jump", lead)
	}
	version := stored(t, made(t))[jump.Cycle]["version"]
	if facts, want := eval[string](tb, `document.querySelector(".drawer .lead + p").textContent`), fmt.Sprintf("v%s served as it ended", version); version == "" || !strings.Contains(facts, want) {
		t.Errorf("the drawer says %q, want %q: the row of a cycle is written before its push", facts, want)
	}
	link := eval[spot](tb, `(() => { const b = document.querySelector(".drawer table a").getBoundingClientRect(); return {X: b.left + 5, Y: b.top + 5}; })()`)
	tb.click(link.X, link.Y)
	tb.until(`document.querySelector(".tok.on") && document.querySelector(".side .facts")`)
	at := eval[string](tb, `location.pathname + location.hash`)
	found := false
	for _, sample := range jump.Samples {
		if at == fmt.Sprintf("/r/made/sample/%d/%d/%d#t%d", jump.Cycle, jump.Group, sample.Slot, sample.Pos) {
			found = true
			panel := eval[string](tb, `document.querySelector(".side").textContent`)
			if want := fmt.Sprintf("/samples/c%06d.fls --samples %d/%d", jump.Cycle, jump.Group, sample.Slot); !strings.Contains(panel, want) {
				t.Errorf("the panel's command is not of this sample: %s", panel)
			}
			for _, v := range []float64{sample.Rollout, sample.Train} {
				if want := strings.Replace(fmt.Sprint(v), "-", "−", 1); !strings.Contains(panel, want) {
					t.Errorf("the panel does not say %s: %s", want, panel)
				}
			}
		}
	}
	if !found {
		t.Errorf("two clicks lead to %s, which is none of %+v", at, jump.Samples)
	}
	tb.shot("inspector-37")
	falling(t, tb)
}

// TestFromAlarmToToken goes the other way that the overview offers: the alarm's own link, then the first sample.
func TestFromAlarmToToken(t *testing.T) {
	need(t)
	jump := planted(t).Jump
	s, tb := serve(t, "127.0.0.1:0", made(t)), open(t, 390, 844) // on a phone, where alarms come first
	tb.to(s.url + "/r/made/")
	tb.settled()
	clicks := 0
	press := func(what string) {
		t.Helper()
		tb.until(fmt.Sprintf(`(() => { const n = %s; n?.scrollIntoView({block: "center"}); return n; })()`, what))
		p := eval[spot](tb, fmt.Sprintf(`(() => { const b = %s.getBoundingClientRect(); return {X: b.left + 5, Y: b.top + 5}; })()`, what))
		tb.click(p.X, p.Y)
		clicks++
	}
	press(fmt.Sprintf(`[...document.querySelectorAll(".alarms a")].find((a) => a.textContent === "Cycle %d")`, jump.Cycle))
	press(`document.querySelector(".drawer table a")`)
	tb.until(`document.querySelector(".tok.on")`)
	at, want := eval[string](tb, `location.pathname`), fmt.Sprintf("/r/made/sample/%d/%d/", jump.Cycle, jump.Group)
	if !strings.HasPrefix(at, want) || clicks != 2 {
		t.Errorf("%d clicks lead to %s, want 2 to %s", clicks, at, want)
	}
	tb.shot("inspector-37-390")
}

// falling presses n and holds the gaps to a falling order, then p, which goes the same way back.
func falling(t *testing.T, tb *tab) {
	t.Helper()
	const selected = `(() => { const p = document.querySelector(".tok.on"); return p ? +p.dataset.i : -1; })()`
	const gap = `(() => { const d = [...document.querySelectorAll(".side dt")].find((n) => n.textContent.startsWith("Δ")).nextSibling.textContent; return d.startsWith("0") ? 0 : Math.abs(parseFloat(d.replace("−", "-"))); })()`
	way := []int{eval[int](tb, selected)}
	last := eval[float64](tb, gap)
	for range 10 {
		tb.key("n")
		tb.until(fmt.Sprintf(`document.querySelector(".tok.on") && +document.querySelector(".tok.on").dataset.i !== %d`, way[len(way)-1]))
		now := eval[float64](tb, gap)
		if now > last+0.0005 || math.IsNaN(now) { // three decimals are shown
			t.Errorf("n goes from a gap of %v to one of %v", last, now)
		}
		last, way = now, append(way, eval[int](tb, selected))
	}
	for k := len(way) - 2; k >= 0; k-- {
		tb.key("p")
		tb.until(fmt.Sprintf(`+document.querySelector(".tok.on")?.dataset.i === %d`, way[k]))
	}
}
