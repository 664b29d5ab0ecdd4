// Keys of every page; none while something is typed. A screen's own keys are asked first.
import { el, fill, toast } from "./dom.js";
import { change, go, to } from "./address.js";
import { data } from "./text.js";
import { get } from "./api.js";
import { note } from "./notes.js";

const goes = { o: "", s: "samples", e: "evals", x: "experts", t: "time", c: "config", l: "log" };

const help = [
  ["g then o s e x t c l", "go to a page"], ["/", "search, or go to a cycle, problem or series"], ["← →", "cursor a cycle, with Shift ten"], ["Enter", "open what is under the cursor"], ["Esc", "close"],
  ["+ − 0", "zoom in, out, all"], ["f", "follow the newest"], ["1 2 3 4", "axis: cycle, step, time, tokens"], ["a", "average"], ["t", "chart as a table"], [". ,", "next, previous cycle"], ["j k", "rows"],
  ["Space", "preview a row"], ["[ ]", "sample in the group"], ["n p", "next, previous largest gap"], ["m", "mark with a note"], ["y", "copy a link to this view"], ["d", "theme"], ["w a s d", "zoom and move the time lanes"],
];

export function listenKeys(now, theme) {
  let gAt = 0;
  const run = () => now.place?.run;

  const ours = (e) => !(e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target));

  // The letter after g is taken before what has the focus sees it: t is also a key of charts.
  document.addEventListener("keydown", (e) => {
    if (!ours(e)) return;
    const after = Date.now() - gAt < 1500;
    gAt = e.key === "g" ? Date.now() : 0;
    if (!after || !(e.key in goes) || !run() || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    e.stopPropagation();
    go(to(run(), goes[e.key]));
  }, true);

  document.addEventListener("keydown", (e) => {
    if (!ours(e)) return;
    const done = () => e.preventDefault();
    if (document.querySelector("dialog[open]")) return;
    if (now.screen?.key?.(e)) return done();
    switch (e.key) {
      case "/": done(now.goTo()); break;
      case "?": done(now.help()); break;
      case "Escape": escape(); break;
      case "d": done(theme()); break;
      case "y": done(copy(location.href, "Link copied")); break;
      case "m": if (run()) done(note(run(), subject())); break;
    }
  });

  function subject() {
    const q = new URLSearchParams(location.search), { page, rest } = now.place;
    if (q.get("c")) return `cycle ${q.get("c")}`;
    return page === "sample" ? `sample ${rest.join("/")}` : page === "group" ? `problem ${rest.join("/")}` : page;
  }

  function escape() {
    if (document.querySelector(".drawer")) change({ c: null, key: null });
    else document.querySelector(".side.open")?.classList.remove("open");
  }

  now.help = () => {
    const box = el("dialog", { "aria-label": "Keys" }, el("h1", "Keys"), el("div.cols", help.map(([k, what]) => el("div", el("kbd", k), el("span", what)))), el("form", { method: "dialog" }, el("button.button", "Close")));
    opened(box);
  };

  now.goTo = () => {
    const list = el("ul"), input = el("input", { type: "search", "aria-label": "Go to", placeholder: run() ? "37, 1193, entropy, a filter" : "a run", oninput: () => draw(), onkeydown: (e) => e.key === "Enter" && list.querySelector("a")?.click() });
    const box = el("dialog.goto", { "aria-label": "Go to" }, input, list);
    const draw = async () => fill(list, (await found(input.value.trim())).map(([words, address]) => el("li", el("a", { href: address, onclick: () => box.close() }, data(words)))));
    opened(box);
    draw();
    input.focus();
  };

  async function found(q) {
    if (!run()) return (await get("/api/runs", { limit: 200 })).runs.filter((r) => r.run.includes(q)).slice(0, 10).map((r) => [r.run, to(r.run, "")]);
    const out = [], keys = now.head?.keys || [];
    const at = /^(?:cycle\s*)?(\d+)$/.exec(q);
    if (at) out.push([`Cycle ${at[1]}`, to(run(), "", { c: at[1] })], [`Samples of problem ${at[1]}`, to(run(), "samples", { q: `group:${at[1]}` })], [`Samples of cycle ${at[1]}`, to(run(), "samples", { q: `cycle:${at[1]}` })]);
    else if (q) {
      out.push(...keys.filter((k) => k.name.includes(q)).slice(0, 6).map((k) => [`Series ${k.name}`, to(run(), "", { series: k.name })]));
      out.push([`Samples that hold: ${q}`, to(run(), "samples", { q: `text:"${q.replaceAll('"', "")}"` })], [`Samples by filter: ${q}`, to(run(), "samples", { q })]);
    } else out.push(["Overview", to(run(), "")], ["Newest samples", to(run(), "samples")], ["All runs", "/"]);
    return out;
  }
}

function opened(box) {
  document.querySelector("dialog[open]")?.close();
  const before = document.activeElement;
  document.body.append(box);
  box.addEventListener("close", () => { const lost = document.activeElement === document.body || box.contains(document.activeElement); box.remove(); if (lost && before?.isConnected) before.focus(); });
  box.addEventListener("click", (e) => e.target === box && box.close());
  box.showModal();
}

function typing(t) {
  return t instanceof HTMLElement && (t.isContentEditable || /^(textarea|select)$/i.test(t.tagName) || (t.tagName === "INPUT" && !/^(checkbox|radio|range|button)$/.test(t.type)));
}

// copy puts text on the clipboard, or shows it where that is not allowed.
export async function copy(text, words) {
  try {
    await navigator.clipboard.writeText(text);
    toast(words);
  } catch {
    prompt("Copy this", text);
  }
}
