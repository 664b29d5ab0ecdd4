// The seven cards of the overview, and the plain card of any other series: which keys, which lines, which words.
import { vector, el, colour } from "./dom.js";
import { verbatim } from "./api.js";
import { count, duration, finite, fixed, rate, share, signed, significant, byUnit, whole } from "./format.js";
import { disc, word } from "./ink.js";
import { swatch } from "./parts.js";

const last = (v) => v?.findLast((y) => y !== null && y !== undefined);

// mark draws the sample of a line in a card's key.
export function mark(name, { dash, width = 2, dot, hollow, faint, square }) {
  const c = `var(--${name})`, svg = vector("svg", { viewBox: "0 0 18 8", "aria-hidden": "true" });
  if (square) svg.append(vector("rect", { x: 5, y: 0, width: 8, height: 8, fill: c }));
  else if (!dot || dot !== "only") svg.append(vector("path", { d: "M0 4H18", stroke: c, "stroke-width": width, "stroke-dasharray": dash || "none", opacity: faint || 1 }));
  if (dot) svg.append(vector("circle", { cx: 9, cy: 4, r: 2.8, fill: hollow ? "var(--panel)" : c, stroke: c, "stroke-width": 1.5 }));
  return svg;
}

const entry = (name, how, ...words) => el("span", mark(name, how), ...words);
const words = (...w) => el("span.last", ...w);

// Over what a slope is told, in the words of each axis.
const per = { cycle: [100, "per 100"], step: [100, "per 100"], time: [3600, "an hour"], tokens: [1e6, "per million"] };

function slope(fit, axis) {
  const [times, unit] = per[axis], [value, lo, hi] = [fit.slope, fit.lo, fit.hi].map((v) => signed(v * times, 3));
  return el("span.last", { title: `${value} ${unit}, 95 % interval ${lo} to ${hi}` }, mark("slate", { dash: "4 3" }), " fit ", el("b", `${value} ${unit}`), el("span.extra", ` [${lo}, ${hi}]`));
}

export function rewardCard() {
  const key = "rollout/raw_reward";
  return {
    id: "reward", title: "Online reward", unit: "training, biased by filtering", keys: [key], avg: true, fit: [key],
    help: "Mean reward of the samples trained on, as graded. Training reward is biased by filtering: held-out pass@k is the measure of skill.",
    series: [
      { key, name: "reward", colour: "blue", width: 1, faint: 0.45 },
      { key, name: "average", colour: "blue", width: 2.25, from: (r) => r.avg[key] || r.x.map(() => null) },
    ],
    now: (r) => fixed(last(r.cols[key]), 2), at: (r, i) => fixed(r.cols[key][i], 3),
    key: (r, { axis }) => {
      const fit = r.fit[key];
      return [entry("blue", { width: 1, faint: 0.6 }, "per cycle"), r.window ? entry("blue", { width: 2.5 }, `average of ${r.window}`) : null,
        fit ? slope(fit, axis) : words("a fit needs 10 cycles")];
    },
    under: (ch, u, c) => band(u, c, ch.rows.fit[key]?.band, "slate", 0.14),
    over: (ch, u, c, r) => line(u, c, ch.rows.fit[key]?.line, "slate", r),
    extent: (ch, see) => (ch.rows.fit[key]?.band || []).forEach(([, lo, hi]) => { see(lo); see(hi); }),
  };
}

export function gapCard() {
  const [mean, p99, max, exact] = ["mean", "p99", "max", "frac_exact"].map((s) => `train/logp_diff/${s}`);
  return {
    id: "gap", title: "Train–rollout gap", unit: "|Δ logprob|, nats", keys: [mean, p99, max, exact, "update/version"], log: true, marks: true,
    help: "Mean and 99th percentile of |trainer − rollout| logprob over the tokens of a cycle, on a log axis.",
    series: [{ key: mean, name: "mean", colour: "teal", width: 1.75 }, { key: p99, name: "p99", colour: "orange", width: 1.75 }],
    tips: (ch, i) => [["max", verbatim(ch.rows.cols[max]?.[i])]],
    now: (r) => [significant(last(r.cols[mean])), el("small", ` p99 ${significant(last(r.cols[p99]))}`)],
    at: (r, i) => [significant(r.cols[mean][i]), el("small", ` p99 ${significant(r.cols[p99]?.[i])}`)],
    key: (r, { crowded }) => [entry("teal", {}, "mean"), entry("orange", {}, "p99"), words(crowded ? "update after each cycle" : "ticks: updates")],
    sentence: (r, board) => {
      const seen = (r.cols[mean] || []).filter(finite), n = r.kept < r.total ? r.total : seen.length;
      if (!seen.length || !seen.every((y) => y === 0) || !(r.cols[max] || []).every((y) => !y)) return null;
      return el("div", el("b", n === 1 ? "0 in the one cycle: the same bits." : `0 in all ${count(n)} cycles: the same bits.`), updateWords(board).map((words) => el("p", words)));
    },
    over: (ch, u, c, r) => updates(ch, u, c, r),
  };
}

