// Package ops pairs each forward kernel with its backward, and orders the backwards on a tape.
//
// An op makes its output, runs the kernel, and, if the [Ctx] has a tape, records a closure that runs the backward kernel.
// The tape only orders closures; the mathematics is in kernels. Nothing is saved explicitly: a closure holds
// the op's inputs and the arena keeps them alive. [Recompute] forgets what a function computed and runs it again
// when the gradient is asked for. A model written over ops is one definition for both engines: rollout runs it
// without a tape, training with one.
//
// Shapes: there is no batch axis. T tokens of any number of sequences lie end to end in [Tokens].
// Units: gradients are of a sum over tokens; whoever seeds Backward scales them.
// Errors: a wrong shape is a bug and panics in the kernel.
// Sources: ours; docs/adr/0002-tape-and-token-flat.md.
package ops
