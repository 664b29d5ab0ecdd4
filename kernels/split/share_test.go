package split

import (
	"fmt"
	"sync/atomic"
	"testing"

	"furlong/kernels"
	"furlong/kernels/ref"
)

// A rig is a backend of several parts that note how they wait.
type rig struct {
	*ref.Backend[float32]
	parts int
	lent  *atomic.Int32
}

func newRig(parts int) rig { return rig{ref.New[float32](), parts, new(atomic.Int32)} }

func (r rig) Split(n int) (out []kernels.Backend) {
	for range r.parts {
		out = append(out, r)
	}
	return out
}

func (r rig) Lend(until <-chan struct{}) {
	r.lent.Add(1)
	<-until
}

func TestShareDoesEachPieceOnce(t *testing.T) {
	for _, parts := range []int{1, 2, 5} {
		for _, n := range []int{0, 1, 4, 100} {
			k, done := newRig(parts), make([]atomic.Int32, n)
			Share(k, n, func(_ kernels.Backend, i int) { done[i].Add(1) })
			for i := range done {
				if c := done[i].Load(); c != 1 {
					t.Errorf("%d parts, %d pieces: piece %d was done %d times", parts, n, i, c)
				}
			}
			if got := int(k.lent.Load()); got != parts {
				t.Errorf("%d parts, %d pieces: %d parts waited for the others", parts, n, got)
			}
		}
	}
}

func TestSharePanics(t *testing.T) {
	for _, parts := range []int{1, 3} {
		var begun, ended atomic.Int32
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); v != "piece 7 is broken" {
					t.Errorf("%d parts: %q came out, want the panic of the piece", parts, v)
				}
			}()
			Share(newRig(parts), 1000, func(_ kernels.Backend, i int) {
				begun.Add(1)
				defer ended.Add(1)
				if i == 7 {
					panic("piece 7 is broken")
				}
			})
		}()
		if b, e := begun.Load(), ended.Load(); b != e || parts == 1 && b != 8 {
			t.Errorf("%d parts: %d pieces were begun and %d had ended, want as many, and none begun after the panic", parts, b, e)
		}
	}
}

// Nobody passes a finish before all have come.
func TestFinish(t *testing.T) {
	const n = 4
	f, k := NewFinish(n), newRig(n)
	var come atomic.Int32
	passed := make(chan int32)
	for range n {
		go func() {
			come.Add(1)
			f.Wait(k)
			passed <- come.Load()
		}()
	}
	for range n {
		if got := <-passed; got != n {
			t.Errorf("one passed when %d had come, want %d", got, n)
		}
	}
}
