// The overview: four answers in words, seven charts as proof, and everything else below.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, inRun, to } from "./address.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { drawer } from "./drawer.js";
import { byUnit, count, duration, finite, significant, verdictGlyph } from "./format.js";
import { gapCard, more, passCard, phaseCard, plainCard, rewardCard, stalenessCard, throughputCard, truncatedCard } from "./cards.js";

export function overview(ctx) {
  const { ask, run } = ctx, board = new Board(ctx.q), verdicts = el("section.verdicts", { "aria-label": "Verdicts" });
  const tools = toolbar(board, ctx), above = el("div.grid"), below = el("div");
  const node = el("div", verdicts, el("div.notice"), tools.node, above, below);
  let cards = [], open = null, built = "";
  let average = ctx.q.get("avg") || "auto";

  board.onpoint = (c) => tools.read(c);
  board.onopen = (cycle, key) => change({ c: cycle, key: key || null });

  const options = {
    rows: () => ctx.head?.rows, average: () => average, csv: (p) => `${ask.base}/rows?${new URLSearchParams(Object.entries(p).filter(([, v]) => v !== null))}`,
    missing: (spec) => (spec.id === "pass" ? noEval() : `This run writes no ${spec.keys[0]}.`),
  };

  function noEval() {
    return "No evaluation yet. --eval-interval says after how many cycles one comes.";
  }

  function build() {
    const specs = chosen(ctx.head, ctx.settings);
    const shape = JSON.stringify(specs.map((s) => [s.id, s.keys, s.unit]));
    if (shape === built) return;
    built = shape;
    cards.forEach((c) => c.close());
    const source = (p) => ask("/rows", p);
    cards = specs.map((s, i) => card(s, board, source, { ...options, class: i < 3 ? "span-4" : "span-3 low" }));
    fill(above, cards.map((c) => c.node));
    const fold = folds(ctx, board, source, options);
    fill(below, fold.node);
    fold.cards = cards;
  }

  function marks(head) {
    const from = head.alarms.filter((a) => a.since > 0).map((a) => ({ cycle: a.since, kind: "alarm", stands: a.until === null, old: a.until !== null }));
    const noted = head.marks.map((m) => ({ cycle: m.cycle, kind: m.kind, stands: true, word: m.kind === "resume" ? "" : m.kind }));
    board.marks = [...from, ...noted].sort((a, b) => a.cycle - b.cycle);
    board.baselines = head.baselines;
  }

  function drawn() {
    const c = board.q?.get("c");
    if (open) open.close();
    open = c !== null && c !== undefined && c !== "" ? drawer(ctx, +c, board.q.get("key")) : null;
  }

  const state = {
    node,
    title: "Overview",
    head(head) {
      fill(verdicts, head.verdict.map((v) => verdict(v, head, run)));
      fill(node.children[1], notices(head, run));
      node.hidden = false;
      if (!head.rows) return fill(above, el("div.panel.span-12", waiting(head)));
      marks(head);
      build();
      tools.head(head);
      all().forEach((c) => c.redraw());
    },
    update(q) {
      const before = [board.axis, board.from, board.to, average].join();
      const old = board.q;
      board.q = q;
      average = q.get("avg") || "auto";
      board.read(q);
      tools.show(average);
      if (old && before !== [board.axis, board.from, board.to, average].join()) {
        all().forEach((c) => c.redraw());
        clearTimeout(state.soon);
        state.soon = setTimeout(load, 120);
      }
      if (!old || old.get("c") !== q.get("c") || old.get("key") !== q.get("key")) drawn();
    },
    rows(n) {
      if (board.follows()) load(true);
      else tools.behind(n);
    },
    reload: () => load(),
    repaint: () => all().forEach((c) => c.repaint()),
    key: (e) => keys(e, board, tools, all()),
    close() {
      open?.close();
      all().forEach((c) => c.close());
    },
  };

  const all = () => [...board.charts];
  const decks = () => [...node.querySelectorAll(".card")].map((n) => n.deck).filter(Boolean);
  function load(quiet) {
    cards.forEach((c) => c.load(quiet));
    decks().forEach((c) => c.load(quiet));
  }
  return state;
}

