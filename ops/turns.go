package ops

import (
	"errors"
	"fmt"
	"sync"

	"furlong/tensor"
)

// ErrStopped is what a pass panics with that waits for one that will not come.
var ErrStopped = errors.New("an earlier pass failed")

// Turns keep passes that run at the same time in the order of their numbers where they add to the same gradients: so a weight's
// chain goes over ascending rows, as if one pass had followed the other. A pass adds to a weight only when the pass before it
// has done so. Turns are by weight and not by larger parts of a pass, so that each pass is but a step behind the one before.
type Turns struct {
	mu      sync.Mutex
	changed *sync.Cond
	done    map[any]int // passes that are done with each key
	stopped bool
}

// NewTurns returns the turns of passes that start at number 0.
func NewTurns() *Turns {
	t := &Turns{done: map[any]int{}}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// Stop ends all waiting: a pass failed, and those behind it can't have their turn.
func (t *Turns) Stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	t.changed.Broadcast()
}

// A Turn is the place of one pass. A nil Turn never waits.
type Turn struct {
	of    *Turns
	n     int
	taken map[any]bool // keys that the pass has a step for
}

// Of returns the turn of pass n.
func (t *Turns) Of(n int) *Turn { return &Turn{t, n, map[any]bool{}} }

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
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	for t.of.done[key] < t.n && !t.of.stopped {
		t.of.changed.Wait()
	}
	if t.of.done[key] < t.n {
		panic(ErrStopped)
	}
}

func (t *Turn) leave(key any) {
	t.of.mu.Lock()
	t.of.done[key] = t.n + 1
	t.of.mu.Unlock()
	t.of.changed.Broadcast()
}

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
