package weightsync

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// As xxhsum -H2 prints them.
func TestDigest(t *testing.T) {
	for text, want := range map[string]string{
		"":    "99aa06d3014798d86001c324468d497f",
		"abc": "06b05ab6733a618578af5f94892f3950",
	} {
		if got := Digest([]byte(text)).String(); got != want {
			t.Errorf("digest of %q is %s, want %s", text, got, want)
		}
	}
}

// layout is one that a backend could have made.
type layout [][]byte

func (l layout) Memory() [][]byte { return l }

func TestSums(t *testing.T) {
	ps := params(1)
	ps[0].Value.Layout = layout{[]byte("one"), []byte("two")}
	s := SumsOf(ps)
	if other := SumsOf(append(slices.Clone(ps[3:]), ps[:3]...)); other.State() != s.State() || other.Effective() != s.Effective() {
		t.Error("the order of parameters shows in the digests")
	}
	bare := SumsOf(params(1))
	if bare.State() != s.State() || bare.Effective() == s.Effective() {
		t.Errorf("without a layout: state %v and %v, effective %v and %v", bare.State(), s.State(), bare.Effective(), s.Effective())
	}
	if err := s.Diff(bare); err != nil {
		t.Errorf("what one side has no layout of differs: %v", err)
	}
	if got := bare.Derived(ps); got.Effective() != s.Effective() || bare.Derived(nil).Effective() != bare.Effective() {
		t.Error("layouts that were added give another digest")
	}
	for name, l := range map[string]layout{"one byte": {[]byte("onf"), []byte("two")}, "another cut": {[]byte("onet"), []byte("wo")}, "one part": {[]byte("onetwo")}} {
		ps[0].Value.Layout = l
		if err := SumsOf(ps).Diff(s); err == nil || !strings.Contains(err.Error(), "model.embed_tokens.weight: digest of what is derived from it is ") {
			t.Errorf("%s of a layout: difference is %v", name, err)
		}
	}
}

// Every byte of every tensor shows in the state, and so do names, formats and shapes.
func TestStateSeesEverything(t *testing.T) {
	want := SumsOf(params(1))
	for i, x := range Flatten(params(1)) {
		for _, at := range []int{0, len(x.Mem) / 2, len(x.Mem) - 1} {
			if len(x.Mem) == 0 {
				continue
			}
			ps := params(1)
			Flatten(ps)[i].Mem[at] ^= 0x80
			got := SumsOf(ps)
			if err := got.Diff(want); got.State() == want.State() || err == nil || !strings.HasPrefix(err.Error(), x.Name+": digest is ") {
				t.Errorf("byte %d of %s: %v", at, x.Name, err)
			}
		}
	}
	for name, edit := range map[string]func([]*tensor.Param) []*tensor.Param{
		"a name":   func(ps []*tensor.Param) []*tensor.Param { ps[0].Name += "x"; return ps },
		"a format": func(ps []*tensor.Param) []*tensor.Param { ps[3].Value.Type = dtype.I32; return ps },
		"a shape":  func(ps []*tensor.Param) []*tensor.Param { ps[0].Value.Shape = []int{33, 40}; return ps },
		"a tensor": func(ps []*tensor.Param) []*tensor.Param { return ps[1:] },
	} {
		got := SumsOf(edit(params(1)))
		if got.State() == want.State() || got.Diff(want) == nil || want.Diff(got) == nil {
			t.Errorf("%s does not show", name)
		}
	}
}

