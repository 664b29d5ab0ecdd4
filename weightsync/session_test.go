package weightsync

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// However a version is cut, in whatever order it comes and however often, the same bytes arrive.
func TestAnyCutAnyOrder(t *testing.T) {
	want := params(1)
	for _, size := range bucketSizes {
		for name, edit := range map[string]func([]rl.Chunk) []rl.Chunk{"in order": asIs, "reversed": reverse, "shuffled": shuffle(3), "twice": twice} {
			if testing.Short() && name != "shuffled" {
				continue
			}
			for _, together := range []int{1, 3, 0} {
				w := relay{Of(5, Flatten(want), size), edit, together}
				got, err := take(t, w)
				if err != nil {
					t.Fatalf("%s %s: %v", sizeName(size), name, err)
				}
				sameBytes(t, fmt.Sprintf("%s %s, %d chunks together", sizeName(size), name, together), got, want)
			}
		}
	}
}

// Buckets hold what they may, and all of it once.
func TestBuckets(t *testing.T) {
	ps := params(1)
	total := 0
	for _, x := range Flatten(ps) {
		total += len(x.Mem)
	}
	for _, size := range bucketSizes {
		sum, buckets := 0, 0
		for b, err := range Of(1, Flatten(ps), size).Buckets(t.Context()) {
			n := 0
			for _, c := range b {
				n += len(c.Data)
			}
			if err != nil || n == 0 || size > 0 && n > size || size == OneTensor && len(b) != 1 {
				t.Errorf("%s: bucket %d has %d bytes in %d chunks, %v", sizeName(size), buckets, n, len(b), err)
			}
			sum, buckets = sum+n, buckets+1
		}
		if sum != total || size == Everything && buckets != 1 {
			t.Errorf("%s: %d bytes in %d buckets, want %d", sizeName(size), sum, buckets, total)
		}
	}
}

// Chunks that overlap must agree where they do, and need not lie on the cuts of others.
func TestOverlap(t *testing.T) {
	want := params(1)
	again := func(change byte) func([]rl.Chunk) []rl.Chunk {
		return func(all []rl.Chunk) []rl.Chunk {
			for _, at := range []int{100, 990, 1500} {
				c := all[0]
				mem := want[0].Value.Mem
				c.Offset, c.Data = at, slices.Clone(mem[at:at+900])
				c.Data[450] ^= change
				c.Digest = Digest(c.Data)
				all = slices.Insert(all, len(all)/2, c)
			}
			return all
		}
	}
	for _, together := range []int{1, 0} {
		got, err := take(t, relay{Of(5, Flatten(want), 1024), again(0), together})
		if err != nil {
			t.Fatal(err)
		}
		sameBytes(t, "overlapping", got, want)
		_, err = take(t, relay{Of(5, Flatten(want), 1024), again(1), together})
		if err == nil || !strings.HasPrefix(err.Error(), "model.embed_tokens.weight: bytes ") || !strings.HasSuffix(err.Error(), "came before, and differ") {
			t.Errorf("chunks that contradict each other: %v", err)
		}
	}
}

// Each damage is refused, and the error begins with the tensor's name.
func TestDamage(t *testing.T) {
	const table, codes, scale = "model.layers.0.mlp.gate.tid2eid", "model.layers.0.self_attn.q_a_proj.weight", "model.layers.0.self_attn.q_a_proj.weight_scale_inv"
	find := func(all []rl.Chunk, name string) *rl.Chunk {
		return &all[slices.IndexFunc(all, func(c rl.Chunk) bool { return c.Name == name })]
	}
	flip := func(name string, sign bool) func([]rl.Chunk) []rl.Chunk {
		return func(all []rl.Chunk) []rl.Chunk {
			c := find(all, name)
			c.Data[len(c.Data)/2] ^= 1
			if sign {
				c.Digest = Digest(c.Data)
			}
			return all
		}
	}
	change := func(name string, f func(*rl.Chunk)) func([]rl.Chunk) []rl.Chunk {
		return func(all []rl.Chunk) []rl.Chunk { f(find(all, name)); return all }
	}
	lose := func(name string) func([]rl.Chunk) []rl.Chunk {
		return func(all []rl.Chunk) []rl.Chunk {
			return slices.DeleteFunc(all, func(c rl.Chunk) bool { return c.Name == name })
		}
	}
	for _, tt := range []struct {
		name string
		edit func([]rl.Chunk) []rl.Chunk
		want []string
	}{
		{"a weight's byte", flip(codes, false), []string{codes + ": digest of bytes 0 up to 18200 is "}},
		{"a scale's byte", flip(scale, false), []string{scale + ": digest of bytes 0 up to 4 is "}},
		{"a table's byte", flip(table, false), []string{table + ": digest of bytes "}},
		{"a byte, signed by who changed it", flip(scale, true), []string{scale + ": digest is "}},
		{"a digest", change(codes, func(c *rl.Chunk) { c.Digest[3]++ }), []string{codes + ": digest of bytes "}},
		{"a tensor is missing", lose(table), []string{"1 of 11 tensors did not come whole: " + table + " (0 of 320 bytes)"}},
		{"half of a pair", lose(scale), []string{"1 of 11 tensors did not come whole: " + scale + " (0 of 4 bytes, one of ", "kv_proj.weight ", "kv_proj.weight_scale_inv "}},
		{"all is missing", func([]rl.Chunk) []rl.Chunk { return nil }, []string{"10 of 11 tensors did not come whole: model.embed_tokens.weight (0 of 2640 bytes); ", "; and 7 more"}},
		{"another format", change(codes, func(c *rl.Chunk) { c.Type = "U8" }), []string{codes + ": a chunk's format is U8, want F8_E4M3"}},
		{"scales as bytes", change(scale, func(c *rl.Chunk) { c.Type = "U8" }), []string{scale + ": a chunk's format is U8, want F8_E8M0"}},
		{"another shape", change(codes, func(c *rl.Chunk) { c.Shape = []int{140, 130} }), []string{codes + ": a chunk's shape is [140 130], want [130 140]"}},
		{"another version", change(codes, func(c *rl.Chunk) { c.Version = 4 }), []string{codes + ": a chunk is of version 4, want 5"}},
		{"beyond the end", change(codes, func(c *rl.Chunk) { c.Offset = 1 }), []string{codes + ": a chunk of 18200 bytes lies at 1, want it within 18200"}},
		{"before the beginning", change(codes, func(c *rl.Chunk) { c.Offset = -1 }), []string{codes + ": a chunk of 18200 bytes lies at -1"}},
		{"a stranger", change(codes, func(c *rl.Chunk) { c.Name = "model.x" }), []string{"model.x is not in the manifest"}},
		{"right bytes under a wrong name", func(all []rl.Chunk) []rl.Chunk {
			a, b := find(all, codes), find(all, "model.embed_tokens.weight")
			a.Name, b.Name = b.Name, a.Name
			return all
		}, []string{": a chunk's format is "}},
	} {
		for _, together := range []int{1, 0} {
			_, err := take(t, relay{Of(5, Flatten(params(1)), Everything), tt.edit, together})
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error is %v, want one with %q", tt.name, err, want)
				}
			}
		}
	}
}

