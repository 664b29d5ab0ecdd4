package disktest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// alone is the variable that tells a test's own process which test it is for.
const alone = "FURLONG_TEST_ALONE"

// Alone runs the calling test once more in a process of its own and reports whether that was done: then the caller returns. The limit holds for
// every file of a process, and a test binary writes one of its own, the log of what a test opens, at moments that nobody chooses. A process
// without that log is the only place where the disk can be full for the code under test alone.
//
//	if disktest.Alone(t) {
//		return
//	}
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), alone+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
	return true
}

// Full runs f while no file of this process can grow beyond size bytes, in a test that runs [Alone].
func Full(t testing.TB, size uint64, f func()) {
	t.Helper()
	if os.Getenv(alone) == "" {
		t.Fatal("a full disk is for a test that began with disktest.Alone")
	}
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
