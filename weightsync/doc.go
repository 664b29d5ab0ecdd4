// Package weightsync moves one version of a policy from whoever has it to an engine, so that the engine can prove what it holds.
//
// A version is a [Manifest], which lists every tensor with format, shape, size and digest, and chunks, each of which says itself to which bytes of
// which tensor it belongs. The sender cuts as it likes. On the other side a [Session] places each chunk where it belongs, in memory that nobody
// reads yet, and compares digests: of each chunk as it comes, of each tensor when all is there. It ends well only if every byte
// has come and every tensor is the manifest's and in the format that the engine holds. What is damaged is refused by its name, and nothing
// that is being served was touched. The engine then derives what its kernels read, and flips (package rollout).
//
// Transports carry the same bytes: memory ([Of]), a stream ([Send], [Receive]), a directory ([WriteDir], [OpenDir]). A version may be a delta: the
// ranges of bytes that differ from a base version, which the receiver must hold ([Keep], [Delta], [Chain]).
//
// [Sums] are the digests of a set of weights. A checkpoint, a trainer and an engine that hold the same weights have the same [Sums.State].
//
// Shapes: as a parameter has them. A quantised one travels as two tensors, codes and scales.
// Units: sizes and offsets in bytes; digests are XXH3-128.
// Errors: values that begin with the tensor's name where there is one.
// Sources: ours; docs/formats/weight-update.md is the format, docs/adr/0010-attested-updates.md says why.
package weightsync
