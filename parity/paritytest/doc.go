// Package paritytest plants mistakes in an engine, one at a time, so that what explains differences can be tested.
//
// A [Mistake] is a way in which engines of this model have been wrong, or could be: a kernel that computes something else, a constant, a weight as
// another version had it, rows of attention state that are stale. An [Engine] is the model with the arithmetic of one backend; its Run computes a
// pass with a mistake planted in one layer or wherever it applies, and shows every boundary to a watch, as an engine would that records what it
// computes. Each mistake says which operation of a layer shows it first. How mistakes are planted here owes nothing to how [furlong/parity/suspect]
// makes them in a judge: one may prove the other.
//
// Shapes: T tokens of one sequence; H heads, S streams, E experts, W windows.
// Units: logprobs in nats.
// Errors: what a test cannot go on with panics.
// Sources: the mistakes of the reference vectors' table and the traps T1 to T28 of the model's description, by their numbers.
package paritytest
