// Two runs: the settings that differ, then the same charts with both, A solid and B dashed, then their evaluations in pairs.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { keysOf } from "./api.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { mark } from "./cards.js";
import { written } from "./config.js";
import { byUnit, count, finite, interval, signed } from "./format.js";
import { answering, damage, empty, seg, stateOf, table } from "./parts.js";

// What is laid over each other: key, title, unit, colour, scale.
const charts = [
  ["rollout/raw_reward", "Online reward", "reward", "blue", {}], ["train/logp_diff/mean", "Train–rollout gap, mean", "nats", "teal", { log: true }], ["pass", "Held-out pass@1", "share", "purple", {}],
  ["rollout/truncated_ratio", "Truncated", "share", "olive", { share: true }], ["perf/tokens_per_gpu_per_sec", "Rollout", "tok/s", "blue", { zero: true }], ["perf/step_time", "Cycle", "s", "orange", { zero: true }], ["rollout/response_len/mean", "Response length", "tokens", "blue", {}],
];

export function compare(ctx) {
  const a = ctx.q.get("a"), b = ctx.q.get("b"), node = el("div.stack", el("p.grey", "Reading…")), board = new Board(ctx.q);
  let known = false;

  if (!a || !b) return { node: empty("Two runs are needed", el("a", { href: "/" }, "Tick two in the list")) };

  // asked is what the server says of both, on an axis that both have.
  const asked = (p) => ctx.get("/api/compare", { a, b, keys: p.keys, x: board.axis === "time" ? "cycle" : board.axis, px: p.px });
  const load = answering(node, async () => show(await asked({ keys: keysOf(["rollout/raw_reward"]), px: 400 })));

  function show(r) {
    board.close();
    known = true;
    const pass = r.keys.find((k) => /^eval\/.*-pass@1$/.test(k));
    const specs = charts.map(([key, ...rest]) => [key === "pass" ? pass : key, ...rest]).filter(([key]) => key && r.keys.includes(key));
    const axis = seg("Axis", ["cycle", "step", "tokens"].map((v) => [v, v]), (v) => v === board.axis, (v) => change({ x: v === "cycle" ? null : v, from: null, to: null }));
    const cards = specs.map((s, i) => card(spec(...s), board, both, { class: i < 3 ? "span-4" : specs.length === 7 ? "span-3 low" : "span-4 low", csv: () => null }));
    fill(node, el("div.bar", el("h1", "Compare"), name("A", r.a, ""), name("B", r.b, "4 3"), axis), r.warn.length ? el("ul.failed", r.warn.map((w) => el("li", el("span.warn", "▲ "), data(w)))) : null, damage(r.a.problems, "A"), damage(r.b.problems, "B"), differ(r), el("div.grid", cards.map((c) => c.node)), evals(r));
  }

  const name = (letter, head, dash) => el("span.pill", mark("blue", { dash }), el("b", letter), el("a", { href: to(head.run, "") }, data(head.run, 60)), el("span.grey", ` ${stateOf(head.state)[1]}, ${count(head.rows)} cycles`));

  // both asks for the rows of the two and lays them on one axis.
  async function both(p) {
    const { rows_a: one, rows_b: two } = await asked(p);
    const key = decodeURIComponent(p.keys.replaceAll("%2C", ",")), at = new Map();
    one.x.forEach((x, i) => at.set(x, [x, one.cycle[i], one.cols[key]?.[i], undefined]));
    two.x.forEach((x, i) => { const row = at.get(x) || [x, two.cycle[i], undefined, undefined]; row[3] = two.cols[key]?.[i]; at.set(x, row); });
    const rows = [...at.values()].sort((u, v) => u[0] - v[0]), from = [one.from, two.from].filter(finite), till = [one.to, two.to].filter(finite);
    return { x: rows.map((v) => v[0]), cycle: rows.map((v) => v[1]), cols: { [key]: rows.map((v) => v[2] ?? null), b: rows.map((v) => v[3] ?? null) }, avg: {}, fit: {}, gaps: [], lost: [], odd: {}, total: rows.length, kept: rows.length, from: Math.min(...from), to: Math.max(...till) };
  }

  function spec(key, title, unit, colour, scale) {
    return {
      id: key, title, unit, keys: [key], ...scale, series: [{ key, name: "A", colour, width: 1.75, joined: true }, { key: "b", name: "B", colour, width: 1.75, dash: [5, 4], joined: true }],
      now: (r) => [byUnit(r.cols[key].findLast(finite), unit), el("small", ` B ${byUnit(r.cols.b.findLast(finite), unit)}`)], at: (r, i) => [byUnit(r.cols[key][i], unit), el("small", ` B ${byUnit(r.cols.b[i], unit)}`)],
      key: () => [el("span", mark(colour, {}), "A"), el("span", mark(colour, { dash: "4 3" }), "B")],
    };
  }

  function differ(r) {
    const n = r.differ.reduce((sum, g) => sum + g.settings.length, 0);
    if (!n) return el("div.panel", el("p", r.same ? `No setting differs: ${count(r.same)} are equal.` : "No settings of both runs can be read."));
    const rows = r.differ.flatMap((g) => g.settings.map((s, i) => [el("span.grey", i ? "" : g.group), data(s.name, 120), el("span.mono", { title: s.origin_a }, data(written(s.a), 200)), el("span.mono", { title: s.origin_b }, data(written(s.b), 200))]));
    return el("details.panel", { open: n <= 12 }, el("summary", el("b", `${count(n)} ${n === 1 ? "setting differs" : "settings differ"}`), el("span.grey", `, ${count(r.same)} are equal`)), table(["", "!setting", "A", "B"], rows, { class: "cards-table" }));
  }

  function evals(r) {
    if (!r.evals.length) return el("p.grey", "No evaluation that both have, and that can be read.");
    const row = ({ name, cycle_a, cycle_b, paired: p }) => [data(name, 60), `cycle ${count(cycle_a)} and ${count(cycle_b)}`, el("b", `pass@${p.k} ${signed(p.diff)} ${interval(p.lo, p.hi)}`),
      el("span.grey", `${count(p.gained.length)} gained, ${count(p.lost.length)} lost, ${count(p.unchanged)} unchanged of ${count(p.problems)}`)];
    return el("div.panel", el("h2", "Evaluations, B minus A, paired by problem"), table(["", "", "", ""], r.evals.map(row)));
  }

  return {
    node,
    update(q) {
      const axis = board.axis;
      board.read(q);
      if (known && axis === board.axis) return board.redraw();
      board.whole = [0, 1];
      load();
    },
    repaint: () => board.repaint(),
    key: (e) => board.key(e),
    close: () => board.close(),
  };
}
