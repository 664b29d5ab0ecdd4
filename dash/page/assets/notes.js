// Marks with a note, kept in this browser only.
import { toast } from "./dom.js";

function all(run) {
  try {
    return JSON.parse(localStorage.getItem(`notes ${run}`)) || {};
  } catch {
    return {};
  }
}

export const noteOf = (run, what) => all(run)[what];
export const notes = (run) => Object.entries(all(run));

export function note(run, what) {
  const kept = all(run), words = prompt(`Note on ${what} (empty removes it)`, kept[what] || "");
  if (words === null) return;
  if (words) kept[what] = words;
  else delete kept[what];
  try {
    localStorage.setItem(`notes ${run}`, JSON.stringify(kept));
    toast(words ? `Marked ${what}` : `Mark on ${what} removed`);
  } catch {
    toast("This browser keeps no notes");
  }
}
