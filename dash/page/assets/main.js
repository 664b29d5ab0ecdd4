// The page: header, routes, life. A screen is a function of the context that gives {node, update, head, rows, key, close}; its node is shown at once, update and what follows come when the run's head is known.
import { el, fill, forgetColours, say, toast, vector } from "./dom.js";
import { data } from "./text.js";
import { moved, parse, to } from "./address.js";
import { failed, get, ofRun } from "./api.js";
import { ago } from "./format.js";
import { Live } from "./live.js";
import { listenKeys } from "./keys.js";
import { compare } from "./compare.js";
import { config } from "./config.js";
import { evals } from "./evals.js";
import { experts } from "./experts.js";
import { group } from "./group.js";
import { inspector } from "./inspector.js";
import { log } from "./log.js";
import { button, empty, stateOf } from "./parts.js";
import { overview } from "./overview.js";
import { runs } from "./runs.js";
import { samples } from "./samples.js";
import { time } from "./time.js";

const screens = { runs, compare, overview, samples, group, sample: inspector, evals, experts, time, config, log };
export const pages = [["", "Overview", "o"], ["samples", "Samples", "s"], ["evals", "Evals", "e"], ["experts", "Experts", "x"], ["time", "Time", "t"], ["config", "Config", "c"], ["log", "Log", "l"]];

const main = document.getElementById("main"), header = document.getElementById("head");
export const now = { screen: null, place: null, ctx: null, head: null, live: null };
let life = null, connection = "";

async function enter() {
  const place = parse(), same = now.place && now.screen && now.place.run === place.run && now.place.page === place.page && now.place.rest.join("/") === place.rest.join("/");
  now.place = place;
  if (same) return now.screen.update?.(place.q);
  leave(now.ctx?.run === place.run);
  drawHeader();
  const stop = new AbortController();
  const ctx = (now.ctx = { run: place.run, rest: place.rest, q: place.q, page: place.page, signal: stop.signal, stop, head: now.head, settings: now.settings });
  ctx.get = (path, parameters) => get(path, parameters, stop.signal);
  if (place.run) ctx.ask = ofRun(place.run, stop.signal);
  if (!screens[place.page]) return fill(main, empty("There is no such page", el("a", { href: "/" }, "All runs")));
  let screen = null;
  try {
    fill(main, (screen = screens[place.page](ctx)).node); // its frame, whatever the server takes to tell of the run
    scrollTo(0, 0);
    if (place.run && !now.head) await meet(ctx);
    if (stop.signal.aborted) return screen.close?.();
    start(screen, place);
  } catch (e) {
    screen?.close?.();
    if (e.name === "AbortError") return;
    if (e.status === 403 && /token/.test(e.message)) return fill(main, empty("This server wants its token", "Open the address that it printed, with #token=… at the end."));
    fill(main, el("div.panel", failed(e), place.run ? el("p", el("a", { href: "/" }, "All runs")) : null));
  }
}

function start(screen, place) {
  now.screen = screen;
  if (now.head) now.screen.head?.(now.head);
  now.screen.update?.(place.q);
  title();
  if (!location.hash && !document.querySelector(".drawer")) main.focus({ preventScroll: true });
}

// meet asks for a run's head once, and follows it.
async function meet(ctx) {
  const [head, settings] = await Promise.all([ctx.ask("/head"), ctx.ask("/config").then((c) => c.settings, () => [])]);
  if (ctx.signal.aborted) return;
  setHead(head);
  ctx.settings = now.settings = settings;
  const run = ctx.run, ask = ofRun(run);
  now.live = new Live(ask.base, head.at, {
    ask: () => ask("/head"),
    head: (h) => { if (now.place.run === run) { setHead({ ...h, keys: h.keys || now.head?.keys }); now.screen?.head?.(now.head); } },
    rows: (n) => rows(n, ask),
    reset: () => ask("/head").then((h) => { setHead(h); now.screen?.head?.(h); now.screen?.reload?.(); }, () => {}),
    gone: () => state("gone"), state,
  });
}

let keysAsked = 0;

// rows passes on that there are new rows; what series there are is asked again now and then.
function rows(n, ask) {
  now.screen?.rows?.(n);
  if (n && now.head?.keys?.length && Date.now() - keysAsked < 10000) return;
  keysAsked = Date.now();
  ask("/head").then((h) => { if (now.place.run === h.run || now.head) { setHead(h); now.screen?.head?.(h); } }, () => {});
}

