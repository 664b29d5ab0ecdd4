// Package taps records what a model computes inside a pass, and holds another model against it, op by op.
//
// A [Tap] is what came out at one boundary of a block, row by row: what a [Recorder] saw on its own engine's passes, whole or in pieces, or what
// another program wrote into a file. A [Set] is the taps of one sequence.
//
// Two sides that differ somewhere differ everywhere after it. [Force] tells these apart: it runs a model of ours, the judge, over the same tokens, and at each
// boundary first compares what the judge made with what was recorded, then writes the recorded values over it. So every op of the judge
// starts from the other side's inputs, and a difference is what that op alone makes of equal inputs. [ForceLayer] does so in one block. [Plain]
// compares two sets as they are, inherited differences included. A [Diff] holds one boundary's differences by row, not their judgement: that is
// package diverge.
//
// Shapes: a row is one token's (or one closed window's) values at a boundary: [D], streams [S, D], experts [k, F]. Row i of a tap is that of
// position First+i. Choices are [k] numbers a row, -1 for none.
// Units: errors are relative, |a-b| over |b| by row, b recorded and not smaller than half the tap's median row; of logprobs they are nats.
// Errors: values that name file, tensor, layer or boundary. A pass of a judge that panics comes out as an error.
// Sources: ours; docs/formats/taps.md.
package taps
