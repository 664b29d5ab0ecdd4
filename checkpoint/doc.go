// Package checkpoint is the seam between files of named tensors and those who read and write them.
//
// A [Source] is asked for one tensor at a time and a [Sink] is given one at a time, so that a checkpoint far
// larger than memory can pass from one to the other. What is there is known before any number is read:
// names, formats and shapes come first, and that is when a reader decides whether everything fits. A Sink
// knows beforehand what it will be given, and says at Close what never came.
//
// Shapes: as the file says; a scalar has no axes, and an axis may be 0.
// Units: sizes are bytes.
// Errors: values, with file and tensor named.
// Sources: ours; the layouts behind it are in docs/formats.
package checkpoint
