package rltest

import (
	"context"
	"iter"

	"furlong/rl"
	"furlong/weightsync"
)

// Weights is a version of a policy, given by hand.
type Weights struct {
	V    rl.Version
	List []rl.Tensor
	Err  error // comes after the last tensor
}

// Version returns V.
func (w Weights) Version() rl.Version { return w.V }

// Manifest lists List.
func (w Weights) Manifest(ctx context.Context) ([]byte, error) {
	return weightsync.Plain(w.V, w.List).Manifest(ctx)
}

// Buckets yields each tensor of List in a bucket of its own, and then Err, if there is one.
func (w Weights) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		for bucket, err := range weightsync.Plain(w.V, w.List).Buckets(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range bucket {
				if !yield(bucket[i:i+1], nil) {
					return
				}
			}
		}
		if w.Err != nil {
			yield(nil, w.Err)
		}
	}
}

// edited is weights whose chunks were changed on their way.
type edited struct {
	rl.Weights
	edit func([]rl.Chunk) ([]rl.Chunk, error)
}

// Buckets yields one bucket: copies of all chunks, edited, and then the error that the edit made, if any.
func (d edited) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		var all []rl.Chunk
		for bucket, err := range d.Weights.Buckets(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, c := range bucket {
				c.Data = append([]byte(nil), c.Data...)
				all = append(all, c)
			}
		}
		all, err := d.edit(all)
		if yield(all, nil) && err != nil {
			yield(nil, err)
		}
	}
}
