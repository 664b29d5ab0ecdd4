// Package intake turns tensors as senders name them into a version that an engine takes up.
//
// A sender thinks in the tensors of a checkpoint: under the names of some scheme, in the formats of a file, gate and up apart, a tensor of scales
// beside its codes, cut into buckets as it likes. An engine thinks in parameters. A [Session] stands between the two: it is begun from a [Model],
// which is what an engine holds in words, is given buckets, and ends in an rl.Weights whose manifest says what every byte must be. Nothing an engine
// reads is touched before that is taken up, whatever the sender does meanwhile.
//
// Each tensor has one place, found by its name in any scheme. Its bytes are moved, never converted: a format that is not the one held is refused
// by the tensor's name. There are three exceptions, each of which keeps what the bytes mean. U8 is E8M0 where scales are held, and I8 or
// U8 is FP4 where that is held, since senders without these formats call them so. BF16, F32, scales and table entries change format where all stay the
// same numbers. And numbers (BF16, F32) that are sent for codes are packed, which gives the bytes that loading the same checkpoint gives.
//
// At its end a session is whole or it is nothing: every tensor of a parameter came, or none; so with codes and scales, and with parameters that
// engines fuse. What did not come at all is what the engine holds, and is counted. A bucket that was refused spoils the session, since what it
// had would otherwise be missing in silence.
//
// Shapes: of a tensor as its file has them, full and not cut among devices; of FP4 in bytes where the format is I8 or U8.
// Units: sizes are bytes.
// Errors: values that name the tensor; a session that had one stays refused.
// Sources: docs/formats/wire-updates.md; names are package checkpoint/hf's, groups package weightsync's.
package intake
