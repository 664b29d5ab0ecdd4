// The experts behind a token's logprobs: which ones the token before it went to in each layer, under either engine.
import { el } from "./dom.js";
import { count } from "./format.js";
import { show } from "./strip.js";

// routeOf returns what is kept of a response token, with the trainer's choice filled in where it is the same.
export function routeOf(s, i) {
  s.byPos ??= new Map((s.experts?.tokens ?? []).map((r) => [r.pos, r.same ? { ...r, train: r.rollout } : r]));
  return s.byPos.get(i);
}

// layersOf cuts a choice into layers.
const layersOf = (s, all) => Array.from({ length: s.experts.layers }, (_, l) => all.slice(l * s.experts.choices, (l + 1) * s.experts.choices));

const shared = (a, b) => a.filter((e) => b.includes(e)).length;

// agreement returns the share of a token's choices that both engines made, null where one is not known.
export function agreement(s, i) {
  const r = routeOf(s, i);
  if (!r?.rollout || !r.train) return null;
  if (r.same) return 1;
  const trained = layersOf(s, r.train), both = layersOf(s, r.rollout).reduce((n, l, k) => n + shared(l, trained[k]), 0);
  return both / r.rollout.length;
}

// routes makes the part of the panel about a response token.
export function routes(s, i) {
  const head = el("h2#experts-of", "Experts by layer"), r = s.experts ? routeOf(s, i) : null;
  if (!s.experts) return [head, el("p.grey", s.absent?.experts || "not kept for this sample")];
  if (!r) return [head, el("p.grey", "Not kept for this token; --keep-experts says of which tokens they are.")];
  const drawn = r.rollout && layersOf(s, r.rollout), trained = r.train && layersOf(s, r.train), two = drawn && trained && !r.same;
  const cells = (own, other) => own.map((e, k) => [k ? " " : null, el("span.expert", { class: other && !other.includes(e) ? "apart" : "" }, e)]);
  const row = (_, l) => {
    const both = two ? shared(drawn[l], trained[l]) : 0, differ = two && both < s.experts.choices;
    const agree = two && (differ ? `${both} of ${s.experts.choices}` : String(drawn[l]) === String(trained[l]) ? "same" : "same, other order");
    return el("tr", el("th", { scope: "row" }, l), two ? [el("td", cells(drawn[l], trained[l])), el("td", cells(trained[l], drawn[l])), el("td.agree", { class: differ ? "apart" : "grey" }, differ ? "≠ " : null, agree)] : el("td", cells((drawn ?? trained)[l])));
  };
  const columns = two ? ["layer", "rollout", "trainer", "shared"] : ["layer", drawn ? (trained ? "rollout and trainer" : "rollout") : "trainer"];
  return [head, el("p.grey", "of ", i === 0 ? "the prompt's last token" : ["the token before, ", el("span.read.blanks", el("span.tok", show(...last(s, i))))], `, out of which this one's logprobs come; ${s.experts.choices} of ${count(s.experts.experts)} each`),
    el("p", words(s, i, r)), el("div.routes", { tabindex: 0, role: "region", "aria-labelledby": "experts-of" }, el("table", el("thead", el("tr", columns.map((c) => el("th", { scope: "col" }, c)))), el("tbody", Array.from({ length: s.experts.layers }, row))))];
}

// last returns text and bytes of the token before a response token.
const last = (s, i) => [s.response.texts[i - 1 - s.from] ?? "…", s.response.hex?.[i - 1 - s.from]];

function words(s, i, r) {
  if (!r.rollout || !r.train) return `Only ${r.rollout ? "the rollout engine" : "the trainer"} told its choice.`;
  if (r.same) return `Both engines chose alike in all ${count(s.experts.layers)} layers.`;
  const trained = layersOf(s, r.train), apart = layersOf(s, r.rollout).filter((l, k) => shared(l, trained[k]) < s.experts.choices).length;
  if (!apart) return "Both engines chose the same experts, in another order.";
  return `The engines differ in ${count(apart)} of ${count(s.experts.layers)} layers: ${count(Math.round(agreement(s, i) * r.rollout.length))} of ${count(r.rollout.length)} choices shared.`;
}
