package taps_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/parity/taps"
	"furlong/parity/taps/tapstest"
	"furlong/tensor"
)

// sameSets fails unless two sets hold the same.
func sameSets(t *testing.T, got, want *taps.Set) {
	t.Helper()
	if !slices.Equal(got.Tokens, want.Tokens) || got.Origin != want.Origin || len(got.Taps()) != len(want.Taps()) {
		t.Fatalf("%d taps of %v from %q, want %d of %v from %q", len(got.Taps()), got.Tokens, got.Origin, len(want.Taps()), want.Tokens, want.Origin)
	}
	for i, w := range want.Taps() {
		g := got.Taps()[i]
		if g.Title() != w.Title() || g.First != w.First || !slices.Equal(g.Shape, w.Shape) || max(1, g.Rate) != max(1, w.Rate) {
			t.Errorf("tap %s from %d on, %v, rate %d; want %s from %d on, %v, rate %d", g.Title(), g.First, g.Shape, g.Rate, w.Title(), w.First, w.Shape, w.Rate)
		}
		if !slices.Equal(g.Values, w.Values) || !slices.Equal(g.Choice, w.Choice) {
			t.Errorf("tap %s: other values", w.Title())
		}
	}
}

func TestFileRoundTrip(t *testing.T) {
	j := smallJudge(1)
	s := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 13), nil)
	s.Origin = `rollout "fp8", 2 threads`
	s.Find(2, "attn_in").First, s.Find(2, "attn_in").Values = 4, s.Find(2, "attn_in").Values[4*16:]
	path := filepath.Join(t.TempDir(), "0.safetensors")
	if err := taps.Write(path, s); err != nil {
		t.Fatal(err)
	}
	for _, tokens := range [][]int32{nil, s.Tokens} {
		got, err := taps.Read(path, tokens)
		if err != nil {
			t.Fatal(err)
		}
		sameSets(t, got, s)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := taps.Parse("memory", content, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameSets(t, got, s)
	if _, err := taps.Read(path, s.Tokens[1:]); err == nil || !strings.HasSuffix(err.Error(), "is of 13 tokens, want the 12 of the sequence") {
		t.Errorf("tokens of another sequence: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files are %v, want one", left)
	}
}

// A raw file is named tensors, as another program writes them.
type raw map[string]*tensor.Tensor

func (r raw) write(t *testing.T, meta map[string]string) []byte {
	t.Helper()
	var entries []checkpoint.Entry
	for name, x := range r {
		entries = append(entries, checkpoint.Entry{Name: name, Info: checkpoint.Info{Type: x.Type, Shape: x.Shape}})
	}
	path := filepath.Join(t.TempDir(), "raw.safetensors")
	w, err := safetensors.Create(path, entries, meta)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range r {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A file without tokens or metadata, with rows of slots end to end and values in float64, is read when the tokens are given.
func TestForeignFile(t *testing.T) {
	wide := tensor.New(dtype.F64, 3, 2)
	wide.F64()[5] = 0.5
	content := raw{
		"L0.attn_in": wide, "L0.expert_out": tensor.New(dtype.F32, 6, 4), "L0.router_indices": tensor.New(dtype.I32, 3, 2), "L0.router_weights": tensor.New(dtype.F32, 3, 2),
		"L1.compress_pooled": tensor.New(dtype.F32, 0, 4), "embed": tensor.New(dtype.F32, 3, 2, 2), "logits": tensor.New(dtype.F32, 3, 9),
	}.write(t, nil)
	s, err := taps.Parse("foreign", content, []int32{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Find(0, "attn_in").Values[5]; got != 0.5 {
		t.Errorf("a value in float64 is %v, want 0.5", got)
	}
	if x := s.Find(0, "expert_out"); x.Rows() != 3 || !slices.Equal(x.Shape, []int{2, 4}) {
		t.Errorf("rows of slots: %d of %v, want 3 of [2 4]", x.Rows(), x.Shape)
	}
	if _, err := taps.Parse("foreign", content, nil); err == nil || err.Error() != `foreign: has no tensor "tokens": say which tokens were computed` {
		t.Errorf("without tokens: %v", err)
	}
}

func TestBadFiles(t *testing.T) {
	f32 := func(shape ...int) *tensor.Tensor { return tensor.New(dtype.F32, shape...) }
	for _, tt := range []struct {
		name string
		raw  raw
		meta map[string]string
		want string
	}{
		{"another format", raw{}, map[string]string{"format": "furlong-taps-2"}, `metadata: format is "furlong-taps-2", want "furlong-taps-1"`},
		{"no boundary", raw{"L0.attn_inn": f32(3, 2)}, nil, `tensor "L0.attn_inn": is no boundary of a block or of the model`},
		{"no layer", raw{"attn_in": f32(3, 2)}, nil, `tensor "attn_in": is attn_in, which is not there`},
		{"a layer outside", raw{"L0.embed": f32(3, 2)}, nil, `tensor "L0.embed": is L0.embed, which is not there`},
		{"a huge layer", raw{"L4000000000.attn_in": f32(3, 2)}, nil, `tensor "L4000000000.attn_in": begins with "L4000000000", want a layer such as L3`},
		{"zeros before", raw{"L01.attn_in": f32(3, 2)}, nil, `tensor "L01.attn_in": begins with "L01", want a layer such as L3`},
		{"more rows", raw{"L0.attn_in": f32(4, 2)}, nil, `tensor "L0.attn_in": has 4 rows from position 0 on, of a sequence of 3 tokens`},
		{"rows behind the end", raw{"L0.attn_in": f32(2, 2)}, map[string]string{"first.L0.attn_in": "2"}, `tensor "L0.attn_in": has 2 rows from position 2 on, of a sequence of 3 tokens`},
		{"no position", raw{"L0.attn_in": f32(2, 2)}, map[string]string{"first.L0.attn_in": "-1"}, `tensor "L0.attn_in": metadata: "first.L0.attn_in" is "-1", want 0 to 3`},
		{"numbers for a choice", raw{"L0.index_topk": f32(3, 2)}, nil, `tensor "L0.index_topk": is F32[3 2], want I32: it is a choice`},
		{"a choice for numbers", raw{"L0.attn_in": tensor.New(dtype.I32, 3, 2)}, nil, `tensor "L0.attn_in": is I32[3 2], want F32 or F64`},
		{"no rows", raw{"L0.attn_in": f32(6)}, nil, `tensor "L0.attn_in": is F32[6], want rows`},
		{"empty rows", raw{"L0.attn_in": f32(3, 0)}, nil, `tensor "L0.attn_in": has rows of shape [0], want at least one element`},
		{"slots that don't fit", raw{"L0.expert_out": f32(2, 2)}, nil, `tensor "L0.expert_out": has rows of shape [2], want a row for each expert of a token`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.raw["tokens"] = tensor.New(dtype.I32, 3)
			_, err := taps.Parse("x", tt.raw.write(t, tt.meta), nil)
			if err == nil || err.Error() != "x: "+tt.want {
				t.Errorf("error is %v, want x: %s", err, tt.want)
			}
		})
	}
}

// Whatever a file holds, reading it is an error or a set that can be held against a judge.
func FuzzParse(f *testing.F) {
	j := smallJudge(1)
	s := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 7), nil)
	path := filepath.Join(f.TempDir(), "seed.safetensors")
	some := []string{"kv", "index_topk", "router_logits", "router_indices", "router_weights", "compressed_kv"}
	if err := taps.Write(path, tapstest.Only(s, func(layer int, name string) bool { return layer == 1 && slices.Contains(some, name) })); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add(bytes.ReplaceAll(content, []byte("L1."), []byte("L0.")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := taps.Parse("fuzz", content, nil)
		if err != nil {
			return
		}
		for _, x := range s.Taps() {
			if err := taps.NewSet(s.Tokens).Add(x); err != nil {
				t.Errorf("what was read is refused: %v", err)
			}
		}
		if len(s.Tokens) < 64 {
			if _, err := taps.Force(j, s); err != nil && strings.Contains(err.Error(), "goroutine") {
				t.Errorf("the judge panics: %v", err)
			}
		}
	})
}

// Files with damaged bytes are refused or read, and no judge panics on what they hold.
func TestDamagedFiles(t *testing.T) {
	j := smallJudge(1)
	s := tapstest.Record(j, tapstest.Tokens(1, tapstest.Small(), 7), nil)
	path := filepath.Join(t.TempDir(), "0.safetensors")
	if err := taps.Write(path, tapstest.Only(s, func(layer int, name string) bool { return layer == 1 && !strings.HasSuffix(name, "hc.comb") })); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 120 {
		content := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			content[r.IntN(len(content))] = byte(r.IntN(256))
		}
		s, err := taps.Parse("damaged", content, nil)
		if err != nil {
			continue
		}
		if _, err := taps.Force(j, s); err != nil && strings.Contains(err.Error(), "goroutine") {
			t.Fatalf("the judge panics: %v", err)
		}
	}
}
