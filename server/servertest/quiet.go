package servertest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// quiet notes what a check says instead of failing: where failures are counted, and where checks themselves are tested.
type quiet struct {
	testing.TB

	mu      sync.Mutex
	said    []string
	skipped bool
}

// run calls do, which may give up.
func (q *quiet) run(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

func (q *quiet) note(s string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.said = append(q.said, s)
}

// Failed reports whether anything was said.
func (q *quiet) Failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.said) > 0
}

// Helper does nothing.
func (q *quiet) Helper() {}

// Log does nothing.
func (q *quiet) Log(...any) {}

// Logf does nothing.
func (q *quiet) Logf(string, ...any) {}

// Error notes.
func (q *quiet) Error(args ...any) { q.note(fmt.Sprint(args...)) }

// Errorf notes.
func (q *quiet) Errorf(format string, args ...any) { q.note(fmt.Sprintf(format, args...)) }

// Fatal notes and gives up.
func (q *quiet) Fatal(args ...any) {
	q.Error(args...)
	runtime.Goexit()
}

// Fatalf notes and gives up.
func (q *quiet) Fatalf(format string, args ...any) {
	q.Errorf(format, args...)
	runtime.Goexit()
}

// Skip gives up.
func (q *quiet) Skip(...any) {
	q.skipped = true
	runtime.Goexit()
}

// Skipf gives up.
func (q *quiet) Skipf(string, ...any) { q.Skip() }
