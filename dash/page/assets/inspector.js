// The token inspector: every token of a sample with both logprobs, and a way from one large gap to the next.
import { colour, el, fill, say, toast } from "./dom.js";
import { data } from "./text.js";
import { go, to } from "./address.js";
import { failed, verbatim } from "./api.js";
import { count, finite, significant, signed } from "./format.js";
import { facts } from "./group.js";
import { modes } from "./bins.js";
import { copy } from "./keys.js";
import { button, choice, picture } from "./parts.js";
import { routes } from "./routes.js";
import { show, strip } from "./strip.js";

export function inspector(ctx) {
  const { ask, run, rest: [cycle, group, slot] } = ctx, evaluation = ctx.q.get("eval");
  const body = el("div", el("p.grey", "Reading…")), node = el("div", body);
  let s = null, mode = "gap", at = -1, bar = null, side = null, text = null, scope = "sample";

  ask(`/sample/${cycle}/${group}/${slot}`, { eval: evaluation }).then((r) => { s = prepare(r); draw(); }, (e) => e.name !== "AbortError" && fill(body, crumbs(null), el("div.panel", failed(e))));

  function crumbs(sample) {
    const answers = sample ? facts(sample) : null;
    return el("div.crumbs", el("a", { href: to(run, "", { c: cycle }) }, `Cycle ${cycle}`), "›", el("a", { href: to(run, `group/${cycle}/${group}`, { eval: evaluation }) }, `problem ${group}`), "›", el("h1", `sample ${slot}`), answers,
      el("span.grey", el("kbd", "["), " ", el("kbd", "]"), " sample in group ", el("kbd", "n"), " ", el("kbd", "p"), " next, previous largest gap"));
  }

  function draw() {
    const exact = s.delta.length > 0 && s.delta.every((d) => d === 0), missing = Object.entries(s.absent || {});
    if (modes[mode].needs && !s[modes[mode].needs]) mode = s.rollout ? "rollout" : "version";
    side = el("aside.panel.side", { "aria-label": "Token", tabindex: -1 });
    text = el("div.strip.blanks", { role: "group", tabindex: 0, "aria-label": "Tokens; arrow keys move, n and p go by gap", onclick: picked, onkeydown: moves }, strip(s, (i) => cls(i)));
    bar = picture("position", `Difference of logprobs by position: largest ${significant(s.sample.gap_max)} at answer token ${count(s.sample.pos)}`, 0, paintBar);
    dragBar();
    const select = choice("Colour by", Object.entries(modes).map(([k, m]) => [k, m.name, m.needs && !s[m.needs]]), mode, (v) => { mode = v; recolour(); });
    const legend = el("span.legend"), blank = el("input", { type: "checkbox", onchange: () => text.classList.toggle("blanks", blank.checked) });
    blank.checked = true;
    const within = choice("Next gap within", ["sample", "group", "cycle"].map((v) => [v, v]), scope, (v) => (scope = v));
    draw.legend = () => fill(legend, modes[mode].legend.map(([c, words]) => el("span.tok", { class: c }, words)));
    fill(body, crumbs(s.sample), s.why ? el("p.grey", "Grader: ", data(s.why, 300)) : null,
      el("div.inspect", el("div.panel", el("div.lid", el("h2", "|Δ logprob| by position ", el("span.grey", `prompt ${count(s.prompt.texts.length)} tokens, answer ${count(s.len)}; each column its largest, log scale, nats`)), exact ? el("p", "0 at every token: the same bits.") : bar,
        el("div.bar", el("label", "colour by ", select), legend, el("label", blank, " blanks"), el("span.end", button("‹ p", () => hop(-1), { "aria-label": "Previous largest gap" }), " ", button("n ›", () => hop(1), { "aria-label": "Next largest gap" }), " in ", within))),
        missing.length ? el("p.grey", missing.filter(([k]) => k !== "experts").map(([k, why]) => `${k}: ${why}`).join(" · ")) : null, text), side));
    draw.legend();
    const wanted = /^#t(\d+)$/.exec(location.hash);
    select_(wanted ? +wanted[1] : s.order?.[0] ?? 0, Boolean(wanted), true);
    if (!wanted) scrollTo(0, 0);
  }

  function cls(i) {
    const masked = s.weight(i) === 0 && s.mask ? " masked" : "";
    return modes[mode].bin(modes[mode].of(s, i - s.from)) + masked;
  }

  function recolour() {
    for (const t of text.querySelectorAll("[data-i]")) {
      const i = +t.dataset.i;
      t.className = "tok " + cls(i) + (i === at ? " on" : "");
    }
    draw.legend();
  }

  function picked(e) {
    const t = e.target.closest("[data-i]");
    if (!t) return;
    select_(+t.dataset.i);
    side.classList.add("open");
  }

  function moves(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -12, ArrowDown: 12, Home: -1e9, End: 1e9 }[e.key];
    if (!step) return;
    e.preventDefault();
    select_(Math.min(s.to - 1, Math.max(s.from, at + step)), true);
  }

  // select_ shows a response token in the panel and, if asked, brings it into view.
  function select_(i, scroll, quiet) {
    if (!(i >= s.from && i < s.to)) return fill(side, el("p.empty", s.len ? "Choose a token." : "The answer has no token."));
    document.getElementById(`t${at}`)?.classList.remove("on");
    at = i;
    const t = document.getElementById(`t${i}`);
    t?.classList.add("on");
    if (scroll) t?.scrollIntoView({ block: "center" });
    panel(i);
    bar.paint();
    if (!quiet) history.replaceState(null, "", `${location.pathname}${location.search}#t${i}`);
    const k = i - s.from;
    say(`token ${i}, ${s.response.texts[k].trim() || "blank"}, difference ${significant(s.delta[k])} nats`);
  }

  function panel(i) {
    const k = i - s.from, probability = (v) => (finite(v) ? ` p ${significant(Math.exp(v))}` : ""), rank = s.order?.indexOf(i) ?? -1;
    const row = (name, value, small, cls) => (value === null || value === undefined ? null : [el("dt", name), el("dd", { class: cls || "" }, value, small ? el("small", small) : null)]);
    const d = s.delta[k], v = s.versionAt(i), ratio = finite(d) ? Math.exp(d) : null;
    fill(side, el("div.top", el("span.token-name.blanks", el("span.tok", show(s.response.texts[k], s.response.hex?.[k]))), " ", button("Close", () => side.classList.remove("open"), { class: "phone" })),
      el("p.grey", `id ${count(s.response.ids[k])} · position ${count(s.prompt.texts.length + i)} · answer token ${count(i)} of ${count(s.len)}`),
      el("dl.facts", row("rollout logprob", verbatim(s.rollout?.[k] ?? null).replace("-", "−"), probability(s.rollout?.[k])), row("trainer logprob", s.train ? verbatim(s.train[k]).replace("-", "−") : "–", probability(s.train?.[k])),
        row("Δ trainer − rollout", d === 0 ? "0, the same bits" : finite(d) ? `${Math.abs(d) < 0.0005 ? significant(d) : signed(d, 3)} nats` : significant(d), rank >= 0 && d !== 0 ? ` ${ordinal(rank)} largest` : "", Math.abs(d) >= 1 ? "bad" : ""),
        row("ratio raw", ratio === null ? "–" : significant(ratio), s.ratio ? ` used ${significant(s.ratio[k])}` : ""),
        s.truncated ? row("after top-k, top-p", significant(s.truncated[k])) : null, s.reference ? row("reference logprob", significant(s.reference[k])) : null,
        row("entropy (trainer)", s.entropy ? `${significant(s.entropy[k])} nats` : "–"), row("version", v?.version ?? "–", v && v.from > 0 ? ` ${count(i - v.from)} tokens after the update` : s.served && v?.version !== s.served ? ` ${s.served} served as the cycle ended` : ""),
        row("in loss", s.weight(i) === 0 ? "no, masked" : "yes", s.ratio ? ` weight ${significant(s.ratio[k])}` : ""), row("bytes", bytesOf(s.response, k)), finite(s.sample.advantage) ? row("advantage", signed(s.sample.advantage, 3)) : null),
      routes(s, i),
      el("h2", "Rescore both"), el("p.grey", "This command has both score this sample again, by ", data(s.weights, 200), ":"), el("pre.text", { tabindex: 0 }, data(s.command, 1000)),
      el("div.crumbs", button("Copy command", () => copy(s.command, "Command copied"), { class: "main" }), button(["Copy link ", el("kbd", "y")], () => copy(location.href, "Link copied")), el("a.button", { href: `${ask.base}/sample/${cycle}/${group}/${slot}${evaluation ? `?eval=${encodeURIComponent(evaluation)}` : ""}`, download: `sample-${cycle}-${group}-${slot}.json` }, "JSON")));
  }

  // hop goes to the next smaller gap (1) or back to the next larger one (-1).
  async function hop(dir) {
    const rank = s.order?.indexOf(at) ?? -1;
    if (scope === "sample" && s.order && (rank >= 0 || dir > 0) && s.order[rank + dir] !== undefined) return select_(s.order[rank + dir], true);
    try {
      const t = await ask("/next", { by: "gap", dir, at: `${cycle}/${group}/${slot}/${at}`, in: scope, eval: evaluation });
      if (t.group === +group && t.slot === +slot) return select_(t.pos, true);
      go(to(run, `sample/${t.cycle}/${t.group}/${t.slot}`, { eval: t.eval }) + `#t${t.pos}`);
    } catch (e) {
      if (e.name !== "AbortError") toast(e.status === 404 ? `No ${dir > 0 ? "smaller" : "larger"} gap in this ${scope}` : e.message);
    }
  }

  function paintBar(c, w, h) {
    const n = s.len, top = Math.max(1, ...[0, ...Array.from({ length: s.delta.length }, (_, k) => (finite(s.delta[k]) ? Math.abs(s.delta[k]) : 0))]), y = (v) => h - 2 - Math.max(0, Math.log10(v / 0.01) / Math.log10(top / 0.01)) * (h - 16);
    c.strokeStyle = colour("grid");
    c.fillStyle = colour("grey");
    c.font = "10px system-ui, sans-serif";
    for (const v of [0.1, 1, 10].filter((v) => v <= top)) { c.fillRect(0, y(v), w, 0.5); }
    for (let x = 0; x < w; x++) {
      const from = Math.floor((x / w) * n), till = Math.max(from + 1, Math.floor(((x + 1) / w) * n));
      let best = 0, sign = 1;
      for (let i = from; i < till; i++) { const d = s.delta[i - s.from]; if (finite(d) && Math.abs(d) > best) { best = Math.abs(d); sign = d; } else if (typeof d === "string") { best = top; sign = d === "-Infinity" ? -1 : 1; } }
      if (best < 0.01) continue;
      c.fillStyle = best < 0.05 ? colour("idle-line") : colour(sign > 0 ? "orange" : "blue");
      c.fillRect(x, y(best), Math.max(1, w / n - 0.5), h - y(best));
    }
    c.fillStyle = colour("grey");
    for (const v of [0.1, 1, 10].filter((v) => v <= top)) c.fillText(v, 2, y(v) - 2);
    c.fillStyle = colour("purple");
    for (const v of s.versions) if (v.from > 0) c.fillRect((v.from / n) * w, 0, 2, h);
    const [a, b] = inView();
    c.strokeStyle = colour("ink");
    c.strokeRect((a / n) * w + 0.5, 0.5, Math.max(6, ((b - a) / n) * w), h - 1);
    c.fillStyle = colour("ink");
    if (at >= 0) c.fillRect((at / n) * w, h - 6, 2, 6);
  }

  // inView gives the first and last answer token in the window: the first one from the left in the highest line that the lid leaves to be seen, and from the right in the lowest.
  function inView() {
    const { left, right, top, bottom } = text.getBoundingClientRect(), lid = bar.closest(".lid").getBoundingClientRect().bottom;
    const find = (y, place) => { for (let d = 4; d < right - left; d += 8) { const t = document.elementFromPoint(place(d), y)?.closest?.("[data-i]"); if (t) return +t.dataset.i; } return null; };
    const a = find(Math.max(lid, top) + 12, (d) => left + d) ?? 0, b = find(Math.min(innerHeight - 20, bottom - 12), (d) => right - d) ?? s.len - 1;
    return [a, Math.max(a, b) + 1];
  }

  function dragBar() {
    const move = (e) => {
      const n = s.len, w = bar.clientWidth, from = Math.floor(((e.offsetX - 2) / w) * n), till = Math.max(from + 1, Math.ceil(((e.offsetX + 2) / w) * n));
      let best = Math.min(n - 1, Math.max(0, from));
      for (let i = best; i < Math.min(n, till); i++) if (Math.abs(s.delta[i - s.from] || 0) > Math.abs(s.delta[best - s.from] || 0)) best = i;
      select_(best, true);
    };
    bar.addEventListener("pointerdown", (e) => { bar.setPointerCapture(e.pointerId); move(e); });
    bar.addEventListener("pointermove", (e) => e.buttons && move(e));
  }

  const scrolled = () => s && bar?.paint();
  addEventListener("scroll", scrolled, { passive: true });

  return {
    node,
    update() {
      const m = /^#t(\d+)$/.exec(location.hash);
      if (s && m && +m[1] !== at) select_(+m[1], true);
    },
    key(e) {
      if (!s) return false;
      if (e.key === "n" || e.key === "p") hop(e.key === "n" ? 1 : -1);
      else if (e.key === "[" || e.key === "]") {
        const k = s.slots.indexOf(+slot) + (e.key === "]" ? 1 : -1);
        if (s.slots[k] === undefined) toast("No further sample in this group");
        else go(to(run, `sample/${cycle}/${group}/${s.slots[k]}`, { eval: evaluation }));
      } else return false;
      return true;
    },
    repaint: () => bar?.paint(),
    close: () => removeEventListener("scroll", scrolled),
  };
}

