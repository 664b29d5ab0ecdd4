package ops

import (
	"errors"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Passes that unwind at the same time go through each unit in the order of their numbers.
func TestTurns(t *testing.T) {
	const passes, unitsOf = 5, 3
	turns := NewTurns(unitsOf)
	order := make([][]int, unitsOf) // written under the turns alone
	done := make(chan struct{})
	for n := passes - 1; n >= 0; n-- {
		go func() {
			defer func() { done <- struct{}{} }()
			c := NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32).Taped()
			c.Turn = turns.Of(n)
			for unit := range unitsOf {
				InTurn(c, unit, func() *tensor.Tensor {
					c.record("note", func() { order[unit] = append(order[unit], n) })
					return nil
				})
			}
			c.Unwind()
		}()
	}
	for range passes {
		<-done
	}
	for unit, got := range order {
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("unit %d: order is %v, want %v", unit, got, want)
		}
	}
}

// Who waits for a pass that failed is let go with a panic; whose turn it is already may go on.
func TestTurnsStop(t *testing.T) {
	turns := NewTurns(1)
	turns.Of(0).Leave(0)
	got := make(chan error)
	go func() {
		defer func() {
			err, _ := recover().(error)
			got <- err
		}()
		turns.Of(2).Enter(0)
	}()
	turns.Stop()
	if err := <-got; !errors.Is(err, ErrStopped) {
		t.Errorf("waiting ended with %v, want a panic of ErrStopped", err)
	}
	turns.Of(1).Enter(0)
}
