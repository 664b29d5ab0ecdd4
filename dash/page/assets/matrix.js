// Problems by checkpoints. Of both only those in view are in the page, a chunk at a time, so that a thousand checkpoints draw as fast as ten.
import { el, fill } from "./dom.js";
import { line } from "./text.js";
import { count, finite, signed } from "./format.js";
import { region } from "./parts.js";

const chunk = 8, high = 24, change = 76, before = 2; // cells that come and go together; height of a row, width of the second column; columns before the first checkpoint
const most = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);
const clamp = (v, all) => Math.min(all - 1, Math.max(0, v));

// chunks is the range of chunks of which something is in view: from a place, over a length, of things of one size.
const chunks = (from, length, size, all) => [Math.floor(Math.max(0, from) / size / chunk) * chunk, Math.min(all, Math.ceil((Math.max(0, from) + Math.max(size, length)) / size / chunk) * chunk)];
// near is where to scroll to, with as little way as possible, so that something of a size is in view.
const near = (now, place, size, room) => (place < now ? place : place + size > now + room ? place + size - room : now);

// matrix draws an answer of /evals/NAME. marked gives cycles a letter, address leads from a cell on. Tab reaches one cell, arrow keys the others from there.
export function matrix(e, marked, address) {
  const rows = e.problems, n = e.cycles.length, words = (c) => count(c) + (marked[c] || ""), name = Math.min(16 + 8 * most([7, ...rows.map((p) => Math.min(40, p.id.length))]), Math.round(innerWidth * 0.4));
  const wide = 16 + 8 * most([...e.cycles.map((c) => words(c).length), ...rows.map((p) => 1 + 2 * String(most(p.cells.map((c) => c?.n || 0))).length)]);
  const head = el("tr", { "aria-rowindex": 1 }), body = el("tbody"), sheet = el("table.matrix", { "aria-rowcount": rows.length + 1, "aria-colcount": n + before, onkeydown: moves, onfocusin: took }, el("thead", head), body);
  const space = el("div", sheet), node = region("div.scroll.sheet", "Problems by checkpoint", space);
  let at = [0, 0], seen = [0, 0, 0, 0]; // row and checkpoint that Tab reaches; what is in the page: rows from and to, checkpoints from and to

  space.style.width = `${name + change + n * wide}px`;
  space.style.height = `${(rows.length + 1) * high}px`;
  node.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(node);

  // draw puts into the page what is in view, and keeps the focus.
  function draw() {
    const { scrollLeft: x, scrollTop: y, clientWidth: w, clientHeight: h } = node, held = sheet.contains(document.activeElement);
    const now = [...chunks(y, h - high, high, rows.length), ...chunks(x - change, w - name, wide, n)], [r0, r1, c0, c1] = now;
    if (now.join() === seen.join()) return;
    seen = now;
    if (!held && !within()) at = [clamp(Math.ceil(y / high), rows.length), clamp(Math.ceil((x - change) / wide), n)];
    sheet.style.margin = `${r0 * high}px 0 0 ${c0 * wide}px`;
    sheet.style.width = `${name + change + (c1 - c0) * wide}px`;
    fill(head, title("problem", name, 1), title("change", change, 2), e.cycles.slice(c0, c1).map((c, j) => title(words(c), wide, before + 1 + c0 + j)));
    fill(body, rows.slice(r0, r1).map((p, i) => row(p, r0 + i, c0, c1)));
    if (held) (within() ? target() : node).focus({ preventScroll: true });
  }

  function title(text, width, column) {
    const th = el("th", { scope: "col", "aria-colindex": column, class: column > 1 ? "num" : "" }, text);
    th.style.width = `${width}px`;
    return th;
  }

  const row = (p, i, c0, c1) => el("tr", { "aria-rowindex": i + 2 }, el("th", { scope: "row", title: p.id, "aria-colindex": 1 }, line(p.id)), el("td.num", { "aria-colindex": 2 }, finite(p.change) ? signed(p.change) : "–"),
    p.cells.slice(c0, c1).map((c, j) => cell(p, c, c0 + j, i === at[0] && c0 + j === at[1] ? 0 : -1)));

  function cell(p, c, j, tabindex) {
    const column = before + 1 + j;
    if (!c?.n) return el("td", { "aria-colindex": column, tabindex });
    const said = `${p.id}, cycle ${e.cycles[j]}: ${c.c} of ${c.n} right${c.truncated ? `, ${c.truncated} cut` : ""}`;
    return el("td", { "aria-colindex": column }, el("a", { class: `m${Math.round((c.c / c.n) * 6)}`, href: address(e.cycles[j], c), title: said, tabindex }, `${c.c}/${c.n}`));
  }

  const within = () => at[0] >= seen[0] && at[0] < seen[1] && at[1] >= seen[2] && at[1] < seen[3];
  const target = () => { const td = body.rows[at[0] - seen[0]].cells[before + at[1] - seen[2]]; return td.firstElementChild || td; };

  // took makes the cell that got the focus the one that Tab reaches.
  function took(ev) {
    const td = ev.target.closest("td");
    if (within()) target().tabIndex = -1;
    at = [td.parentNode.sectionRowIndex + seen[0], td.cellIndex - before + seen[2]];
    target().tabIndex = 0;
  }

  function moves(ev) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -n], End: [0, n], PageUp: [-10, 0], PageDown: [10, 0] }[ev.key];
    if (!by || ev.altKey || ev.ctrlKey || ev.metaKey) return;
    ev.preventDefault();
    ev.stopPropagation();
    if (within()) target().tabIndex = -1;
    at = [clamp(at[0] + by[0], rows.length), clamp(at[1] + by[1], n)];
    node.scrollTop = near(node.scrollTop, at[0] * high, high, node.clientHeight - high);
    node.scrollLeft = at[1] ? change + near(node.scrollLeft - change, at[1] * wide, wide, node.clientWidth - name) : 0;
    draw();
    target().focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest" });
  }

  return node;
}
