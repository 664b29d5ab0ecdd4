// Package orchestrator runs the loop: generate, grade, train, save, push, evaluate.
//
// What happens when is data: [Plan.Actions] lists the steps of a run, in order, for the synchronous loop and for the one that
// generates the next batch while it trains on this one. The list reads no clock and asks nothing but whether somebody wants
// a checkpoint just now, so it can be reviewed as text. [Loop] is the thin driver that carries it out through the interfaces of package rl.
//
// A checkpoint holds everything that decides what comes next: the trainer's state, the place in the data, the version counter, and
// batches generated but not yet trained on. A run that is killed at any point and resumed trains the same
// samples in the same order and ends with the same weights.
//
// Shapes: a batch is whole groups of samples.
// Units: cycles count from 1; cycle 0 is the state before the first.
// Errors: the first error ends the run and names the cycle and the step of it; what was saved stays whole.
// Sources: the order of steps is Miles'; docs/adr/0007-loop-as-data.md.
package orchestrator
