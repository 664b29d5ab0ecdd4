// The list of runs: state, reward, gap; tick two to compare them.
import { el, fill, vector } from "./dom.js";
import { data } from "./text.js";
import { change, go, to } from "./address.js";
import { ago, count, finite, fixed, significant } from "./format.js";
import { answering, button, empty, finder, region, stateOf } from "./parts.js";

const columns = [["state", "state"], ["run", "name"], ["cycle", "cycles"], ["reward", "reward"], ["gap", "gap", "num"], ["pass1", "pass@1", "num"], ["alarms", "alarms", "num"], ["age", "last sign", "num"]];

export function runs(ctx) {
  const search = finder("Find a run", "name", () => draw()), body = el("tbody"), head = el("tr"), fault = el("div"), status = el("span.end", { role: "status" });
  const compare = button("Compare", () => go(to(null, "compare", { a: [...ticked][0], b: [...ticked][1] })), { disabled: true, class: "main", title: "Tick two runs" });
  const box = region("div.panel.scroll", "Runs", el("table.cards-table.runs", el("thead", head), body));
  const node = el("div", el("div.bar", el("h1", "Runs"), search, compare, status), fault, box), ticked = new Set();
  let all = [], sort = "", chosen = -1;

  const load = answering(fault, async () => {
    const r = await ctx.get("/api/runs").catch((e) => { if (!all.length) throw e; });
    if (!r) return; // what is shown stays
    all = r.runs;
    fill(fault);
    if (!all.length) return fill(box, empty("No run here", el("p", "Looked in ", r.dirs.map((d) => [data(d), " "])), el("p", "Start one: ", el("kbd", "furlong train"))));
    draw();
  });

  function compared(a, b, key) {
    if (typeof a[key] === "string") return a[key].localeCompare(b[key]);
    const value = (r) => (finite(r[key]) ? r[key] : -Infinity);
    return value(a) - value(b);
  }

  function draw() {
    const key = sort.replace(/^-/, ""), sign = sort.startsWith("-") ? -1 : 1;
    const shown = all.filter((r) => r.run.toLowerCase().includes(search.value.toLowerCase()));
    if (key) shown.sort((a, b) => sign * compared(a, b, key));
    const heading = ([k, name, num]) => el("th", { class: num, "aria-sort": key === k ? (sign > 0 ? "ascending" : "descending") : null },
      el("button", { type: "button", onclick: () => change({ sort: sort === `-${k}` ? k : `-${k}` }, true) }, name, key === k ? (sign > 0 ? " ▴" : " ▾") : ""));
    fill(head, el("th.tick", el("span.unseen", "compare")), columns.map(heading));
    status.textContent = `${count(shown.length)} ${shown.length === 1 ? "run" : "runs"}`;
    fill(body, shown.slice(0, 500).map(row), shown.length > 500 ? el("tr", el("td.full", { colspan: 9 }, `${count(shown.length - 500)} more: narrow the search`)) : null);
  }

  function row(r, i) {
    const [glyph, word, tone] = stateOf(r.state), tick = el("input", { type: "checkbox", "aria-label": `Compare ${r.run}`, onchange: () => { ticked[tick.checked ? "add" : "delete"](r.run); compare.disabled = ticked.size !== 2; } });
    tick.checked = ticked.has(r.run);
    return el("tr", { "aria-selected": i === chosen ? "true" : null }, el("td.tick", tick), el("td.nowrap", el("span", { class: tone }, glyph), ` ${word}`),
      el("td.full", el("a", { href: to(r.run, ""), title: r.dir }, data(r.run, 80)), r.error ? el("span.bad", " ", data(r.error, 200)) : null, r.exit && r.state !== "finished" ? el("span.grey", " ", data(r.exit, 120)) : null),
      el("td.nowrap", count(r.cycle), r.planned ? el("span.grey", ` / ${count(r.planned)}`) : null), el("td.nowrap", spark(r.spark), ` ${fixed(r.reward, 3)}`), el("td.num", { "data-name": "gap" }, significant(r.gap)),
      el("td.num", { "data-name": "pass@1" }, fixed(r.pass1, 3)), el("td.num", { "data-name": "alarms", class: r.alarms ? "warn" : "" }, r.alarms ? `▲ ${count(r.alarms)}` : "0"), el("td.num", finite(r.age) ? ago(r.age) : "–"));
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
      const links = [...body.querySelectorAll("a")], by = { j: 1, k: -1 }[e.key];
      if (!by || !links.length) return e.key === "/" ? (search.focus(), true) : false;
      chosen = Math.min(links.length - 1, Math.max(0, chosen + by));
      links[chosen].focus();
      return true;
    },
    close: () => clearInterval(timer),
  };
}
