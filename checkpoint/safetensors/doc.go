// Package safetensors reads and writes safetensors files, alone or as the shards of a directory.
//
// A file is eight bytes that say how long the header is, a JSON header that says where each tensor lies,
// and the tensors' bytes, end to end. The header comes from strangers: it is believed only after every name,
// size and offset in it has been held against the file, so that later reads cannot go wrong. [Open] maps the
// file; a tensor shares the map and costs nothing until it is looked at.
//
// [Create] writes to a temporary name beside the file and renames it when all is on the disk: a reader sees
// the old file or the whole new one. A [Stream] reads a file that comes over a wire. [OpenDir] and [CreateDir] do the same for a directory of shards with an index.
//
// Shapes: any; an axis may be 0, a scalar has no axes.
// Units: offsets and sizes are bytes, little endian.
// Errors: values that begin with the file's name and name the tensor.
// Sources: docs/formats/safetensors.md.
package safetensors
