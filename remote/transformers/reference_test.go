package transformers

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furlong/checkpoint"
	"furlong/checkpoint/hf"
	"furlong/checkpoint/safetensors"
	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

const (
	vectors = "../../oracle/testdata/vectors" // made by the library, in float64 and float32; docs/formats/oracle.md
	wanted  = "FURLONG_TEST_TORCH_PYTHON"
)

// reference returns a side-car of the real library over a directory.
func reference(t *testing.T, dir, dtype string) *Process {
	t.Helper()
	cfg := configured(t, dir, dtype)
	// The test's own context has ended when its cleanups run.
	p, err := Start(context.WithoutCancel(t.Context()), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// configured returns what asks for the real library, if there is one.
func configured(t *testing.T, dir, dtype string) Config {
	t.Helper()
	cfg := Default()
	cfg.Dir, cfg.Dtype = dir, dtype
	if cfg.Python = os.Getenv(wanted); cfg.Python == "" {
		t.Skipf("%s is not set: NOT COMPARED with the library; it wants a Python after: %s", wanted, Install("python3"))
	}
	return cfg
}

// TestTorchVectors compares scores with the oracle's, and taps with what it traced, in both formats that it has. In float64 our own model is compared too,
// since nothing but the order of sums differs there.
func TestTorchVectors(t *testing.T) {
	for _, tt := range []struct {
		dtype string
		limit float64 // of logprobs, in nats; taps have the vectors' own rounding to float32
	}{{"float32", 2e-5}, {"float64", 1e-12}} {
		t.Run(tt.dtype, func(t *testing.T) {
			p := reference(t, vectors, tt.dtype)
			truth, ours := opened(t, filepath.Join(vectors, "oracle.safetensors")), vectorsModel(t)
			for _, n := range []int{1, 5, 17, 64, 130} {
				pre := fmt.Sprintf("T%d.", n)
				ids := slices.Clone(get(t, truth, pre+"input_ids").I32())
				scores, err := p.Score(t.Context(), [][]int32{ids}, 1)
				if err != nil {
					t.Fatal(err)
				}
				want := widen(get(t, truth, pre+"logprobs_f64"))
				if off := maxAbs(scores[0].LogProbs, want); off > tt.limit {
					t.Errorf("%slogprobs are off by %.2g, want at most %.2g", pre, off, tt.limit)
				}
				if tt.dtype == "float64" {
					compare(t, p, ours, ids)
				}
				if seen := traced(t, p, truth, pre, ids); n == 17 && seen < 80 {
					t.Errorf("%s%d taps were compared, want 80 and more", pre, seen)
				}
			}
		})
	}
}

// traced compares every vector of a case that a part of the model returned with the tap of that name, and says how many there were.
func traced(t *testing.T, p *Process, truth *safetensors.File, pre string, ids []int32) (seen int) {
	taps, err := p.Taps(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	defer taps.Close()
	for _, full := range truth.Names() {
		name, ok := strings.CutPrefix(full, pre)
		if !ok || slices.Contains([]string{"input_ids", "logits_f64", "logprobs_f64", "loss", "grad_digest", "decode_logits"}, name) {
			continue
		}
		seen++
		want, got := get(t, truth, full), get(t, taps, name)
		if got.Type != dtype.I32 {
			if off := ofPeak(widen(got), widen(want)); !slices.Equal(got.Shape, want.Shape) || off > 1e-5 {
				t.Errorf("%s: shape %v, off by %.2g of the peak, want shape %v and at most 1e-5", full, got.Shape, off, want.Shape)
			}
		} else if !sameChoices(got, want) {
			t.Errorf("%s: other choices than %v", full, want.Shape)
		}
	}
	return seen
}

// sameChoices compares rows of choices. Those of the indexer are padded to another width here, and in another order there.
func sameChoices(got, want *tensor.Tensor) bool {
	k, n := got.Shape[1], want.Shape[1]
	for r := range got.Shape[0] {
		w := slices.Clone(want.I32()[r*n:][:n])
		slices.SortFunc(w, func(a, b int32) int { return int(uint32(a)) - int(uint32(b)) }) // -1 last
		for len(w) < k {
			w = append(w, -1)
		}
		if !slices.Equal(got.I32()[r*k:][:k], w) {
			return false
		}
	}
	return got.Shape[0] == want.Shape[0]
}

// TestTorchLayouts: a model of random weights and another shape, saved under the other schemes of names that the library reads, is the same model there.
func TestTorchLayouts(t *testing.T) {
	cfg := small()
	m := filled(cfg)
	ids := []int32{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8}
	for _, scheme := range []hf.Scheme{hf.Ref, hf.Hybrid} {
		t.Run(scheme.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "model")
			if err := hf.Save(dir, m.Params(), scheme, cfg.JSON(), hf.SaveOptions{Experts: cfg.Experts}); err != nil {
				t.Fatal(err)
			}
			compare(t, reference(t, dir, "float64"), wide(t, dir, cfg), ids)
		})
	}
}

// compare holds the library's taps of ids against ours: the same names but for ours that it can't show, the same shapes, the same numbers.
func compare(t *testing.T, p *Process, m *dsv4.Model, ids []int32) {
	t.Helper()
	ours := watch(m, ids)
	taps, err := p.Taps(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	defer taps.Close()
	for name := range ours.values {
		if _, ok := taps.Info(name); !ok && !strings.HasSuffix(name, "_hc.pre") {
			t.Errorf("%s: we show it, the library does not", name)
		}
	}
	for _, name := range taps.Names() {
		got := get(t, taps, name)
		if got.Type == dtype.I32 {
			if want := ours.choices[name]; !slices.Equal(got.I32(), want) {
				t.Errorf("%s: the library chose %v, we %v", name, got.I32(), want)
			}
			continue
		}
		want, ok := ours.values[name]
		if off := ofPeak(widen(got), want); !ok || off > 1e-11 {
			t.Errorf("%s of %d tokens: off by %.2g of the peak, want at most 1e-11 (we show it: %v)", name, len(ids), off, ok)
		}
		if got.Shape[0] != len(ids) && !slices.Contains([]string{"compress_pooled", "compressed_kv", "index_pooled", "index_keys"}, name[strings.Index(name, ".")+1:]) {
			t.Errorf("%s is %v, want %d rows", name, got.Shape, len(ids))
		}
	}
	scored(t, p, ours, ids)
}

// scored compares logprobs, best tokens and entropies with our logits, at two temperatures.
func scored(t *testing.T, p *Process, ours *shown, ids []int32) {
	t.Helper()
	for _, temperature := range []float64{1, 0.7} {
		s, err := p.Score(t.Context(), [][]int32{ids}, temperature)
		if err != nil {
			t.Fatal(err)
		}
		vocab := len(ours.values["logits"]) / len(ids)
		for i, id := range ids[1:] {
			lp, best, entropy := softmax(ours.values["logits"][i*vocab:][:vocab], temperature)
			if math.Abs(lp[id]-s[0].LogProbs[i]) > 1e-11 || best != s[0].Top[i] || math.Abs(entropy-s[0].Entropy[i]) > 1e-11 {
				t.Errorf("token %d at temperature %v: %v, %d, %v; ours is %v, %d, %v", i+1, temperature,
					s[0].LogProbs[i], s[0].Top[i], s[0].Entropy[i], lp[id], best, entropy)
			}
		}
	}
}

// TestTorchNamed asks for a few taps, and for one that there is not.
func TestTorchNamed(t *testing.T) {
	p := reference(t, vectors, "bfloat16")
	f, err := p.Taps(t.Context(), []int32{1, 2, 3}, "streams", "attn_hc.post", "L2.q")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := len(f.Names()); n != 13 || get(t, f, "L5.streams").Type != dtype.F32 {
		t.Errorf("%d taps: %v, want 13", n, f.Names())
	}
	if _, err := p.Taps(t.Context(), []int32{1, 2, 3}, "streams", "q_latend"); err == nil || !strings.Contains(err.Error(), "nothing called q_latend") {
		t.Errorf("Taps: %v", err)
	}
	for _, tt := range []struct {
		ids  []int32
		want string
	}{
		{[]int32{1, 97}, "sequence 0: token 1 is 97, want 0 to 96"},
		{[]int32{-1}, "sequence 0: token 0 is -1, want 0 to 96"},
		{[]int32{}, "sequence 0 is empty"},
		{nil, "sequence 0 is empty"},
		{make([]int32, 257), "sequence 0 has 257 tokens, want at most 256"},
	} {
		if _, err := p.Score(t.Context(), [][]int32{tt.ids}, 1); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Score(%v): %v, want %q", tt.ids[:min(len(tt.ids), 3)], err, tt.want)
		}
	}
	if s, err := p.Score(t.Context(), [][]int32{make([]int32, 256), {5}}, 1); err != nil || len(s[0].LogProbs) != 255 || len(s[1].LogProbs) != 0 {
		t.Errorf("the longest sequence after refusals: %v", err)
	}
}

// TestTorchGaps: a checkpoint that says less, more or other than the model needs is refused.
func TestTorchGaps(t *testing.T) {
	cfg := small()
	params := filled(cfg).Params()[1:]
	params[0].Value = tensor.New(dtype.F32, params[0].Value.Shape[0]+1, params[0].Value.Shape[1])
	params = append(params, &tensor.Param{Name: "model.extra", Value: tensor.New(dtype.F32, 3)})
	_, err := Start(t.Context(), configured(t, written(t, cfg, params), "float32"))
	for _, want := range []string{
		"lacks: model.embed_tokens.weight;", "has what the model has not: model.extra",
		"has other shapes than config.json says for: model.layers.0.attn_hc.fn ([9, 64], want [8, 64]);",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start: %v, want %q", err, want)
		}
	}
}