// updateWords says where updates went otherwise than most, as the lines of the chart do.
function updateWords(board) {
  const cycles = Map.groupBy((board.marks || []).filter((m) => m.word), (m) => m.word);
  return [...cycles].map(([word, all]) => `${word === "skipped" ? "step skipped" : `update ${word}`}: ${all.length > 1 ? "cycles" : "cycle"} ${all.slice(0, 8).map((m) => count(m.cycle)).join(", ")}${all.length > 8 ? " …" : ""}`);
}

// updates are ticks of 4 px at the foot, left out where they would touch.
function updates(ch, u, c, r) {
  const v = ch.rows.cols["update/version"] || [], at = ch.rows.x.filter((_, i) => finite(v[i])).map((x) => u.valToPos(x, "x", true));
  const crowded = at.length > 1 && (at.at(-1) - at[0]) / (at.length - 1) < 4 * r;
  if (ch.crowded !== crowded) { ch.crowded = crowded; queueMicrotask(() => ch.onkey?.()); }
  c.fillStyle = colour("slate");
  if (!crowded) for (const x of at) c.fillRect(x - r / 2, u.bbox.top + u.bbox.height - 4 * r, r, 4 * r);
}

// passKs are those of the k that are drawn; the first at least.
export const passKs = (ks) => { const drawn = [1, 2, 4, 8].filter((k) => ks.includes(k)); return drawn.length ? drawn : [1]; };

// passCard is for one held-out set; ks are the k of its pass@k, lines those of reference.
export function passCard(name, ks, info, lines = []) {
  const of = (k) => `eval/${name}-pass@${k}`, ends = ks.length > 1 ? [ks[0], ks.at(-1)] : ks;
  const look = { 1: { width: 2, dots: 5.5 }, 2: { width: 1.25, dash: [2, 3] }, 4: { width: 1.25, dash: [6, 4] } };
  const style = (k) => (k === ks.at(-1) && ks.length > 1 ? { width: 1.75, dots: 5.5, hollow: true } : look[k] || { width: 1.25, dash: [2, 2] });
  return {
    id: "pass", title: "Held-out pass@k", unit: name ? `${name}${info ? ", " + info : ""}` : "", keys: ks.flatMap((k) => [of(k), ...(ends.includes(k) ? [`${of(k)}_lo`, `${of(k)}_hi`, `${of(k)}_decode_lo`, `${of(k)}_decode_hi`] : [])]),
    help: "Chance that one of k answers to a held-out problem is right. Bands are 95 % intervals, problems resampled.",
    series: ks.map((k) => ({ key: of(k), name: `pass@${k}`, colour: "purple", joined: true, ...style(k) })), share: false,
    tips: (ch, i) => ends.flatMap((k) => {
      const at = ch.rows.cols[of(k)]?.[i];
      return finite(at) ? [[`@${k} 95 %`, `${fixed(ch.rows.cols[of(k) + "_lo"]?.[i], 3)} to ${fixed(ch.rows.cols[of(k) + "_hi"]?.[i], 3)}`],
        [`@${k} decoding alone`, `${fixed(ch.rows.cols[of(k) + "_decode_lo"]?.[i], 3)} to ${fixed(ch.rows.cols[of(k) + "_decode_hi"]?.[i], 3)}`]] : [];
    }),
    now: (r) => [fixed(last(r.cols[of(ks[0])]), 2), ks.length > 1 ? el("small", ` at ${ks.at(-1)}: ${fixed(last(r.cols[of(ks.at(-1))]), 2)}`) : null],
    at: (r, i) => fixed(r.cols[of(ks[0])]?.[i], 3),
    key: () => [...ks.map((k) => { const s = style(k); return entry("purple", { width: s.width, dash: s.dash?.join(" "), dot: s.dots, hollow: s.hollow }, k === ks[0] ? `pass@${k}` : k); }), references(lines), words("band: 95 %, problems resampled")],
    under: (ch, u, c) => ends.forEach((k, j) => evalBand(ch, u, c, of(k), j ? 0.1 : 0.16)),
    extent: (ch, see, from, to) => {
      lines.forEach((b) => see(b.value));
      ends.forEach((k) => ["_lo", "_hi"].forEach((e) => (ch.rows.cols[of(k) + e] || []).forEach((y, i) => ch.rows.x[i] >= from && ch.rows.x[i] <= to && see(y))));
    },
    over: (ch, u, c, r) => across(u, c, lines, r),
  };
}

