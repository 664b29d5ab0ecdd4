// Numbers in words. Rounded here; hover and tables show what is stored (`verbatim` of api.js).

const minus = (s) => s.replace("-", "−");
export const none = "–";
export const finite = (v) => typeof v === "number" && Number.isFinite(v);

export function count(v) {
  return finite(v) ? minus(Math.round(v).toLocaleString("en")) : none;
}

// significant keeps n digits and never writes an exact zero as 0.000.
export function significant(v, n = 3) {
  if (typeof v === "string") return v === "Infinity" ? "∞" : v === "-Infinity" ? "−∞" : v;
  if (!finite(v)) return none;
  if (v === 0) return "0";
  const a = Math.abs(v);
  if (a >= 1e5) return minus(v.toExponential(n - 1).replace("e+", "e"));
  if (a < 1e-4) return minus(v.toExponential(Math.min(n, 2) - 1));
  return minus(a >= 10 ** (n - 1) ? Math.round(v).toLocaleString("en") : v.toPrecision(n));
}

export function fixed(v, places = 2) {
  if (typeof v === "string") return significant(v);
  if (!finite(v)) return none;
  return v === 0 ? "0" : minus(v.toFixed(places));
}

// signed has a sign unless it rounds to nothing.
export function signed(v, places = 2) {
  if (!finite(v)) return none;
  const words = Math.abs(v).toFixed(places);
  return +words === 0 ? words : (v < 0 ? "−" : "+") + words;
}

export function share(v) {
  if (!finite(v)) return significant(v);
  const p = v * 100;
  if (p === 0) return "0 %";
  return (Math.abs(p) < 1 ? significant(p, 2) : minus(String(Math.round(p)))) + " %";
}

export function rate(v) {
  if (!finite(v)) return significant(v);
  if (Math.abs(v) >= 999500) return (v / 1e6).toFixed(1) + "M";
  if (Math.abs(v) >= 1000) return (v / 1000).toFixed(1) + "k";
  return significant(v);
}

export function duration(s) {
  if (!finite(s)) return none;
  if (s < 0.001) return s === 0 ? "0 s" : `${significant(s * 1e6, 2)} µs`;
  if (s < 1) return `${significant(s * 1000, s < 0.01 ? 2 : 3)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  const t = Math.round(s);
  if (t < 60) return `${t} s`;
  if (t < 3600) return `${Math.floor(t / 60)} min ${String(t % 60).padStart(2, "0")} s`;
  if (t < 86400) return `${Math.floor(t / 3600)} h ${String(Math.floor(t / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(t / 86400)} d ${Math.floor(t / 3600) % 24} h`;
}

export function bytes(v) {
  for (const [size, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (v >= size) return `${(v / size).toFixed(1)} ${unit}`;
  }
  return `${v} bytes`;
}

// version says v37, and 2·v37 in the second epoch of numbers: the top 8 bits count resumes.
export function version(v) {
  if (!finite(v)) return none;
  const epoch = Math.floor(v / 16777216), n = v % 16777216;
  return epoch ? `${epoch + 1}·v${n}` : `v${n}`;
}

export function interval(lo, hi, places = 2) {
  return `[${signed(lo, places)}, ${signed(hi, places)}]`;
}

// clock is the time of day of seconds since 1970.
export function clock(t) {
  return new Date(t * 1000).toLocaleTimeString("en-GB");
}

export function ago(seconds) {
  return seconds < 90 ? `${Math.max(0, Math.round(seconds))} s ago` : `${duration(seconds)} ago`;
}

// whole writes a whole number without decimals.
export const whole = (v) => (Number.isInteger(v) ? count(v) : significant(v));

// byUnit chooses the words by the series' unit.
export function byUnit(v, unit) {
  switch (unit) {
    case "share": return share(v);
    case "s": return duration(v);
    case "tok/s": return rate(v);
    case "bytes": return finite(v) ? bytes(v) : significant(v);
    case "tokens": case "samples": case "groups": case "steps": case "cycles": case "versions": case "experts":
      return finite(v) && Number.isInteger(v) ? count(v) : significant(v);
    case "reward": return fixed(v, 2);
  }
  return significant(v);
}

// verdictGlyph says a tone without colour: an arrow is for what rises.
export const verdictGlyph = (tone, id) => (tone === "ok" ? (id === "learning" ? "▲" : "✓") : { warn: "▲", bad: "✕" }[tone] || "");

// states of a run: glyph, word, tone.
export const states = {
  running: ["●", "running", "ok"], finished: ["✓", "finished", "ok"], stopped: ["■", "stopped", "grey"], failed: ["✕", "failed", "bad"],
  crashed: ["✕", "crashed", "bad"], silent: ["○", "no sign of life", "warn"], none: ["○", "not started", "grey"],
};

export const verdictWords = { right: ["✓", "right", "ok"], wrong: ["✕", "wrong", "bad"], invalid: ["▲", "invalid", "warn"], ungraded: ["○", "ungraded", "grey"] };
