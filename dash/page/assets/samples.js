// Samples by filter: the box, three histograms that filter, and a table of which only the visible rows are in the page.
import { colour, el, fill } from "./dom.js";
import { data, line } from "./text.js";
import { change, go } from "./address.js";
import { failed } from "./api.js";
import { count, fixed, significant, whole } from "./format.js";
import { sampleAddress } from "./drawer.js";
import { preview } from "./group.js";
import { button, damage, empty, picture, verdictOf } from "./parts.js";

const columns = [
  ["cycle", "sample", "cycle"], [null, "verdict"], ["reward", "reward", "num"], ["len", "length", "num"], ["gap", "gap", "num"], ["max", "largest", "num"], ["version", "version", "num"], ["stale", "stale", "num"], [null, "answer"],
];

export function samples(ctx) {
  const { ask, run } = ctx;
  const box = el("input", { type: "search", "aria-label": "Filter", spellcheck: "false", autocomplete: "off", placeholder: 'cycle:37..40 truncated -right reward<0.5 len>3000 gap>1 text:"therefore"', onkeydown: (e) => e.key === "Enter" && apply() });
  const status = el("span.end", { role: "status" }), fault = el("div"), hists = el("div.grid.hists"), head = el("div.row-head.samples-cols"), body = el("div.rows", { tabindex: 0, role: "listbox", "aria-label": "Samples" }), space = el("div", { role: "presentation" });
  const side = el("div"), split = el("div.split", el("div.panel", head, body), side);
  const quick = el("div.bar", el("span.grey", "quick:"), ["", "-right", "truncated", "invalid", "gap>1", "repeated", "mixed", "eval"].map((q) => button(q || "all", () => change({ q: q || null }))), status);
  const node = el("div.stack", el("h1.unseen", "Samples"), el("div.filter", box, button("Filter", () => apply(), { class: "main" })), fault, quick, hists, split);
  space.append(el("p.grey", "Reading…"));
  body.append(space);
  let rows = [], next = "", total = 0, chosen = -1, asking = 0, q = "", sort = "", shown = null;

  const apply = () => change({ q: box.value.trim() || null });
  body.addEventListener("scroll", () => draw());
  const size = new ResizeObserver(() => draw());
  size.observe(body);

  async function load(more) {
    const mine = ++asking;
    try {
      const r = await ask("/samples", { q, sort: sort || null, limit: 100, after: more ? next : null, text: 1 });
      if (mine !== asking) return;
      fill(fault, damage(r.bad), r.remedy ? el("p.grey", data(r.remedy, 600)) : null);
      rows = more ? rows.concat(r.rows) : r.rows;
      [next, total] = [r.next, r.count];
      if (!more) {
        chosen = -1;
        body.scrollTop = 0;
        drawHists(r.hist);
      }
      status.textContent = `${count(r.count)} of ${count(r.total)} samples, ${Math.max(1, Math.round(r.took_ms))} ms${r.more ? ". The search for text goes on as you scroll" : ""}`;
      fill(space, rows.length ? null : nothing(r));
      drawn = "";
      draw();
    } catch (e) {
      if (e.name === "AbortError" || mine !== asking) return;
      if (!rows.length) fill(space);
      fill(fault, failed(e), e.offset ? el("pre.text", box.value + "\n" + " ".repeat(Math.max(0, e.offset - 1)) + "^") : null);
    }
  }

  // nothing says why there is no row.
  function nothing(r) {
    if (r.total) return empty("No sample fits the filter", button("Take the filter away", () => change({ q: null })));
    return r.bad.length ? empty("No sample can be read", "The index of samples is damaged; what is wrong with it, and what mends it, stands above.") : empty("No samples yet", "They are written after each cycle.");
  }

  function drawHead() {
    fill(head, columns.map(([field, name, num]) => field ? el("button", { type: "button", class: num === "num" ? "num" : "", "aria-label": `Sort by ${name}`, onclick: () => change({ sort: sort === `-${field}` ? field : `-${field}` }) }, name, sort === `-${field}` ? " ▾" : sort === field ? " ▴" : "") : el("span", name)));
  }

  let drawn = "";
  const height = () => (innerWidth <= 700 ? 76 : 28);

  // draw puts the rows in view into the page and asks for more at the end.
  function draw() {
    const h = height(), from = Math.max(0, Math.floor(body.scrollTop / h) - 5), to = Math.min(rows.length, Math.ceil((body.scrollTop + body.clientHeight) / h) + 5);
    if (to >= rows.length - 20 && next && rows.length) { const was = next; if (asked !== was) { asked = was; load(true); } }
    const key = `${from} ${to} ${chosen} ${rows.length} ${h}`;
    if (key === drawn || !rows.length) return;
    drawn = key;
    space.style.height = `${rows.length * h}px`;
    space.style.position = "relative";
    const held = space.contains(document.activeElement);
    fill(space, rows.slice(from, to).map((s, i) => row(s, from + i, h)));
    if (held) body.focus({ preventScroll: true });
    body.setAttribute("aria-activedescendant", chosen >= 0 ? `s${chosen}` : "");
  }
  let asked = "";

  function row(s, i, h) {
    const [glyph, word, tone] = verdictOf(s.verdict), cut = s.flags.includes("truncated"), node = el(`div.row.samples-cols#s${i}`, { role: "option", "aria-selected": String(i === chosen), onclick: () => open(i) },
      el("span", `${s.eval ? "eval " : ""}${s.cycle} / ${s.group} / ${s.slot}`), el("span", { class: tone }, glyph, " ", word), el("span.num", fixed(s.reward, 3)),
      el("span.num", { title: cut ? "cut at the limit" : null }, count(s.len), cut ? el("b.warn", " cut") : ""), el("span.num", { "data-name": "gap" }, significant(s.gap)), el("span.num", { "data-name": "largest" }, significant(s.gap_max)), el("span.num", s.newest && s.newest !== s.version ? `${s.version}+` : s.version), el("span.num", { "data-name": "stale" }, whole(s.stale)),
      el("span.wide", { class: s.kept ? "" : "grey" }, s.kept ? line(s.text) : "tokens were not kept"));
    node.style.top = `${i * h}px`;
    return node;
  }

  function open(i) {
    go(sampleAddress(run, rows[i], false));
  }

  function drawHists(h) {
    fill(hists, [["reward", "Reward"], ["len", "Length, tokens"], ["gap", "Gap, nats"]].filter(([f]) => h[f]?.counts.some(Boolean)).map(([f, name]) => histogram(f, name, h[f], filterBy)));
  }

  // filterBy takes a range of a field into the filter, in place of an earlier one.
  function filterBy(field, lo, hi) {
    const rest = q.split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/).filter((t) => t && !new RegExp(`^-?${field}(:|<|>|=)`).test(t));
    change({ q: [...rest, `${field}:${lo}..${hi}`].join(" ") });
  }

  function choose(i) {
    chosen = Math.min(Math.max(i, 0), rows.length - 1);
    const h = height(), top = chosen * h;
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + h > body.scrollTop + body.clientHeight) body.scrollTop = top + h - body.clientHeight;
    draw();
    if (shown) look();
  }

  function look() {
    shown = rows[chosen];
    split.classList.add("two");
    fill(side, preview(ctx, shown, close));
  }

  function close() {
    shown = null;
    split.classList.remove("two");
    fill(side);
    body.focus();
  }

  return {
    node,
    update(query) {
      [q, sort] = [query.get("q") || "", query.get("sort") || ""];
      box.value = q;
      drawHead();
      asked = "";
      load();
    },
    rows() {
      if (!body.scrollTop && chosen < 0 && !sort) load();
    },
    repaint: () => hists.querySelectorAll("canvas").forEach((c) => c.paint()),
    key(e) {
      if (e.key === "j" || (e.key === "ArrowDown" && e.target === body)) choose(chosen + 1);
      else if (e.key === "k" || (e.key === "ArrowUp" && e.target === body)) choose(chosen - 1);
      else if (e.key === "Enter" && chosen >= 0 && !e.target.closest?.("button,a")) open(chosen);
      else if (e.key === " " && chosen >= 0 && !e.target.closest?.("button,a")) shown ? close() : look();
      else if (e.key === "Escape" && shown) close();
      else if (e.key === "/") { box.focus(); box.select(); } else return false;
      return true;
    },
    close: () => size.disconnect(),
  };
}

