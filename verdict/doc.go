// Package verdict answers in words the four questions that are asked of every run: is it alive, is it learning, is it honest, and what looks wrong.
//
// [Of] makes of what is known of a [Run] one [Sentence] for each. The dashboard, the report and the terminal print them, so that a run is told in one way everywhere. It
// reads no file. Who calls it brings the rows that count (metrics.Merge) as [Points] by series, the state of the run, its alarms ([Fold] makes them of the lines of alarms.jsonl), and
// the paired differences of its evaluations ([Paired]).
//
// The series it reads, all others being passed over ([Reads] tells which):
//
//   - alive: perf/step_time, and of the newest row its time and version;
//   - learning: rollout/raw_reward (train/loss where nothing is rewarded), eval/{name}-pass@1, or eval/{name} where there is none;
//   - honest: train/logp_diff/mean and max, train/tokens, train/nonfinite_tokens, reward/invalid_samples, rollout/samples, rollout/truncated_ratio, update/attested,
//     update/version, update/retries.
//
// What a sentence says of a trend is that of package metrics/trend: least squares, an interval of 95 %, and no trend where the interval holds 0 or there are fewer than ten rows.
//
// Numbers are printed as the functions of this package print them: a real minus sign, thousands with a comma, no more digits than are known. Text from
// elsewhere (alarms, phases, reasons, names) goes through [Visible], so that a sentence moves no cursor and turns no line around.
//
// Shapes: Points have one X (cycle) for each Y. Units: those of package metrics. Errors: none; what is not known is left out or said to be unknown.
// Sources: ours.
package verdict
