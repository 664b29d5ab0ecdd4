// One cycle looked at closely, beside charts that stay live: what moved, which samples made it, what happened then.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, inRun, to } from "./address.js";
import { byUnit, clock, count, duration, finite, fixed, share, significant } from "./format.js";
import { note, noteOf } from "./notes.js";
import { answering, button, step, table, verdictOf } from "./parts.js";

export function drawer(ctx, cycle, key) {
  const { ask, run } = ctx, before = document.activeElement, body = el("div", el("p.grey", "Reading…"));
  const title = el("h1", { tabindex: -1 }, `Cycle ${count(cycle)}`), steps = el("span.steps");
  const shut = () => change({ c: null, key: null });
  const node = el("aside.drawer", { role: "dialog", "aria-label": `Cycle ${cycle}` },
    el("div.top", title, steps, button("Mark", () => note(run, `cycle ${cycle}`), { title: "Mark with a note (m)" }), button("✕", shut, { "aria-label": "Close" })), body);
  document.getElementById("over").append(node);
  title.focus();
  node.addEventListener("keydown", (e) => e.key === "Tab" && inside(e, node));
  answering(body, async () => show(await ask(`/cycle/${cycle}`, { key })))();

  // address is that of this view with other parameters.
  function address(parameters) {
    const q = new URLSearchParams(location.search);
    for (const [k, v] of Object.entries(parameters)) q.set(k, v);
    return location.pathname + "?" + q;
  }

  function show(c) {
    const at = (n) => (n === null ? null : address({ c: n })), mine = noteOf(run, `cycle ${cycle}`);
    fill(steps, step(at(c.prev), "‹", "Previous cycle", ","), " ", step(at(c.next), "›", "Next cycle", "."));
    const facts = [c.versions.length ? `Tokens of ${c.versions.join(", ")}` : null, c.served ? `${c.served} served as it ended` : null, c.attempt > 1 ? `attempt ${c.attempt}` : null, clock(c.time)];
    fill(body, el("p.lead", data(c.sentence, 900)), el("p.grey", facts.filter(Boolean).join(" · ")), mine ? el("p", "Your note: ", data(mine)) : null, samples(c), moved(c), events(c), values(c),
      el("p", el("a", { href: to(run, "time", { c: cycle }) }, "Time of this cycle"), " · ", el("a", { href: to(run, "samples", { q: `cycle:${cycle}` }) }, "All its samples"), " · ", el("a", { href: to(run, "experts", { c: cycle }) }, "Experts")));
  }

  // samples are the three that made most of the change, and five more if they made half a percent.
  function samples(c) {
    const worth = c.samples.filter((s, i) => i < 3 || (i < 8 && s.share >= 0.005)), note = c.note && !c.sentence.includes(c.note.replace(/\.$/, "")) ? el("p.grey", data(c.note)) : null;
    return [el("h2", "Samples by share of the change"), note, worth.length ? table(["problem / sample", "reward", "#largest gap", "share", "#"], worth.map(sample)) : null];
  }

  function sample(s) {
    const [glyph, , tone] = verdictOf(s.verdict), bar = el("i");
    bar.style.width = `${finite(s.share) ? 100 * Math.max(0, Math.min(1, s.share)) : 0}%`;
    return [el("a", { href: sampleAddress(run, s, true), "aria-label": `problem ${s.group}, sample ${s.slot}` }, `${s.group} / ${s.slot}`), el("span", { class: tone, title: s.verdict }, glyph, " ", fixed(s.reward, 2)),
      significant(s.gap_max), el("div.sharebar", bar), finite(s.share) && Math.abs(s.share) < 0.001 ? "< 0.1 %" : share(s.share)];
  }

  function moved(c) {
    if (!c.moved.length) return [el("h2", "What else moved"), el("p.grey", "Nothing is far from its 20 cycles before.")];
    const row = (m) => [el("a", { href: address({ key: m.key }) }, data(m.key, 60)), el("span", { title: c.values[m.key] || null }, byUnit(m.value, m.unit)), byUnit(m.usual, m.unit), significant(m.z, 2)];
    return [el("h2", "What else moved ", el("span.grey", "z: robust standard deviations from the 20 cycles before")), table(["series", "#value", "#usual", "#z"], c.moved.slice(0, 12).map(row))];
  }

  function events(c) {
    if (!c.events.length) return null;
    const row = (e) => [el("span.nowrap.grey", clock(e.time)), el("span.grey", e.kind), [e.href ? el("a", { href: inRun(run, e.href) }, data(e.text)) : data(e.text), finite(e.took) ? el("span.grey", ` ${duration(e.took)}`) : null]];
    return [el("h2", "What happened then"), table(["", "", ""], c.events.map(row))];
  }

  function values(c) {
    const all = Object.entries(c.values);
    return el("details", el("summary", `All ${count(all.length)} values as stored`), table(["", "#"], all.map(([k, v]) => [data(k, 90), el("span.mono", data(v, 60))])));
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