// chosen are the seven cards for what the run has.
function chosen(head, settings) {
  const names = (head.keys || []).map((k) => k.name), set = head.evals[0];
  const ks = set ? [...new Set(names.map((n) => (n.startsWith(`eval/${set}-pass@`) ? /@(\d+)$/.exec(n)?.[1] : null)).filter(Boolean).map(Number))].sort((a, b) => a - b).filter((k) => [1, 2, 4, 8].includes(k)) : [];
  const of = (key) => head.keys?.find((k) => k.name === key)?.last;
  const info = set && finite(of(`eval/${set}-problems`)) ? `${count(of(`eval/${set}-problems`))} × ${count(of(`eval/${set}-samples`))}` : "";
  const parts = (head.keys || []).filter((k) => k.part).map((k) => k.name);
  const setting = (name) => settings?.find((s) => s.name === name)?.value;
  return [
    rewardCard(), gapCard(), passCard(set, ks.length ? ks : [1], info), truncatedCard(set, setting("rollout-max-response-len")),
    throughputCard(), phaseCard(parts.length ? parts : ["perf/step_time"]), stalenessCard(head.version, setting("max-staleness")),
  ];
}

function verdict(v, head, run) {
  const links = v.links.map((l) => [" ", el("a", { href: inRun(run, l.href) }, data(l.text))]);
  if (v.id !== "alarms") return el("div.verdict", { "data-id": v.id, tabindex: 0, role: "region", "aria-label": names[v.id] || v.id }, el("h2", names[v.id] || v.id), el("p.big", data(v.big), v.tone && v.tone !== "none" ? ["\u00a0", el("span.glyph", { class: v.tone, "aria-hidden": "true" }, verdictGlyph(v.tone, v.id))] : null), el("p", data(v.text), links), v.id === "alive" ? asides(head) : null);
  const stands = head.alarms.filter((a) => a.until === null), gone = head.alarms.filter((a) => a.until !== null);
  return el("div.verdict.alarms", { "data-id": v.id, tabindex: 0, role: "region", "aria-label": "Alarms" }, el("h2", "Alarms ", stands.length ? el("b.warn", count(stands.length)) : gone.length ? "none now" : null),
    head.alarms.length ? null : el("p.big", data(v.big)), head.alarms.length ? null : el("p", data(v.text)),
    el("ul", stands.map((a) => alarm(a, run)), gone.length ? el("li.grey", el("span"), "earlier") : null, gone.slice(0, 20).map((a) => alarm(a, run))));
}

const names = { alive: "Alive", learning: "Learning", honest: "Honest", alarms: "Alarms" };

function alarm(a, run) {
  const text = a.text.startsWith(`Cycle ${a.since}`) ? a.text.slice(`Cycle ${a.since}`.length) : null, cycle = to(run, "", { c: a.since });
  const hard = a.severity === "error";
  return el("li", el("span.glyph", { class: a.until !== null ? "grey" : hard ? "bad" : "warn", title: hard ? "error" : "warning" }, hard ? "■" : "▲"),
    el("span", el("a", { href: cycle }, `Cycle ${count(a.since)}`), text === null ? ": " : "", data(text ?? a.text, 600), a.link ? [" ", el("a", { href: inRun(run, a.link) }, "See it")] : null));
}

// notices are what stands between verdicts and charts: how a run ended that did not mean to.
function notices(head, run) {
  const out = [];
  if (head.crash) {
    out.push(el("div.panel", el("h2", head.state === "failed" ? "The run failed" : "The run ended without a word"), head.exit ? el("p", data(head.exit)) : null,
      head.crash.checkpoint ? el("p", "It can go on from ", el("b", data(head.crash.checkpoint)), ":") : el("p", "There is no checkpoint to go on from."),
      head.crash.command ? el("pre.text", data(head.crash.command)) : null,
      el("details", el("summary", `Last ${head.crash.log.length} lines of the log`), el("pre.text", head.crash.log.map((l) => [l.level, " ", data(l.msg), "\n"]))), el("p", el("a", { href: to(run, "log") }, "The whole log"))));
  }
  return out;
}

