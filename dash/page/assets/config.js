// Every setting with its value and where that came from; those that differ from the recipe first.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change } from "./address.js";
import { count } from "./format.js";
import { copy } from "./keys.js";
import { answering, button, finder, slash, table } from "./parts.js";

// written is a setting's value in one line.
export function written(v) {
  return v === null || v === undefined ? "–" : typeof v === "string" ? v || '""' : JSON.stringify(v);
}

export function config(ctx) {
  const search = finder("Find a setting", "name, value or origin", () => change({ q: search.value || null }, true));
  const list = el("div.stack"), status = el("span.end", { role: "status" });
  const node = el("div", el("div.bar", el("h1", "Config"), search, button("Copy as flags", () => copy(flags(), "Flags copied")), status), list);
  let c = null;

  const flags = () => c.settings.filter((s) => s.differs && !s.secret).map((s) => `--${s.name} ${quoted(written(s.value))}`).join(" ");
  const quoted = (v) => (/^[\w./:=,+-]+$/.test(v) ? v : `'${v.replaceAll("'", "'\\''")}'`);
  const fits = (s, words) => words.every((w) => `${s.name} ${written(s.value)} ${s.origin}`.toLowerCase().includes(w));

  function draw() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), found = c.settings.filter((s) => fits(s, words));
    status.textContent = `${count(found.length)} of ${count(c.settings.length)} settings`;
    fill(list, c.attempts.map(changed), settings("Differs from recipe and default", found.filter((s) => s.differs)), settings("As recipe and default say", found.filter((s) => !s.differs)));
  }

  function changed(a) {
    const lines = a.changes.map((x) => el("li", data(x.name), ": ", data(written(x.was), 200), " → ", data(written(x.now), 200)));
    return el("div.panel", el("h2", `Attempt ${a.attempt} was started with other settings`), el("ul", lines));
  }

  function settings(title, rows) {
    if (!rows.length) return null;
    const value = (s) => el("td.mono", s.secret ? el("span.grey", "secret, not written") : data(written(s.value), 400));
    return el("div.panel", el("h2", title, el("span.grey", ` ${count(rows.length)}`)),
      table(["!setting", "value", "origin"], rows.map((s) => [data(s.name, 120), value(s), el("span.grey", data(s.origin, 120))]), { class: "cards-table settings" }));
  }

  answering(list, async () => { c = await ctx.ask("/config"); draw(); })();
  return {
    node,
    update(q) {
      if (search.value !== (q.get("q") || "")) search.value = q.get("q") || "";
      if (c) draw();
    },
    key: slash(search),
  };
}
