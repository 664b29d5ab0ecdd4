// Experts: load by layer, those that are dead or hot, and how far rollout and trainer agree.
import { colour, el, fill, mixed } from "./dom.js";
import { change } from "./address.js";
import { verbatim } from "./api.js";
import { Board } from "./board.js";
import { card } from "./deck.js";
import { plainCard } from "./cards.js";
import { count, finite, share, significant } from "./format.js";
import { answering, damage, empty, picture, region, seg, table } from "./parts.js";

const left = 56; // room for the names of layers
const charts = ["moe/load_cv", "moe/max_load", "moe/router_agreement", "moe/router_entropy", "moe/dead_experts"];

// heat is the colour of a load over the fair share, on a scale of two from an eighth to eight.
function heat(load) {
  const v = Math.min(6, Math.max(0, Math.log2(Math.max(load, 1e-9)) + 3)), low = Math.floor(v);
  return low === v ? colour(`heat-${low}`) : mixed(colour(`heat-${low}`), colour(`heat-${low + 1}`), v - low);
}

export function experts(ctx) {
  const { ask } = ctx, board = new Board(new URLSearchParams()), node = el("div", el("p.grey", "Reading…"));
  let e = null, cards = null, side = 0, q = ctx.q;
  board.onopen = (c) => change({ c });

  const load = answering(node, async (query) => {
    q = query;
    e = await ask("/experts", { c: q.get("c"), layer: q.get("layer") });
    show();
  }, () => empty("No expert load is written", "It comes with the first cycle of a model with experts."));

  function show() {
    side = Math.min(side, e.sides.length - 1);
    cards ||= (ctx.head.keys || []).filter((k) => charts.includes(k.name)).map((k) => card(plainCard(k, null), board, (p) => ask("/rows", p), { class: "span-4 low", csv: () => null }));
    const readout = el("p.grey", "Hover a cell to read it, click for the layer's past."), sides = seg("Side", e.sides.map((s, k) => [k, s]), (k) => k === side, (k) => { side = k; show(); });
    fill(node, el("div.bar", el("h1", "Experts"), slider(), el("span.grey", e.version), e.sides.length > 1 ? sides : null, el("span.end", scale())), damage(e.bad),
      el("div.grid", el("div.panel.span-8", el("h2", "Tokens over the fair share ", el("span.grey", `${count(e.layers)} layers × ${count(e.experts)} experts, chosen by the ${e.sides[side]}`)), map(readout), readout),
        region("div.panel.span-4.scroll", "Layers", layers()), notes(), e.history ? past(e.history) : null, cards.map((c) => c.node)));
  }

  function slider() {
    const input = el("input", { type: "range", min: 0, max: Math.max(0, e.cycles.length - 1), "aria-label": "Cycle", oninput: () => (said.textContent = `cycle ${count(e.cycles[input.value])}`), onchange: () => change({ c: e.cycles[input.value] }, true) });
    const said = el("span", `cycle ${count(e.cycle)}`);
    input.value = e.cycles.indexOf(e.cycle);
    return el("label.slider", input, said);
  }

  function scale() {
    const inks = ["ink", "ink", "ink", "on-heat-3", "on-heat-4", "bin-text-4", "bin-text-4"];
    return el("span.legend", ["1/8", "1/4", "1/2", "1", "2", "4", "8"].map((words, n) => { const s = el("span", words); s.style.background = `var(--heat-${n})`; s.style.color = `var(--${inks[n]})`; return s; }), el("span", "✕ dead"));
  }

  function loadOf(l, x) {
    const row = e.tokens[side][l], sum = row.reduce((a, b) => a + b, 0);
    return sum ? (row[x] * e.experts) / sum : 0;
  }

  function map(readout) {
    const dead = new Set(e.dead.map((d) => `${d.layer}/${d.expert}`)), height = Math.max(60, e.layers * Math.min(34, Math.max(10, 420 / e.layers)));
    const node = picture("heat", `Load of experts in cycle ${e.cycle}; the table beside it has the layers' figures`, height, (c, w, h) => {
      const cw = (w - left) / e.experts, ch = h / e.layers;
      c.font = "11px system-ui, sans-serif";
      c.textBaseline = "middle";
      for (let l = 0; l < e.layers; l++) {
        c.fillStyle = colour("grey");
        if (ch >= 10 || l % Math.ceil(10 / ch) === 0) c.fillText(`layer ${l}`, 0, (l + 0.5) * ch);
        for (let x = 0; x < e.experts; x++) {
          c.fillStyle = heat(loadOf(l, x));
          c.fillRect(left + x * cw, l * ch, Math.max(0.7, cw - (cw > 6 ? 1 : 0)), ch - 1);
          if (dead.has(`${l}/${x}`)) { c.fillStyle = colour("bad"); c.fillText("✕", left + (x + 0.5) * cw - 4, (l + 0.5) * ch); }
        }
      }
    });
    const at = (ev) => [Math.floor((ev.offsetY / node.clientHeight) * e.layers), Math.floor(((ev.offsetX - left) / (node.clientWidth - left)) * e.experts)];
    node.addEventListener("pointermove", (ev) => {
      const [l, x] = at(ev);
      if (e.tokens[side][l]?.[x] === undefined) return;
      readout.textContent = `Layer ${l}, expert ${x}: ${count(e.tokens[side][l][x])} tokens by ${e.sides[side]}, ${significant(loadOf(l, x))} fair shares; agreement in the layer ${share(e.agreement?.[l])}`;
    });
    node.addEventListener("click", (ev) => { const [l] = at(ev); if (l >= 0 && l < e.layers) change({ layer: l }); });
    return node;
  }

  function layers() {
    const row = (t) => [el("button.plain", { type: "button", "aria-label": `Layer ${t.layer} over time`, onclick: () => change({ layer: t.layer }) }, t.layer), ...[t.load_cv, t.max_load].map((v) => el("span", { title: verbatim(v) }, significant(v))),
      el("span", { title: "experts without a token in this cycle" }, count(t.dead)), share(t.agreement), significant(t.entropy)];
    return table(["#layer", "#variation", "#largest", "#unused", "#agree", "#entropy"], e.table.map(row));
  }

  function notes() {
    const one = (d) => `${d.layer}.${d.expert}${d.since ? ` (since cycle ${count(d.since)})` : finite(d.load) ? ` (${significant(d.load)}×)` : ""}`;
    const list = (found, what, which) => el("p", { class: found.length ? "" : "grey" }, found.length ? `${count(found.length)} ${what}${found.length === 1 ? "" : "s"}, ${which}, as layer.expert: ${found.slice(0, 40).map(one).join(", ")}${found.length > 40 ? " …" : ""}` : `No ${what}, ${which}.`);
    return el("div.panel.span-12", list(e.dead, "dead expert", "without a token in the last 20 cycles"), list(e.hot, "hot expert", "above four fair shares"));
  }

  // past is one layer over the cycles: rows are experts.
  function past(h) {
    const n = h.cycles.length, node = picture("heat", `Load of layer ${h.layer} over ${n} cycles`, Math.min(320, Math.max(80, e.experts * 8)), (c, w, height) => {
      const x = (i) => Math.round((i * w) / n), y = (k) => Math.round((k * height) / e.experts);
      h.load.forEach((row, i) => row.forEach((v, k) => { c.fillStyle = heat(finite(v) ? v : 0); c.fillRect(x(i), y(k), Math.max(1, x(i + 1) - x(i)), y(k + 1) - y(k)); }));
    });
    return el("div.panel.span-12", el("h2", `Layer ${h.layer} over time `, el("span.grey", `cycles ${count(h.cycles[0])} to ${count(h.cycles.at(-1))}, a row an expert`)), node);
  }

  return {
    node, update: load, repaint: () => board.repaint(), rows: () => q.get("c") === null && load(q),
    key(ev) {
      const i = e?.cycles.indexOf(e.cycle) ?? -1, by = { ArrowLeft: -1, ArrowRight: 1, ",": -1, ".": 1 }[ev.key];
      if (i < 0 || !by || ev.target.type === "range" || e.cycles[i + by] === undefined) return false;
      change({ c: e.cycles[i + by] }, true);
      return true;
    },
    close: () => board.close(),
  };
}
