package tensor

import "testing"

func TestLargePages(t *testing.T) {
	for _, tt := range []struct {
		at     uintptr
		n      int
		lo, hi uintptr
	}{
		{0, 1, 0, largePage},
		{largePage, largePage, largePage, 2 * largePage},
		{largePage - 1, 2, 0, 2 * largePage},
		{3*largePage + 64, 5 * largePage, 3 * largePage, 9 * largePage},
	} {
		if lo, hi := largePages(tt.at, tt.n); lo != tt.lo || hi != tt.hi {
			t.Errorf("largePages(%#x, %d) = %#x, %#x, want %#x, %#x", tt.at, tt.n, lo, hi, tt.lo, tt.hi)
		}
	}
}
