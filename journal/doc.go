// Package journal writes down what a run does: it is the loop's watcher.
//
// Of each cycle it writes the row of metrics, the samples with both engines' logprobs, the load of the experts, what each part did
// when, and what looks wrong, in words; of each evaluation its row and its problems. The files and their formats are
// package metrics'; here is decided what goes into them.
//
// Shapes: as in package rl.
// Units: times in seconds since 1970; gaps in nats.
// Errors: the first that a file gives. A run that can't be written down ends.
// Sources: ours.
package journal
