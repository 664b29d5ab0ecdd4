// Package rl is the vocabulary of the loop: samples, batches, versions, and the seams between the parts.
//
// A rollout engine draws samples from a policy, a rewarder judges them, a train engine turns a [Batch] of them into a
// step and publishes [Weights], which the rollout engine takes up. The loop (package orchestrator) knows only the
// interfaces here; the engines never see each other. Anything that passes rl/rltest can stand behind a seam.
//
// Shapes: per-token slices have one entry per response token; the prompt is never counted among them.
// Units: logprobs in nats, of the distribution after temperature and before any truncation unless a name says otherwise.
// Errors: errors are values; [ErrPaused] and [ErrAborted] are what callers branch on.
// Sources: ours; the meaning of logprobs and versions is fixed in docs/adr/0005-meaning-of-logprobs.md.
package rl
