package weightsync

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// params are of every kind: matrices, a vector, a table, a scalar, codes with E8M0 and with F32 scales, a pair that engines fuse, and one without
// elements.
func params(seed uint64) []*tensor.Param {
	ps := []*tensor.Param{
		{Name: "model.embed_tokens.weight", Value: tensor.New(dtype.BF16, 40, 33), Product: true},
		{Name: "model.layers.0.self_attn.q_a_proj.weight", Value: tensor.NewQuantised(dtype.E4M3, dtype.E8M0, [2]int{128, 128}, 1, 130, 140), Rounds: true},
		{Name: "model.layers.0.self_attn.kv_proj.weight", Value: tensor.NewQuantised(dtype.E4M3, dtype.F32, [2]int{128, 128}, 1, 8, 260)},
		{Name: "model.layers.0.self_attn.sinks", Value: tensor.New(dtype.F32, 7)},
		{Name: "model.layers.0.mlp.gate.tid2eid", Value: tensor.New(dtype.I32, 40, 2)},
		{Name: "model.layers.0.mlp.experts.gate_up_proj", Value: tensor.NewQuantised(dtype.E2M1, dtype.E8M0, [2]int{1, 32}, 2, 3, 12, 64), Rounds: true},
		{Name: "model.layers.0.attn_hc.scale", Value: tensor.New(dtype.F32)},
		{Name: "model.none", Value: tensor.New(dtype.F32, 0, 4)},
	}
	noise(seed, ps)
	return ps
}

func noise(seed uint64, ps []*tensor.Param) {
	r := rand.NewChaCha8([32]byte{byte(seed), 77})
	for _, t := range Flatten(ps) {
		_, _ = r.Read(t.Mem)
	}
}

// bytesOf returns all bytes of ps, by name.
func bytesOf(ps []*tensor.Param) map[string]string {
	m := map[string]string{}
	for _, t := range Flatten(ps) {
		m[t.Name] = string(t.Mem)
	}
	return m
}

func sameBytes(t *testing.T, what string, got, want []*tensor.Param) {
	t.Helper()
	g := bytesOf(got)
	for name, b := range bytesOf(want) {
		if g[name] != b {
			t.Errorf("%s: %s has other bytes", what, name)
		}
	}
}

// take reads w into fresh noise.
func take(t *testing.T, w rl.Weights) ([]*tensor.Param, error) {
	t.Helper()
	into := params(99)
	_, err := Take(t.Context(), w, Flatten(into), Held{})
	return into, err
}

// A relay is weights whose bucket of chunks was copied, changed and cut anew on the way.
type relay struct {
	rl.Weights
	edit   func([]rl.Chunk) []rl.Chunk
	bucket int // chunks of one; 0 for all
}

func (w relay) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		all, err := chunksOf(ctx, w.Weights)
		if err != nil {
			yield(nil, err)
			return
		}
		all = w.edit(all)
		n := w.bucket
		if n == 0 {
			n = max(1, len(all))
		}
		for b := range slices.Chunk(all, n) {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// chunksOf returns copies of all chunks.
func chunksOf(ctx context.Context, w rl.Weights) (all []rl.Chunk, err error) {
	for bucket, err := range w.Buckets(ctx) {
		if err != nil {
			return nil, err
		}
		for _, c := range bucket {
			c.Data, c.Shape = slices.Clone(c.Data), slices.Clone(c.Shape)
			all = append(all, c)
		}
	}
	return all, nil
}

func shuffle(seed uint64) func([]rl.Chunk) []rl.Chunk {
	return func(all []rl.Chunk) []rl.Chunk {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
}

func reverse(all []rl.Chunk) []rl.Chunk { slices.Reverse(all); return all }

func twice(all []rl.Chunk) []rl.Chunk { return shuffle(5)(append(all, all...)) }

func asIs(all []rl.Chunk) []rl.Chunk { return all }

var bucketSizes = []int{OneTensor, 1, 1 << 10, 1 << 20, Everything, 777}

func sizeName(n int) string {
	switch n {
	case OneTensor:
		return "one tensor"
	case Everything:
		return "everything"
	}
	return fmt.Sprint(n, " bytes")
}
