// The log, newest at the foot, read piece by piece.
import { el, fill } from "./dom.js";
import { data } from "./text.js";
import { change } from "./address.js";
import { failed } from "./api.js";
import { bytes } from "./format.js";
import { written } from "./config.js";

const tones = { ERROR: "bad", WARN: "warn", DEBUG: "grey" };

export function log(ctx) {
  const level = el("select", { "aria-label": "Level", onchange: () => change({ level: level.value === "INFO" ? null : level.value }, true) }, ["DEBUG", "INFO", "WARN", "ERROR"].map((l) => el("option", { value: l }, l)));
  const search = el("input", { type: "search", "aria-label": "Find in the log", placeholder: "text", onchange: () => change({ q: search.value || null }, true) });
  const body = el("tbody"), older = el("button.button", { type: "button", hidden: true, onclick: () => back() }, "Older lines"), status = el("span.end", { role: "status" }), fault = el("div");
  const node = el("div", el("div.bar", el("h1", "Log"), el("label", "from ", level), search, older, status), fault, el("div.panel.scroll", { tabindex: 0, role: "region", "aria-label": "Log lines" }, el("table.log", el("thead", { class: "unseen" }, el("tr", ["time", "level", "message"].map((h) => el("th", h)))), body)));
  let q = null, before = null, after = null;

  async function load() {
    try {
      const r = await ctx.ask("/log", asked({}));
      [before, after] = [r.before, r.after];
      fill(fault);
      fill(body, r.lines.length ? r.lines.map(row) : el("tr", el("td", { colspan: 3 }, "No line yet.")));
      show(r);
      scrollTo(0, document.body.scrollHeight);
    } catch (e) {
      if (e.name !== "AbortError") fill(fault, failed(e));
    }
  }

  const asked = (more) => ({ level: q.get("level") || "INFO", q: q.get("q"), limit: 200, ...more });

  function show(r) {
    older.hidden = before === null;
    status.textContent = `log.jsonl, ${bytes(r.size)}`;
  }

  async function back() {
    const r = await ctx.ask("/log", asked({ before }));
    before = r.before;
    body.prepend(...r.lines.map(row));
    show(r);
  }

  async function forward() {
    if (after === null) return;
    const r = await ctx.ask("/log", asked({ after })), foot = innerHeight + scrollY >= document.body.scrollHeight - 60;
    after = r.after;
    body.append(...r.lines.map(row));
    while (body.children.length > 3000) body.firstChild.remove();
    show(r);
    if (foot && r.lines.length) scrollTo(0, document.body.scrollHeight);
  }

  function row(l) {
    const attrs = Object.entries(l.attrs || {}).map(([k, v]) => [" ", el("span.grey", data(k, 60), "="), data(written(v), 300)]);
    return el("tr", el("td.nowrap.grey", { title: l.time ? new Date(l.time * 1000).toISOString() : null }, l.time ? new Date(l.time * 1000).toLocaleTimeString("en-GB") : ""), el("td", { class: tones[l.level] || "" }, l.level), el("td", data(l.msg, 1000), attrs, l.cut ? el("span.grey", " … cut") : null));
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
    key: (e) => (e.key === "/" ? (search.focus(), true) : false),
    close: () => clearInterval(timer),
  };
}
