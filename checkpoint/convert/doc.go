// Package convert writes a checkpoint anew: in another scheme of names, in other formats, cut into other shards.
//
// The source is surveyed first, and nothing is written unless all of it is understood. Then the destination's tensors are made one
// after the other, each from the tensors of the source that it consists of, so that memory holds one of them and a checkpoint of any
// size goes through. The destination has its name when it is whole, and not before. Until then what is done lies beside it, with a
// journal that says what it is a part of: the same conversion goes on there, and another is refused.
//
// The [Report] is the proof: every tensor that was read and every tensor that was written, each with the SHA-256 of its bytes, and for
// each how it came about and what that cost.
//
// Shapes: as package hf has them.
// Units: sizes are bytes; losses are in the weights' own units.
// Errors: values that name file and tensor. What was done stays for the next attempt.
// Sources: docs/formats/quantised.md, docs/formats/conversion.md.
package convert
