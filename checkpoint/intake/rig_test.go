package intake

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/rl"
	"furlong/tensor"
	"furlong/weightsync"
)

// small has every kind of layer, and experts that end inside a block.
func small() dsv4.Config {
	return dsv4.Config{
		Vocab: 24, Hidden: 40, Heads: 2, HeadDim: 8, RopeDim: 4, QRank: 8, OGroups: 2, ORank: 4, Window: 6, RateC4: 2, RateC128: 4,
		IndexHeads: 2, IndexDim: 8, IndexTopK: 3, Experts: 3, TopK: 2, ExpertDim: 130, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
		Streams: 2, SinkhornIter: 5, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 256, BetaFast: 32, BetaSlow: 1}, MaxPositions: 4096, InitRange: 0.3,
		Layers: []dsv4.Layer{{Attention: dsv4.C4, Router: dsv4.Hash}, {Attention: dsv4.C128, Router: dsv4.Learned}},
	}
}

// recipes are how engines hold weights; f32 is bf16 without BF16.
var recipes = []string{"f32", "bf16", "fp8", "fp8+fp4", "fp8-f32scales", "fp8+bf16"}

// empty returns the parameters of an engine.
func empty(t testing.TB, format string) []*tensor.Param {
	t.Helper()
	if format == "f32" {
		return dsv4.New(small(), dtype.F32).Params()
	}
	ps := dsv4.New(small(), dtype.BF16).Params()
	r, err := quant.ParseRecipe(format)
	if err == nil {
		err = r.Apply(ps)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

// plain returns random weights as numbers.
func plain(format dtype.Type, seed uint64) []*tensor.Param {
	ps := dsv4.New(small(), format).Params()
	r := rand.New(rand.NewPCG(seed, 1))
	for _, p := range ps {
		for i := range p.Value.Len() {
			switch x := float32(r.NormFloat64() / 20); p.Value.Type {
			case dtype.F32:
				p.Value.F32()[i] = x
			case dtype.BF16:
				p.Value.BF16()[i] = dtype.ToBF16(x)
			default:
				p.Value.I32()[i] = int32(r.IntN(small().Experts))
			}
		}
	}
	return ps
}

// stored returns random weights as an engine holds them.
func stored(t testing.TB, format string, seed uint64) []*tensor.Param {
	t.Helper()
	of := dtype.BF16
	if format == "f32" {
		of = dtype.F32
	}
	ps, from := empty(t, format), plain(of, seed)
	for i, p := range ps {
		if w := from[i].Value; p.Value.Quantised() {
			quant.Pack(p.Value, w)
		} else {
			copy(p.Value.Mem, w.Mem)
		}
	}
	return ps
}

func describe(t testing.TB, format string) *Model {
	t.Helper()
	m, err := Describe(empty(t, format), len(small().Layers), small().Experts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// save writes a checkpoint and returns its folder.
func save(t testing.TB, ps []*tensor.Param, s hf.Scheme) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	if err := hf.Save(dir, ps, s, []byte("{}"), hf.SaveOptions{Experts: small().Experts, ShardBytes: 200_000}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files returns the tensors of a checkpoint, as its files have them.
func files(t testing.TB, ps []*tensor.Param, s hf.Scheme) []rl.Tensor {
	t.Helper()
	src, err := safetensors.OpenDir(save(t, ps, s))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var out []rl.Tensor
	for _, name := range src.Names() {
		x, err := src.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rl.Tensor{Name: name, Type: x.Type.String(), Shape: x.Shape, Data: bytes.Clone(x.Mem)})
	}
	return out
}

// named returns the index of a tensor by the end of its name.
func named(t testing.TB, ts []rl.Tensor, end string) int {
	t.Helper()
	i := slices.IndexFunc(ts, func(x rl.Tensor) bool { return strings.HasSuffix(x.Name, end) })
	if i < 0 {
		t.Fatalf("no tensor's name ends with %q", end)
	}
	return i
}

// taken ends a session and returns what an engine makes of it that holds live, and the session's report.
func taken(t testing.TB, s *Session, live []*tensor.Param) ([]*tensor.Param, Report, error) {
	t.Helper()
	h := Held{}
	if live != nil {
		h = Held{1, weightsync.SumsOf(live)}
	}
	w, err := s.End(2, h)
	if err != nil {
		return nil, s.Report(), err
	}
	into := make([]*tensor.Param, len(s.m.specs))
	for i, p := range s.m.specs {
		twin := p.Param
		twin.Value = p.blank()
		into[i] = &twin
	}
	held := weightsync.Held{Version: h.Version, State: h.Sums.State(), Tensors: weightsync.Flatten(live)}
	if _, err := weightsync.Take(t.Context(), w, weightsync.Flatten(into), held); err != nil {
		t.Fatal(err)
	}
	return into, s.Report(), nil
}

func sameBytes(t testing.TB, what string, got, want []*tensor.Param) {
	t.Helper()
	if err := weightsync.SumsOf(got).Diff(weightsync.SumsOf(want)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
