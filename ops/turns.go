package ops

import (
	"errors"
	"fmt"
	"sync"

	"furlong/kernels"
	"furlong/tensor"
)

// ErrStopped is what a pass panics with that waits for one that will not come.
var ErrStopped = errors.New("an earlier pass failed")

// Turns keep passes that run at the same time in the order of their numbers where they add to the same gradients: so a weight's
// chain goes over ascending rows, as if one pass had followed the other. A pass adds to a weight only when the pass before it
// has done so. Turns are by weight and not by larger parts of a pass, so that each pass is but a step behind the one before.
type Turns struct {
	mu      sync.Mutex
	changed chan struct{} // closed at every change, and made anew
	done    map[any]int   // passes that are done with each key
	stopped bool
}

// NewTurns returns the turns of passes that start at number 0.
func NewTurns() *Turns {
	return &Turns{done: map[any]int{}, changed: make(chan struct{})}
}

// Stop ends all waiting: a pass failed, and those behind it can't have their turn.
func (t *Turns) Stop() {
	t.change(func() { t.stopped = true })
}

// change changes something by f and tells all who wait.
func (t *Turns) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// A Turn is the place of one pass. A nil Turn never waits.
type Turn struct {
	of    *Turns
	n     int
	k     kernels.Backend
	taken map[any]bool // keys that the pass has a step for
}

// Of returns the turn of pass n on k. While the pass waits it works for other passes, if k is a [kernels.Lender].
func (t *Turns) Of(n int, k kernels.Backend) *Turn {
	return &Turn{t, n, k, map[any]bool{}}
}

// Do runs f when the pass before is done with key, which stands for what f adds to. Every pass does every key once.
func (t *Turn) Do(key any, f func()) {
	if t == nil {
		f()
		return
	}
	t.enter(key)
	f()
	t.leave(key)
}

func (t *Turn) enter(key any) {
	for {
		mine, changed := t.look(key)
		if mine {
			return
		}
		kernels.Await(t.k, changed)
	}
}

// look reports whether it is the pass's turn with key, and what is closed when that may have changed.
func (t *Turn) look(key any) (mine bool, changed <-chan struct{}) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	mine = t.of.done[key] >= t.n
	if !mine && t.of.stopped {
		panic(ErrStopped)
	}
	return mine, t.of.changed
}

func (t *Turn) leave(key any) { t.of.change(func() { t.of.done[key] = t.n + 1 }) }

// take notes that the pass has a step for key. With two of them the passes behind would not know which to wait for.
func (t *Turn) take(key any) {
	if t.taken[key] {
		panic(fmt.Sprintf("ops: a pass adds to %v in two steps, want one", key))
	}
	t.taken[key] = true
}

// inTurn returns the backward step run of an op with weights ws, which waits for its turn if it adds to any of their gradients.
func (c *Ctx) inTurn(run func(), ws ...*tensor.Param) func() {
	if c.Turn == nil {
		return run
	}
	var key *tensor.Param
	for _, w := range ws {
		if paramGrad(w) != nil {
			c.Turn.take(w)
			if key == nil {
				key = w
			}
		}
	}
	if key == nil {
		return run
	}
	return func() { c.Turn.Do(key, run) }
}
