package kv

import (
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/ops"
	"furlong/tensor"
)

// A Stream is one kind of row that a layer keeps.
type Stream uint8

// The streams of a layer.
const (
	Window     Stream = iota // key-value rows of single tokens
	Raw                      // what the compressor pools: values and gates of single tokens
	Compressed               // one key-value row for each closed window
	IndexRaw                 // what the indexer's compressor pools
	Index                    // one indexer key for each closed window
	Routed                   // the experts that single tokens went to, in bytes; attention reads none
	Picked                   // the entries that an indexer chose for single tokens, in bytes; attention reads none
	numStreams
)

var streamNames = [numStreams]string{"window", "raw", "compressed", "index_raw", "index", "routed", "picked"}

// String returns the stream's name.
func (s Stream) String() string { return streamNames[s] }

// A Spec says what a layer keeps in one stream.
type Spec struct {
	Stream Stream
	Bytes  bool // elements are bytes, not activations
	Width  int  // elements of a row
	Rate   int  // tokens that one row stands for
	Reach  int  // rows, the newest included, that later tokens can still read; 0 for all
	Coarse int  // first elements of a row that a cache in FP8 rounds; the others, which carry rotation, it keeps
}

// element returns the type of a row's elements in a cache of activations of type t.
func (s Spec) element(t dtype.Type) dtype.Type {
	if s.Bytes {
		return dtype.U8
	}
	return t
}

// A Keep makes of the rows of a stream what the cache keeps of them, in place. nil keeps them as they are. The gradient of a row passes
// straight through.
type Keep func(s Stream, rows *tensor.Tensor)

// coarseGroup is how many elements of a row share a scale in an FP8 cache.
const coarseGroup = 64

// FP8Format is the name of a cache that keeps rows as FP8 does, in the settings of both engines.
const FP8Format = "fp8_e4m3"

// FP8 returns the Keep of a cache that stores the coarse part of a layer's rows as E4M3, in groups of 64 that share a power of two.
func FP8(k kernels.Backend, layer []Spec) Keep {
	return func(st Stream, rows *tensor.Tensor) {
		for _, s := range layer {
			if s.Stream == st && s.Coarse > 0 && rows.Len() > 0 {
				k.Round(rows, rows, s.Coarse, coarseGroup)
			}
		}
	}
}

// A Reach says which positions of a stream a token reads: lo up to, not including, hi.
type Reach struct {
	kind reachKind
	n    int32
}

type reachKind uint8

const (
	sliding reachKind = iota
	span
	spanBefore
	before
)

// Sliding reaches the last n positions, the token's own included.
func Sliding(n int) Reach { return Reach{sliding, int32(n)} }

// Span reaches the m tokens of the window whose number is the position.
func Span(m int) Reach { return Reach{span, int32(m)} }

// SpanBefore reaches the m tokens of the window before; window 0 reaches none.
func SpanBefore(m int) Reach { return Reach{spanBefore, int32(m)} }

// Before reaches every window of m tokens that has closed at the token or earlier.
func Before(m int) Reach { return Reach{before, int32(m)} }

// Of returns the positions that a token at p reads.
func (r Reach) Of(p int32) (lo, hi int32) {
	switch r.kind {
	case sliding:
		return max(0, p-r.n+1), p + 1
	case span:
		return p * r.n, (p + 1) * r.n
	case spanBefore:
		return max(0, (p-1)*r.n), p * r.n
	}
	return 0, (p + 1) / r.n
}

// A Store keeps the attention state of one layer during a pass.
type Store interface {
	// Put stores one row of a stream for each token (or window) of at.
	Put(at *ops.Tokens, s Stream, rows *tensor.Tensor)
	// See says which rows of a stream each token of in reads.
	See(in *ops.Tokens, s Stream, r Reach) ops.View
}

// A rowsOf appends to rows where positions lo up to hi of a sequence's stream lie in the pool.
type rowsOf func(rows []int32, seq, lo, hi int32) []int32

// see builds a view.
func see(in *ops.Tokens, pool *tensor.Tensor, r Reach, at rowsOf) ops.View {
	v := ops.View{Pool: pool}
	fill(&v, in, r, at)
	return v
}

// fill sets the rows of v in the memory v has: each run of tokens of one sequence shares one run of rows, from the lowest to the
// highest position any of them reads.
func fill(v *ops.View, in *ops.Tokens, r Reach, at rowsOf) {
	v.Rows = v.Rows[:0]
	v.Lo, v.Hi = slices.Grow(v.Lo[:0], in.Len())[:in.Len()], slices.Grow(v.Hi[:0], in.Len())[:in.Len()]
	in.Runs(func(seq int32, a, b int) {
		first, _ := r.Of(in.Pos[a])
		_, last := r.Of(in.Pos[b-1])
		base := int32(len(v.Rows)) - first
		v.Rows = at(v.Rows, seq, first, max(first, last))
		for t := a; t < b; t++ {
			lo, hi := r.Of(in.Pos[t])
			v.Lo[t], v.Hi[t] = base+lo, base+hi
		}
	})
}
