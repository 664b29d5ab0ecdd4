// Package rollouts keeps what a cycle trained on in one file, so that it can be trained on again: every field of every sample, in columns.
//
// A file is a safetensors file, since every language reads those. A column of one value a sample is a tensor of so many values; a column of lists (tokens,
// logprobs, a text's bytes) is two: all lists end to end, and NAME.offsets, which says where each begins. [Write] and [Read] walk over the fields of a sample in
// one place (fields.go), once to fill columns and once to empty them, so that what is written is what is read. Prompts are kept once, and their samples name them.
//
// Bodies of package samples, which every run writes, are read too. They hold all but the choices of experts and compressed entries and what requests
// asked for besides, and suffice where those are not replayed.
//
// Shapes: lists over the response have one entry a response token, or none where the sample has no such list.
// Units: logprobs and entropies in nats.
// Errors: values that name file, column and sample. A reader believes no offset before it has held it against the column, and reads nothing that the file
// is too short for: what a file takes in memory is bounded by a multiple of its size.
// Sources: ours; docs/formats/rollouts.md has every column, docs/adr/0025-recorded-rollouts.md the reasons.
package rollouts
