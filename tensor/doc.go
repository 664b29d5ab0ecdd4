// Package tensor holds dense arrays and says who owns their memory.
//
// A [Tensor] is numbers in a format, row-major. An [Arena] hands out tensors that all die together: one
// forward and backward pass takes its memory from one arena and gives it back in one call. A [Param] is a
// named weight with its gradient.
//
// Shapes: any; most are [T, D], tokens by channels. Nothing here has a batch axis.
// Units: sizes are elements unless a name ends in Bytes.
// Errors: a wrong shape or format is the caller's bug and panics with the shape seen and the shape wanted.
// Sources: ours; docs/adr/0002-tape-and-token-flat.md.
package tensor
