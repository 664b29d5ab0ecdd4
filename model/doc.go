// Package model says what a decoder is, and nothing about either engine.
//
// A [Model] is a stack of blocks between an embedding and a head. Both engines run it through this interface, over
// ops: rollout one token at a time on pages, training whole sequences with a tape. How a weight is stored is its Param's
// business, where attention state lies is the Store's.
//
// Shapes: T tokens, S residual streams, D channels, V vocabulary; streams are [T, S, D].
// Units: logits in nats.
// Errors: a wrong shape is a bug and panics.
// Sources: ours.
package model
