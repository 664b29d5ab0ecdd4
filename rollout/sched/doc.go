// Package sched decides what each forward pass of the rollout engine computes.
//
// A [Scheduler] knows sequences by number, length and age, and nothing of their tokens. [Scheduler.Next] makes a [Plan]: one
// token of every sequence that is decoding, then pieces of prompts, oldest first, as far as the pass has room. It reads no clock and starts
// nothing; the same calls give the same plans. Where rows lie is its [Memory]'s business.
//
// Age is the order of [Scheduler.Add]. The queue and the running sequences are both kept in that order, and when pages run short the
// youngest running sequence gives up its own and goes back to the queue with the tokens it has. So nobody overtakes, nobody is lost, and the
// oldest always goes on. After a sequence gave way none is admitted until one has ended: what was just taken back is not
// handed out again.
//
// Sequences that begin alike share these rows once they exist. While one computes what another could take, a whole prompt or 32 tokens and
// more, the other holds its place and waits.
//
// Shapes: none.
// Units: lengths and budgets in tokens.
// Errors: Add refuses what can never run; a call about a sequence that is not there, or a plan that is not the last, is a bug and panics.
// Sources: continuous batching as in Orca (Yu et al., 2022), chunks of prompts beside decodes as in Sarathi (Agrawal et al., 2023).
package sched
