// Evaluations: curves, the matrix of problems by checkpoints, and what was gained or lost between two of them.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { passCard, passKs } from "./cards.js";
import { count, finite, fixed, interval, share, signed } from "./format.js";
import { matrix } from "./matrix.js";
import { answering, choice, damage, empty, region, table } from "./parts.js";

export function evals(ctx) {
  const { ask, run } = ctx, board = new Board(new URLSearchParams()), node = el("div.stack", el("p.grey", "Reading…"));
  board.onopen = (c) => change({ b: c });

  const load = answering(node, async (q) => {
    const all = await ask("/evals");
    if (!all.names.length) return fill(node, el("h1.unseen", "Evaluations"), el("div.panel", damage(all.bad), empty("No evaluation yet", "--eval-interval says after how many cycles one comes, --eval-prompt-data of what.")));
    const asked = (k, among, other) => (q.has(k) && among.includes(+q.get(k)) ? +q.get(k) : other);
    const name = all.names.includes(q.get("set")) ? q.get("set") : all.evals[0]?.name ?? all.names[0], heads = all.evals.filter((e) => e.name === name), cycles = heads.map((e) => e.cycle);
    if (!heads.length) return fill(node, bar(all, name), el("div.panel", damage(all.bad), empty("No evaluation of this set can be read", "Its figures are in the overview's charts, as the rows have them.")));
    const ks = Object.keys(heads.at(-1).pass).map(Number).sort((x, y) => x - y);
    const now = { a: asked("a", cycles, cycles[0]), b: asked("b", cycles, cycles.at(-1)), k: asked("k", ks, ks[0]) };
    show(all, name, heads, ks, now, await ask(`/evals/${encodeURIComponent(name)}`, now));
  });

  function show(all, name, heads, ks, now, e) {
    const shown = passKs(ks), { problems, samples } = heads.at(-1);
    board.close();
    const curve = card(passCard(name, shown, `${count(problems)} × ${count(samples / (problems || 1))}`, ctx.head?.baselines), board, (p) => ask("/rows", p), { class: "span-12", csv: () => null });
    const checkpoint = (param, label) => el("label", `${label} `, choice(`${label} evaluation`, heads.map((h) => [h.cycle, `cycle ${h.cycle} (${h.version})`]), now[param], (v) => change({ [param]: v })));
    const which = ks.length > 1 ? el("label", "k ", choice("k of pass@k", ks.map((n) => [n, n]), now.k, (v) => change({ k: v }))) : null;
    fill(node, bar(all, name, which, checkpoint("a", "from"), checkpoint("b", "to")), damage(all.bad), el("div.grid", curve.node, paired(e.paired, e), list(heads, shown)), byProblem(name, e, now));
  }

  const bar = (all, name, ...more) => el("div.bar", el("h1", "Evaluations"), all.names.length > 1 ? choice("Evaluation", all.names.map((n) => [n, n]), name, (v) => change({ set: v, a: null, b: null })) : el("span", data(name)), more);

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

  // byProblem is the matrix with its title.
  function byProblem(name, e, { a, b }) {
    return el("div.panel", el("h2", "Problems by checkpoint ", el("span.grey", "right of asked, those that fell most first; a cell opens its answers")),
      matrix(e, { [b]: " b", [a]: " a" }, (cycle, c) => to(run, `group/${cycle}/${c.group}`, { eval: name })));
  }

  return { node, update: load, repaint: () => board.repaint(), close: () => board.close() };
}
