// Package disktest makes the disk full for a test.
//
// The kernel's limit on the size of a file stands in for a full disk: a write beyond it writes the part that fits and then
// fails, as one does on a full disk, and the code under test runs unchanged. It holds for a whole process, so such a test runs in one of its own.
//
// Shapes: none.
// Units: bytes of one file.
// Errors: fatal to the test.
// Sources: setrlimit(2), RLIMIT_FSIZE; the Go runtime ignores the signal that comes with it.
package disktest
