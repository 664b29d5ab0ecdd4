// What the server is asked, by fetch and as JSON. An answer other than 200 becomes a Failure with the server's own words.
import { el } from "./dom.js";
import { data } from "./text.js";

export class Failure extends Error {
  constructor(status, body) {
    super(body.error || `the server answered ${status}`);
    Object.assign(this, { status, file: body.file, offset: body.offset, hint: body.hint });
  }
}

// Numbers whose digits in the file are not those that JavaScript would write, by value.
const written = new Map();

// verbatim is a number with the digits that stand in the run's files.
export function verbatim(v) {
  return v === null || v === undefined ? "–" : written.get(v) ?? String(v);
}

function keep(_, v, context) {
  if (typeof v === "number" && context?.source && String(v) !== context.source) {
    if (written.size > 50000) written.clear();
    written.set(v, context.source);
  }
  return v;
}

// get asks for a path with parameters. signal ends it when the page that asked is left.
export async function get(path, parameters, signal) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(parameters || {})) if (v !== null && v !== undefined && v !== "") q.set(k, v);
  let answer;
  try {
    answer = await fetch(path + (q.size ? "?" + q : ""), { signal, headers: { Accept: "application/json" } });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Failure(0, { error: "The server does not answer.", hint: "Is furlong dash, or the run, still there?" });
  }
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text, keep);
  let body = {};
  try {
    body = JSON.parse(text);
  } catch { /* 403 and 405 have none */ }
  throw new Failure(answer.status, body);
}

// run gives get for one run.
export function ofRun(name, signal) {
  const base = `/api/r/${encodeURIComponent(name)}`;
  const ask = (path, parameters) => get(base + path, parameters, signal);
  ask.base = base;
  ask.run = name;
  ask.signal = signal;
  return ask;
}

// keysOf joins names of series for `keys=`.
export const keysOf = (keys) => keys.map((k) => k.replaceAll(",", "%2C")).join(",");

// failed shows a Failure in place of what was asked for.
export function failed(e) {
  const where = e.file ? el("p.grey", "in ", data(e.file), e.offset === undefined ? "" : ` at byte ${e.offset}`) : null;
  return el("div.failed", { role: "alert" }, el("b", data(e.message)), where, e.hint ? el("p", data(e.hint)) : null);
}
