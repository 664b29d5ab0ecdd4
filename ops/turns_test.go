package ops

import (
	"errors"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// Passes that unwind at the same time add to each weight in the order of their numbers.
func TestTurns(t *testing.T) {
	const passes = 5
	ws := []*tensor.Param{weight(2, 3), weight(2, 3), weight(2, 3)}
	turns := NewTurns()
	order := make([][]int, len(ws)) // written under the turns alone
	done := make(chan struct{})
	for n := passes - 1; n >= 0; n-- {
		go func() {
			defer func() { done <- struct{}{} }()
			c := NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32).Taped()
			c.Turn = turns.Of(n, ref.New[float32]())
			for i, w := range ws {
				c.record("note", c.inTurn(func() { order[i] = append(order[i], n) }, w))
			}
			c.Unwind()
		}()
	}
	for range passes {
		<-done
	}
	for i, got := range order {
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(got, want) {
			t.Errorf("weight %d: order is %v, want %v", i, got, want)
		}
	}
}

// weight returns a trained weight.
func weight(shape ...int) *tensor.Param {
	return &tensor.Param{Value: tensor.New(dtype.F32, shape...), Grad: tensor.New(dtype.F32, shape...)}
}

// A step that adds to no gradient waits for nobody, nor does a pass alone.
func TestTurnsAreForGradients(t *testing.T) {
	frozen := weight(2, 3)
	frozen.Frozen = true
	c := NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32).Taped()
	ran := 0
	note := func() { ran++ }
	c.inTurn(note, weight(2, 3))()
	c.Turn = NewTurns().Of(1, c.K)
	c.inTurn(note)()
	c.inTurn(note, frozen, nil)()
	if ran != 3 {
		t.Errorf("%d steps ran, want 3", ran)
	}
}

// A weight that a pass reads twice has no place in the order.
func TestTurnsOnce(t *testing.T) {
	c := NewCtx(ref.New[float32](), &tensor.Arena{}, dtype.F32).Taped()
	c.Turn = NewTurns().Of(0, c.K)
	w := weight(2, 3)
	c.inTurn(func() {}, w)
	defer func() {
		if recover() == nil {
			t.Error("a second step for a weight was taken, want a panic")
		}
	}()
	c.inTurn(func() {}, w)
}

// A lender is a backend that says when somebody waits and works for others.
type lender struct {
	*ref.Backend[float32]
	lent chan struct{}
}

func (l lender) Lend(until <-chan struct{}) {
	l.lent <- struct{}{}
	<-until
}

// Who waits for a pass that failed is let go with a panic, and works for others until then; whose turn it is already may go on.
func TestTurnsStop(t *testing.T) {
	turns, k := NewTurns(), lender{ref.New[float32](), make(chan struct{})}
	turns.Of(0, k).Do("a", func() {})
	got := make(chan error)
	go func() {
		defer func() {
			err, _ := recover().(error)
			got <- err
		}()
		turns.Of(2, k).Do("a", func() { t.Error("pass 2 ran before pass 1") })
	}()
	<-k.lent
	turns.Stop()
	if err := <-got; !errors.Is(err, ErrStopped) {
		t.Errorf("waiting ended with %v, want a panic of ErrStopped", err)
	}
	ran := false
	turns.Of(1, k).Do("a", func() { ran = true })
	if !ran {
		t.Error("pass 1 did not run after pass 0")
	}
}
