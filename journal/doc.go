// Package journal writes down what a run does: it is the loop's watcher.
//
// Of each cycle it writes the row of metrics, the samples with both engines' logprobs, the load of the experts, what each part did
// when, and what looks wrong, in words; of each evaluation its row and its problems. The files and their formats are
// package metrics'; here is decided what goes into them.
//
// What looks wrong is decided from the row of metrics, and for the gap between the engines from those before it: a drift is a least-squares slope that noise
// does not explain, a jump an outlier against the median of the last cycles. When the gap begins to look wrong, the rollout engine is asked to compute
// the worst tokens again, cold, and the alarm says whether its state, its arithmetic or the age of the tokens is the likely cause. docs/alarms.md lists
// every alarm with its rule.
//
// Shapes: as in package rl.
// Units: times in seconds since 1970; gaps in nats.
// Errors: the first that a file gives. A run that can't be written down ends.
// Sources: ours; the bias of a short series' correlation is Marriott and Pope's and Kendall's (Biometrika 41, 1954).
package journal
