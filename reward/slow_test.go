//go:build slow

package reward

import (
	"testing"
	"time"
)

// A million random texts: no panic, a verdict for each, and 99 of 100 within 5 milliseconds.
func TestMillionRandomTexts(t *testing.T) {
	p99 := slowest(t, 1_000_000)
	t.Logf("99 of 100 take at most %v", p99)
	if p99 > 5*time.Millisecond {
		t.Errorf("one in a hundred takes more than %v, want 5ms", p99)
	}
}