// asides are the attempts and the lines that could not be read, under the first verdict, where they move nothing.
function asides(head) {
  return [head.problems.map((p) => el("p.bad", data(p.file), ` at byte ${count(p.offset)}: `, data(p.error), p.n > 1 ? `, and ${count(p.n - 1)} more` : "")),
    head.attempts.map((a) => a.text && el("p.grey", data(a.text), a.unequal?.length ? el("b.bad", `. Unequal: cycle ${a.unequal.slice(0, 5).join(", ")}`) : null))];
}

function waiting(head) {
  const elapsed = head.since || head.phase_since ? ` for ${duration(Math.max(0, head.now - head.phase_since))}` : "";
  return el("div.empty", el("b", head.state === "running" ? "No cycle is done yet" : "This run has no cycles"), head.phase && head.state === "running" ? `Phase ${head.phase}${elapsed}.` : "metrics.jsonl has no rows.",
    " ", el("a", { href: to(head.run, "config") }, "Its settings"));
}

function toolbar(board, ctx) {
  const seg = (label, entries, is, f) => el("span.seg", { role: "group", "aria-label": label }, entries.map(([v, words]) => el("button", { type: "button", "aria-pressed": String(is(v)), "data-v": v, onclick: () => f(v) }, words)));
  const read = el("span", "hover a chart to read a cycle, click to open it, drag to zoom"), behind = el("button.button", { type: "button", hidden: true, onclick: () => follow() });
  const axis = seg("Axis", Object.keys({ cycle: 1, step: 1, time: 1, tokens: 1 }).map((a) => [a, a]), (a) => a === board.axis, (a) => setAxis(a));
  const range = seg("Range", [["", "all"], ["100", "last 100"], ["20", "last 20"]], (v) => v === "" && !board.zoomed(), (n) => lastRows(n));
  const select = el("select", { "aria-label": "Average over", onchange: () => change({ avg: select.value === "auto" ? null : select.value }) }, ["auto", "5", "20", "50", "0"].map((v) => el("option", { value: v }, v === "0" ? "none" : v === "auto" ? "auto" : `${v} cycles`)));
  const node = el("div.bar", { role: "toolbar", "aria-label": "Charts" }, axis, range, el("label", "average over ", select), behind, el("span.end", { class: "hint" }, read));
  const follow = () => { behind.hidden = true; change({ from: null, to: null }); };

  async function setAxis(a) {
    if (a === board.axis) return;
    if (!board.zoomed()) return change({ x: a === "cycle" ? null : a });
    const rows = board.first().rows, [from, till] = board.range();
    const inside = rows.cycle.filter((_, i) => rows.x[i] >= from && rows.x[i] <= till);
    const map = await ctx.ask("/rows", { keys: board.first().spec.keys[0], x: a, px: 4000 });
    const at = (c) => map.x[Math.max(0, map.cycle.findLastIndex((n) => n <= c))];
    change({ x: a === "cycle" ? null : a, from: at(inside[0]), to: board.follows() ? null : at(inside.at(-1)) });
  }

  async function lastRows(n) {
    if (!n) return change({ from: null, to: null });
    const map = await ctx.ask("/rows", { keys: "rollout/raw_reward", x: board.axis, from: null, px: board.axis === "cycle" ? 10 : 0 });
    const first = Math.max(ctx.head.first, ctx.head.last - n + 1);
    change({ from: board.axis === "cycle" ? first : map.x[map.cycle.findIndex((c) => c >= first)], to: null });
  }

  return {
    node, setAxis, follow,
    read: (c) => {
      if (c === null) return fill(read, "hover a chart to read a cycle, click to open it, drag to zoom");
      const bits = [...board.charts].slice(0, 2).map((ch) => { const i = ch.indexOf(c); return i < 0 ? "" : ` · ${ch.spec.id} ${significant(ch.values[0][i])}`; });
      fill(read, el("b", `cycle ${count(c)}`), bits, " · open ", el("kbd", "↵"));
    },
    show(avg) {
      for (const b of axis.children) b.setAttribute("aria-pressed", String(b.dataset.v === board.axis));
      for (const b of range.children) b.setAttribute("aria-pressed", String(b.dataset.v === "" ? !board.zoomed() : board.from !== null && board.to === null && ctx.head && board.axis === "cycle" && board.from === Math.max(ctx.head.first, ctx.head.last - b.dataset.v + 1)));
      select.value = avg;
      if (!board.zoomed()) behind.hidden = true;
    },
    behind(n) {
      behind.hidden = false;
      behind.textContent = `${count(n)} new ${n === 1 ? "cycle" : "cycles"} →`;
    },
    head(head) {
      select.options[0].textContent = head.average ? `auto (${head.average} cycles)` : "auto";
      this.show(select.value || "auto");
    },
    cycleAverage: () => change({ avg: { auto: "5", 5: "20", 20: "50", 50: "0", 0: null }[select.value] }),
  };
}