func TestDigestText(t *testing.T) {
	d := Digest([]byte("abc"))
	text, err := d.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back rl.Digest
	if err := back.UnmarshalText(text); err != nil || back != d {
		t.Errorf("back is %v, %v", back, err)
	}
	for _, bad := range []string{"", "06b05ab6733a618578af5f94892f395", "x6b05ab6733a618578af5f94892f3950"} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestGroups(t *testing.T) {
	var ts []Tensor
	for _, name := range []string{
		"model.embed_tokens.weight",
		"model.layers.0.self_attn.q_a_proj.weight", "model.layers.0.self_attn.kv_proj.weight",
		"model.layers.1.self_attn.q_a_proj.weight", "model.layers.1.self_attn.kv_proj.weight",
		"model.layers.1.self_attn.compressor.kv_proj.weight", "model.layers.1.self_attn.compressor.gate_proj.weight",
		"model.layers.1.self_attn.compressor.indexer.kv_proj.weight", "model.layers.1.self_attn.compressor.indexer.gate_proj.weight",
		"model.layers.1.mlp.shared_experts.gate_proj.weight", "model.layers.1.mlp.shared_experts.up_proj.weight",
		"model.layers.1.mlp.gate.weight",
		"model.layers.2.mlp.experts.3.gate_proj.weight", "model.layers.2.mlp.experts.13.up_proj.weight", "model.layers.2.mlp.experts.3.up_proj.weight",
		"layers.1.attn.indexer.compressor.wkv.weight", "layers.1.attn.indexer.compressor.wgate.weight",
		"model.layers.1.self_attn.wq_a.weight", "model.layers.1.self_attn.wkv.weight",
		"layers.4.ffn.experts.0.w1.weight", "layers.4.ffn.experts.0.w3.weight", "layers.4.ffn.experts.0.w2.weight",
	} {
		x := Tensor{Info: Info{Name: name}}
		if strings.Contains(name, "layers.0.self_attn.q_a") {
			x.Scale = name + scaleSuffix
			ts = append(ts, Tensor{Info: Info{Name: x.Scale}})
		}
		ts = append(ts, x)
	}
	var got strings.Builder
	for _, g := range Groups(ts) {
		fmt.Fprintln(&got, strings.Join(g, " "))
	}
	want := `model.layers.0.self_attn.q_a_proj.weight_scale_inv model.layers.0.self_attn.q_a_proj.weight model.layers.0.self_attn.kv_proj.weight
model.layers.1.self_attn.q_a_proj.weight model.layers.1.self_attn.kv_proj.weight
model.layers.1.self_attn.compressor.kv_proj.weight model.layers.1.self_attn.compressor.gate_proj.weight
model.layers.1.self_attn.compressor.indexer.kv_proj.weight model.layers.1.self_attn.compressor.indexer.gate_proj.weight
model.layers.1.mlp.shared_experts.gate_proj.weight model.layers.1.mlp.shared_experts.up_proj.weight
model.layers.2.mlp.experts.3.gate_proj.weight model.layers.2.mlp.experts.3.up_proj.weight
layers.1.attn.indexer.compressor.wkv.weight layers.1.attn.indexer.compressor.wgate.weight
model.layers.1.self_attn.wq_a.weight model.layers.1.self_attn.wkv.weight
layers.4.ffn.experts.0.w1.weight layers.4.ffn.experts.0.w3.weight
`
	if got.String() != want {
		t.Errorf("groups are\n%swant\n%s", got.String(), want)
	}
}

func TestCollect(t *testing.T) {
	want := Flatten(params(1))
	got, err := Collect(t.Context(), Of(5, want, 100), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got {
		if x.Name != want[i].Name || x.Type != want[i].Type || !slices.Equal(x.Shape, want[i].Shape) || string(x.Data) != string(want[i].Mem) {
			t.Errorf("tensor %d is %s", i, x.Name)
		}
	}
	if _, err := Collect(t.Context(), Of(5, want, 100), 1000); err == nil || !strings.Contains(err.Error(), "want at most 1000") {
		t.Errorf("too much: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Collect(ctx, Of(5, want, 100), 1<<20); err == nil {
		t.Error("read after the end of the context")
	}
}

func Example() {
	// What a trainer has, and what an engine holds.
	trained := &tensor.Param{Name: "w", Value: tensor.Of([]float32{1, 2, 3}, 3)}
	staged := &tensor.Param{Name: "w", Value: tensor.New(dtype.F32, 3)}

	// In buckets of 8 bytes, so that the tensor comes in two pieces.
	w := Of(rl.NewVersion(0, 1), Flatten([]*tensor.Param{trained}), 8)
	_, err := Take(context.Background(), w, Flatten([]*tensor.Param{staged}), Held{})
	fmt.Println(staged.Value.F32(), err)

	// A piece that changes on its way is refused, by name.
	_, err = Take(context.Background(), spoilt{w}, Flatten([]*tensor.Param{staged}), Held{})
	fmt.Println(err)
	// Output:
	// [1 2 3] <nil>
	// w: digest of bytes 8 up to 12 is d044fd9105df52d620192f1264b60ed2, want 53b3d4843e78814e1683ffa8354f9a19
}

// spoilt is weights of which a byte flips.
type spoilt struct{ rl.Weights }

func (s spoilt) Buckets(ctx context.Context) iter.Seq2[[]rl.Chunk, error] {
	return func(yield func([]rl.Chunk, error) bool) {
		for b, err := range s.Weights.Buckets(ctx) {
			if c := &b[0]; c.Offset > 0 {
				c.Data = slices.Clone(c.Data)
				c.Data[0] ^= 1
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
