// What all charts of a page share: the axis, the range shown, and the cycle under the cursor. A card enters itself here with its chart.
import { change } from "./address.js";
import { say } from "./dom.js";
import { count, fixed, significant, duration, rate } from "./format.js";

export const axes = ["cycle", "step", "time", "tokens"];

export class Board {
  constructor(q) {
    this.charts = new Set();
    this.cards = new Set();
    this.cursor = null; // a cycle
    this.whole = [0, 1]; // range of x over all rows
    this.read(q);
  }

  // read takes axis and range from the address.
  read(q) {
    const number = (s) => (s !== null && s !== "" && Number.isFinite(+s) ? +s : null);
    this.axis = axes.includes(q.get("x")) ? q.get("x") : "cycle";
    this.from = number(q.get("from"));
    this.to = number(q.get("to"));
  }

  load(quiet) {
    this.cards.forEach((c) => c.load(quiet));
  }

  redraw() {
    this.charts.forEach((c) => c.redraw());
  }

  repaint() {
    this.charts.forEach((c) => c.repaint());
  }

  close() {
    this.cards.forEach((c) => c.close());
  }

  range() {
    let from = this.from ?? this.whole[0], to = this.to ?? this.whole[1];
    if (!(to > from)) [from, to] = [from - 0.5, from + 0.5];
    return [from, to];
  }

  zoomed() {
    return this.from !== null || this.to !== null;
  }

  // follows says whether the newest row is in view.
  follows() {
    return this.to === null || this.to >= this.whole[1];
  }

  // knows takes the range of all rows from an answer.
  knows(rows) {
    if (rows.from !== null && rows.to !== null) this.whole = [rows.from, rows.to];
  }

  zoom(from, to) {
    const [lo, hi] = this.whole;
    if (this.axis === "cycle" || this.axis === "step") [from, to] = [Math.round(from), Math.round(to)];
    if (to - from < 1e-9) return;
    from = Math.max(from, lo);
    change({ from: from <= lo ? null : from, to: to >= hi ? null : to });
  }

  // scale zooms by a factor around the cursor or the middle; 0 shows all.
  scale(factor) {
    if (!factor) return change({ from: null, to: null });
    const [from, to] = this.range();
    const middle = this.cursorX() ?? (from + to) / 2;
    this.zoom(middle - (middle - from) * factor, Math.min(middle + (to - middle) * factor, this.whole[1]));
  }

  first() {
    for (const c of this.charts) if (c.rows?.cycle.length) return c;
    return null;
  }

  focused() {
    return [...this.charts].find((c) => c.focused);
  }

  cursorX() {
    return this.cursor === null ? null : this.first()?.xOf(this.cursor) ?? null;
  }

  // point moves the cursor of every chart to a cycle; null takes it away.
  point(cycle, by) {
    if (this.cursor === cycle && by) return;
    this.cursor = cycle;
    this.by = by;
    this.charts.forEach((c) => c.showCursor(by));
    this.onpoint?.(cycle);
    clearTimeout(this.rest);
    if (cycle !== null) this.rest = setTimeout(() => say(this.sentence()), 300);
  }

  // step moves the cursor n rows along the chart with the focus, or the first one.
  step(n, chart = this.first()) {
    const cycles = chart?.rows?.cycle;
    if (!cycles?.length) return;
    let i = cycles.findIndex((c) => c >= (this.cursor ?? Infinity));
    if (i < 0) i = cycles.length - (n < 0 && this.cursor === null ? 0 : 1);
    const [from, to] = this.range();
    i = Math.min(Math.max(i + n, 0), cycles.length - 1);
    while (i > 0 && chart.rows.x[i] > to) i--;
    while (i < cycles.length - 1 && chart.rows.x[i] < from) i++;
    this.point(cycles[i]);
  }

  // key does what the keys of all charts do, and says whether it was one.
  key(e) {
    const far = e.shiftKey ? 10 : 1, focused = this.focused();
    const f = { "+": () => this.scale(0.5), "=": () => this.scale(0.5), "-": () => this.scale(2), 0: () => this.scale(0), ArrowLeft: () => this.step(-far, focused), ArrowRight: () => this.step(far, focused) }[e.key];
    f?.();
    return Boolean(f);
  }

  sentence() {
    const parts = [`cycle ${count(this.cursor)}`];
    for (const c of this.charts) {
      const s = c.sentence?.();
      if (s) parts.push(s);
    }
    return parts.slice(0, 9).join(", ");
  }
}

// tick says a place on the axis.
export function tick(axis, v) {
  if (axis === "time") return duration(v).replace(/ 00 s$| 00 min$/, "");
  if (axis === "tokens") return v >= 1000 ? rate(v).replace(".0", "") : significant(v);
  return Number.isInteger(v) ? count(v) : fixed(v, 1);
}
