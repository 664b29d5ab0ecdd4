// The list of runs: state, reward, gap; tick two to compare them.
import { el, fill, vector } from "./dom.js";
import { data } from "./text.js";
import { change, go, to } from "./address.js";
import { failed } from "./api.js";
import { ago, count, finite, fixed, significant, states } from "./format.js";

const columns = [["state", "state"], ["run", "name"], ["cycle", "cycles"], ["reward", "reward"], ["gap", "gap"], ["pass1", "pass@1"], ["alarms", "alarms"], ["age", "last sign"]];

export function runs(ctx) {
  const search = el("input", { type: "search", "aria-label": "Find a run", placeholder: "name", oninput: () => draw() }), body = el("tbody"), head = el("tr"), fault = el("div");
  const compare = el("button.button.main", { type: "button", disabled: true, onclick: () => go(to(null, "compare", { a: [...ticked][0], b: [...ticked][1] })) }, "Compare"), status = el("span.end", { role: "status" });
  const table = el("div.panel.scroll", { tabindex: 0, role: "region", "aria-label": "Runs" }, el("table.cards-table", el("thead", head), body));
  const node = el("div", el("div.bar", el("h1", "Runs"), search, compare, status), fault, table), ticked = new Set();
  let all = [], dirs = [], sort = "", chosen = -1;

  async function load() {
    try {
      const r = await ctx.get("/api/runs");
      [all, dirs] = [r.runs, r.dirs];
      fill(fault);
      draw();
    } catch (e) {
      if (e.name === "AbortError") return;
      if (!all.length) fill(fault, failed(e));
    }
  }

  function draw() {
    const key = sort.replace(/^-/, ""), sign = sort.startsWith("-") ? -1 : 1;
    let shown = all.filter((r) => r.run.toLowerCase().includes(search.value.toLowerCase()));
    if (key) shown = [...shown].sort((a, b) => sign * (typeof a[key] === "string" && typeof b[key] === "string" ? a[key].localeCompare(b[key]) : (finite(a[key]) ? a[key] : -Infinity) - (finite(b[key]) ? b[key] : -Infinity)));
    fill(head, el("th", el("span.unseen", "compare")), columns.map(([k, name]) => el("th", { class: /gap|pass|alarms|age/.test(k) ? "num" : "", "aria-sort": key === k ? (sign > 0 ? "ascending" : "descending") : null }, el("button", { type: "button", onclick: () => change({ sort: sort === `-${k}` ? k : `-${k}` }, true) }, name, key === k ? (sign > 0 ? " ▴" : " ▾") : ""))));
    status.textContent = `${count(shown.length)} ${shown.length === 1 ? "run" : "runs"}`;
    fill(body, shown.slice(0, 500).map(row), shown.length > 500 ? el("tr", el("td.full", { colspan: 9 }, `${count(shown.length - 500)} more: narrow the search`)) : null);
    if (!all.length) fill(table, el("div.empty", el("b", "No run here"), el("p", "Looked in ", dirs.map((d) => [data(d), " "])), el("p", "Start one: ", el("kbd", "furlong train"))));
  }

  function row(r, i) {
    const [glyph, word, tone] = states[r.state] || ["○", r.state, "grey"], tick = el("input", { type: "checkbox", "aria-label": `Compare ${r.run}`, onchange: () => { tick.checked ? ticked.add(r.run) : ticked.delete(r.run); compare.disabled = ticked.size !== 2; } });
    tick.checked = ticked.has(r.run);
    return el("tr", { "aria-selected": i === chosen ? "true" : null }, el("td", tick), el("td.nowrap", el("span", { class: tone }, glyph), ` ${word}`), el("td.full", el("a", { href: to(r.run, ""), title: r.dir }, data(r.run, 80)), r.error ? el("span.bad", " ", data(r.error, 200)) : null, r.exit ? el("span.grey", " ", data(r.exit, 120)) : null),
      el("td.nowrap", count(r.cycle), r.planned ? el("span.grey", ` / ${count(r.planned)}`) : null), el("td.nowrap", spark(r.spark), ` ${fixed(r.reward, 3)}`), el("td.num", { "data-name": "gap" }, significant(r.gap)), el("td.num", { "data-name": "pass@1" }, fixed(r.pass1, 3)), el("td.num", { "data-name": "alarms", class: r.alarms ? "warn" : "" }, r.alarms ? `▲ ${count(r.alarms)}` : "0"), el("td.num", r.age || r.age === 0 ? ago(r.age) : "–"));
  }

  function spark(values) {
    const seen = values.filter(finite);
    if (seen.length < 2) return null;
    const lo = Math.min(...seen), hi = Math.max(...seen), y = (v) => 20 - ((v - lo) / (hi - lo || 1)) * 18;
    const d = values.map((v, i) => (finite(v) ? `${i && finite(values[i - 1]) ? "L" : "M"}${(i / (values.length - 1)) * 110} ${y(v).toFixed(1)}` : "")).join("");
    return vector("svg", { class: "spark", viewBox: "0 0 110 22", preserveAspectRatio: "none", "aria-hidden": "true" }, vector("path", { d }));
  }

  const timer = setInterval(() => !document.hidden && load(), 5000);
  load();
  return {
    node,
    update(q) { sort = q.get("sort") || ""; if (all.length) draw(); },
    key(e) {
      const links = [...body.querySelectorAll("a")], step = { j: 1, k: -1 }[e.key];
      if (!step || !links.length) return e.key === "/" ? (search.focus(), true) : false;
      chosen = Math.min(links.length - 1, Math.max(0, chosen + step));
      links[chosen].focus();
      return true;
    },
    close: () => clearInterval(timer),
  };
}
