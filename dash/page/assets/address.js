// The address holds the whole view. Pages read it, links are made from it, and changing it is the only way to change what is shown.

const listeners = [];

// parse gives {run, page, rest, q} of an address: /r/RUN/sample/37/1193/5?x=cycle.
export function parse(where = location) {
  const path = where.pathname.split("/").filter(Boolean).map(decode);
  const q = new URLSearchParams(where.search);
  if (path[0] === "r" && path[1]) return { run: path[1], page: path[2] || "overview", rest: path.slice(3), q };
  return { run: null, page: path[0] || "runs", rest: path.slice(1), q };
}

function decode(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

// to makes the address of a page of a run; empty parameters are left out.
export function to(run, page, parameters) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(parameters || {})) if (v !== null && v !== undefined && v !== "") q.set(k, v);
  const path = String(page || "").split("/").map(encodeURIComponent).join("/");
  const head = run === null ? "/" : `/r/${encodeURIComponent(run)}/`;
  return head + path + (q.size ? "?" + q : "");
}

// inRun makes an address of what the server says lies behind /r/RUN.
export function inRun(run, href) {
  return href && href.startsWith("/") && !href.startsWith("//") ? `/r/${encodeURIComponent(run)}${href}` : null;
}

// go opens an address as if a link had been clicked; with replace it takes the place of the one shown.
export function go(address, replace = false) {
  const now = location.pathname + location.search + location.hash;
  if (address === now) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  listeners.forEach((f) => f());
}

// change sets parameters of the address shown and leaves the rest; null takes one away.
export function change(parameters, replace = false) {
  const q = new URLSearchParams(location.search);
  for (const [k, v] of Object.entries(parameters)) {
    if (v === null || v === undefined || v === "") q.delete(k);
    else q.set(k, v);
  }
  go(location.pathname + (q.size ? "?" + q : ""), replace);
}

// moved calls f whenever the address changes.
export function moved(f) {
  listeners.push(f);
}

addEventListener("popstate", () => listeners.forEach((f) => f()));

addEventListener("click", (e) => {
  const a = e.target.closest?.("a[href]");
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || a.origin !== location.origin || a.target || a.hasAttribute("download")) return;
  if (a.pathname.startsWith("/api/") || a.classList.contains("skip")) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
});