// filled returns a model of random weights.
func filled(cfg dsv4.Config) *dsv4.Model {
	m := dsv4.New(cfg, dtype.F32)
	m.Init(7)
	return m
}

// written returns a directory with whatever parameters it is given, under their names in memory.
func written(t *testing.T, cfg dsv4.Config, params []*tensor.Param) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	var entries []checkpoint.Entry
	for _, p := range params {
		entries = append(entries, checkpoint.Entry{Name: p.Name, Info: checkpoint.InfoOf(p.Value)})
	}
	w, err := safetensors.CreateDir(dir, entries, map[string]string{"format": "pt"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile("config.json", cfg.JSON()); err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		if err := w.Write(p.Name, p.Value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// small has every kind of layer. Its indexer has so many heads that none of its scores is a sum of nothing but zeros: how such ties end nobody says.
func small() dsv4.Config {
	return dsv4.Config{
		Vocab: 40, Hidden: 32, Heads: 2, HeadDim: 16, RopeDim: 4, QRank: 8, OGroups: 2, ORank: 4, Window: 6, RateC4: 4, RateC128: 8,
		IndexHeads: 16, IndexDim: 8, IndexTopK: 3, Experts: 4, TopK: 2, ExpertDim: 32, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
		Streams: 2, SinkhornIter: 5, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000,
		Yarn: dsv4.Yarn{Factor: 16, Original: 256, BetaFast: 32, BetaSlow: 1}, MaxPositions: 4096, InitRange: 0.3,
		Layers: []dsv4.Layer{
			{Attention: dsv4.W, Router: dsv4.Hash}, {Attention: dsv4.C4, Router: dsv4.Learned}, {Attention: dsv4.C128, Router: dsv4.Learned},
		},
	}
}

// vectorsModel returns the oracle's model, in float64.
func vectorsModel(t *testing.T) *dsv4.Model {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(vectors, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := dsv4.ReadConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	return wide(t, filepath.Join(vectors, "model.safetensors"), cfg)
}

// wide returns a checkpoint as a model in float64.
func wide(t *testing.T, path string, cfg dsv4.Config) *dsv4.Model {
	t.Helper()
	m := dsv4.New(cfg, dtype.F64)
	if _, err := hf.Load(path, m.Params(), hf.LoadOptions{Layers: len(cfg.Layers), Experts: cfg.Experts}); err != nil {
		t.Fatal(err)
	}
	return m
}

// shown is what our model shows of one pass.
type shown struct {
	values  map[string][]float64
	choices map[string][]int32
}

// watch runs our model on the reference backend in float64.
func watch(m *dsv4.Model, ids []int32) *shown {
	s := &shown{map[string][]float64{}, map[string][]int32{}}
	c := ops.NewCtx(ref.New[float64](), &tensor.Arena{}, dtype.F64)
	model.Prepare(c, m)
	c.Watch = func(layer int, name string, x *tensor.Tensor, choice []int32) {
		if layer >= 0 {
			name = fmt.Sprintf("L%d.%s", layer, name)
		}
		if x != nil {
			s.values[name] = slices.Clone(x.F64())
		} else {
			s.choices[name] = slices.Clone(choice)
		}
	}
	in := &ops.Tokens{ID: ids, Seq: make([]int32, len(ids)), Pos: make([]int32, len(ids))}
	for i := range ids {
		in.Pos[i] = int32(i)
	}
	stores := make([]kv.InPlace, len(m.Layers()))
	x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
	s.values["logits"] = slices.Clone(ops.Linear(c, m.Final(c, x), m.Head()).F64())
	for i := range m.Layers() {
		s.byExpert(fmt.Sprintf("L%d.", i), m.Choices())
	}
	return s
}

// byExpert puts a layer's slots into ascending order of their experts.
func (s *shown) byExpert(pre string, k int) {
	choice := s.choices[pre+"router_indices"]
	from := make([]int, len(choice))
	for at := 0; at < len(choice); at += k {
		for j := range k {
			from[at+j] = at + j
		}
		slices.SortStableFunc(from[at:][:k], func(a, b int) int { return int(choice[a] - choice[b]) })
	}
	s.choices[pre+"router_indices"] = picked(choice, from)
	for _, name := range []string{"router_weights", "expert_gate_up", "expert_mid", "expert_out"} {
		s.values[pre+name] = picked(s.values[pre+name], from)
	}
}

// picked returns the rows of x, of which from has one each, in the order of from.
func picked[E any](x []E, from []int) []E {
	n, out := len(x)/len(from), make([]E, 0, len(x))
	for _, r := range from {
		out = append(out, x[r*n:][:n]...)
	}
	return out
}

func softmax(logits []float64, temperature float64) (lp []float64, best int32, entropy float64) {
	top, sum := slices.Max(logits), 0.0
	for _, x := range logits {
		sum += math.Exp((x - top) / temperature)
	}
	for _, x := range logits {
		lp = append(lp, (x-top)/temperature-math.Log(sum))
	}
	for _, x := range lp {
		entropy -= math.Exp(x) * x
	}
	return lp, int32(slices.Index(logits, top)), entropy
}

func opened(t *testing.T, path string) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func get(t *testing.T, f *safetensors.File, name string) *tensor.Tensor {
	t.Helper()
	x, err := f.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func widen(x *tensor.Tensor) []float64 {
	if x.Type == dtype.F64 {
		return x.F64()
	}
	out := make([]float64, x.Len())
	for i, v := range x.F32() {
		out[i] = float64(v)
	}
	return out
}

func maxAbs(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	off := 0.0
	for i := range got {
		off = max(off, math.Abs(got[i]-want[i])) // NaN stays
	}
	return off
}

func ofPeak(got, want []float64) float64 {
	peak := 0.0
	for _, x := range want {
		peak = max(peak, math.Abs(x))
	}
	if peak == 0 {
		peak = 1
	}
	return maxAbs(got, want) / peak
}
