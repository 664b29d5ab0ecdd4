// The overview: four answers in words, seven charts as proof, and everything else below.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change, inRun, to } from "./address.js";
import { axes, Board } from "./board.js";
import { card } from "./deck.js";
import { drawer } from "./drawer.js";
import { byUnit, count, duration, finite, significant, verdictGlyph } from "./format.js";
import { gapCard, more, passCard, passKs, phaseCard, plainCard, rewardCard, stalenessCard, throughputCard, truncatedCard } from "./cards.js";
import { beside, button, choice, damage, empty, finder, region, seg, table } from "./parts.js";

export function overview(ctx) {
  const { ask, run } = ctx, board = new Board(ctx.q), verdicts = el("section.verdicts", { "aria-label": "Verdicts" });
  const tools = toolbar(board, ctx), above = el("div.grid"), below = el("div");
  const node = el("div", verdicts, tools.node, above, below);
  let open = null, built = "", said = "", average = "auto", shown = null, soon = 0, further = null;

  frame(verdicts, above);
  board.onpoint = (c) => tools.read(c);
  board.onopen = (cycle, key) => change({ c: cycle, key: key || null });

  const options = {
    rows: () => ctx.head?.rows, average: () => average, csv: (p) => `${ask.base}/rows?${new URLSearchParams(Object.entries(p).filter(([, v]) => v !== null))}`,
    missing: (spec) => (spec.id === "pass" ? "No evaluation yet. --eval-interval says after how many cycles one comes." : `This run writes no ${spec.keys[0]}.`),
  };
  const make = (spec, span) => card(spec, board, (p) => ask("/rows", p), { ...options, class: span });

  // say draws the verdicts where they are not as before: whoever reads or scrolls in one is left alone by a mere heartbeat.
  function say(head) {
    const words = JSON.stringify([head.verdict, head.alarms, head.crash, head.problems, head.attempts]);
    if (words === said) return;
    said = words;
    fill(verdicts, head.verdict.map((v) => (v.id === "alarms" ? alarms(v, head, run) : verdict(v, head, run))));
  }

  // build makes the cards anew when the run has other series than before.
  function build() {
    const specs = chosen(ctx.head, ctx.settings, () => ctx.head), shape = JSON.stringify(specs.map((s) => [s.id, s.keys, s.unit]));
    if (shape === built) return;
    built = shape;
    board.close();
    fill(above, specs.map((s, i) => make(s, i < 3 ? "span-4" : "span-3 low").node));
    further = folds(ctx, (info, title) => make(plainCard(info, title), "span-3 low"));
    fill(below, further.nodes);
    if (shown) further.show(shown.get("series"));
  }

  function drawn(q) {
    open?.close();
    open = q.get("c") ? drawer(ctx, +q.get("c"), q.get("key")) : null;
  }

  return {
    node,
    head(head) {
      say(head);
      if (!head.rows) return fill(above, el("div.panel.span-12", waiting(head)));
      board.marks = marksOf(head);
      build();
      tools.head(head);
      board.charts.forEach((c) => c.onkey());
      board.redraw();
    },
    update(q) {
      const was = shown, view = (of) => ["x", "from", "to", "avg"].map((k) => of.get(k)).join();
      shown = q;
      average = q.get("avg") || "auto";
      board.read(q);
      tools.show(average);
      if (was && view(was) !== view(q)) {
        board.redraw();
        clearTimeout(soon);
        soon = setTimeout(() => board.load(), 120);
      }
      if (!was || was.get("c") !== q.get("c") || was.get("key") !== q.get("key")) drawn(q);
      further?.show(q.get("series"));
    },
    rows: (n) => (board.follows() ? board.load(true) : tools.behind(n)),
    reload: () => board.load(),
    repaint: () => board.repaint(),
    key: (e) => board.key(e) || keys(e, board, tools),
    close() {
      open?.close();
      board.close();
    },
  };
}

// frame is what stands until the head of the run is there: as large as what comes in its place.
function frame(verdicts, above) {
  fill(verdicts, [...Object.values(names), "Alarms"].map((n) => el("div.verdict", { class: n === "Alarms" ? "alarms" : "" }, el("h2", n))));
  fill(above, chosen({ evals: [] }).map((s, i) => el("figure.card", { class: i < 3 ? "span-4" : "span-3 low" }, el("header", el("h2", s.title)), el("div.key"), el("div.plot"))));
}

// marksOf are the cycles to mark in the charts: alarms and resumes in all, what became of an update in the gap's alone.
function marksOf(head) {
  const alarms = head.alarms.filter((a) => a.since > 0).map((a) => ({ cycle: a.since, kind: "alarm", stands: a.until === null, old: a.until !== null }));
  const noted = head.marks.map((m) => ({ cycle: m.cycle, kind: m.kind, stands: true, word: m.kind === "resume" ? "" : m.kind }));
  return [...alarms, ...noted].sort((a, b) => a.cycle - b.cycle);
}

