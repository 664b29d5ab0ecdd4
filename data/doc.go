// Package data reads prompts from jsonl files and hands them out in an order that can be resumed.
//
// A file is read once, at the start, into a [Set]; what was odd about it is counted in a [Report] or stops the start. A
// [Source] then hands the prompts out, in the file's order or in a new permutation for each epoch, and can write down its
// place exactly, also at the border between two epochs. A row is known by its id, never by its text: two rows with the
// same text and other labels are two problems. A row without an id is known by a hash of its text and label.
//
// Shapes: one JSON object a line; the prompt is a string or a list of chat messages, the label a string or a number.
// Units: lengths of prompts in tokens, of lines in bytes; lines count from 1, rows from 0.
// Errors: name file and line. Lines that are no JSON are left out and counted as long as they are at most one in a
// thousand; a missing prompt, an empty label or one id for two problems stops the load.
// Sources: ours; names of settings, the slice FILE@[a:b] and seed plus epoch are those of slime and Miles.
package data
