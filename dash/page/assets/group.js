// All answers to one prompt side by side, and the preview of one of them.
import { el, fill } from "./dom.js";
import { data, parts } from "./text.js";
import { to } from "./address.js";
import { failed } from "./api.js";
import { count, finite, fixed, share, significant, signed, verdictWords } from "./format.js";
import { sampleAddress } from "./drawer.js";

export function group(ctx) {
  const { ask, run, rest: [cycle, id] } = ctx, body = el("div.stack", el("p.grey", "Reading…")), node = el("div", body);
  let g = null;

  async function load() {
    try {
      g = await ask(`/group/${cycle}/${id}`, { eval: ctx.q.get("eval") });
      show();
    } catch (e) {
      if (e.name !== "AbortError") fill(body, failed(e));
    }
  }

  function show() {
    const step = (where, glyph, name) => (where ? el("a.button", { href: to(run, `group/${where}`, { eval: g.eval }), "aria-label": name, title: name }, glyph) : null);
    fill(body, el("div.crumbs", el("a", { href: to(run, "", { c: g.cycle }) }, `Cycle ${g.cycle}`), "›", el("h1", `problem ${g.group}`), g.set ? el("span.pill", data(g.set, 40)) : null, g.eval ? el("span.pill", "evaluation ", data(g.eval, 40)) : null, el("span.grey", data(g.id, 80)), step(g.prev, "‹", "Previous problem of the cycle"), step(g.next, "›", "Next problem of the cycle")),
      el("div.panel", el("h2", "Prompt"), el("pre.text", { tabindex: 0 }, data(g.prompt, 4000)), el("p", el("span.grey", "Label "), el("b", data(g.label, 400)))),
      el("div.panel.rewards", el("p", data(g.text)), bar()),
      g.common > 40 ? el("details.panel", el("summary", `All answers begin with the same ${count(g.common)} characters`), el("pre.text", data(g.rows[0].answer.slice(0, g.common), 8000))) : null,
      el("div.answers", g.rows.map((a) => answer(run, a, g.common > 40 ? g.common : 0))));
  }

  function bar() {
    return el("div.crumbs", g.rows.map((a) => {
      const [glyph, word, tone] = verdictWords[a.verdict] || ["", a.verdict, "grey"];
      return el("a.pill", { class: tone, href: sampleAddress(run, a, false), title: word }, `${a.slot} `, glyph, ` ${fixed(a.reward, 2)}`);
    }));
  }

  load();
  return {
    node,
    key(e) {
      const where = { "[": g?.prev, "]": g?.next, ",": g?.prev, ".": g?.next }[e.key];
      if (!where) return false;
      node.querySelector(`a[aria-label^="${e.key === "[" || e.key === "," ? "Previous" : "Next"}"]`)?.click();
      return true;
    },
  };
}

export function facts(a) {
  const [glyph, word, tone] = verdictWords[a.verdict] || ["", a.verdict, "grey"];
  return [el("span.pill", { class: tone }, glyph, ` ${word}, reward ${fixed(a.reward, 3)}`), a.flags.includes("truncated") ? el("span.pill.warn", `cut at ${count(a.len)} tokens`) : el("span.pill", `${count(a.len)} tokens`),
    finite(a.advantage) ? el("span.pill", `advantage ${signed(a.advantage, 2)}`) : null, finite(a.gap) ? el("span.pill", `gap mean ${significant(a.gap)}, largest ${significant(a.gap_max)}`) : null,
    el("span.pill", a.newest && a.newest !== a.version ? `versions ${a.version} → ${a.newest}` : a.version), a.flags.filter((f) => !["truncated", "mixed", "eval"].includes(f)).map((f) => el("span.pill.warn", f))];
}

function answer(run, a, common) {
  return el("article.panel.answer", el("div.crumbs", el("a", { href: sampleAddress(run, a, false) }, `sample ${a.slot}`), facts(a)),
    el("pre", { tabindex: 0 }, common ? el("span.grey", "… ") : null, a.kept ? data(a.answer.slice(common), 3000) : el("span.grey", "tokens of this sample were not kept"), a.cut ? el("span.grey", " … (only the beginning)") : null), a.why ? el("p.grey", "Grader: ", data(a.why, 300)) : null);
}

// preview is the right half of the samples page: one answer as text.
export function preview(ctx, s, close) {
  const text = el("pre.text", "Reading…"), node = el("aside.panel.preview", { "aria-label": "Preview" }, el("div.crumbs", el("h1", `${s.cycle} / ${s.group} / ${s.slot}`), el("a.button", { href: sampleAddress(ctx.run, s, true) }, "Tokens"), el("a.button", { href: to(ctx.run, `group/${s.cycle}/${s.group}`, { eval: s.eval }) }, "Group"), el("button.button", { type: "button", onclick: close }, "Close")), el("div.crumbs", facts(s)), text);
  text.style.maxHeight = "none";
  ctx.ask(`/group/${s.cycle}/${s.group}`, { eval: s.eval }).then((g) => {
    const a = g.rows.find((r) => r.slot === s.slot);
    fill(text, parts((a?.answer || "").slice(0, 20000)));
    text.before(el("p.grey", "Label ", el("b", data(g.label, 200))));
  }, (e) => e.name !== "AbortError" && fill(text, failed(e)));
  return node;
}