// chosen are the seven cards for what the run has; now gives its head as it is later.
function chosen(head, settings, now) {
  const keys = head.keys || [], set = head.evals[0], of = (name) => keys.find((k) => k.name === `eval/${set}-${name}`)?.last;
  const ks = [1, 2, 4, 8].filter((k) => of(`pass@${k}`) !== undefined);
  const info = set && finite(of("problems")) ? `${count(of("problems"))} × ${count(of("samples"))}` : "", parts = keys.filter((k) => k.part).map((k) => k.name);
  const setting = (name) => settings?.find((s) => s.name === name)?.value;
  return [
    rewardCard(), gapCard(), passCard(set, passKs(ks), info, head.baselines), truncatedCard(set, setting("rollout-max-response-len")),
    throughputCard(), phaseCard(parts.length ? parts : ["perf/step_time"]), stalenessCard(now, setting("max-staleness")),
  ];
}

const names = { alive: "Alive", learning: "Learning", honest: "Honest" };

function verdict(v, head, run) {
  const links = v.links.map((l) => [" ", el("a", { href: inRun(run, l.href) }, data(l.text))]);
  const sign = v.tone && v.tone !== "none" ? ["\u00a0", el("span.glyph", { class: v.tone, "aria-hidden": "true" }, verdictGlyph(v.tone, v.id))] : null;
  const box = region("div.verdict", names[v.id] || v.id, el("h2", names[v.id] || v.id), el("p.big", data(v.big), sign), el("p", data(v.text), links), v.id === "alive" ? asides(head, run) : null);
  box.dataset.id = v.id;
  return box;
}

// alarms are those that stand and, below them, those that are over.
function alarms(v, head, run) {
  const stand = head.alarms.filter((a) => a.until === null), over = head.alarms.filter((a) => a.until !== null);
  const words = head.alarms.length ? null : [el("p.big", data(v.big)), el("p", data(v.text))], list = (all) => all.map((a) => alarm(a, run));
  const box = region("div.verdict.alarms", "Alarms", el("h2", "Alarms ", stand.length ? el("b.warn", count(stand.length)) : over.length ? "none now" : null), words,
    head.alarms.length ? el("ul", list(stand), over.length ? el("li.grey", el("span"), "earlier") : null, list(over.slice(0, 20))) : null);
  box.dataset.id = v.id;
  return box;
}

function alarm(a, run) {
  const cycle = `Cycle ${a.since}`, begins = a.text.startsWith(cycle), hard = a.severity === "error", tone = a.until !== null ? "grey" : hard ? "bad" : "warn";
  return el("li", el("span.glyph", { class: tone, title: hard ? "error" : "warning" }, hard ? "■" : "▲"),
    el("span", el("a", { href: to(run, "", { c: a.since }) }, `Cycle ${count(a.since)}`), begins ? "" : ": ", data(begins ? a.text.slice(cycle.length) : a.text, 600), a.link ? [" ", el("a", { href: inRun(run, a.link) }, "See it")] : null));
}

// asides are what an end without a word leaves to do, the attempts, and the lines that could not be read: under the first verdict, which keeps its height, so that nothing moves.
function asides(head, run) {
  return [head.crash ? crashed(head, run) : null, damage(head.problems), head.attempts.map((a) => a.text && el("p.grey", data(a.text), a.unequal?.length ? el("b.bad", `. Unequal: cycle ${a.unequal.slice(0, 5).join(", ")}`) : null))];
}

// crashed says how to go on, and what the log had last.
function crashed(head, run) {
  const { checkpoint, command, log } = head.crash;
  return [el("p", checkpoint ? ["It can go on from ", el("b", { title: checkpoint }, data(checkpoint.split("/").at(-1))), ":"] : "There is no checkpoint to go on from."), command && checkpoint ? el("pre.text", data(command)) : null,
    el("details", el("summary", `Last ${log.length} lines of the log`), el("pre.text", { tabindex: 0 }, log.map((l) => [l.level, " ", data(l.msg), "\n"]))), el("p", el("a", { href: to(run, "log") }, "The whole log"))];
}

function waiting(head) {
  const running = head.state === "running", elapsed = head.phase_since ? ` for ${duration(Math.max(0, head.now - head.phase_since))}` : "";
  return empty(running ? "No cycle is done yet" : "This run has no cycles", head.phase && running ? `Phase ${head.phase}${elapsed}.` : "metrics.jsonl has no rows.", " ", el("a", { href: to(head.run, "config") }, "Its settings"));
}

