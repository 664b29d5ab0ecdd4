// One cycle as lanes, with the name of what each wait waits for; below, the cycles around it.
import { colour, el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { inOrder, lookOf } from "./cards.js";
import { count, duration, finite, share } from "./format.js";
import { answering, beside, damage, empty, picture, step, swatch, table } from "./parts.js";

const inks = [[/wait|idle/i, "idle"], [/roll|generat|decode|prefill/i, "blue"], [/reward|grad(e|er|ing)|judge/i, "olive"], [/train|step|forward|backward|score|logprob|pack/i, "orange"], [/update|push|publish|weight|sync|canary/i, "teal"], [/eval/i, "purple"], [/save|checkpoint|write/i, "slate"]];
const inkOf = (span, lane) => (span.waits_for ? "idle" : (inks.find(([r]) => r.test(span.name)) || inks.find(([r]) => r.test(lane)) || [0, "slate"])[1]);

export function time(ctx) {
  const { ask, run, q } = ctx, node = el("div.stack", el("p.grey", "Reading…"));
  let t = null, from = 0, to_ = 1, lanes = null, cycle = null, readout = null, seen = "";

  const load = answering(node, async (query) => {
    cycle = query.get("c") ?? String(ctx.head.last);
    if (cycle === seen) return;
    t = await ask(`/time/${cycle}`);
    seen = cycle;
    order(t);
    [from, to_] = [t.t0, t.t1 > t.t0 ? t.t1 : t.t0 + 1];
    show();
  }, (e) => empty(ctx.head.rows ? `Cycle ${cycle} has no times` : "No cycle yet", data(e.message)));

  function show() {
    const i = t.around.findIndex((a) => a.cycle === t.cycle), near = (n) => (t.around[i + n] ? to(run, "time", { c: t.around[i + n].cycle }) : null);
    readout = el("p.grey", "Hover a span to read it. Drag moves, the wheel or w and s zoom, a and d move, 0 shows all.");
    lanes = picture("lanes", `What each part did in cycle ${t.cycle}; the table below has the parts`, Math.max(80, 24 + t.lanes.length * 34), paint);
    listen();
    fill(node, el("div.crumbs", el("h1", `Time of cycle ${count(t.cycle)}`), step(near(-1), "‹", "Previous cycle", ","), step(near(1), "›", "Next cycle", "."), el("b", duration(t.step_time)),
      el("a", { href: to(run, "", { c: t.cycle }) }, "What it did"), el("a", { href: `${ask.base}/time/${t.cycle}?format=trace`, download: `cycle-${t.cycle}.trace.json` }, "as a Chrome trace")),
      damage(t.bad), el("div.panel", t.lanes.length ? [lanes, readout, spans()] : empty("No spans of this cycle", "The parts below are measured apart from them.")),
      el("div.grid", el("div.panel.span-4", el("h2", "The trainer's clock"), parts()), el("div.panel.span-8", el("h2", "The cycles around ", el("span.grey", "a click opens one")), bars())));
  }

  function parts() {
    const there = t.parts.filter((p) => finite(p.value) && p.value), sum = there.reduce((a, p) => a + p.value, 0);
    return table(["", "#", "#"], there.map((p) => [[swatch(lookOf(p.key)[0]), " ", lookOf(p.key)[1]], duration(p.value), share(p.value / sum)]));
  }

  function spans() {
    const all = t.lanes.flatMap((l) => l.spans.map((s) => [l.name, s])), longest = [...all].sort((a, b) => b[1].t1 - b[1].t0 - (a[1].t1 - a[1].t0)).slice(0, 60);
    return el("details", el("summary", `Longest spans of ${count(all.length)}`), table(["lane", "what", "waits for", "#begins", "#took"],
      longest.map(([lane, s]) => [data(lane, 40), [data(s.name, 60), s.version ? el("span.grey", ` ${s.version}`) : null], data(s.waits_for, 80), duration(s.t0 - t.t0), duration(s.t1 - s.t0)])));
  }

  const left = 92;

  function paint(c, w, h) {
    const scale = (w - left) / (to_ - from), x = (v) => left + (v - from) * scale;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    ticks(c, w, h, x);
    t.lanes.forEach((lane, i) => {
      const y = 22 + i * 34;
      c.fillStyle = colour("ink");
      c.fillText(clip(c, lane.name, left - 8), 0, y + 13);
      c.save();
      c.beginPath();
      c.rect(left, y, w - left, 30);
      c.clip();
      for (const s of lane.spans) if (s.t1 >= from && s.t0 <= to_) span(c, s, lane.name, x(s.t0), Math.max(1, x(s.t1) - x(s.t0)), y);
      c.restore();
    });
  }

  function span(c, s, lane, x, w, y) {
    const ink = inkOf(s, lane);
    c.fillStyle = colour(ink);
    c.fillRect(x, y, w - (w > 3 ? 0.5 : 0), 26);
    if (ink === "idle" && w > 3) { c.strokeStyle = colour("idle-line"); c.lineWidth = 1; c.strokeRect(x + 0.5, y + 0.5, w - 1.5, 25); }
    const words = s.waits_for ? `waits for ${s.waits_for}` : s.name, at = Math.max(x, left);
    if (w - (at - x) < 34) return;
    c.fillStyle = colour(ink === "idle" ? "ink" : `on-${ink}`);
    c.fillText(clip(c, words, w - (at - x) - 8), at + 4, y + 13);
  }

  function ticks(c, w, h, x) {
    const step = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600].find((s) => (to_ - from) / s < w / 90) || 7200;
    for (let v = Math.ceil((from - t.t0) / step) * step; v <= to_ - t.t0; v += step) {
      c.fillStyle = colour("grid");
      c.fillRect(x(v + t.t0), 16, 1, h);
      const words = step >= 1 && v < 60 ? `${Math.round(v)} s` : duration(+v.toPrecision(6)), at = x(v + t.t0) + 2;
      c.fillStyle = colour("grey");
      if (at + c.measureText(words).width <= w) c.fillText(words, at, 8);
    }
  }

  function bars() {
    const node = picture("canvas", `Parts of cycles ${t.around[0]?.cycle} to ${t.around.at(-1)?.cycle}`, 180, (c, w, h) => {
      const top = Math.max(...t.around.map((a) => a.parts.reduce((s, v) => s + (finite(v) ? v : 0), 0)), 1e-9), cw = w / t.around.length;
      t.around.forEach((a, i) => {
        let y = h - 16;
        a.parts.forEach((v, k) => {
          const part = finite(v) ? (v / top) * (h - 24) : 0;
          c.fillStyle = colour(lookOf(t.series[k])[0]);
          c.fillRect(i * cw + 2, y - part, Math.max(2, cw - 4), part);
          y -= part;
        });
        c.fillStyle = colour(a.cycle === t.cycle ? "ink" : "grey");
        c.font = `${a.cycle === t.cycle ? "bold " : ""}11px system-ui, sans-serif`;
        c.textAlign = "center";
        if (cw > 26 || i % 2 === 0) c.fillText(String(a.cycle), (i + 0.5) * cw, h - 3);
      });
    });
    node.addEventListener("click", (e) => change({ c: t.around[Math.min(t.around.length - 1, Math.floor((e.offsetX / node.clientWidth) * t.around.length))].cycle }));
    return node;
  }

  function zoom(factor, at = 0.5) {
    const middle = from + (to_ - from) * at, width = Math.min(t.t1 - t.t0, Math.max(1e-5, (to_ - from) * factor));
    from = Math.max(t.t0, middle - width * at);
    to_ = Math.min(t.t1, from + width);
    lanes.paint();
  }

  function move(part) {
    const d = (to_ - from) * part, by = Math.max(t.t0 - from, Math.min(t.t1 - to_, d));
    [from, to_] = [from + by, to_ + by];
    lanes.paint();
  }

  function listen() {
    let last = null;
    const at = (e) => Math.max(0, (e.offsetX - left) / (lanes.clientWidth - left));
    lanes.addEventListener("wheel", (e) => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e)); }, { passive: false });
    lanes.addEventListener("pointerdown", (e) => { last = e.offsetX; lanes.setPointerCapture(e.pointerId); });
    lanes.addEventListener("pointerup", () => (last = null));
    lanes.addEventListener("pointermove", (e) => {
      if (last !== null) { move((last - e.offsetX) / (lanes.clientWidth - left)); last = e.offsetX; return; }
      const lane = t.lanes[Math.floor((e.offsetY - 22) / 34)], v = from + at(e) * (to_ - from), s = lane?.spans.findLast((x) => x.t0 <= v && x.t1 >= v);
      if (s) fill(readout, data(lane.name), ": ", el("b", data(s.name)), ` ${duration(s.t1 - s.t0)}, from ${duration(s.t0 - t.t0)}`, s.waits_for ? [", waits for ", data(s.waits_for)] : null, s.version ? `, ${s.version}` : "", s.attempt > 1 ? `, attempt ${s.attempt}` : "");
    });
  }

  return {
    node, update: load, repaint: () => lanes?.paint(), rows: () => q.get("c") === null && !new URLSearchParams(location.search).get("c") && load(new URLSearchParams()),
    key(e) {
      if (!t?.lanes.length) return false;
      const f = { w: () => zoom(0.7), s: () => zoom(1.4), a: () => move(-0.2), d: () => move(0.2), 0: () => zoom(1e9), "+": () => zoom(0.7), "-": () => zoom(1.4) }[e.key];
      f?.();
      return Boolean(f) || beside(node, "ArrowLeft", "ArrowRight")(e);
    },
  };
}

// order puts the parts into the order of the stacks everywhere.
function order(t) {
  const by = inOrder(t.series), index = by.map((k) => t.series.indexOf(k));
  for (const a of t.around) a.parts = index.map((i) => a.parts[i]);
  t.series = by;
  t.parts.sort((a, b) => by.indexOf(a.key) - by.indexOf(b.key));
}

function clip(c, s, w) {
  if (c.measureText(s).width <= w) return s;
  let n = Math.min(s.length, 200);
  while (n > 0 && c.measureText(s.slice(0, n) + "…").width > w) n--;
  return n ? s.slice(0, n) + "…" : "";
}
