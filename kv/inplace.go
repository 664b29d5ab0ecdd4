package kv

import (
	"fmt"

	"furlong/ops"
	"furlong/tensor"
)

// InPlace is the store of one layer for a pass over whole sequences: the pool of a stream is the very tensor that was put, so
// gradients flow into it. The zero value is ready; a second Put of a stream (a recomputed layer) replaces the first.
type InPlace struct {
	Keep  Keep
	pools [numStreams]placed
}

// placed is a stream's rows, and which of them each sequence has.
type placed struct {
	rows *tensor.Tensor
	runs map[int32]run
}

// A run is rows lo up to hi; the first is of position 0.
type run struct{ lo, hi int32 }

// Put keeps rows as the stream's pool.
func (s *InPlace) Put(at *ops.Tokens, st Stream, rows *tensor.Tensor) {
	if s.Keep != nil {
		s.Keep(st, rows)
	}
	p := placed{rows, map[int32]run{}}
	at.Runs(func(seq int32, lo, hi int) {
		if at.Pos[lo] != 0 {
			panic(fmt.Sprintf("kv: in place: sequence %d starts at position %d of %v, want 0", seq, at.Pos[lo], st))
		}
		p.runs[seq] = run{int32(lo), int32(hi)}
	})
	s.pools[st] = p
}

// See returns the rows of the stream that each token of in reads.
func (s *InPlace) See(in *ops.Tokens, st Stream, r Reach) ops.View {
	p := s.pools[st]
	return see(in, p.rows, r, func(rows []int32, seq, lo, hi int32) []int32 {
		at := p.runs[seq]
		if lo < hi && at.lo+hi > at.hi {
			panic(fmt.Sprintf("kv: in place: position %d of sequence %d in %v, want less than %d", hi-1, seq, st, at.hi-at.lo))
		}
		for i := lo; i < hi; i++ {
			rows = append(rows, at.lo+i)
		}
		return rows
	})
}