// A chunk that was refused may be sent again; one that came well is not undone by a bad copy.
func TestRefusedChunkChangesNothing(t *testing.T) {
	want, into := params(1), params(2)
	w := Of(5, Flatten(want), 1000)
	man, err := w.Manifest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Begin(man, Flatten(into), Held{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := chunksOf(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		bad := c
		bad.Data = slices.Clone(c.Data)
		bad.Data[0]++
		for _, try := range []struct {
			c    rl.Chunk
			good bool
		}{{bad, false}, {c, true}, {bad, false}, {c, true}} {
			if err := s.Put([]rl.Chunk{try.c}); (err == nil) != try.good {
				t.Fatalf("%s at %d: error is %v", c.Name, c.Offset, err)
			}
		}
	}
	if err := s.Missing(); err != nil {
		t.Error(err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "after bad copies", into, want)
	if placed, again := s.Chunks(); placed != len(all) || again != len(all) {
		t.Errorf("%d chunks placed and %d again, want %d each", placed, again, len(all))
	}
	if err := s.Put(all[:1]); err == nil {
		t.Error("a bucket after the end went through")
	}
}

// The manifest must be of the receiver's tensors, formats and groups.
func TestBeginRefuses(t *testing.T) {
	edit := func(f func([]*tensor.Param) []*tensor.Param) []Tensor { return Flatten(f(params(1))) }
	for _, tt := range []struct {
		name string
		sent []Tensor
		want string
	}{
		{"another format", edit(func(ps []*tensor.Param) []*tensor.Param {
			ps[3].Value.Type = dtype.I32
			return ps
		}), "model.layers.0.self_attn.sinks: format is I32, want F32"},
		{"codes without their scales", edit(func(ps []*tensor.Param) []*tensor.Param {
			ps[1].Value.Scale = nil
			return ps
		}), `model.layers.0.self_attn.q_a_proj.weight: scales are "", want "model.layers.0.self_attn.q_a_proj.weight_scale_inv"; model.layers.0.self_attn.q_a_proj.weight_scale_inv is not in the manifest`},
		{"other blocks", edit(func(ps []*tensor.Param) []*tensor.Param {
			ps[5].Value.Fused = 1
			return ps
		}), "model.layers.0.mlp.experts.gate_up_proj: blocks are [1 32] in 1 parts, want [1 32] in 2"},
		{"rounding", edit(func(ps []*tensor.Param) []*tensor.Param {
			ps[1].Rounds = false
			return ps
		}), "model.layers.0.self_attn.q_a_proj.weight: its products round activations: false, want true"},
		{"one half of a pair", edit(func(ps []*tensor.Param) []*tensor.Param { return slices.Delete(ps, 2, 3) }), "model.layers.0.self_attn.kv_proj.weight is not in the manifest; model.layers.0.self_attn.kv_proj.weight_scale_inv is not in the manifest"},
	} {
		_, err := take(t, Of(5, tt.sent, Everything))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: error is %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestVersionOfTheManifest(t *testing.T) {
	_, err := take(t, renamed{Of(5, Flatten(params(1)), Everything)})
	if err == nil || err.Error() != "manifest: version is 5, want 6" {
		t.Errorf("error is %v", err)
	}
}

type renamed struct{ rl.Weights }

func (renamed) Version() rl.Version { return 6 }

func TestSpans(t *testing.T) {
	var s spans
	for _, x := range []span{{10, 20}, {30, 40}, {20, 25}, {0, 5}} {
		s = s.add(x)
	}
	if got := fmt.Sprint(s); got != "[{0 5} {10 25} {30 40}]" || s.bytes() != 30 {
		t.Errorf("spans are %v of %d bytes", got, s.bytes())
	}
	have, not := s.cut(span{3, 35})
	if got := fmt.Sprint(have, not); got != "[{3 5} {10 25} {30 35}] [{5 10} {25 30}]" {
		t.Errorf("cut is %s", got)
	}
	s = s.remove(span{4, 12})
	if got := fmt.Sprint(s); got != "[{0 4} {12 25} {30 40}]" {
		t.Errorf("after a removal: %s", got)
	}
	if s = s.add(span{4, 12}).add(span{25, 30}); len(s) != 1 {
		t.Errorf("whole is %v", s)
	}
}
