package split

import (
	"sync/atomic"
	"testing"

	"furlong/kernels/ref"
)

// A backend without threads of its own has each piece on a goroutine.
func TestForkWithoutForker(t *testing.T) {
	for _, n := range []int{0, 1, 7} {
		done := make([]atomic.Int32, n)
		Fork(ref.New[float32](), n, func(i int) { done[i].Add(1) })
		for i := range done {
			if c := done[i].Load(); c != 1 {
				t.Errorf("%d pieces: piece %d ran %d times, want once", n, i, c)
			}
		}
	}
}
