// Package orchestrator runs the loop: generate, grade, train, save, push, evaluate.
//
// What happens when is data: [Plan.Actions] lists the steps of a run, in order, for the synchronous loop, for the one that
// generates the next batch while it trains on this one, and for the one that generates without end. The list reads no clock and asks nothing but whether somebody wants
// a checkpoint just now, so it can be reviewed as text. [Loop] is the thin driver that carries it out through the interfaces of package rl.
//
// Which samples a cycle trains on is the business of package gather, whatever the loop.
//
// A checkpoint holds everything that decides what comes next: the trainer's state, the place in the data, the version counter, and
// all that was handed out and has not trained: batches, finished groups, groups of which something is drawn. A run that is killed at any point
// and resumed trains the same samples in the same order and ends with the same weights; in the loop without end, where the order is a matter of time,
// it trains each prompt once.
//
// Shapes: a batch is whole groups of samples.
// Units: cycles count from 1; cycle 0 is the state before the first.
// Errors: the first error ends the run and names the cycle and the step of it; what was saved stays whole.
// Sources: the order of steps is Miles'; docs/adr/0007-loop-as-data.md and 0023-one-way-of-gathering.md.
package orchestrator
