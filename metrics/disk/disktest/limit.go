// Package disktest makes the disk full for a test.
//
// The kernel's limit on the size of a file stands in for a full disk: a write beyond it writes the part that fits and then
// fails, as one does on a full disk, and the code under test runs unchanged.
//
// Shapes: none.
// Units: bytes of one file.
// Errors: fatal to the test.
// Sources: setrlimit(2), RLIMIT_FSIZE; the Go runtime ignores the signal that comes with it.
package disktest

import (
	"syscall"
	"testing"
)

// Full runs f while no file of this process can grow beyond size bytes. Tests that use it must not be parallel.
func Full(t testing.TB, size uint64, f func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	set := func(limit syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	set(syscall.Rlimit{Cur: size, Max: old.Max})
	defer set(old)
	f()
}
