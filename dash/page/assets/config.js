// Every setting with its value and where that came from; those that differ from the recipe first.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change } from "./address.js";
import { failed } from "./api.js";
import { count } from "./format.js";
import { copy } from "./keys.js";

// written is a setting's value in one line.
export function written(v) {
  return v === null || v === undefined ? "–" : typeof v === "string" ? v || '""' : JSON.stringify(v);
}

export function config(ctx) {
  const search = el("input", { type: "search", "aria-label": "Find a setting", placeholder: "name, value or origin", oninput: () => change({ q: search.value || null }, true) }), list = el("div.stack"), status = el("span.end", { role: "status" });
  const node = el("div", el("div.bar", el("h1", "Config"), search, el("button.button", { type: "button", onclick: () => copy(flags(), "Flags copied") }, "Copy as flags"), status), list);
  let c = null;

  ctx.ask("/config").then((r) => { c = r; draw(); }, (e) => e.name !== "AbortError" && fill(list, failed(e)));

  const flags = () => c.settings.filter((s) => s.differs && !s.secret).map((s) => `--${s.name} ${quoted(written(s.value))}`).join(" ");
  const quoted = (v) => (/^[\w./:=,+-]+$/.test(v) ? v : `'${v.replaceAll("'", "'\\''")}'`);

  function draw() {
    const want = search.value.toLowerCase().split(/\s+/).filter(Boolean), found = c.settings.filter((s) => want.every((w) => `${s.name} ${written(s.value)} ${s.origin}`.toLowerCase().includes(w)));
    const differs = found.filter((s) => s.differs), rest = found.filter((s) => !s.differs);
    status.textContent = `${count(found.length)} of ${count(c.settings.length)} settings`;
    fill(list, c.attempts.map((a) => el("div.panel", el("h2", `Attempt ${a.attempt} was started with other settings`), el("ul", a.changes.map((x) => el("li", data(x.name), ": ", data(written(x.was), 200), " → ", data(written(x.now), 200)))))),
      table("Differs from recipe and default", differs), table("As recipe and default say", rest));
  }

  function table(title, rows) {
    if (!rows.length) return null;
    return el("div.panel", el("h2", `${title} `, el("span.grey", count(rows.length))), el("table.cards-table", el("thead", el("tr", ["setting", "value", "origin"].map((h) => el("th", h)))), el("tbody", rows.map((s) => el("tr", el("td.full", data(s.name, 120)), el("td.mono", s.secret ? el("span.grey", "secret, not written") : data(written(s.value), 400)), el("td.grey", data(s.origin, 120)))))));
  }

  return {
    node,
    update(q) {
      if (search.value !== (q.get("q") || "")) search.value = q.get("q") || "";
      if (c) draw();
    },
    key: (e) => (e.key === "/" ? (search.focus(), true) : false),
  };
}
