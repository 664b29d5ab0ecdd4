// One chart over uPlot: rows as they came, gaps as gaps, a cursor and a range shared with the other charts of the board.
import { el, colour, say } from "./dom.js";
import { verbatim } from "./api.js";
import { count, finite, fixed, rate, significant } from "./format.js";
import { tick } from "./board.js";
import { cross, dashes, disc, triangle, word } from "./ink.js";

const font = "11px system-ui, sans-serif";

// A spec is {id, title, series, log, share, zero, label, tips, under, over, extent}. A series is {key, name, colour, width, dash, dots, hollow, joined, from}:
// joined lines pass over nulls, `from` picks another column than the stored one.
export class Chart {
  constructor(host, spec, board) {
    Object.assign(this, { host, spec, board, rows: null, table: false, event: null });
    this.tip = el("div.tip", { hidden: true });
    host.append(this.tip);
    board.charts.add(this);
    host.chart = this;
    host.addEventListener("keydown", (e) => this.key(e));
    host.addEventListener("focus", () => this.board.charts.forEach((c) => (c.focused = c === this)));
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(host);
  }

  close() {
    this.watch.disconnect();
    this.u?.destroy();
    this.board.charts.delete(this);
  }

  column(s) {
    return (s.from ? s.from(this.rows) : this.rows.cols[s.key]) || [];
  }

  // show takes an answer of /rows.
  show(rows) {
    this.rows = rows;
    this.board.knows(rows);
    this.values = this.spec.series.map((s) => this.column(s));
    this.lane = this.spec.log ? zeroLane(this.values) : null;
    if (this.table) return this.showTable();
    const data = [rows.x, ...this.values.map((v, i) => this.plotted(v, this.spec.series[i]))];
    if (!this.u) this.make(data);
    else this.u.setData(data, false);
    this.redraw();
    this.showCursor();
  }

  // plotted turns a column into what uPlot draws: null breaks a line, undefined does not.
  plotted(v, s) {
    return Array.from(v, (y) => {
      if (!finite(y)) return s.joined && (y === null || y === undefined) ? undefined : null;
      return this.spec.log && y <= 0 ? (this.lane === null ? null : this.lane) : y;
    });
  }

  redraw() {
    if (!this.u || this.table) return;
    this.u.batch(() => {
      const [from, to] = this.board.range();
      this.u.setScale("x", { min: from, max: to });
    });
    this.u.redraw(true, true);
  }

  repaint() {
    if (!this.u) return;
    this.u.destroy();
    this.u = null;
    if (this.rows) this.show(this.rows);
  }

  width() {
    return Math.max(60, this.host.clientWidth - (this.spec.right || 0));
  }

  resize() {
    if (this.u) this.u.setSize({ width: this.width(), height: this.host.clientHeight });
  }

