// Package golden compares what comes out with a file, for tests whose result is best reviewed as a whole.
//
// A golden file holds what came out when somebody last looked at it. go test with a flag -update of the test's own writes it anew,
// and the diff is then reviewed.
//
// Shapes: none.
// Units: none.
// Errors: a file that cannot be read or written fails its test; another text fails it with the first line that differs.
// Sources: ours.
package golden