// folds are the further charts and the browser of all series.
function folds(ctx, board, source, options) {
  const known = (key) => ctx.head.keys?.find((k) => k.name === key);
  const make = (info, title) => {
    const c = card(plainCard(info, title), board, source, { ...options, class: "span-3 low" });
    c.node.deck = c;
    return c.node;
  };
  const grid = el("div.grid"), chosen = el("div.grid"), list = el("tbody"), search = el("input", { type: "search", placeholder: "name or meaning", "aria-label": "Find a series", oninput: () => draw() });
  const further = el("details.fold", { ontoggle: () => further.open && !grid.children.length && fill(grid, more.filter(([k]) => known(k)).map(([k, t]) => make(known(k), t))) }, el("summary", "More charts"), grid);
  const browser = el("details.fold", { ontoggle: () => browser.open && draw() }, el("summary", `All series (${count(ctx.head.keys?.length || 0)})`), chosen,
    el("div.bar", search, el("span.grey", "click a name to draw it")), el("div.panel.scroll", el("table.cards-table", el("thead", el("tr", ["series", "unit", "last", "rows", "meaning"].map((h) => el("th", h)))), list)));
  const draw = () => {
    const want = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = (ctx.head.keys || []).filter((k) => want.every((w) => k.name.toLowerCase().includes(w) || (k.meaning || "").toLowerCase().includes(w)));
    fill(list, found.slice(0, 200).map((k) => el("tr", el("td.full", el("button.button", { type: "button", onclick: () => pick(k) }, data(k.name, 80))), el("td", k.unit), el("td.num", { title: String(k.last) }, byUnit(k.last, k.unit)), el("td.num", count(k.n)), el("td.grey.full", k.meaning))),
      found.length > 200 ? el("tr", el("td.full", { colspan: 5 }, `${count(found.length - 200)} more: narrow the search`)) : null);
  };
  const pick = (k) => {
    const there = [...chosen.children].find((n) => n.dataset.id === k.name);
    if (there) { there.deck.close(); return there.remove(); }
    chosen.append(make(k));
  };
  return { node: [further, browser] };
}

function keys(e, board, tools, charts) {
  const arrows = { ArrowLeft: -1, ArrowRight: 1 }, axes = { 1: "cycle", 2: "step", 3: "time", 4: "tokens" };
  if (arrows[e.key]) board.step(arrows[e.key] * (e.shiftKey ? 10 : 1), charts.find((c) => c.focused) || undefined);
  else if (e.key === "Enter" && board.cursor !== null && !e.target.closest("a,button,select,summary")) board.onopen(board.cursor, charts.find((c) => c.focused)?.spec.keys[0]);
  else if (e.key === "+" || e.key === "=") board.scale(0.5);
  else if (e.key === "-") board.scale(2);
  else if (e.key === "0") board.scale(0);
  else if (e.key === "f") tools.follow();
  else if (axes[e.key]) tools.setAxis(axes[e.key]);
  else if (e.key === "a") tools.cycleAverage();
  else if (e.key === "t") (charts.find((c) => c.focused) || charts[0])?.toggleTable();
  else if (e.key === "." || e.key === ",") stepDrawer(e.key === "." ? 1 : -1, board);
  else return false;
  return true;
}

function stepDrawer(n, board) {
  const link = document.querySelector(n > 0 ? ".drawer .next" : ".drawer .prev");
  if (link) link.click();
  else board.step(n);
}