// references names the lines of reference after one sample of them, as far as there is room, and all of them with their values in its title.
const references = (lines) => (lines.length ? el("span.names", { title: lines.map((b) => `${b.name} = ${verbatim(b.value)}`).join("\n") }, mark("slate", { width: 1, dash: "4 3" }), el("span", lines.map((b, i) => [i ? ", " : "", el("bdi", b.name)]))) : null);

// across draws them, each with its name at the right; at the left where a name at the right would lie on another, and without where both would: the key has all.
function across(u, c, lines, r) {
  const taken = [Infinity, Infinity];
  for (const b of lines.toSorted((a, z) => z.value - a.value)) {
    const y = u.valToPos(b.value, "y", true), free = taken.findIndex((t) => Math.abs(y - t) >= 13 * r);
    line(u, c, [[u.scales.x.min, b.value], [u.scales.x.max, b.value]], "slate", r, free < 0 ? "" : b.name, free === 1);
    taken[free] = y;
  }
}

// evalBand joins the intervals of evaluations; a single one is a bar.
function evalBand(ch, u, c, key, alpha) {
  const { x, cols } = ch.rows, points = x.map((v, i) => [v, cols[key + "_lo"]?.[i], cols[key + "_hi"]?.[i]]).filter(([, lo, hi]) => finite(lo) && finite(hi));
  if (points.length > 1) return band(u, c, points, "purple", alpha);
  for (const [v, lo, hi] of points) {
    c.fillStyle = colour("purple", 0.5);
    const y = u.valToPos(hi, "y", true);
    c.fillRect(u.valToPos(v, "x", true) - 1, y, 2, u.valToPos(lo, "y", true) - y);
  }
}

export function truncatedCard(evalName, cap) {
  const held = `eval/${evalName}-truncated_ratio`, key = "rollout/truncated_ratio", len = "rollout/response_len/mean";
  return {
    id: "truncated", title: "Truncated", unit: cap ? `cut at ${count(cap)} tokens` : "cut at the limit", keys: [key, len, ...(evalName ? [held] : [])], share: true,
    help: "Share of samples that were cut at the length limit, in training and in evaluations.",
    series: [{ key, name: "training", colour: "olive", width: 1.5 }, ...(evalName ? [{ key: held, name: "held-out", colour: "purple", width: 1.25, dots: 5, joined: true }] : [])],
    tips: (ch, i) => [["mean length", verbatim(ch.rows.cols[len]?.[i])]],
    now: (r) => share(last(r.cols[key])), at: (r, i) => share(r.cols[key][i]),
    key: () => [entry("olive", {}, "training"), evalName ? entry("purple", { dot: true, width: 1.25 }, "held-out") : null],
  };
}

export function throughputCard() {
  const [a, b] = ["perf/tokens_per_gpu_per_sec", "perf/actor_train_tok_per_s"];
  return {
    id: "throughput", title: "Throughput", unit: "tokens a second", keys: [a, b], zero: true,
    help: "Response tokens generated a second and device, and tokens trained a second.",
    series: [{ key: a, name: "rollout", colour: "blue", width: 1.5 }, { key: b, name: "train", colour: "orange", width: 1.5 }],
    now: (r) => [rate(last(r.cols[a])), el("small", ` ${rate(last(r.cols[b]))}`)], at: (r, i) => [rate(r.cols[a][i]), el("small", ` ${rate(r.cols[b]?.[i])}`)],
    key: () => [entry("blue", {}, "rollout"), entry("orange", {}, "train")],
  };
}

