// Package dsv4 is the DeepSeek-V4 decoder.
//
// A token enters as n equal residual streams. Each sub-layer of each block (attention, then mixture of experts) reads a learned collapse of the
// streams and puts its output back through learned maps (hyper-connections, hyper.go). Attention (attention.go) joins a sliding window
// of single tokens with compressed entries of closed windows (compress.go): W layers have the window alone, C4 layers
// choose their entries by an indexer, C128 layers see all of theirs. Experts (moe.go) are chosen by a table of token
// ids in the first layers and by score after that.
//
// Shapes: T tokens, S streams, D hidden, H heads of K channels, E experts of width F, M windows. [T, H*K] is head-major.
// Units: positions count tokens, entry positions windows; angles in radians.
// Errors: a wrong configuration is an error that names its key; a wrong shape is a bug and panics.
// Sources: the released DeepSeek-V4 configuration and checkpoints, and the public transformers implementation (5.17),
// which the vectors in oracle/testdata were made with.
package dsv4