// prepare adds to an answer what the page asks of it again and again.
function prepare(s) {
  s.delta = Array.from({ length: s.to - s.from }, (_, k) => {
    const [a, b] = [s.train?.[k], s.rollout?.[k]];
    if (finite(a) && finite(b)) return a - b;
    if (a === "-Infinity") return "-Infinity";
    return a === null || a === undefined || b === null || b === undefined ? null : "NaN";
  });
  s.weight = (i) => (s.mask && s.mask[i - s.from] === 0 ? 0 : s.ratio ? s.ratio[i - s.from] : 1);
  s.versionAt = (i) => s.versions.find((v) => i >= v.from && i < v.to);
  s.behind = (k) => s.versions.length - 1 - s.versions.findIndex((v) => k + s.from >= v.from && k + s.from < v.to);
  return s;
}

function bytesOf(tokens, k) {
  const hex = tokens.hex?.[k];
  const bytes = hex ? hex.match(/../g) : [...new TextEncoder().encode(tokens.texts[k])].map((b) => b.toString(16).padStart(2, "0"));
  return bytes.slice(0, 12).join(" ").toUpperCase() + (bytes.length > 12 ? " …" : "");
}

const ordinal = (n) => (n === 0 ? "the" : n === 1 ? "2nd" : n === 2 ? "3rd" : `${n + 1}th`);
