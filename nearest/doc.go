// Package nearest finds the name that was probably meant: for messages about a flag, a key, a grader or a command that nobody knows.
//
// Shapes: none.
// Units: edits; a letter more, less or other, or two neighbours swapped.
// Errors: none; when nothing is like what was typed the answer is "".
// Sources: the distance is Damerau's, in its restricted form.
package nearest
