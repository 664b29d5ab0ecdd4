// Package prometheus shows the newest figures of a run to whoever scrapes it.
//
// Each series of metrics.jsonl is a gauge whose name is the series' with what Prometheus does not allow replaced by an underscore, and a hyphen by two, after the
// prefix furlong: train/logp_diff/mean is furlong_train_logp_diff_mean, and eval/x-pass@1 is furlong_eval_x__pass_at_1. It holds what the last row that had it says. Cycle, optimizer
// step and version are gauges too. Two series whose names come out the same keep the first one's.
//
// Shapes: none. Units: those of the series; the help text of each has its name and meaning.
// Errors: none of its own; values that are not finite are shown as Prometheus spells them.
// Sources: the text format of Prometheus; docs/adr/0028-trackers.md.
package prometheus
