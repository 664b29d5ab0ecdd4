// Package data reads prompts from jsonl and Parquet files and hands them out in an order that can be resumed.
//
// A file is read once, at the start: every row is parsed, rendered and tokenised, by several workers, and judged in the
// file's order, so that the result does not depend on them. What was odd is counted in a [Report] or stops the start.
// What stays is a [Set]: an index of 32 bytes a prompt, and the file's bytes in memory, or on disk where they are more
// than Config.Memory. Rows of Parquet are kept as JSON, in memory or in a temporary file. While a file is read, up to 200
// bytes a row more are needed, to find duplicates. A prompt is read again when it is handed out, and a row that has
// changed in the meantime is an error.
//
// A [Source] hands the prompts out, in the files' order or in a new permutation of each file for each of its epochs, and
// can write down its place exactly, also at the border between two epochs. Several files are a mix: the next prompt comes
// from the file that is furthest behind its weight, so that the order depends on weights and counts alone. A row is known
// by its id, never by its text: two rows with the same text and other labels are two problems. A row without an id is
// known by a hash of its text and label; in a mix the file's name stands before either.
//
// Shapes: one JSON object a row; the prompt is a string or a list of chat messages, the label a string, a number, a list
// of alternatives or an object that [furlong/reward] reads. A key with dots that is no key itself goes into objects.
// Units: lengths of prompts in tokens, of lines in bytes; lines count from 1, rows of a slice from 0.
// Errors: name file, line and key. Rows that are no JSON object, or too long, are left out and counted as long as they
// are at most one in a thousand; a missing prompt, an empty label or one id for two problems stops the load.
// Sources: ours; names of settings, the slice FILE@[a:b] and seed plus epoch are those of slime and Miles.
package data