// histogram filters by a click on a bar or a drag over several.
function histogram(field, name, h, pick) {
  const top = Math.max(1, ...h.counts), words = el("span.grey"), n = h.counts.length, edge = (i) => (field === "len" ? whole(h.edges[i]) : significant(h.edges[i]));
  let from = -1, to = -1, down = false;
  const draw = (c, w, height) => {
    h.counts.forEach((v, i) => {
      const bar = v ? Math.max(2, (v / top) * (height - 16)) : 0, on = from >= 0 && i >= Math.min(from, to) && i <= Math.max(from, to);
      c.fillStyle = colour(on ? "orange" : "blue", on ? 1 : 0.75);
      c.fillRect((i * w) / n + 0.5, height - 14 - bar, w / n - 1, bar);
    });
    c.fillStyle = colour("grey");
    c.font = "10.5px system-ui, sans-serif";
    c.textBaseline = "bottom";
    for (const [i, align] of [[0, "left"], [n, "right"], ...(w > 200 ? [[Math.floor(n / 2), "center"]] : [])]) {
      c.textAlign = align;
      c.fillText(edge(i), (i * w) / n, height);
    }
  };
  const node = picture("hist", `Histogram of ${name}: ${edge(0)} to ${edge(n)}, most at ${edge(h.counts.indexOf(top))}`, 0, draw), at = (e) => Math.min(n - 1, Math.max(0, Math.floor((e.offsetX / node.clientWidth) * n)));
  const say = (i) => (words.textContent = `${edge(i)} to ${edge(i + 1)}: ${count(h.counts[i])}`);
  node.addEventListener("pointerdown", (e) => { down = true; from = to = at(e); node.setPointerCapture(e.pointerId); node.paint(); });
  node.addEventListener("pointermove", (e) => { say(at(e)); if (down) { to = at(e); node.paint(); } });
  node.addEventListener("pointerup", () => { down = false; pick(field, h.edges[Math.min(from, to)], h.edges[Math.max(from, to) + 1]); });
  return el("div.panel.span-4", el("h2", name, " ", words, h.odd ? el("span.grey", ` ${count(h.odd)} not measured`) : null), node);
}
