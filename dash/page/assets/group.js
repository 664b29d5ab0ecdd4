// All answers to one prompt side by side, and the preview of one of them.
import { el, fill } from "./dom.js";
import { data, parts } from "./text.js";
import { to } from "./address.js";
import { count, finite, fixed, significant, signed } from "./format.js";
import { sampleAddress } from "./drawer.js";
import { answering, beside, button, step, verdictOf } from "./parts.js";

// Below this length a common beginning is not worth folding.
const leastCommon = 40;

export function group(ctx) {
  const { ask, run, rest: [cycle, id] } = ctx, node = el("div.stack", el("p.grey", "Reading…"));
  let g = null;

  function show() {
    const at = (where) => (where ? to(run, `group/${where}`, { eval: g.eval }) : null), common = g.common > leastCommon ? g.common : 0;
    fill(node, el("div.crumbs", el("a", { href: to(run, "", { c: g.cycle }) }, `Cycle ${g.cycle}`), "›", el("h1", `problem ${g.group}`), g.set ? el("span.pill", data(g.set, 40)) : null,
      g.eval ? el("span.pill", "evaluation ", data(g.eval, 40)) : null, el("span.grey", data(g.id, 80)), step(at(g.prev), "‹", "Previous problem of the cycle", "["), step(at(g.next), "›", "Next problem of the cycle", "]")),
      el("div.panel", el("h2", "Prompt"), el("pre.text", { tabindex: 0 }, data(g.prompt, 4000)), el("p", el("span.grey", "Label "), el("b", data(g.label, 400)))),
      el("div.panel.rewards", el("p", data(g.text)), el("div.crumbs", g.rows.map(reward))),
      common ? el("details.panel", el("summary", `All answers begin with the same ${count(common)} characters`), el("pre.text", data(g.rows[0].answer.slice(0, common), 8000))) : null,
      el("div.answers", g.rows.map((a) => answer(run, a, common))));
  }

  function reward(a) {
    const [glyph, word, tone] = verdictOf(a.verdict);
    return el("a.pill", { class: tone, href: sampleAddress(run, a, false), title: word }, `${a.slot} `, glyph, ` ${fixed(a.reward, 2)}`);
  }

  answering(node, async () => { g = await ask(`/group/${cycle}/${id}`, { eval: ctx.q.get("eval") }); show(); })();
  return {
    node,
    key: beside(node, "[", "]"),
  };
}

export function facts(a) {
  const [glyph, word, tone] = verdictOf(a.verdict), cut = a.flags.includes("truncated");
  return [el("span.pill", { class: tone }, glyph, ` ${word}, reward ${fixed(a.reward, 3)}`), el("span.pill", { class: cut ? "warn" : "" }, `${cut ? "cut at " : ""}${count(a.len)} tokens`),
    finite(a.advantage) ? el("span.pill", `advantage ${signed(a.advantage, 2)}`) : null, finite(a.gap) ? el("span.pill", `gap mean ${significant(a.gap)}, largest ${significant(a.gap_max)}`) : null,
    el("span.pill", a.newest && a.newest !== a.version ? `versions ${a.version} → ${a.newest}` : a.version), a.flags.filter((f) => !["truncated", "mixed", "eval"].includes(f)).map((f) => el("span.pill.warn", f))];
}

function answer(run, a, common) {
  const text = a.kept ? data(a.answer.slice(common), 3000) : el("span.grey", "tokens of this sample were not kept");
  return el("article.panel.answer", el("div.crumbs", el("a", { href: sampleAddress(run, a, false) }, `sample ${a.slot}`), facts(a)),
    el("pre", { tabindex: 0 }, common ? el("span.grey", "… ") : null, text, a.cut ? el("span.grey", " … (only the beginning)") : null), a.why ? el("p.grey", "Grader: ", data(a.why, 300)) : null);
}

// preview is the right half of the samples page: one answer as text.
export function preview(ctx, s, close) {
  const text = el("pre.text", "Reading…"), group = `group/${s.cycle}/${s.group}`;
  const node = el("aside.panel.preview", { "aria-label": "Preview" }, el("div.crumbs", el("h1", `${s.cycle} / ${s.group} / ${s.slot}`), el("a.button", { href: sampleAddress(ctx.run, s, true) }, "Tokens"),
    el("a.button", { href: to(ctx.run, group, { eval: s.eval }) }, "Group"), button("Close", close)), el("div.crumbs", facts(s)), text);
  answering(text, async () => {
    const g = await ctx.ask(`/${group}`, { eval: s.eval }), a = g.rows.find((r) => r.slot === s.slot);
    fill(text, parts((a?.answer || "").slice(0, 20000)));
    text.before(el("p.grey", "Label ", el("b", data(g.label, 200))));
  })();
  return node;
}
