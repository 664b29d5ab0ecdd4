// Evaluations: curves, a matrix of problems by checkpoints, and what was gained or lost between two of them.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { passCard, passKs } from "./cards.js";
import { count, finite, fixed, interval, share, signed } from "./format.js";
import { answering, choice, empty, region, table } from "./parts.js";

export function evals(ctx) {
  const { ask, run } = ctx, board = new Board(new URLSearchParams()), node = el("div.stack", el("p.grey", "Reading…"));
  board.onopen = (c) => change({ b: c });

  const load = answering(node, async (q) => {
    const all = await ask("/evals");
    if (!all.names.length) return fill(node, el("h1.unseen", "Evaluations"), el("div.panel", empty("No evaluation yet", "--eval-interval says after how many cycles one comes, --eval-prompt-data of what.")));
    const asked = (k, among, other) => (q.has(k) && among.includes(+q.get(k)) ? +q.get(k) : other);
    const name = all.names.includes(q.get("set")) ? q.get("set") : all.names[0], heads = all.evals.filter((e) => e.name === name), cycles = heads.map((e) => e.cycle);
    const ks = Object.keys(heads.at(-1).pass).map(Number).sort((x, y) => x - y);
    const now = { a: asked("a", cycles, cycles[0]), b: asked("b", cycles, cycles.at(-1)), k: asked("k", ks, ks[0]) };
    show(all, name, heads, ks, now, await ask(`/evals/${encodeURIComponent(name)}`, now));
  });

  function show(all, name, heads, ks, now, e) {
    const shown = passKs(ks), { problems, samples } = heads.at(-1);
    board.close();
    const curve = card(passCard(name, shown, `${count(problems)} × ${count(samples / (problems || 1))}`, ctx.head?.baselines), board, (p) => ask("/rows", p), { class: "span-12", csv: () => null });
    const checkpoint = (param, label) => el("label", `${label} `, choice(`${label} evaluation`, heads.map((h) => [h.cycle, `cycle ${h.cycle} (${h.version})`]), now[param], (v) => change({ [param]: v })));
    fill(node, el("div.bar", el("h1", "Evaluations"), all.names.length > 1 ? choice("Evaluation", all.names.map((n) => [n, n]), name, (v) => change({ set: v, a: null, b: null })) : el("span", data(name)),
      ks.length > 1 ? el("label", "k ", choice("k of pass@k", ks.map((n) => [n, n]), now.k, (v) => change({ k: v }))) : null, checkpoint("a", "from"), checkpoint("b", "to")),
      el("div.grid", curve.node, paired(e.paired, e), list(heads, shown)), matrix(name, e, now));
  }

  function paired(p, e) {
    if (!p) return el("div.panel.span-6", el("h2", "Difference"), el("p.grey", "Two evaluations are needed."));
    const sure = finite(p.lo) && (p.lo > 0 || p.hi < 0), cells = new Map(e.problems.map((x) => [x.id, x.cells]));
    const at = (id, c) => { const cell = cells.get(id)?.[e.cycles.indexOf(c)]; return cell ? `${cell.c}/${cell.n}` : "–"; };
    const problems = (ids, word, tone) => el("details", { open: ids.length > 0 && ids.length <= 12 }, el("summary", { class: tone }, `${count(ids.length)} ${word}`),
      el("ul.two", ids.slice(0, 200).map((id) => el("li", data(id, 80), el("span.grey", ` ${at(id, p.a)} → ${at(id, p.b)}`)))));
    return region("div.panel.span-6.tall", "Gained and lost", el("h2", `pass@${p.k}, cycle ${count(p.a)} to ${count(p.b)}`), el("p.big", `${signed(p.diff)} ${interval(p.lo, p.hi)}`),
      el("p.grey", `${sure ? "" : "not distinguishable from no change: "}paired over ${count(p.problems)} problems, 95 %`), problems(p.gained, "gained", "ok"), problems(p.lost, "lost", "bad"), el("p.grey", `${count(p.unchanged)} unchanged`));
  }

  function list(heads, ks) {
    const pass = (p, first) => (p ? [fixed(p.value, 3), first ? el("span.grey", ` [${fixed(p.lo, 2)}, ${fixed(p.hi, 2)}]`) : null] : "–");
    const row = (h) => [el("a", { href: to(run, "", { c: h.cycle || null }) }, count(h.cycle)), h.version, ...ks.map((k) => pass(h.pass[k], k === ks[0])), h.samples ? share(h.truncated / h.samples) : "–"];
    return region("div.panel.span-6.tall", "All evaluations", el("h2", "All of them"), table(["#cycle", "#version", ...ks.map((k) => `#pass@${k}`), "#truncated"], [...heads].reverse().slice(0, 100).map(row)));
  }

  function matrix(name, e, { a, b }) {
    const cell = (p, j) => {
      const c = p.cells[j], cycle = e.cycles[j];
      if (!c || !c.n) return el("td");
      return el("td", el("a", { class: `m${Math.round((c.c / c.n) * 6)}`, href: to(run, `group/${cycle}/${c.group}`, { eval: name }), title: `${p.id}, cycle ${cycle}: ${c.c} of ${c.n} right${c.truncated ? `, ${c.truncated} cut` : ""}` }, `${c.c}/${c.n}`));
    };
    const row = (p) => el("tr", el("th.data", { scope: "row" }, data(p.id, 40)), e.cycles.map((_, j) => cell(p, j)), el("td.num", finite(p.change) ? signed(p.change) : "–"));
    const rows = e.problems.slice(0, 300), left = e.problems.length - rows.length, names = e.cycles.map((c) => `#${count(c)}${c === a ? " a" : c === b ? " b" : ""}`);
    return el("div.panel", el("h2", "Problems by checkpoint ", el("span.grey", "right of asked, those that fell most first; a cell opens its answers")),
      region("div.scroll", "Problems by checkpoint", table(["problem", ...names, "#change"], rows.map(row), { class: "matrix" })), left ? el("p.grey", `${count(left)} problems more between these`) : null);
  }

  return { node, update: load, repaint: () => board.repaint(), close: () => board.close() };
}
