// The log, newest at the foot, read piece by piece.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change } from "./address.js";
import { bytes, clock } from "./format.js";
import { written } from "./config.js";
import { answering, button, choice, finder, region, slash } from "./parts.js";

const tones = { ERROR: "bad", WARN: "warn", DEBUG: "grey" };

export function log(ctx) {
  const level = choice("Level", ["DEBUG", "INFO", "WARN", "ERROR"].map((l) => [l, l]), "INFO", (v) => change({ level: v === "INFO" ? null : v }, true));
  const search = finder("Find in the log", "text", () => change({ q: search.value || null }, true), "onchange");
  const body = el("tbody"), older = button("Older lines", () => back(), { hidden: true }), status = el("span.end", { role: "status" }), fault = el("div");
  const box = region("div.panel.lines", "Log lines", el("table.log", el("thead.unseen", el("tr", ["time", "level", "message"].map((h) => el("th", h)))), body));
  const node = el("div", el("div.bar", el("h1", "Log"), el("label", "from ", level), search, older, status), fault, box);
  let q = null, before = null, after = null;

  const asked = (more) => ctx.ask("/log", { level: q.get("level") || "INFO", q: q.get("q"), limit: 200, ...more });
  const toFoot = () => (box.scrollTop = box.scrollHeight);

  const load = answering(fault, async () => {
    const r = await asked({});
    [before, after] = [r.before, r.after];
    fill(fault);
    fill(body, r.lines.length ? r.lines.map(row) : el("tr", el("td", { colspan: 3 }, "No line yet.")));
    show(r);
    toFoot();
  });

  function show(r) {
    older.hidden = before === null;
    status.textContent = `log.jsonl, ${bytes(r.size)}`;
  }

  const back = answering(fault, async () => {
    const r = await asked({ before });
    before = r.before;
    body.prepend(...r.lines.map(row));
    box.scrollTop = 0;
    show(r);
  });

  async function forward() {
    if (after === null) return;
    const r = await asked({ after }), foot = box.scrollTop + box.clientHeight >= box.scrollHeight - 60;
    after = r.after;
    body.append(...r.lines.map(row));
    while (body.children.length > 3000) body.firstChild.remove();
    show(r);
    if (foot && r.lines.length) toFoot();
  }

  function row(l) {
    const attrs = Object.entries(l.attrs || {}).map(([k, v]) => [" ", el("span.grey", data(k, 60), "="), data(written(v), 300)]);
    return el("tr", el("td.nowrap.grey", { title: l.time ? new Date(l.time * 1000).toISOString() : null }, l.time ? clock(l.time) : ""), el("td", { class: tones[l.level] || "" }, l.level),
      el("td", data(l.msg, 1000), attrs, l.cut ? el("span.grey", " … cut") : null));
  }

  const timer = setInterval(() => !document.hidden && q && forward().catch(() => {}), 2000);
  return {
    node,
    update(query) {
      q = query;
      level.value = q.get("level") || "INFO";
      search.value = q.get("q") || "";
      load();
    },
    key: slash(search),
    close: () => clearInterval(timer),
  };
}
