// Package diverge says what the differences that package taps found amount to: which op is the first that its inputs do not explain.
//
// A judge that starts each op from the other side's recorded inputs differs by what that op alone makes of them. Rounding makes something of
// them, too: [Limits] says how much at each boundary, from the kind of op, the length of its sums, and the formats in which the two sides hold weights, activations
// and attention state. [First] walks the boundaries in order of computation and names the first that is above its limit, in words: by how much,
// from which position on, and what becomes of it further on. Where none is, it says what the gap is made of instead: a choice that fell the other way within
// rounding, the formats, or nothing but the order of sums. [Explain] tries known mistakes on the judge; the one under which
// the difference vanishes is what the other side does. Without a judge, [Growth] compares what comes out of each op with what went in, which is weaker: it can't tell
// a mistake from rounding that an op makes larger.
//
// Shapes: a finding is of one sequence; positions count its tokens.
// Units: errors and limits as in package taps: relative by row, nats of logprobs, of choices the margin over the size of the scores.
// Errors: those of a judge's passes, and of formats with unknown names.
// Sources: ours. Constants have theirs beside them: measured in this package's tests and those of package taps, in docs/parity.md, and in
// the vectors of docs/formats/oracle.md.
package diverge
