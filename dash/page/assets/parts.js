// What screens are made of besides plain elements: tables, buttons, choices, drawings with a name, and what stands in place of an answer.
import { canvas, el, fill } from "./dom.js";
import { failed } from "./api.js";
import { count, states, verdictWords } from "./format.js";
import { data } from "./text.js";

// table has names of columns and rows of what their cells show; a td or tr may be given as it is. "#" before a name: numbers; "!": the whole width on a phone.
export function table(names, rows, attributes) {
  const classes = names.map((n) => ({ "#": "num", "!": "full" })[n[0]] || ""), plain = names.map((n) => n.replace(/^[#!]/, ""));
  const head = plain.some(Boolean) ? el("thead", el("tr", plain.map((n, i) => el("th", { class: classes[i] }, n)))) : null;
  const cell = (c, i) => (c instanceof HTMLTableCellElement ? c : el("td", { class: classes[i] }, c));
  return el("table", attributes || {}, head, el("tbody", rows.map((r) => (r instanceof Node ? r : el("tr", r.map(cell))))));
}

// region is a part of a page that scrolls by itself, and so must be reached by keys.
export const region = (what, label, ...children) => el(what, { tabindex: 0, role: "region", "aria-label": label }, ...children);

export const button = (words, onclick, attributes) => el("button.button", { type: "button", onclick, ...attributes }, words);

// choice is a select of [value, words, disabled]; f gets what was chosen.
export function choice(label, options, value, f) {
  const node = el("select", { "aria-label": label, onchange: () => f(node.value) }, options.map(([v, words, disabled]) => el("option", { value: v, disabled }, words)));
  node.value = value;
  return node;
}

// seg is a row of buttons of which one is pressed: [value, words] each. now(v) says which that is.
export function seg(label, entries, now, f) {
  const node = el("span.seg", { role: "group", "aria-label": label }, entries.map(([v, words]) => el("button", { type: "button", onclick: () => f(v) }, words)));
  node.show = () => entries.forEach(([v], i) => node.children[i].setAttribute("aria-pressed", String(now(v))));
  node.show();
  return node;
}

// finder is a box to search in; f gets nothing and reads its value.
export const finder = (label, placeholder, f, when = "oninput") => el("input", { type: "search", "aria-label": label, placeholder, [when]: f });

// step is a link to what comes before or after; nothing where there is nothing.
export const step = (href, glyph, name, key) => (href ? el("a.button", { href, "aria-label": name, title: key ? `${name} (${key})` : name }, glyph) : null);

// beside is the key handler of a page with steps to what comes before and after, by , and . and two more keys.
export const beside = (node, before, after) => (e) => {
  const name = { ",": "Previous", ".": "Next", [before]: "Previous", [after]: "Next" }[e.key], link = name && node.querySelector(`a[aria-label^="${name}"]`);
  link?.click();
  return Boolean(link);
};

// slash is the key handler of a page with one box to search in.
export const slash = (box) => (e) => (e.key === "/" ? (box.focus(), true) : false);

// picture is a drawing of its own height, with the words that say it to who does not see it.
export function picture(cls, label, height, draw) {
  const node = canvas(cls, draw);
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", label);
  if (height) node.style.height = `${height}px`;
  return node;
}

// swatch is a square of a colour.
export function swatch(name) {
  const node = el("i.swatch");
  node.style.background = `var(--${name})`;
  return node;
}

export const empty = (title, ...words) => el("div.empty", el("b", title), words);

// damage names what of the run's files could not be read, after which run it is of where there are two; nothing where all could.
export function damage(bad, of) {
  if (!bad?.length) return null;
  const what = (p) => (p.error.startsWith(p.file + " ") ? p.error.slice(p.file.length + 1) : p.error);
  const one = (p) => el("p.bad", of ? el("b", of, " ") : null, data(p.file), p.offset ? ` at byte ${count(p.offset)}: ` : ": ", data(what(p)), p.n > 1 ? `, and ${count(p.n - 1)} more` : "");
  return el("div.damage", bad.slice(0, 10).map(one), bad.length > 10 ? el("p.bad", of ? el("b", of, " ") : null, `and ${count(bad.length - 10)} files more`) : null);
}

// answering gives f, with what went wrong shown in place of its answer. A page that was left says nothing; an answer 404 may have words of its own.
export const answering = (place, f, missing) => async (...given) => {
  try {
    return await f(...given);
  } catch (e) {
    if (e.name !== "AbortError") fill(place, e.status === 404 && missing ? el("div.panel", missing(e)) : failed(e));
  }
};

// verdictOf and stateOf give glyph, word and tone.
export const verdictOf = (verdict) => verdictWords[verdict] || ["", verdict, "grey"];
export const stateOf = (state) => states[state] || ["○", state, "grey"];
