package weightsync

import (
	"context"
	"iter"

	"furlong/rl"
)

// How a sender cuts. A chunk has at most MaxChunk bytes whatever is asked for.
const (
	Everything = 0  // all tensors in one bucket
	OneTensor  = -1 // a bucket for each
	MaxChunk   = 1 << 28
)

// Of returns tensors as version v. They are not copied, and must stay as they are until the update has ended. A bucket has at most so many
// bytes, or is Everything or OneTensor.
func Of(v rl.Version, ts []Tensor, bucket int) rl.Weights {
	return &version{v: v, ts: ts, bucket: bucket}
}

// Plain returns whole tensors as version v, in one bucket.
func Plain(v rl.Version, list []rl.Tensor) rl.Weights {
	ts := make([]Tensor, len(list))
	for i, t := range list {
		ts[i] = Tensor{Info{Name: t.Name, Type: t.Type, Shape: t.Shape}, t.Data}
	}
	return Of(v, ts, Everything)
}

// A version is tensors that wait to be sent.
type version struct {
	v      rl.Version
	ts     []Tensor
	bucket int
	base   *Base
	ranges [][]span // in a delta, what of each tensor differs
	man    *Manifest
}

func (w *version) Version() rl.Version { return w.v }

// Manifest reads all bytes, once.
func (w *version) Manifest(ctx context.Context) ([]byte, error) {
	m, err := w.manifest(ctx)
	if err != nil {
		return nil, err
	}
	return m.Encode()
}

func (w *version) manifest(ctx context.Context) (*Manifest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.man == nil {
		w.man = manifestOf(w.v, w.ts, sums(w.ts, nil))
		w.man.Base = w.base
		for i := range w.ranges {
			n := spans(w.ranges[i]).bytes()
			w.man.Tensors[i].Sent = &n
		}
	}
	return w.man, nil
}

func manifestOf(v rl.Version, ts []Tensor, s Sums) *Manifest {
	m := &Manifest{Version: v, Recipe: Recipe(ts), State: s.State(), Groups: Groups(ts), Tensors: make([]Entry, len(ts))}
	digest := make(map[string]rl.Digest, len(s))
	for _, x := range s {
		digest[x.Name] = x.Source
	}
	for i, t := range ts {
		m.Tensors[i] = Entry{Info: t.Info, Bytes: len(t.Mem), Digest: digest[t.Name]}
	}
	return m
}

// Buckets yields the chunks in the order of the tensors.
func (w *version) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		if _, err := w.manifest(ctx); err != nil {
			yield(nil, err)
			return
		}
		for b := range w.cut() {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			sign(b)
			if !yield(b, nil) {
				return
			}
		}
	}
}

// sign fills in the digests of a bucket that are not known yet.
func sign(b []rl.Chunk) {
	each(len(b), func(i int) {
		if b[i].Digest == (rl.Digest{}) {
			b[i].Digest = Digest(b[i].Data)
		}
	})
}

// cut yields buckets of chunks. Of digests only those of whole tensors are set.
func (w *version) cut() iter.Seq[[]rl.Chunk] {
	return func(yield func([]rl.Chunk) bool) {
		var b []rl.Chunk
		room := w.room()
		flush := func() bool {
			full := b
			b, room = nil, w.room()
			return len(full) == 0 || yield(full)
		}
		for i := range w.ts {
			for _, x := range w.spansOf(i) {
				for x.lo < x.hi {
					n := min(x.hi-x.lo, room, MaxChunk)
					b = append(b, w.chunk(i, span{x.lo, x.lo + n}))
					x.lo, room = x.lo+n, room-n
					if room == 0 && !flush() {
						return
					}
				}
			}
			if w.bucket == OneTensor && !flush() {
				return
			}
		}
		flush()
	}
}

// room returns the bytes of an empty bucket.
func (w *version) room() int {
	if w.bucket > 0 {
		return w.bucket
	}
	return maxBytes
}

// spansOf returns what is sent of tensor i.
func (w *version) spansOf(i int) []span {
	if w.ranges != nil {
		return w.ranges[i]
	}
	return []span{{0, len(w.ts[i].Mem)}}
}

func (w *version) chunk(i int, x span) rl.Chunk {
	t := &w.ts[i]
	c := rl.Chunk{Version: w.v, Name: t.Name, Type: t.Type, Shape: t.Shape, Offset: x.lo, Data: t.Mem[x.lo:x.hi]}
	if len(c.Data) == len(t.Mem) {
		c.Digest = w.man.Tensors[i].Digest
	}
	return c
}
