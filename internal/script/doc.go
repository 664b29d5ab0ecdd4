// Package script runs tests that are written as text: commands, and under each what it printed.
//
// A script is reviewed as prose is: what a state machine was told, and what it answered.
//
//	# Three pages of two tokens. The younger sequence gives way.
//	add 1 prompt=2
//	next
//	= prefill 1:0-2
//
// Lines that begin with # are comments. Any other line is a command: a name, then words and key=value pairs. Lines that
// begin with = are what the command printed. go test -update rewrites those; the diff is then reviewed.
//
// Shapes: none.
// Units: none.
// Errors: a script that cannot be read, or asks for a value that is no number, fails its test.
// Sources: ours; the idea is that of CockroachDB's datadriven.
package script
