package gather

import "testing"

// A run can be resumed, and repeated, only as long as these stay what they are.
func TestSeedsStay(t *testing.T) {
	if a, b := seed(42, 0, 0), seed(42, 123456, 7); a != 0xbdc7d5e024e5780f || b != 0xeedaca28d360f5b9 {
		t.Errorf("seeds are %#x and %#x, want 0xbdc7d5e024e5780f and 0xeedaca28d360f5b9", a, b)
	}
}
