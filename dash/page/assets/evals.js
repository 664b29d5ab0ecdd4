// Evaluations: curves, a matrix of problems by checkpoints, and what was gained or lost between two of them.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, to } from "./address.js";
import { failed } from "./api.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { passCard } from "./cards.js";
import { count, finite, fixed, interval, share, signed } from "./format.js";

export function evals(ctx) {
  const { ask, run } = ctx, board = new Board(new URLSearchParams()), node = el("div.stack", el("p.grey", "Reading…"));
  let all = null, curve = null;
  board.onopen = (c) => change({ b: c });

  async function load(q) {
    try {
      all = await ask("/evals");
      if (!all.names.length) return fill(node, el("h1.unseen", "Evaluations"), el("div.panel", el("div.empty", el("b", "No evaluation yet"), "--eval-interval says after how many cycles one comes, --eval-prompt-data of what.")));
      const name = all.names.includes(q.get("set")) ? q.get("set") : all.names[0], heads = all.evals.filter((e) => e.name === name);
      const cycles = heads.map((e) => e.cycle), asked = (k, other) => (cycles.includes(+q.get(k)) && q.get(k) !== null ? +q.get(k) : other);
      const a = asked("a", cycles[0]), b = asked("b", cycles.at(-1)), ks = Object.keys(heads.at(-1).pass).map(Number).sort((x, y) => x - y), k = ks.includes(+q.get("k")) ? +q.get("k") : ks[0];
      const e = await ask(`/evals/${encodeURIComponent(name)}`, { a, b, k });
      show(name, heads, ks.filter((n) => [1, 2, 4, 8].includes(n)), e, a, b, k, ks);
    } catch (e) {
      if (e.name !== "AbortError") fill(node, failed(e));
    }
  }

  function show(name, heads, ks, e, a, b, k, allK) {
    curve?.close();
    curve = card(passCard(name, ks.length ? ks : [1], `${count(heads.at(-1).problems)} × ${count(heads.at(-1).samples / (heads.at(-1).problems || 1))}`), board, (p) => ask("/rows", p), { class: "span-12", csv: () => null });
    const choose = (param, value, label) => el("label", `${label} `, el("select", { "aria-label": `${label} evaluation`, onchange: (ev) => change({ [param]: ev.target.value }) }, heads.map((h) => el("option", { value: h.cycle, selected: h.cycle === value }, `cycle ${h.cycle} (${h.version})`))));
    fill(node, el("div.bar", el("h1", "Evaluations"), all.names.length > 1 ? el("select", { "aria-label": "Evaluation", onchange: (ev) => change({ set: ev.target.value, a: null, b: null }) }, all.names.map((n) => el("option", { value: n, selected: n === name }, n))) : el("span", data(name)),
      allK.length > 1 ? el("label", "k ", el("select", { "aria-label": "k of pass@k", onchange: (ev) => change({ k: ev.target.value }) }, allK.map((n) => el("option", { value: n, selected: n === k }, n)))) : null, choose("a", a, "from"), choose("b", b, "to")),
      el("div.grid", curve.node, paired(e.paired, e), table(heads, ks)), matrix(name, e, a, b));
  }

  function paired(p, e) {
    if (!p) return el("div.panel.span-6", el("h2", "Difference"), el("p.grey", "Two evaluations are needed."));
    const found = (id) => e.problems.find((x) => x.id === id), at = (id, c) => { const cell = found(id)?.cells[e.cycles.indexOf(c)]; return cell ? `${cell.c}/${cell.n}` : "–"; };
    const list = (ids, word, tone) => el("details", { open: ids.length > 0 && ids.length <= 12 }, el("summary", { class: tone }, `${count(ids.length)} ${word}`), el("ul", ids.slice(0, 200).map((id) => el("li", data(id, 80), el("span.grey", ` ${at(id, p.a)} → ${at(id, p.b)}`)))));
    const sure = finite(p.lo) && (p.lo > 0 || p.hi < 0);
    return el("div.panel.span-6.tall", { tabindex: 0, role: "region", "aria-label": "Gained and lost" }, el("h2", `pass@${p.k}, cycle ${count(p.a)} to ${count(p.b)}`), el("p.big", `${signed(p.diff)} ${interval(p.lo, p.hi)}`), el("p.grey", sure ? `paired over ${count(p.problems)} problems, 95 %` : `not distinguishable from no change: paired over ${count(p.problems)} problems, 95 %`),
      list(p.gained, "gained", "ok"), list(p.lost, "lost", "bad"), el("p.grey", `${count(p.unchanged)} unchanged`));
  }

  function table(heads, ks) {
    return el("div.panel.span-6.tall", { tabindex: 0, role: "region", "aria-label": "All evaluations" }, el("h2", "All of them"), el("table", el("thead", el("tr", ["cycle", "version", ...ks.map((k) => `pass@${k}`), "truncated"].map((h) => el("th.num", h)))),
      el("tbody", [...heads].reverse().slice(0, 100).map((h) => el("tr", el("td.num", el("a", { href: to(run, "", { c: h.cycle || null }) }, count(h.cycle))), el("td.num", h.version), ks.map((k) => { const p = h.pass[k]; return el("td.num", p ? [fixed(p.value, 3), k === ks[0] ? el("span.grey", ` [${fixed(p.lo, 2)}, ${fixed(p.hi, 2)}]`) : null] : "–"); }), el("td.num", h.samples ? share(h.truncated / h.samples) : "–"))))));
  }

  function matrix(name, e, a, b) {
    const cell = (p, j) => {
      const c = p.cells[j];
      if (!c || !c.n) return el("td");
      const heat = Math.round((c.c / c.n) * 6);
      return el("td", el("a", { class: `m${heat}`, href: to(run, `group/${e.cycles[j]}/${c.group}`, { eval: name }), title: `${p.id}, cycle ${e.cycles[j]}: ${c.c} of ${c.n} right${c.truncated ? `, ${c.truncated} cut` : ""}` }, `${c.c}/${c.n}`));
    };
    const rows = e.problems.slice(0, 300);
    return el("div.panel", el("h2", "Problems by checkpoint ", el("span.grey", "right of asked, those that fell most first; a cell opens its answers")), el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Problems by checkpoint" },
      el("table.matrix", el("thead", el("tr", el("th", "problem"), e.cycles.map((c) => el("th.num", count(c), c === a ? " a" : c === b ? " b" : "")), el("th.num", "change"))), el("tbody", rows.map((p) => el("tr", el("th.data", { scope: "row" }, data(p.id, 40)), e.cycles.map((_, j) => cell(p, j)), el("td.num", finite(p.change) ? signed(p.change) : "–")))))),
      e.problems.length > rows.length ? el("p.grey", `${count(e.problems.length - rows.length)} problems more between these`) : null);
  }

  return { node, update: load, repaint: () => curve?.chart.repaint(), close: () => curve?.close() };
}