export const partLook = { rollout_wait: ["blue", "rollout"], reward_wait: ["olive", "reward"], train: ["orange", "train"], update_weights: ["teal", "update"], eval: ["purple", "eval"], save_model: ["slate", "save"], other: ["idle", "other"] };
export const partName = (key) => key.replace(/^perf\//, "").replace(/_time$/, "");
export const lookOf = (key) => partLook[partName(key)] || ["idle", partName(key)];
const partOrder = Object.keys(partLook);

// inOrder puts parts of the trainer's clock as they are stacked, from the foot.
export const inOrder = (keys) => [...keys].sort((a, b) => partOrder.indexOf(partName(a)) - partOrder.indexOf(partName(b)));

export function phaseCard(parts) {
  parts = inOrder(parts);
  const busy = "perf/rollout_time", overlap = "perf/overlap_ratio", step = "perf/step_time";
  return {
    id: "phases", title: "Time by phase", unit: "seconds a cycle", keys: [...parts, step, busy, overlap], every: true, right: 104, parts,
    help: "The trainer's clock: what it did or waited for. The parts add up to the cycle's wall time.",
    series: parts.map((key) => ({ key, name: lookOf(key)[1], colour: lookOf(key)[0], none: true, width: 0 })),
    tips: (ch, i) => [["cycle", verbatim(ch.rows.cols[step]?.[i])], ...(ch.rows.cols[overlap]?.[i] > 0 ? [["rollout busy", verbatim(ch.rows.cols[busy][i])]] : [])],
    now: (r) => duration(last(r.cols[step])), at: (r, i) => duration(r.cols[step]?.[i]),
    key: (r, { perBar }) => [words(perBar > 1 ? `means of ${perBar} cycles a bar` : "one bar a cycle", r.cols[overlap]?.some((v) => v > 0) ? "; thin: rollout at work" : "")],
    extent: (ch, see) => { see(0); bars(ch).forEach((b) => see(b.parts.reduce((s, v) => s + v, 0))); },
    over: (ch, u, c, r) => stack(ch, u, c, r),
  };
}

// bars are means over as many cycles as make 3 px and a gap.
function bars(ch) {
  const [from, to] = ch.board.range(), { x, cols } = ch.rows, seen = [];
  for (let i = 0; i < x.length; i++) if (x[i] >= from && x[i] <= to) seen.push(i);
  const per = Math.max(1, Math.ceil((seen.length * 4) / Math.max(1, ch.width() - 48)));
  if (ch.perBar !== per) { ch.perBar = per; queueMicrotask(() => ch.onkey?.()); }
  const out = [];
  for (let at = 0; at < seen.length; at += per) {
    const group = seen.slice(at, at + per), mean = (v) => group.reduce((s, i) => s + (finite(v?.[i]) ? v[i] : 0), 0) / group.length;
    out.push({ from: group[0], to: group.at(-1), parts: ch.spec.parts.map((k) => mean(cols[k])), busy: cols["perf/overlap_ratio"]?.[group[0]] > 0 ? mean(cols["perf/rollout_time"]) : 0 });
  }
  return out;
}

function stack(ch, u, c, r) {
  const all = bars(ch), { x } = ch.rows, foot = u.valToPos(0, "y", true);
  const pitch = all.length > 1 ? Math.abs(u.valToPos(x[all[1].from], "x", true) - u.valToPos(x[all[0].from], "x", true)) : 12 * r;
  const w = Math.min(14 * r, Math.max(r, pitch - r)), sums = ch.spec.parts.map(() => 0);
  for (const b of all) {
    const left = (u.valToPos(x[b.from], "x", true) + u.valToPos(x[b.to], "x", true)) / 2 - w / 2;
    let y = foot, at = 0;
    b.parts.forEach((v, k) => {
      sums[k] += v * (b.to - b.from + 1);
      at += v;
      const top = u.valToPos(at, "y", true);
      c.fillStyle = colour(lookOf(ch.spec.parts[k])[0]);
      c.fillRect(left, top, w, y - top);
      y = top;
    });
    if (b.busy) {
      c.fillStyle = colour("ink", 0.55);
      c.fillRect(left + w + r / 2, u.valToPos(b.busy, "y", true), r, foot - u.valToPos(b.busy, "y", true));
    }
  }
  shares(ch, u, sums, r);
}

// shares labels the stack at its right, each word as near its part as the others leave room.
function shares(ch, u, sums, r) {
  const total = sums.reduce((a, b) => a + b, 0), host = (ch.labels ??= ch.host.appendChild(el("div.shares")));
  if (!total) return host.replaceChildren();
  const top = u.bbox.top / r, height = u.bbox.height / r, mid = sums.map((s, k) => top + height * (1 - (sums.slice(0, k).reduce((a, b) => a + b, 0) + s / 2) / total) - 8);
  const shown = sums.map((s, k) => k).filter((k) => sums[k] / total >= 0.002), y = new Map();
  let floor = top + height - 14;
  for (const k of shown) { const at = Math.min(mid[k], floor); y.set(k, at); floor = at - 15; }
  let roof = top - 6;
  for (const k of [...shown].reverse()) { const at = Math.max(y.get(k), roof); y.set(k, at); roof = at + 15; }
  host.replaceChildren(...shown.map((k) => {
    const [name, label] = lookOf(ch.spec.parts[k]), span = el("span", swatch(name), `${label} ${share(sums[k] / total)}`);
    span.style.top = `${y.get(k)}px`;
    return span;
  }));
}

// stalenessCard asks now for the head as it is when the key is drawn.
export function stalenessCard(now, bound) {
  const [mean, max] = ["rollout/staleness/mean", "rollout/staleness/max"];
  return {
    id: "staleness", title: "Staleness", unit: "versions behind", keys: [mean, max], zero: true, whole: true,
    help: "How many versions behind the served one the weights were that chose a trained token.",
    series: [{ key: mean, name: "mean", colour: "teal", width: 1.75, step: true }, { key: max, name: "max", colour: "slate", none: true }],
    now: (r) => whole(last(r.cols[mean])), at: (r, i) => whole(r.cols[mean][i]),
    key: () => [entry("teal", {}, "mean"), entry("slate", { dot: "only" }, "max, if higher"), serves(now())],
    extent: (ch, see) => { see(1); if (finite(bound)) see(bound); },
    over: (ch, u, c, r) => {
      if (finite(bound)) line(u, c, [[u.scales.x.min, bound], [u.scales.x.max, bound]], "slate", r, "bound");
      c.fillStyle = colour("slate");
      const v = ch.rows.cols[max] || [], m = ch.rows.cols[mean] || [];
      for (let i = 0; i < v.length; i++) if (v[i] > m[i]) disc(c, u.valToPos(ch.rows.x[i], "x", true), u.valToPos(v[i], "y", true), 2.2 * r);
    },
  };
}

// serves says which version does, or did last.
const serves = ({ state, version }) => (version ? words(state === "running" ? "serving " : "served last ", el("b", version)) : null);

// plainCard shows one series by itself.
export function plainCard(info, title) {
  const key = info.name, unit = info.unit;
  const name = unit === "1" || unit === "nats" && /grad_norm|^train\/lr/.test(key) ? "" : unit;
  return {
    id: key, title: title || key, unit: name, keys: [key], share: unit === "share", help: info.meaning,
    zero: unit === "tokens" || unit === "s", whole: ["experts", "versions"].includes(unit),
    series: [{ key, name: title ? key : "value", colour: seriesColour(key), width: 1.5, joined: info.every > 1, dots: info.every > 1 ? 5 : 0 }],
    now: (r) => byUnit(last(r.cols[key]), unit), at: (r, i) => byUnit(r.cols[key][i], unit),
    key: () => [words(info.meaning || "not a series of this program")],
  };
}

function seriesColour(key) {
  if (key.startsWith("eval/")) return "purple";
  if (key.startsWith("train/")) return "orange";
  return key.startsWith("update/") ? "teal" : "blue";
}

// more are the cards below the fold, by key.
export const more = [
  ["rollout/entropy", "Entropy"], ["train/grad_norm", "Gradient norm"], ["train/kl_loss", "KL to the reference"], ["train/pg_clipfrac", "Clipped"],
  ["rollout/repetition_frac", "Repetition"], ["rollout/zero_std/ratio", "Groups without signal"], ["rollout/response_len/mean", "Response length"], ["reward/invalid", "Invalid rewards"],
];

function band(u, c, points, name, alpha) {
  if (!points?.length) return;
  c.fillStyle = colour(name, alpha);
  c.beginPath();
  points.forEach(([x, , hi], i) => c[i ? "lineTo" : "moveTo"](u.valToPos(x, "x", true), u.valToPos(hi, "y", true)));
  [...points].reverse().forEach(([x, lo]) => c.lineTo(u.valToPos(x, "x", true), u.valToPos(lo, "y", true)));
  c.fill();
}

function line(u, c, points, name, r, label, atLeft) {
  if (!points?.length) return;
  c.strokeStyle = c.fillStyle = colour(name);
  c.lineWidth = 1.5 * r;
  c.setLineDash([5 * r, 4 * r]);
  c.beginPath();
  points.forEach(([x, y], i) => c[i ? "lineTo" : "moveTo"](u.valToPos(x, "x", true), u.valToPos(y, "y", true)));
  c.stroke();
  c.setLineDash([]);
  if (label) word(c, label, u.bbox.left + (atLeft ? 4 * r : u.bbox.width - 4 * r), u.valToPos(points[0][1], "y", true) - 7 * r, r, atLeft ? "left" : "right");
}
