// Elements and nothing else: what a run says becomes the text of a node here, never markup.

// el("div.card#x", {title: "…", onclick: f}, "text", node, [nodes]) makes an element. Strings become text nodes.
export function el(what, attributes, ...children) {
  const [, tag, rest] = /^([a-z0-9]+)(.*)$/.exec(what);
  const node = document.createElement(tag);
  for (const part of rest.match(/[.#][^.#]+/g) || []) {
    if (part[0] === "#") node.id = part.slice(1);
    else node.classList.add(part.slice(1));
  }
  if (attributes instanceof Node || typeof attributes === "string" || Array.isArray(attributes)) {
    children.unshift(attributes);
    attributes = null;
  }
  for (const [name, value] of Object.entries(attributes || {})) set(node, name, value);
  add(node, children);
  return node;
}

function set(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name === "class") value.split(" ").forEach((c) => c && node.classList.add(c));
  else if (name === "value") node.value = value;
  else if (name === "href") node.setAttribute("href", local(value));
  else node.setAttribute(name, value === true ? "" : String(value));
}

// local lets an address lead to this server's own pages only, whatever a file of the run says.
export function local(address) {
  const url = new URL(String(address), location.href);
  return url.origin === location.origin && /^https?:$/.test(url.protocol) ? url.pathname + url.search + url.hash : "#";
}

export function add(node, children) {
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false) continue;
    node.append(c instanceof Node ? c : document.createTextNode(String(c)));
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, children);
}

// vector makes SVG elements: vector("path", {d: "…"}).
export function vector(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return add(node, children);
}

// A canvas scaled for the screen's pixels; draw gets the context and the size in CSS pixels, again after each resize and change of theme.
export function canvas(cls, draw) {
  const node = el("canvas", { class: cls });
  const paint = () => {
    const { width, height } = node.getBoundingClientRect();
    if (!width || !height) return;
    const scale = devicePixelRatio || 1;
    node.width = Math.round(width * scale);
    node.height = Math.round(height * scale);
    const c = node.getContext("2d");
    c.scale(scale, scale);
    draw(c, width, height);
  };
  new ResizeObserver(paint).observe(node);
  node.paint = paint;
  return node;
}

const probe = el("span", { hidden: true });
let known = new Map();

// colour gives the value a CSS variable has in the theme shown, for canvases.
export function colour(name, alpha) {
  if (!probe.isConnected) {
    probe.style.forcedColorAdjust = "none";
    document.body.append(probe);
  }
  if (!known.has(name)) {
    probe.style.color = `var(--${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  const c = known.get(name);
  return alpha === undefined ? c : c.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

// mixed is the colour a part of the way from one value to another, both as colour gives them.
export function mixed(a, b, part) {
  const [x, y] = [a, b].map((s) => s.match(/[\d.]+/g).map(Number));
  return `rgb(${[0, 1, 2].map((i) => Math.round(x[i] + (y[i] - x[i]) * part)).join(" ")})`;
}

// forgetColours is called when the theme changes.
export function forgetColours() {
  known = new Map();
}

let toasts = 0;

// toast says something for three seconds, to the eye and to a screen reader.
export function toast(words) {
  const mine = ++toasts;
  document.querySelector(".toast")?.remove();
  document.body.append(el("div.toast", { role: "status" }, words));
  setTimeout(() => mine === toasts && document.querySelector(".toast")?.remove(), 3000);
}

// say puts a sentence into the polite live region.
export function say(words) {
  document.getElementById("say").textContent = words;
}