function toolbar(board, ctx) {
  const hint = "hover a chart to read a cycle, click to open it, drag to zoom", averages = ["auto", "5", "20", "50", "0"];
  const read = el("span", hint), behind = button("", () => follow(), { hidden: true });
  const firstOf = (n) => Math.max(ctx.head?.first ?? 0, (ctx.head?.last ?? 0) - n + 1);
  const shows = (n) => (n ? board.axis === "cycle" && board.to === null && board.from === firstOf(n) : !board.zoomed());
  const axis = seg("Axis", axes.map((a) => [a, a]), (a) => a === board.axis, (a) => setAxis(a));
  const range = seg("Range", [[0, "all"], [100, "last 100"], [20, "last 20"]], shows, (n) => lastRows(n));
  const select = choice("Average over", averages.map((v) => [v, v === "0" ? "none" : v === "auto" ? v : `${v} cycles`]), "auto", (v) => setAverage(v));
  const node = el("div.bar", { role: "toolbar", "aria-label": "Charts" }, axis, range, el("label", el("span.wide", "average over "), select), behind, el("span.end.hint", read));
  const setAverage = (v) => change({ avg: v === "auto" ? null : v });
  const follow = () => { behind.hidden = true; change({ from: null, to: null }); };

  async function setAxis(a) {
    if (a === board.axis) return;
    const x = a === "cycle" ? null : a;
    if (!board.zoomed()) return change({ x });
    const { rows, spec } = board.first(), [from, till] = board.range(), inside = rows.cycle.filter((_, i) => rows.x[i] >= from && rows.x[i] <= till);
    const map = await ctx.ask("/rows", { keys: spec.keys[0], x: a, px: 4000 }), at = (c) => map.x[Math.max(0, map.cycle.findLastIndex((n) => n <= c))];
    change({ x, from: at(inside[0]), to: board.follows() ? null : at(inside.at(-1)) });
  }

  async function lastRows(n) {
    if (!n || board.axis === "cycle") return change({ from: n ? firstOf(n) : null, to: null });
    const map = await ctx.ask("/rows", { keys: "rollout/raw_reward", x: board.axis, px: 0 });
    change({ from: map.x[map.cycle.findIndex((c) => c >= firstOf(n))], to: null });
  }

  return {
    node, setAxis, follow,
    read(c) {
      if (c === null) return fill(read, hint);
      const bits = [...board.charts].slice(0, 2).map((ch) => { const i = ch.indexOf(c); return i < 0 ? "" : ` · ${ch.spec.id} ${significant(ch.values[0][i])}`; });
      fill(read, el("b", `cycle ${count(c)}`), bits, " · open ", el("kbd", "↵"));
    },
    show(average) {
      axis.show();
      range.show();
      select.value = average;
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
    nextAverage: () => setAverage(averages[(averages.indexOf(select.value) + 1) % averages.length]),
  };
}

// folds are the further charts and the browser of all series. make gives the card of a series.
function folds(ctx, make) {
  const keys = () => ctx.head.keys || [], known = new Map(keys().map((k) => [k.name, k])), picked = new Map();
  const grid = el("div.grid"), chosen = el("div.grid"), list = el("div.panel.scroll"), search = finder("Find a series", "name or meaning", () => draw());
  const fold = (words, opened, ...children) => { const node = el("details.fold", { ontoggle: () => node.open && opened() }, el("summary", words), children); return node; };

  function draw() {
    const want = search.value.toLowerCase().split(/\s+/).filter(Boolean), found = keys().filter((k) => want.every((w) => `${k.name} ${k.meaning || ""}`.toLowerCase().includes(w)));
    const row = (k) => [button(data(k.name, 80), () => pick(k)), k.unit, el("span", { title: String(k.last) }, byUnit(k.last, k.unit)), count(k.n), el("span.grey", k.meaning)];
    fill(list, table(["!series", "unit", "#last", "#rows", "!meaning"], found.slice(0, 200).map(row), { class: "cards-table" }), found.length > 200 ? el("p", `${count(found.length - 200)} more: narrow the search`) : null);
  }

  function pick(k) {
    const there = picked.get(k.name);
    if (!there) return chosen.append(picked.set(k.name, make(k)).get(k.name).node);
    there.close();
    there.node.remove();
    picked.delete(k.name);
  }

  const further = () => grid.children.length || fill(grid, more.filter(([k]) => known.has(k)).map(([k, title]) => make(known.get(k), title).node));
  const browser = fold(`All series (${count(known.size)})`, draw, chosen, el("div.bar", search, el("span.grey", "click a name to draw it")), list);

  // show opens the browser at one series.
  function show(name) {
    if (!known.has(name) || picked.has(name)) return;
    browser.open = true;
    pick(known.get(name));
    browser.scrollIntoView();
  }

  return { nodes: [fold("More charts", further, grid), browser], show };
}

function keys(e, board, tools) {
  const open = document.querySelector(".drawer");
  if (e.key === "Enter" && board.cursor !== null && !e.target.closest("a,button,select,summary")) board.onopen(board.cursor, board.focused()?.spec.keys[0]);
  else if (e.key === "f") tools.follow();
  else if (axes[e.key - 1]) tools.setAxis(axes[e.key - 1]);
  else if (e.key === "a") tools.nextAverage();
  else if (e.key === "t") (board.focused() || board.first())?.toggleTable();
  else if (open && beside(open)(e)) return true;
  else if (e.key === "." || e.key === ",") open || board.step(e.key === "." ? 1 : -1);
  else return false;
  return true;
}