  make(data) {
    const { spec, board } = this;
    const grey = colour("grey"), grid = { stroke: colour("grid"), width: 1 };
    const axis = { stroke: grey, font, ticks: { show: false }, gap: 4 };
    this.u = new uPlot({
      width: this.width(), height: this.host.clientHeight, padding: [8, 14, 0, 0], legend: { show: false },
      scales: {
        x: { time: false, range: () => board.range() },
        y: { distr: spec.log ? 3 : 1, range: () => this.yRange() },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 56, incrs: board.axis === "time" ? clockSteps : wholeSteps, values: (_, v) => v.map((x) => tick(board.axis, x)) },
        { ...axis, grid, size: 40, space: 26, incrs: spec.whole ? wholeSteps : undefined, splits: spec.log ? (u) => this.logSplits(u) : undefined, values: (u, v) => this.yLabels(v), filter: spec.log ? (_, v) => v : undefined },
      ],
      series: [{}, ...spec.series.map((s) => this.line(s))],
      cursor: { y: false, drag: { x: true, y: false, setScale: false, dist: 5 }, points: { size: (u, i) => (spec.series[i - 1].none ? 0 : 7), fill: (u, i) => colour(spec.series[i - 1].colour), stroke: () => colour("panel"), width: (u, i, size) => (size ? 1 : 0) } },
      hooks: {
        drawClear: [(u) => this.under(u)],
        draw: [(u) => this.over(u)],
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.hovered(u)],
      },
    }, data, this.host);
    this.listen(this.u.over);
  }

  line(s) {
    return {
      stroke: colour(s.colour, s.faint), width: s.width ?? 1.5, dash: s.dash, spanGaps: false, paths: s.step ? uPlot.paths.stepped({ align: 1 }) : s.none ? () => null : undefined,
      points: { show: Boolean(s.dots), size: s.dots || 5, fill: s.hollow ? colour("panel") : colour(s.colour), stroke: colour(s.colour), width: 1.5, filter: s.dots ? (u, i) => this.present(u, i) : undefined },
      gaps: (u, i, from, to, nulls) => (s.joined ? [] : nulls.concat(this.missing(u)).sort((a, b) => a[0] - b[0])),
    };
  }

  present(u, i) {
    const out = [];
    for (let k = 0; k < u.data[i].length; k++) if (finite(u.data[i][k])) out.push(k);
    return out;
  }

  // missing gives the cycles without a row as pairs of canvas pixels, between the last row before and the first after.
  missing(u) {
    const { cycle } = this.rows;
    return this.rows.gaps.filter(([a, b]) => cycle[0] < a && cycle.at(-1) > b).map(([a, b]) => this.around(u, a, b));
  }

  yRange() {
    const [from, to] = this.board.range();
    let lo = Infinity, hi = -Infinity;
    const see = (y) => {
      if (!finite(y) || (this.spec.log && y <= 0)) return;
      if (y < lo) lo = y;
      if (y > hi) hi = y;
    };
    const { x } = this.rows;
    for (const v of this.values) for (let i = 0; i < x.length; i++) if (x[i] >= from && x[i] <= to) see(v[i]);
    this.spec.extent?.(this, see, from, to);
    return this.spec.log ? this.logRange(lo, hi) : linearRange(lo, hi, this.spec);
  }

  logRange(lo, hi) {
    if (lo > hi) [lo, hi] = [0.1, 1];
    lo = Math.min(lo / 1.25, hi / 4);
    if (this.lane !== null) lo = this.lane / 1.35;
    return [lo, hi * 1.3];
  }

  // logSplits are decades, and 2 and 5 between them where there is room.
  logSplits(u) {
    const { min, max } = u.scales.y;
    const decades = Math.log10(max / min), out = [];
    for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++) {
      for (const m of decades < 2 ? [1, 2, 5] : [1]) {
        const v = m * 10 ** e;
        if (v >= min && v <= max && (this.lane === null || v > this.lane * 1.5)) out.push(+v.toPrecision(2));
      }
    }
    return this.lane === null ? out : [this.lane, ...out];
  }

  yLabels(values) {
    const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 1;
    return values.map((v) => {
      if (this.lane !== null && v === this.lane) return "0";
      if (this.spec.share) return `${+(v * 100).toFixed(step < 0.01 ? Math.ceil(-2 - Math.log10(step) - 1e-9) : 0)}%`.replace("-", "−");
      if (this.spec.log) return v >= 0.01 && v < 1e4 ? String(v) : v.toExponential(0).replace("e+", "e").replace("-", "−");
      if (Math.abs(v) >= 1000) return rate(v).replace(".0k", "k").replace(".0M", "M").replace("-", "−");
      if (v !== 0 && step < 0.001) return significant(v, 2);
      return fixed(v, [0, 1, 2].find((n) => Math.abs(step * 10 ** n - Math.round(step * 10 ** n)) < 1e-6) ?? 3);
    });
  }

  // under paints what lies below the lines: lost cycles, marks, bands.
  under(u) {
    const c = u.ctx, { left, top, width, height } = u.bbox;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    c.fillStyle = colour("gap");
    for (const [a, b] of this.rows.lost || []) {
      const [from, to] = this.around(u, a, b);
      c.fillRect(from, top, Math.max(2, to - from), height);
    }
    this.spec.under?.(this, u, c);
    c.restore();
  }

  around(u, a, b) {
    const before = this.rows.cycle.findLastIndex((n) => n < a), after = this.rows.cycle.findIndex((n) => n > b);
    return [before < 0 ? u.bbox.left : u.valToPos(this.rows.x[before], "x", true), after < 0 ? u.bbox.left + u.bbox.width : u.valToPos(this.rows.x[after], "x", true)];
  }

  over(u) {
    const c = u.ctx, r = devicePixelRatio || 1;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left - 6 * r, u.bbox.top - 8 * r, u.bbox.width + 12 * r, u.bbox.height + 12 * r);
    c.clip();
    this.spec.over?.(this, u, c, r);
    this.lonely(u, c, r);
    this.odd(u, c, r);
    this.alarms(u, c, r);
    c.restore();
  }

  // lonely paints values that stand alone between gaps, which a line cannot show.
  lonely(u, c, r) {
    const gapBefore = new Set(this.rows.gaps.map((g) => this.rows.cycle.findIndex((n) => n > g[1])));
    this.spec.series.forEach((s, k) => {
      if (s.dots || s.joined || s.none) return;
      const v = u.data[k + 1];
      c.fillStyle = colour(s.colour);
      for (let i = 0; i < v.length; i++) {
        const alone = finite(v[i]) && (i === 0 || !finite(v[i - 1]) || gapBefore.has(i)) && (i === v.length - 1 || !finite(v[i + 1]) || gapBefore.has(i + 1));
        if (alone) disc(c, u.valToPos(u.data[0][i], "x", true), u.valToPos(v[i], "y", true), 2.2 * r);
      }
    });
  }

  // odd marks what is not finite with a cross on the upper edge, and what is missing with a tick at the foot.
  odd(u, c, r) {
    const s = this.spec.series[0], v = this.values[0], { top, height } = u.bbox;
    for (let i = 0; i < v.length; i++) {
      const x = u.valToPos(u.data[0][i], "x", true);
      if (typeof v[i] === "string") cross(c, x, top + 5 * r, 4 * r, colour("bad"), r);
      else if (v[i] === null && !s.joined && !s.from && v.length < 2000 && this.rows.cycle[i] > 0) {
        c.fillStyle = colour("grey");
        c.fillRect(x - r / 2, top + height - 5 * r, r, 5 * r);
      }
    }
  }

  // alarms puts a triangle over each cycle in which an alarm was raised or a run went on; what became of an update is a word, and in one chart only.
  alarms(u, c, r) {
    let last = -Infinity;
    for (const m of this.board.marks || []) {
      const x = this.xOf(m.cycle);
      if (x === null || x < u.scales.x.min || x > u.scales.x.max || (m.word && !this.spec.marks)) continue;
      const at = u.valToPos(x, "x", true), near = at - last < 7 * r;
      c.strokeStyle = c.fillStyle = colour(m.kind === "alarm" ? "warn" : "grey", m.old ? 0.5 : 1);
      if (!near || m.stands) dashes(c, at, u.bbox.top, u.bbox.top + u.bbox.height, r);
      if (m.word) word(c, m.word, at + 4 * r, u.bbox.top + 10 * r, r);
      else if (!near) triangle(c, at, u.bbox.top - 2 * r, 4.5 * r);
      if (!near) last = at;
    }
  }

  // xOf is the place of a cycle on the axis, between its neighbours where it has no row of its own.
  xOf(cycle) {
    const { cycle: n, x } = this.rows || { cycle: [] };
    if (!n.length) return null;
    const i = n.findIndex((c) => c >= cycle);
    if (i < 0) return this.board.axis === "cycle" ? cycle : x[x.length - 1];
    if (n[i] === cycle || i === 0) return n[i] === cycle ? x[i] : this.board.axis === "cycle" ? cycle : x[0];
    return x[i - 1] + ((x[i] - x[i - 1]) * (cycle - n[i - 1])) / (n[i] - n[i - 1]);
  }

  selected(u) {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.board.zoom(from, to);
  }

  hovered(u) {
    if (this.quiet || u.cursor.event === this.event) return; // a new range or axis moves no pointer
    this.event = u.cursor.event;
    if (u.cursor.left < 0 || u.cursor.idx === null || u.cursor.idx === undefined) {
      this.tip.hidden = true;
      if (this.board.by === this) this.board.point(null, this); // else another chart has the pointer by now
      return;
    }
    const i = this.nearest(u);
    this.board.point(this.rows.cycle[i], this);
    this.showTip(i, u.cursor.left);
  }

  // nearest is the row of the pointer: in a crowded pixel column the one whose value is nearest to it.
  nearest(u) {
    let best = u.cursor.idx, least = Infinity;
    const at = u.valToPos(u.data[0][best], "x");
    if (this.rows.kept >= this.rows.total && this.rows.x.length < u.width) return best;
    for (let i = 0; i < u.data[0].length; i++) {
      const x = u.valToPos(u.data[0][i], "x");
      if (Math.abs(x - at) > 2) continue;
      for (let k = 1; k < u.data.length; k++) {
        if (!finite(u.data[k][i])) continue;
        const d = Math.abs(u.valToPos(u.data[k][i], "y") - u.cursor.top);
        if (d < least) [least, best] = [d, i];
      }
    }
    return best;
  }

  // aimed is the row of the mark that a click meant: the nearest one within a few pixels, else the one of the column.
  aimed(left, top) {
    const u = this.u;
    let best = null, least = 10;
    for (let i = 0; i < u.data[0].length; i++) {
      const dx = Math.abs(u.valToPos(u.data[0][i], "x") - left);
      for (let k = 1; dx <= 5 && k < u.data.length; k++) {
        if (this.spec.series[k - 1].none || !finite(u.data[k][i])) continue;
        const d = Math.hypot(dx, u.valToPos(u.data[k][i], "y") - top);
        if (d < least) [least, best] = [d, i];
      }
    }
    return best ?? u.posToIdx(left);
  }

  // crowd says what a pixel column holds where rows were left out.
  crowd(i, k) {
    const u = this.u;
    if (!u || this.rows.kept >= this.rows.total) return null;
    const at = Math.round(u.valToPos(u.data[0][i], "x")), v = this.values[k], inside = [];
    for (let j = 0; j < v.length; j++) if (Math.round(u.valToPos(u.data[0][j], "x")) === at && finite(v[j])) inside.push(j);
    if (inside.length < 2) return null;
    const top = inside.reduce((a, b) => (v[b] > v[a] ? b : a)), low = inside.reduce((a, b) => (v[b] < v[a] ? b : a));
    return `cycles ${count(this.rows.cycle[inside[0]])} to ${count(this.rows.cycle[inside.at(-1)])}: ${significant(v[low])} to ${significant(v[top])}, highest at ${count(this.rows.cycle[top])}`;
  }

  showTip(i, left) {
    const lines = this.spec.series.map((s, k) => {
      if (s.quiet) return null;
      const at = s.joined ? nearestWith(this.values[k], i) : i;
      if (at === null) return null;
      const label = at === i ? s.name : `${s.name}, cycle ${count(this.rows.cycle[at])}`;
      return el("div", el("i", label), el("b", verbatim(this.values[k][at])));
    });
    const more = (this.spec.tips?.(this, i) || []).map(([name, value]) => el("div", el("i", name), el("b", value)));
    const crowd = this.crowd(i, 0);
    this.tip.replaceChildren(el("div", el("b", `cycle ${count(this.rows.cycle[i])}`), el("i", "click opens")), ...lines.filter(Boolean), ...more, ...(crowd ? [el("div", el("i", crowd))] : []));
    this.tip.hidden = false;
    const room = this.host.clientWidth, x = left + 48, w = this.tip.offsetWidth;
    this.tip.style.left = `${x + 12 + w < room ? x + 12 : Math.max(0, x - w - 12)}px`;
    this.tip.style.top = "10px";
  }

  // showCursor follows the board; `by` is the chart under the pointer, which shows it itself.
  showCursor(by) {
    this.host.dispatchEvent(new CustomEvent("cursor"));
    if (!this.u || by === this) return;
    this.quiet = true;
    const c = this.board.cursor, x = c === null ? null : this.xOf(c);
    const left = x === null ? -10 : this.u.valToPos(x, "x");
    this.u.setCursor({ left, top: x === null ? -10 : 0 }, false);
    this.quiet = false;
    this.tip.hidden = true;
    if (!by && this.focused && x !== null) this.showTip(this.indexOf(c), left);
  }

  indexOf(cycle) {
    const i = this.rows?.cycle.indexOf(cycle) ?? -1;
    return i;
  }

  sentence() {
    const i = this.indexOf(this.board.cursor), s = this.spec.series.find((s) => !s.quiet);
    if (i < 0 || !s) return "";
    const k = this.spec.series.indexOf(s), v = this.values[k][i];
    return v === null || v === undefined ? "" : `${this.spec.title} ${typeof v === "number" ? significant(v) : v}`;
  }

  listen(over) {
    let timer = 0, held = false;
    const touches = new Map();
    over.addEventListener("click", (e) => {
      if (e.pointerType === "touch" || held) return (held = false);
      const i = this.aimed(e.offsetX, e.offsetY);
      if (i !== null) this.board.point(this.rows.cycle[i], this);
      this.open();
    });
    over.addEventListener("pointerdown", (e) => {
      if (e.pointerType !== "touch") return;
      touches.set(e.pointerId, e);
      timer = setTimeout(() => { held = true; this.open(); }, 500);
      if (touches.size === 2) [this.pinch] = [{ start: spread(touches), range: this.board.range() }];
    });
    over.addEventListener("pointermove", (e) => {
      if (!touches.has(e.pointerId)) return;
      const was = touches.get(e.pointerId);
      if (Math.hypot(e.clientX - was.clientX, e.clientY - was.clientY) > 8) clearTimeout(timer);
      if (touches.size === 2) touches.set(e.pointerId, e);
    });
    const end = (e) => {
      clearTimeout(timer);
      if (touches.size === 2 && this.pinch) this.pinched(spread(touches));
      touches.delete(e.pointerId);
    };
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) over.addEventListener(name, end);
    over.addEventListener("contextmenu", (e) => e.pointerType === "touch" && e.preventDefault());
  }

  pinched(now) {
    const { start, range: [from, to] } = this.pinch, box = this.u.over.getBoundingClientRect();
    this.pinch = null;
    const middle = from + ((start.x - box.left) / box.width) * (to - from), f = Math.min(8, Math.max(0.125, start.d / Math.max(1, now.d)));
    this.board.zoom(middle - (middle - from) * f, Math.min(middle + (to - middle) * f, this.board.whole[1]));
  }

  open() {
    if (this.board.cursor !== null) this.board.onopen?.(this.board.cursor, this.spec.series.find((s) => s.key)?.key);
  }

  key(e) {
    if (e.key === "Enter" && this.board.cursor !== null) this.open();
    else if (e.key === "t") this.toggleTable();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  toggleTable() {
    this.table = !this.table;
    this.host.querySelector(".table")?.remove();
    if (!this.table) return this.rows && this.show(this.rows);
    this.showTable();
  }

  showTable() {
    this.host.querySelector(".table")?.remove();
    const shown = this.spec.series.map((s, k) => [s, this.values[k]]).filter(([s]) => s.key && !s.from);
    const from = Math.max(0, this.rows.cycle.length - 1000), body = [];
    for (let i = this.rows.cycle.length - 1; i >= from; i--) body.push(el("tr", el("td.num", count(this.rows.cycle[i])), shown.map(([, v]) => el("td.num.mono", verbatim(v[i])))));
    const note = from || this.rows.kept < this.rows.total ? `${count(body.length)} of ${count(this.rows.total)} rows. ` : "";
    this.host.append(el("div.table", { tabindex: 0, role: "region", "aria-label": `${this.spec.title} as a table` },
      el("table", el("thead", el("tr", el("th.num", "cycle"), shown.map(([s]) => el("th.num", s.key)))), el("tbody", body)),
      el("p.grey", note, this.csv ? el("a", { href: this.csv, download: `${this.spec.id}.csv` }, "all rows as CSV") : null)));
    say(`${this.spec.title} as a table`);
  }
}

