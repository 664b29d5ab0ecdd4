// Experts: load by layer, those that are dead or hot, and how far rollout and trainer agree.
import { canvas, colour, el, fill } from "./dom.js";
import { change } from "./address.js";
import { failed, verbatim } from "./api.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { plainCard } from "./cards.js";
import { count, finite, share, significant } from "./format.js";

const shades = [0, 1, 2, 3, 4, 5, 6];

// shade puts load over the fair share on a scale of two: an eighth to eight.
const shade = (load) => Math.round(Math.min(6, Math.max(0, Math.log2(Math.max(load, 1e-9)) + 3)));

export function experts(ctx) {
  const { ask } = ctx, board = new Board(new URLSearchParams()), node = el("div", el("p.grey", "Reading…"));
  let e = null, cards = [], side = 0, map = null, q = ctx.q;
  board.onopen = (c) => change({ c });

  async function load(query) {
    q = query;
    try {
      e = await ask("/experts", { c: q.get("c"), layer: q.get("layer") });
      show();
    } catch (err) {
      if (err.name !== "AbortError") fill(node, err.status === 404 ? el("div.panel", el("div.empty", el("b", "No expert load is written"), "It comes with the first cycle of a model with experts.")) : failed(err));
    }
  }

  function show() {
    const i = e.cycles.indexOf(e.cycle), slider = el("input", { type: "range", min: 0, max: Math.max(0, e.cycles.length - 1), "aria-label": "Cycle", oninput: () => (slider.nextSibling.textContent = ` cycle ${count(e.cycles[slider.value])}`), onchange: () => change({ c: e.cycles[slider.value] }, true) });
    slider.value = i;
    side = Math.min(side, e.sides.length - 1);
    const readout = el("p.grey", "Hover a cell to read it, click for the layer's past.");
    map = heat(readout);
    const sides = el("span.seg", { role: "group", "aria-label": "Side" }, e.sides.map((s, k) => el("button", { type: "button", "aria-pressed": String(k === side), onclick: () => { side = k; show(); } }, s)));
    const opened = !cards.length;
    if (opened) cards = wanted().map((k) => card(plainCard(k, null), board, (p) => ask("/rows", p), { class: "span-4 low", csv: () => null }));
    fill(node, el("div.bar", el("h1", "Experts"), el("label", slider, el("span", ` cycle ${count(e.cycle)}`)), el("span.grey", e.version), sides, el("span.end", scale())),
      el("div.grid", el("div.panel.span-8", el("h2", "Tokens over the fair share ", el("span.grey", `${count(e.layers)} layers × ${count(e.experts)} experts`)), map, readout), el("div.panel.span-4.scroll", { tabindex: 0, role: "region", "aria-label": "Layers" }, layers()), notes(), e.history ? past() : null, cards.map((c) => c.node)));
  }

  function wanted() {
    const known = new Map((ctx.head.keys || []).map((k) => [k.name, k]));
    return ["moe/load_cv", "moe/max_load", "moe/router_agreement", "moe/router_entropy", "moe/dead_experts"].filter((k) => known.has(k)).map((k) => known.get(k));
  }

  function scale() {
    return el("span.legend", shades.map((n) => { const s = el("span", ["1/8", "1/4", "1/2", "1", "2", "4", "8"][n]); s.style.background = `var(--heat-${n})`; s.style.color = ["var(--ink)", "var(--on-heat-3)", "var(--on-heat-4)", "var(--bin-text-4)"][Math.max(0, Math.min(3, n - 2))]; return s; }), el("span", "✕ dead"));
  }

  const loadOf = (l, x) => { const row = e.tokens[side][l], sum = row.reduce((a, b) => a + b, 0); return sum ? (row[x] * e.experts) / sum : 0; };

  function heat(readout) {
    const cellH = Math.min(34, Math.max(10, 420 / e.layers)), dead = new Set(e.dead.map((d) => `${d.layer}/${d.expert}`));
    const node = canvas("heat", (c, w, h) => {
      const cw = (w - 56) / e.experts, ch = h / e.layers;
      c.font = "11px system-ui, sans-serif";
      c.textBaseline = "middle";
      for (let l = 0; l < e.layers; l++) {
        if (ch >= 10 || l % Math.ceil(10 / ch) === 0) { c.fillStyle = colour("grey"); c.fillText(`layer ${l}`, 0, (l + 0.5) * ch); }
        for (let x = 0; x < e.experts; x++) {
          c.fillStyle = colour(`heat-${shade(loadOf(l, x))}`);
          c.fillRect(56 + x * cw, l * ch, Math.max(0.7, cw - (cw > 6 ? 1 : 0)), ch - 1);
          if (dead.has(`${l}/${x}`)) { c.fillStyle = colour("bad"); c.textAlign = "center"; c.fillText("✕", 56 + (x + 0.5) * cw, (l + 0.5) * ch); c.textAlign = "left"; }
        }
      }
    });
    node.style.height = `${Math.max(60, cellH * e.layers)}px`;
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", `Load of experts in cycle ${e.cycle}; the table beside it has the layers' figures`);
    const at = (ev) => [Math.floor((ev.offsetY / node.clientHeight) * e.layers), Math.floor(((ev.offsetX - 56) / (node.clientWidth - 56)) * e.experts)];
    node.addEventListener("pointermove", (ev) => {
      const [l, x] = at(ev);
      if (l < 0 || l >= e.layers || x < 0 || x >= e.experts) return;
      readout.textContent = `Layer ${l}, expert ${x}: ${count(e.tokens[side][l][x])} tokens by ${e.sides[side]}, ${significant(loadOf(l, x))} fair shares; agreement in the layer ${share(e.agreement?.[l])}`;
    });
    node.addEventListener("click", (ev) => { const [l] = at(ev); if (l >= 0 && l < e.layers) change({ layer: l }); });
    return node;
  }

  function layers() {
    return el("table", el("thead", el("tr", ["layer", "variation", "largest", "dead", "agree", "entropy"].map((h) => el("th.num", h)))), el("tbody", e.table.map((t) => el("tr", el("td.num", el("button.plain", { type: "button", "aria-label": `Layer ${t.layer} over time`, onclick: () => change({ layer: t.layer }) }, t.layer)), [t.load_cv, t.max_load].map((v) => el("td.num", { title: verbatim(v) }, significant(v))), el("td.num", { class: t.dead ? "bad" : "" }, count(t.dead)), el("td.num", share(t.agreement)), el("td.num", significant(t.entropy))))));
  }

  function notes() {
    const list = (found, words) => (found.length ? el("p", `${count(found.length)} ${words}, as layer.expert: `, found.slice(0, 40).map((d) => `${d.layer}.${d.expert}${d.since ? ` (since cycle ${count(d.since)})` : finite(d.load) ? ` (${significant(d.load)}×)` : ""}`).join(", "), found.length > 40 ? " …" : "") : el("p.grey", `No ${words}.`));
    return el("div.panel.span-12", list(e.dead, "dead experts, without a token in the last 20 cycles"), list(e.hot, "hot experts, above four fair shares"));
  }

  // past is one layer over the cycles: rows are experts.
  function past() {
    const h = e.history, n = h.cycles.length, node = canvas("heat", (c, w, height) => {
      const cw = w / n, ch = height / e.experts;
      h.load.forEach((row, i) => row.forEach((v, x) => { c.fillStyle = colour(`heat-${shade(finite(v) ? v : 0)}`); c.fillRect(i * cw, x * ch, cw + 0.5, ch + 0.3); }));
    });
    node.style.height = `${Math.min(320, Math.max(80, e.experts * 8))}px`;
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", `Load of layer ${h.layer} over ${n} cycles`);
    return el("div.panel.span-12", el("h2", `Layer ${h.layer} over time `, el("span.grey", `cycles ${count(h.cycles[0])} to ${count(h.cycles.at(-1))}, a row an expert`)), node);
  }

  return {
    node, update: load, repaint: () => cards.forEach((c) => c.chart.repaint()), rows: () => q.get("c") === null && load(q),
    key(ev) {
      const i = e?.cycles.indexOf(e.cycle) ?? -1, step = { ArrowLeft: -1, ArrowRight: 1, ",": -1, ".": 1 }[ev.key];
      if (i < 0 || !step || ev.target.type === "range" || e.cycles[i + step] === undefined) return false;
      change({ c: e.cycles[i + step] }, true);
      return true;
    },
    close: () => cards.forEach((c) => c.close()),
  };
}
