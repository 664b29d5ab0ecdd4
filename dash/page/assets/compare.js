// Two runs: the settings that differ, then the same charts with both, A solid and B dashed, then their evaluations in pairs.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { failed, keysOf } from "./api.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { mark } from "./cards.js";
import { written } from "./config.js";
import { byUnit, count, finite, interval, signed, states } from "./format.js";

// What is laid over each other: key, title, unit, colour, scale.
const charts = [
  ["rollout/raw_reward", "Online reward", "reward", "blue", {}], ["train/logp_diff/mean", "Train–rollout gap, mean", "nats", "teal", { log: true }], ["pass", "Held-out pass@1", "share", "purple", {}],
  ["rollout/truncated_ratio", "Truncated", "share", "olive", { share: true }], ["perf/tokens_per_gpu_per_sec", "Rollout", "tok/s", "blue", { zero: true }], ["perf/step_time", "Cycle", "s", "orange", { zero: true }], ["rollout/response_len/mean", "Response length", "tokens", "blue", {}],
];

export function compare(ctx) {
  const a = ctx.q.get("a"), b = ctx.q.get("b"), node = el("div.stack", el("p.grey", "Reading…"));
  let board = new Board(ctx.q), cards = [], first = null;
  const close = () => cards.forEach((c) => c.close());

  if (!a || !b) return { node: el("div.empty", el("b", "Two runs are needed"), el("a", { href: "/" }, "Tick two in the list")) };

  async function load() {
    try {
      const r = await ctx.get("/api/compare", { a, b, x: board.axis === "time" ? "cycle" : board.axis, px: 400, keys: keysOf(["rollout/raw_reward"]) });
      show(r);
    } catch (e) {
      if (e.name !== "AbortError") fill(node, failed(e));
    }
  }

  function show(r) {
    close();
    first = r;
    const pass = r.keys.find((k) => /^eval\/.*-pass@1$/.test(k));
    const specs = charts.map(([key, ...rest]) => [key === "pass" ? pass : key, ...rest]).filter(([key]) => key && r.keys.includes(key));
    const axis = el("span.seg", { role: "group", "aria-label": "Axis" }, ["cycle", "step", "tokens"].map((v) => el("button", { type: "button", "aria-pressed": String(v === board.axis), onclick: () => change({ x: v === "cycle" ? null : v, from: null, to: null }) }, v)));
    cards = specs.map((s, i) => card(spec(...s), board, both(), { class: i < 3 ? "span-4" : "span-3 low", csv: () => null }));
    fill(node, el("div.bar", el("h1", "Compare"), name("A", r.a, ""), name("B", r.b, "4 3"), axis), r.warn.map((w) => el("p.failed", "▲ ", data(w))), differ(r), el("div.grid", cards.map((c) => c.node)), evals(r));
  }

  const name = (letter, head, dash) => el("span.pill", mark("blue", { dash }), el("b", letter), el("a", { href: to(head.run, "") }, data(head.run, 60)), el("span.grey", ` ${(states[head.state] || [0, head.state])[1]}, ${count(head.rows)} cycles`));

  // both asks for the rows of the two and lays them on one axis.
  const both = () => async (p) => {
    const r = await ctx.get("/api/compare", { a, b, keys: p.keys, x: p.x === "time" ? "cycle" : p.x, px: p.px }), [one, two] = [r.rows_a, r.rows_b];
    const key = decodeURIComponent(p.keys.replaceAll("%2C", ",")), at = new Map();
    one.x.forEach((x, i) => at.set(x, [x, one.cycle[i], one.cols[key]?.[i], undefined]));
    two.x.forEach((x, i) => { const row = at.get(x) || [x, two.cycle[i], undefined, undefined]; row[3] = two.cols[key]?.[i]; at.set(x, row); });
    const rows = [...at.values()].sort((u, v) => u[0] - v[0]), from = [one.from, two.from].filter(finite), till = [one.to, two.to].filter(finite);
    return { x: rows.map((v) => v[0]), cycle: rows.map((v) => v[1]), cols: { [key]: rows.map((v) => v[2] ?? null), b: rows.map((v) => v[3] ?? null) }, avg: {}, fit: {}, gaps: [], lost: [], odd: {}, total: rows.length, kept: rows.length, from: Math.min(...from), to: Math.max(...till) };
  };

  function spec(key, title, unit, colour, scale) {
    return {
      id: key, title, unit, keys: [key], ...scale, series: [{ key, name: "A", colour, width: 1.75, joined: true }, { key: "b", name: "B", colour, width: 1.75, dash: [5, 4], joined: true }],
      now: (r) => [byUnit(r.cols[key].findLast(finite), unit), el("small", ` B ${byUnit(r.cols.b.findLast(finite), unit)}`)], at: (r, i) => [byUnit(r.cols[key][i], unit), el("small", ` B ${byUnit(r.cols.b[i], unit)}`)],
      key: () => [el("span", mark(colour, {}), "A"), el("span", mark(colour, { dash: "4 3" }), "B")],
    };
  }

  function differ(r) {
    if (!r.differ.length) return el("div.panel", el("p", `No setting differs: ${count(r.same)} are equal.`));
    return el("details.panel", { open: true }, el("summary", el("b", `${count(r.differ.reduce((n, g) => n + g.settings.length, 0))} settings differ`), el("span.grey", `, ${count(r.same)} are equal`)),
      el("table.cards-table", el("thead", el("tr", ["", "setting", "A", "B"].map((h) => el("th", h)))), el("tbody", r.differ.flatMap((g) => g.settings.map((s, i) => el("tr", el("td.grey", i ? "" : g.group), el("td", data(s.name, 120)), el("td.mono", { title: s.origin_a }, data(written(s.a), 200)), el("td.mono", { title: s.origin_b }, data(written(s.b), 200))))))));
  }

  function evals(r) {
    if (!r.evals.length) return el("p.grey", "No evaluation that both have.");
    return el("div.panel", el("h2", "Evaluations, B minus A, paired by problem"), el("table", el("tbody", r.evals.map((e) => el("tr", el("td", data(e.name, 60)), el("td", `cycle ${count(e.cycle_a)} and ${count(e.cycle_b)}`), el("td", el("b", `pass@${e.paired.k} ${signed(e.paired.diff)} ${interval(e.paired.lo, e.paired.hi)}`)), el("td.grey", `${count(e.paired.gained.length)} gained, ${count(e.paired.lost.length)} lost, ${count(e.paired.unchanged)} unchanged of ${count(e.paired.problems)}`))))));
  }

  return {
    node,
    update(q) {
      const axis = board.axis;
      board.read(q);
      if (!first || axis !== board.axis) { board.whole = [0, 1]; return load(); }
      cards.forEach((c) => c.chart.redraw());
    },
    repaint: () => cards.forEach((c) => c.chart.repaint()),
    key(e) {
      const f = { "+": () => board.scale(0.5), "-": () => board.scale(2), 0: () => board.scale(0), ArrowLeft: () => board.step(e.shiftKey ? -10 : -1), ArrowRight: () => board.step(e.shiftKey ? 10 : 1) }[e.key];
      f?.();
      return Boolean(f);
    },
    close,
  };
}