function linearRange(lo, hi, spec) {
  if (lo > hi) return [0, 1];
  if (spec.zero || (spec.share && !((hi - lo) / hi < 1 / 3))) lo = Math.min(0, lo);
  if (hi === lo) [lo, hi] = lo === 0 ? [0, 1] : [lo - Math.abs(lo) * 0.1, hi + Math.abs(hi) * 0.1];
  const air = (hi - lo) * 0.05;
  return [lo === 0 ? 0 : lo - air, hi + air];
}

// zeroLane is where exact zeros are drawn on a log axis: below the least positive value.
function zeroLane(columns) {
  let least = Infinity, zeros = false;
  for (const v of columns) for (const y of v) {
    if (y === 0) zeros = true;
    else if (finite(y) && y > 0 && y < least) least = y;
  }
  return zeros ? (least === Infinity ? 0.1 : least) / 3 : null;
}

function nearestWith(v, i) {
  for (let d = 0; d < v.length; d++) {
    if (v[i - d] !== null && v[i - d] !== undefined) return i - d;
    if (v[i + d] !== null && v[i + d] !== undefined) return i + d;
  }
  return null;
}

const wholeSteps = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1e3, 2e3, 2.5e3, 5e3, 1e4, 2e4, 2.5e4, 5e4, 1e5, 2e5, 2.5e5, 5e5, 1e6, 2e6, 2.5e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8, 1e9, 1e10, 1e11, 1e12];
const clockSteps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 8640000];

function spread(touches) {
  const [a, b] = [...touches.values()];
  return { d: Math.abs(a.clientX - b.clientX), x: (a.clientX + b.clientX) / 2 };
}
