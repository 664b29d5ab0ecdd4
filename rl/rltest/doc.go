// Package rltest is the suite that every engine passes, and a fake engine that works.
//
// [RunRollout] holds an [rl.RolloutEngine] to what the loop relies on: a response depends on its prompt, its sampling and
// the weights alone, not on what else is generated; each token is labelled with the version that chose it; an update
// neither loses requests nor leaves half of the old weights; what is refused is refused with an error. [RunAsked] is about what a request
// can ask for besides: watchers, constraints, scores of prompts. [Fake] passes both, computes nothing, and asks a function for each token: for tests of all that stands behind the seam.
//
// Shapes: as in package rl.
// Units: as in package rl.
// Errors: the suite reports through testing.T; the fake's errors are those that the suite wants.
// Sources: ours.
package rltest
