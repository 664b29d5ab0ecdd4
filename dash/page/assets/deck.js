// A card is a chart with its title, key and current value, which asks for its rows when it is in view.
import { el, fill } from "./dom.js";
import { failed, keysOf } from "./api.js";
import { count } from "./format.js";
import { Chart } from "./chart.js";

// card makes one. source asks for rows: (parameters) => answer of /rows.
export function card(spec, board, source, options = {}) {
  const now = el("span.now"), key = el("div.key"), hide = { hidden: true };
  const plot = el("div.plot", { tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": spec.title });
  const node = el("figure.card", { "data-id": spec.id, class: options.class || "" }, el("header", el("h2", spec.title), el("span.unit", { title: spec.help || null }, spec.unit), now), key, plot);
  const chart = new Chart(plot, spec, board), message = el("div.says", hide);
  const state = { node, chart, spec, seen: false, stale: true, close };
  board.cards.add(state);

  const atCursor = () => {
    const i = chart.indexOf(board.cursor);
    if (!chart.rows) return;
    fill(now, i >= 0 ? spec.at(chart.rows, i) : spec.now(chart.rows), odd(chart.rows));
  };
  const drawKey = () => chart.rows && fill(key, spec.key(chart.rows, { axis: board.axis, perBar: chart.perBar, crowded: chart.crowded }));
  plot.addEventListener("cursor", atCursor);
  chart.onkey = drawKey;

  // odd counts what is not finite, so that a hole in the line has a name.
  function odd(rows) {
    const n = spec.keys.reduce((s, k) => s + (rows.odd?.[k] || 0), 0);
    return n ? el("small.bad", ` ✕ ${n} non-finite`) : null;
  }

  state.load = async (quiet) => {
    if (!state.seen) return (state.stale = true);
    state.stale = false;
    const mine = (state.turn = (state.turn || 0) + 1), px = Math.max(120, Math.round(chart.width() - 48));
    const all = spec.every && (options.rows?.() ?? 0) <= 20000;
    const wanted = { keys: keysOf(spec.keys), x: board.axis, from: board.from, to: board.to, px: all ? 0 : px, avg: spec.avg ? options.average?.() ?? "auto" : 0, fit: spec.fit ? keysOf(spec.fit) : null };
    try {
      const rows = await source(wanted);
      if (mine !== state.turn) return;
      chart.csv = options.csv?.({ ...wanted, px: 0, format: "csv" });
      message.remove();
      if (!show(rows) && quiet) return;
    } catch (e) {
      if (e.name !== "AbortError") say(failed(e));
    }
  };

  function show(rows) {
    const nothing = !spec.keys.some((k) => rows.cols[k]?.some((v) => v !== null && v !== undefined));
    const sentence = spec.sentence?.(rows, board);
    if (nothing) return say(rows.total ? options.missing?.(spec) || "This run has no such series." : "No cycle yet.");
    chart.show(rows);
    drawKey();
    atCursor();
    plot.setAttribute("aria-label", describe(rows));
    if (sentence) say(sentence);
    else if (chart.u) chart.u.root.hidden = false;
    return true;
  }

  function describe(rows) {
    const n = rows.cycle.length, s = spec.now(rows), text = [s].flat().map((p) => (p?.textContent ?? p ?? "")).join("");
    return `${spec.title}, ${spec.unit}: now ${text.trim()}, cycles ${count(rows.cycle[0])} to ${count(rows.cycle[n - 1])}. Arrow keys read it, t shows a table.`;
  }

  function say(words) {
    if (chart.u) chart.u.root.hidden = true;
    chart.labels?.replaceChildren();
    plot.append(fill(message, words));
    message.hidden = false;
  }

  const look = new IntersectionObserver(([e]) => {
    state.seen = e.isIntersecting;
    if (state.seen && state.stale) state.load();
  }, { rootMargin: "200px" });
  look.observe(node);

  function close() {
    look.disconnect();
    chart.close();
    board.cards.delete(state);
  }
  return state;
}
