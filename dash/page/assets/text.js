// Text of a run as it may be shown: what has no width, turns the direction of writing or is broken becomes a box with its number.
import { el } from "./dom.js";

const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffd]|\p{M}{5,}/gu;

export const box = (words) => el("span.ctl", words);

export function boxed(s) {
  if (s.length > 1 && /^\p{M}/u.test(s)) return `+${[...s].length} marks`;
  return "U+" + s.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
}

// parts cuts text into strings and boxes.
export function parts(text, make = (s) => s) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(odd)) {
    if (m.index > at) out.push(make(text.slice(at, m.index)));
    out.push(box(boxed(m[0])));
    at = m.index + m[0].length;
  }
  if (at < text.length) out.push(make(text.slice(at)));
  return out;
}

// data shows one text of a run in a line of its own direction, cut at limit characters; the whole is one click away.
export function data(text, limit = 400) {
  text = text === null || text === undefined ? "" : String(text);
  const short = text.length > limit;
  const node = el("span.data", parts(short ? text.slice(0, limit) : text));
  if (short) {
    node.append("… ", el("button.button", { onclick: (e) => { e.stopPropagation(); node.replaceWith(data(text, limit + 20000)); } },
      `${(text.length - limit).toLocaleString("en")} more`));
  }
  return node;
}

// line is data for one row of a table: no line breaks, no button.
export function line(text, limit = 120) {
  const flat = String(text ?? "").replace(/\s*\n\s*/g, " ⏎ ");
  return el("span.data", parts(flat.length > limit ? flat.slice(0, limit) + "…" : flat));
}