function setHead(head) {
  now.head = head;
  now.skew = head.now - Date.now() / 1000;
  if (now.ctx) now.ctx.head = head;
  drawLife();
  title();
}

function state(word) {
  connection = word === "lost" ? `Disconnected at ${new Date().toLocaleTimeString("en-GB")}, trying again` : word === "gone" ? "The run's directory is gone" : "";
  document.documentElement.classList.toggle("stale", Boolean(connection));
  drawLife();
}

function leave(sameRun) {
  now.ctx?.stop.abort();
  now.screen?.close?.();
  now.screen = null;
  document.getElementById("over").replaceChildren();
  if (sameRun) return;
  now.live?.close();
  Object.assign(now, { live: null, head: null, settings: null });
  connection = "";
}

// title is what a tab says while another is shown.
function title() {
  const { run, page } = now.place, h = now.head;
  if (!run) return void (document.title = page === "compare" ? "Compare · Furlong" : "Furlong");
  const alarms = h?.alarms.filter((a) => a.until === null).length, at = h ? `${alarms ? `▲${alarms} · ` : ""}${h.cycle}${h.planned ? `/${h.planned}` : ""} · ` : "";
  document.title = at + run + (page === "overview" ? "" : ` · ${page}`);
}

function drawHeader() {
  const { run, page } = now.place, under = { group: "samples", sample: "samples", overview: "" }[page] ?? page;
  const logo = vector("svg", { viewBox: "0 0 22 14", "aria-hidden": "true" }, vector("path", { d: "M1 11C5 11 6 2 10 2S15 9 21 6" }));
  const tab = ([p, name, k]) => el("a", { href: to(run, p), "aria-current": p === under ? "page" : null, title: `g ${k}` }, name);
  fill(header, el("a.brand", { href: "/", "aria-label": "Furlong, all runs", title: "All runs" }, logo, el("span", "Furlong")),
    run ? [el("span.run-name", { title: run }, data(run, 80)), el("nav.pages", { "aria-label": "Pages" }, pages.map(tab))] : null, el("div.life", (life = el("span.state")),
      button(el("kbd", "/"), () => now.goTo(), { class: "quiet", title: "Go to or search (/)", "aria-label": "Go to or search" }), button(el("kbd", "?"), () => now.help(), { class: "quiet", title: "Keys (?)", "aria-label": "Keys" })));
  drawLife();
}

function drawLife() {
  const h = now.head;
  if (!life || !h || !now.place.run) return life && fill(life);
  const [glyph, word, tone] = connection ? ["○", connection, "warn"] : stateOf(h.state), moves = h.rows && h.beat && h.state === "running" && !connection;
  fill(life, el("span.glyph", { class: tone, "aria-hidden": "true" }, glyph), " ", el("b", { title: word }, word), moves ? el("span.age", ` ${ago(Date.now() / 1000 + (now.skew || 0) - h.beat)}`) : null);
}

// theme goes round: as the system, light, dark.
export function theme() {
  const root = document.documentElement, order = ["", "light", "dark"], next = order[(order.indexOf(root.dataset.theme || "") + 1) % 3];
  if (next) root.dataset.theme = next;
  else delete root.dataset.theme;
  try {
    if (next) localStorage.setItem("theme", next);
    else localStorage.removeItem("theme");
  } catch { /* not kept then */ }
  repaint();
  toast(next ? `Theme: ${next}` : "Theme: as the system");
}

function repaint() {
  forgetColours();
  now.screen?.repaint?.();
  document.querySelectorAll("canvas").forEach((c) => c.paint?.());
}

// token takes the key of a server on another address out of this one's address, once.
async function token() {
  const m = /^#token=(.+)$/.exec(location.hash);
  if (!m) return;
  history.replaceState(null, "", location.pathname + location.search);
  const r = await fetch("/api/token", { headers: { Authorization: `Bearer ${decodeURIComponent(m[1])}` } });
  if (!r.ok) say("The token was refused");
}

for (const q of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(q).addEventListener("change", repaint);
setInterval(() => document.hidden || drawLife(), 5000);
moved(enter);
listenKeys(now, theme);
await token();
await enter();
