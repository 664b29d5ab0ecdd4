// Package samples keeps what was sampled: every response with its tokens in bodies, one short row a sample in an index, and the way from one to the other.
//
// A body (c000037.fls) holds the samples of one cycle in columns over all of its tokens: ids, the text of each token, the logprob under
// both engines, entropies, loss mask, versions, experts. It appears whole, by a rename. One sample is read with one ReadAt a column, and its bytes are checked. Only
// after the rename do its rows go to the index, so that a row always has, or had, a body. The index is made for filters over millions of rows: a tail
// that grows by one record a cycle, and sealed chunks whose columns carry the least and the greatest value of each block of 4,096 rows.
//
// Experts ([Chosen]) are numbers of few bits, and the trainer's are mostly the rollout engine's, so a sample has them as a string of bits. In a large model they would
// be ten times all the rest: [KeepExperts] says of which tokens they stay.
//
// Bodies may be deleted ([Keep]), rows never are. A cycle that a resumed run repeats is indexed again under a higher
// attempt, and [Index.Live] tells which counts. What the index lost in a crash, [Open] and [Reindex] take from the bodies.
//
// Shapes: per-token columns go over prompt and response or over the response alone, samples laid end to end.
// Units: logprobs, gaps and entropies in nats; lengths in tokens.
// Errors: values that name the file. Readers believe no length before they have held it against the size of the file.
// Sources: ours; docs/formats/samples.md has every byte. Checksums are CRC-32C.
package samples
