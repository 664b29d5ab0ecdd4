// The tokens of a sample as they read: real blanks, visible breaks, boxes for what cannot be seen; in blocks that are laid out when they come into view.
import { el } from "./dom.js";
import { box, parts } from "./text.js";

const blockSize = 512;

// strip makes the blocks of prompt and answer. cls gives a response token's class; marks are places where another version took over.
export function strip(sample, cls) {
  const out = [], { prompt, response, from } = sample;
  let block = el("div.block"), n = 0;
  const put = (node, text) => {
    block.append(node);
    n++;
    if (n >= blockSize && (text.includes("\n") || n >= 3 * blockSize)) {
      out.push(block);
      block = el("div.block");
      n = 0;
    }
  };
  prompt.texts.forEach((t, i) => put(el("span.tok.in-prompt", show(t, prompt.hex?.[i])), t));
  const starts = new Map(sample.versions.map((v) => [v.from, v.version]));
  response.texts.forEach((t, k) => {
    const i = from + k, change = starts.get(i);
    if (change && (i > 0 || !prompt.texts.length)) block.append(el("span.vmark", { title: `from here on by ${change}` }, change));
    put(el(`span.tok#t${i}`, { class: cls(i), "data-i": i }, show(t, response.hex?.[k])), t);
  });
  out.push(block);
  for (const b of out) b.style.contentVisibility = "auto";
  return out;
}

// show gives the parts of one token. A token of broken UTF-8 is shown as its bytes.
export function show(text, hex) {
  if (hex) return [box(`⟨${hex.toUpperCase().replace(/(..)(?=.)/g, "$1 ")}⟩`)];
  return parts(text, (s) => s).flatMap((p) => (typeof p === "string" ? blanks(p) : [p]));
}

function blanks(s) {
  return s.split(/([ \n\t])/).filter(Boolean).map((p) => {
    if (p === " ") return el("span.sp", " ");
    if (p === "\t") return el("span.tb", "\t");
    return p === "\n" ? [el("span.nl"), "\n"] : p;
  });
}
