// Package oracle checks the model against a directory of reference vectors.
//
// The vectors come from the public implementation of the model, run in float64: logits, gradients, what each part returned,
// incremental decoding, greedy continuations, five optimizer steps, and the codes of the quantised formats. The check runs the very
// blocks, engines and optimizer that training and rollout use, once on the fast backend in float32, against
// limits for float32, and once on the reference backend in float64, where only the vectors' own rounding is left.
//
// Shapes: T tokens of one sequence; the layout of the directory is docs/formats/oracle.md.
// Units: logits and logprobs in nats; "relative" is the norm of the difference over the norm of the truth.
// Errors: a file that is missing or malformed is an error; a vector that is missed is a finding in the report.
// Sources: docs/formats/oracle.md says how the vectors were made.
package oracle
