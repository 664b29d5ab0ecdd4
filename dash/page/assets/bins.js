// How tokens are coloured: fixed bins, the same in every sample, so that exact and broken never look alike.
import { finite } from "./format.js";
import { agreement } from "./routes.js";

const signed = (d) => {
  if (typeof d === "string") return d === "-Infinity" ? "n4" : "p4"; // no finite difference: the outermost bin
  if (!finite(d)) return "";
  const a = Math.abs(d), n = a >= 1 ? 4 : a >= 0.5 ? 3 : a >= 0.2 ? 2 : a >= 0.05 ? 1 : 0;
  return n ? (d > 0 ? "p" : "n") + n : "";
};

const ramp = ["", "h1", "h2", "h3", "h5"];
const above = (edges) => (v) => (finite(v) ? ramp[edges.filter((e) => v >= e).length] : "");

// logprob is by probability: 0.9, 0.5, 0.1 and 0.01.
const logprob = (v) => (finite(v) ? ramp[[0.9, 0.5, 0.1, 0.01].filter((e) => Math.exp(v) < e).length] : v === "-Infinity" ? "h5" : "");

export const modes = {
  gap: { name: "Δ = trainer − rollout", of: (s, i) => s.delta[i], bin: signed, legend: [["n4", "≤ −1"], ["n3", "−0.5"], ["n2", "−0.2"], ["n1", "−.05"], ["", "0"], ["p1", ".05"], ["p2", "0.2"], ["p3", "0.5"], ["p4", "≥ 1"]], needs: "train" },
  rollout: { name: "rollout logprob", of: (s, i) => s.rollout?.[i], bin: logprob, legend: [["", "p ≥ .9"], ["h1", "≥ .5"], ["h2", "≥ .1"], ["h3", "≥ .01"], ["h5", "< .01"]], needs: "rollout" },
  train: { name: "trainer logprob", of: (s, i) => s.train?.[i], bin: logprob, legend: [["", "p ≥ .9"], ["h1", "≥ .5"], ["h2", "≥ .1"], ["h3", "≥ .01"], ["h5", "< .01"]], needs: "train" },
  entropy: { name: "entropy", of: (s, i) => s.entropy?.[i], bin: above([0.1, 0.5, 1, 2]), legend: [["", "< .1"], ["h1", "≥ .1"], ["h2", "≥ .5"], ["h3", "≥ 1"], ["h5", "≥ 2 nats"]], needs: "entropy" },
  routing: { name: "router agreement", of: (s, k) => agreement(s, k + s.from), bin: (v) => (v === null ? "unknown" : ["", "h1", "h2", "h3", "h5"][[1, 0.9, 0.75, 0.5].filter((e) => v < e).length]), legend: [["", "all shared"], ["h1", "< all"], ["h2", "< .9"], ["h3", "< .75"], ["h5", "< .5"], ["unknown", "not known"]], needs: "experts" },
  version: { name: "version", of: (s, i) => s.behind(i), bin: above([1, 2, 3, 4]), legend: [["", "newest"], ["h1", "1 behind"], ["h2", "2"], ["h3", "3"], ["h5", "4 or more"]] },
  weight: { name: "loss weight", of: (s, k) => s.weight(k + s.from), bin: (w) => (w === null ? "" : w === 0 ? "h5" : w < 0.5 ? "n2" : w > 2 ? "p3" : w === 1 ? "" : "h1"), legend: [["h5", "0, masked"], ["n2", "< .5"], ["", "1"], ["h1", ".5 to 2"], ["p3", "> 2"]] },
};
