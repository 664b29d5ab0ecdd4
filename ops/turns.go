package ops

import (
	"errors"
	"sync"

	"furlong/tensor"
)

// ErrStopped is what a pass panics with that waits for one that will not come.
var ErrStopped = errors.New("an earlier pass failed")

// Turns keep passes that run at the same time in the order of their numbers where they add to the same gradients: so a weight's
// chain goes over ascending rows, as if one pass had followed the other. A pass is cut into units, and
// works on a unit only when the pass before it is done with that one.
type Turns struct {
	mu      sync.Mutex
	changed *sync.Cond
	done    []int // passes that are done with each unit
	stopped bool
}

// NewTurns returns the turns of passes that start at number 0.
func NewTurns(units int) *Turns {
	t := &Turns{done: make([]int, units)}
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
	of *Turns
	n  int
}

// Of returns the turn of pass n.
func (t *Turns) Of(n int) *Turn { return &Turn{t, n} }

// Enter waits until the pass before is done with a unit.
func (t *Turn) Enter(unit int) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	for t.of.done[unit] < t.n && !t.of.stopped {
		t.of.changed.Wait()
	}
	if t.of.done[unit] < t.n {
		panic(ErrStopped)
	}
}

// Leave says that this pass is done with a unit.
func (t *Turn) Leave(unit int) {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	t.of.done[unit] = t.n + 1
	t.of.mu.Unlock()
	t.of.changed.Broadcast()
}

// InTurn returns f(), whose backward pass waits for its turn at a unit.
func InTurn(c *Ctx, unit int, f func() *tensor.Tensor) *tensor.Tensor {
	if c.tape == nil || c.Turn == nil {
		return f()
	}
	c.record("leave", func() { c.Turn.Leave(unit) }) // the tape runs backwards
	y := f()
	c.record("enter", func() { c.Turn.Enter(unit) })
	return y
}
