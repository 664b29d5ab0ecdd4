// Package summary says in a few figures how a run went: the closing table of furlong train.
//
// It reads what the run wrote (the rows of metrics.jsonl and the evaluations), so a resumed run and one that never stopped
// are summed up alike.
//
// Shapes: one figure each.
// Units: rewards and pass rates from 0 to 1; gaps in nats; times in seconds; the slope is of the reward a cycle.
// Errors: none; what a run does not have is absent.
// Sources: the slope is the least-squares line through the cycles' mean rewards.
package summary
