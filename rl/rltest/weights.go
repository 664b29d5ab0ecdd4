package rltest

import (
	"context"
	"iter"

	"furlong/rl"
)

// Weights is a version of a policy, given by hand.
type Weights struct {
	V    rl.Version
	List []rl.Tensor
	Err  error // comes after the last tensor
}

// Version returns V.
func (w Weights) Version() rl.Version { return w.V }

// Tensors yields List and then Err, if there is one.
func (w Weights) Tensors(ctx context.Context) iter.Seq2[rl.Tensor, error] {
	return func(yield func(rl.Tensor, error) bool) {
		for _, t := range w.List {
			if !yield(t, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
		if w.Err != nil {
			yield(rl.Tensor{}, w.Err)
		}
	}
}

// damaged is weights that break off in the middle: after the first tensor of others.
type damaged struct {
	rl.Weights
	err error
}

// Tensors yields one tensor and an error.
func (d damaged) Tensors(ctx context.Context) iter.Seq2[rl.Tensor, error] {
	return func(yield func(rl.Tensor, error) bool) {
		for t, err := range d.Weights.Tensors(ctx) {
			if yield(t, err) {
				yield(rl.Tensor{}, d.err)
			}
			return
		}
	}
}
