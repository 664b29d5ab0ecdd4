// One cycle looked at closely, beside charts that stay live: what moved, which samples made it, what happened then.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, inRun, to } from "./address.js";
import { failed } from "./api.js";
import { byUnit, clock, count, duration, finite, fixed, share, significant, verdictWords } from "./format.js";
import { note, noteOf } from "./notes.js";

export function drawer(ctx, cycle, key) {
  const { ask, run } = ctx, before = document.activeElement, body = el("div", el("p.grey", "Reading…"));
  const title = el("h1", { tabindex: -1 }, `Cycle ${count(cycle)}`), steps = el("span");
  const node = el("aside.drawer", { role: "dialog", "aria-label": `Cycle ${cycle}` },
    el("div.top", title, steps, el("button.button", { type: "button", title: "Mark with a note (m)", onclick: () => note(run, `cycle ${cycle}`) }, "Mark"),
      el("button.button", { type: "button", "aria-label": "Close", onclick: shut }, "✕")), body);
  document.getElementById("over").append(node);
  title.focus();
  node.addEventListener("keydown", (e) => e.key === "Tab" && inside(e, node));

  function shut() {
    change({ c: null, key: null });
  }

  ask(`/cycle/${cycle}`, { key }).then(show, (e) => e.name !== "AbortError" && fill(body, failed(e)));

  function show(c) {
    const step = (n, word, glyph, k) => el("a.button", { class: word, href: n === null ? "#" : with_(n), "aria-disabled": n === null ? "true" : null, "aria-label": `${word === "prev" ? "Previous" : "Next"} cycle`, title: `${word} (${k})` }, glyph);
    fill(steps, c.prev === null ? null : step(c.prev, "prev", "‹", ","), " ", c.next === null ? null : step(c.next, "next", "›", "."));
    const mine = noteOf(run, `cycle ${cycle}`);
    fill(body, el("p.lead", data(c.sentence, 900)),
      el("p.grey", [c.versions.length ? `Tokens of ${c.versions.join(", ")}` : null, c.served ? `${c.served} served after it` : null, `attempt ${c.attempt}`, clock(c.time)].filter(Boolean).join(" · ")),
      mine ? el("p", "Your note: ", data(mine)) : null, samples(c), moved(c), events(c), values(c),
      el("p", el("a", { href: to(run, "time", { c: cycle }) }, "Time of this cycle"), " · ", el("a", { href: to(run, "samples", { q: `cycle:${cycle}` }) }, "All its samples"), " · ", el("a", { href: to(run, "experts", { c: cycle }) }, "Experts")));
  }

  function with_(n) {
    const q = new URLSearchParams(location.search);
    q.set("c", n);
    return location.pathname + "?" + q;
  }

  function samples(c) {
    const worth = c.samples.filter((s, i) => i < 3 || (i < 8 && s.share >= 0.005)), rows = worth.map((s) => {
      const part = finite(s.share) ? Math.max(0, Math.min(1, s.share)) : 0, bar = el("i"), [glyph, , tone] = verdictWords[s.verdict] || ["", "", "grey"];
      bar.style.width = `${part * 100}%`;
      return el("tr", el("td", el("a", { href: sampleAddress(run, s, true), "aria-label": `problem ${s.group}, sample ${s.slot}` }, `${s.group} / ${s.slot}`)), el("td", { class: tone, title: s.verdict }, glyph, " ", fixed(s.reward, 2)),
        el("td.num", { title: "largest gap" }, significant(s.gap_max)), el("td", el("div.sharebar", bar)), el("td.num", finite(s.share) ? (Math.abs(s.share) < 0.001 ? "< 0.1 %" : share(s.share)) : "–"));
    });
    return [el("h2", "Samples by share of the change"), c.note ? el("p.grey", data(c.note)) : null, rows.length ? el("table", el("thead", el("tr", el("th", "problem / sample"), el("th", "reward"), el("th.num", "largest gap"), el("th", { colspan: 2 }, "share"))), el("tbody", rows)) : null];
  }

  function moved(c) {
    if (!c.moved.length) return [el("h2", "What else moved"), el("p.grey", "Nothing is far from its 20 cycles before.")];
    return [el("h2", "What else moved"), el("table", el("thead", el("tr", el("th", "series"), el("th.num", "value"), el("th.num", "usual"), el("th.num", { title: "distance from the median of the 20 cycles before, in robust standard deviations" }, "z"))),
      el("tbody", c.moved.slice(0, 12).map((m) => el("tr", el("td", el("a", { href: with_(cycle).replace(/&?key=[^&]*/, "") + "&key=" + encodeURIComponent(m.key) }, data(m.key, 60))), el("td.num", { title: c.values[m.key] || null }, byUnit(m.value, m.unit)), el("td.num", byUnit(m.usual, m.unit)), el("td.num", significant(m.z, 2))))))];
  }

  function events(c) {
    if (!c.events.length) return null;
    return [el("h2", "What happened then"), el("table", el("tbody", c.events.map((e) => el("tr", el("td.nowrap.grey", clock(e.time)), el("td.grey", e.kind), el("td", e.href ? el("a", { href: inRun(run, e.href) }, data(e.text)) : data(e.text), finite(e.took) ? el("span.grey", ` ${duration(e.took)}`) : null)))))];
  }

  function values(c) {
    return el("details", el("summary", `All ${count(Object.keys(c.values).length)} values as stored`), el("table", el("tbody", Object.entries(c.values).map(([k, v]) => el("tr", el("td", data(k, 90)), el("td.num.mono", data(v, 60)))))));
  }

  return {
    close() {
      node.remove();
      if (before?.isConnected) before.focus();
    },
  };
}

// inside keeps the focus within a node while Tab is pressed.
export function inside(e, node) {
  const stops = [...node.querySelectorAll("a[href],button,summary,input,[tabindex='0']")].filter((n) => n.offsetParent);
  if (!stops.length) return;
  const first = stops[0], last = stops.at(-1);
  if (e.shiftKey && (document.activeElement === first || !node.contains(document.activeElement) || document.activeElement.tabIndex < 0)) { e.preventDefault(); last.focus(); }
  else if (!e.shiftKey && document.activeElement === last) { e.preventDefault(); first.focus(); }
}

// sampleAddress leads to the tokens of a sample, at its largest gap if that is asked.
export function sampleAddress(run, s, atGap) {
  return to(run, `sample/${s.cycle}/${s.group}/${s.slot}`, { eval: s.eval }) + (atGap && finite(s.gap_max) ? `#t${s.pos}` : "");
}
