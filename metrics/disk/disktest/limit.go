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
