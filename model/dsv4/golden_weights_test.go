package dsv4

import (
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/tensor"
)

// The golden model has weights that anyone can compute from their names. Its published numbers were made by a float64
// implementation and agree with the public transformers model (5.17, float32) to 1e-5 in any logit.
var golden = Config{
	Vocab: 512, Hidden: 128, Layers: schedule("WW4848", 2), Heads: 4, HeadDim: 80, RopeDim: 16, QRank: 64, OGroups: 2, ORank: 32, Window: 16,
	RateC4: 4, RateC128: 16, IndexHeads: 8, IndexDim: 32, IndexTopK: 4, Experts: 8, TopK: 2, ExpertDim: 64, RoutedFactor: 1.5, Limit: 10, LimitShared: 10,
	Streams: 4, SinkhornIter: 20, HyperEps: 1e-6, NormEps: 1e-6, RopeTheta: 10000, CompressRopeTheta: 160000, Yarn: Yarn{16, 256, 32, 1},
	MaxPositions: 4096, InitRange: 0.02, BOS: 0, EOS: 1,
}

// splitmix returns number z of the splitmix64 sequence that begins at 0.
func splitmix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// spread returns width and centre of the values of a weight.
func spread(name string) (width, centre float32) {
	ends := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(name, s) {
				return true
			}
		}
		return false
	}
	switch {
	case ends("norm.weight", "layernorm.weight", ".scale", "hc_scale"):
		return .25, 1
	case ends(".fn", "hc_fn"):
		return .08, 0
	case ends(".base", "hc_base", "position_bias"):
		return .5, 0
	case ends("sinks"), name == "model.embed_tokens.weight":
		return 1, 0
	case ends("e_score_correction_bias"):
		return .1, 0
	}
	return .2, 0
}

// goldenWeight returns element i of a weight: 24 bits of the sequence, spread over [-1, 1), in float32.
func goldenWeight(name string, i int) float32 {
	width, centre := spread(name)
	k := splitmix(nameHash(name)+uint64(i)) >> 40
	u := float32(int64(2*k)-1<<24) / (1 << 24)
	return float32(u*width) + centre
}

func goldenModel(format dtype.Type) *Model {
	m := New(golden, format)
	for _, p := range m.Params() {
		if p.Value.Type == dtype.I32 {
			for i := range p.Value.I32() {
				p.Value.I32()[i] = int32(splitmix(nameHash(p.Name)+uint64(i)) % uint64(golden.Experts))
			}
			continue
		}
		i := -1
		fill(p.Value, func() float64 { i++; return float64(goldenWeight(p.Name, i)) })
	}
	return m
}

// goldenIDs returns the input: 40 tokens.
func goldenIDs() []int32 {
	ids := make([]int32, 40)
	for t := range ids {
		ids[t] = int32(splitmix(12345+uint64(t)) % uint64(golden.Vocab))
	}
	return ids
}

func TestGoldenWeights(t *testing.T) {
	if got, want := nameHash("model.embed_tokens.weight"), uint64(0xa88fd795d5c6d156); got != want {
		t.Errorf("nameHash = %#x, want %#x", got, want)
	}
	m := goldenModel(dtype.F64)
	params := map[string]*tensor.Param{}
	for _, p := range m.Params() {
		params[p.Name] = p
	}
	for name, want := range map[string][]float64{
		"model.embed_tokens.weight":      {-.257419, -.296785, .806205},
		"model.layers.0.attn_hc.fn":      {-.002538, .018713, -.076488},
		"model.layers.0.attn_hc.scale":   {.764603, 1.011747, 1.032929},
		"model.layers.0.self_attn.sinks": {-.533344, -.150780, -.645334},
		"model.norm.weight":              {.774344, .910651, .830100},
	} {
		for i, w := range want {
			if got := params[name].Value.F64()[i]; math.Abs(got-w) > printed {
				t.Errorf("%s[%d] = %f, want %f", name, i, got, w)
			}
		}
	}
	ids := goldenIDs()
	for i, want := range []int32{
		416, 487, 77, 153, 431, 345, 377, 506, 140, 272, 180, 181, 319, 461, 134, 457, 96, 492, 213, 221, 324, 245, 163, 408, 479,
		278, 314, 148, 509, 188, 448, 207, 155, 151, 239, 126, 19, 138, 155, 58,
	} {
		if ids[i] != want {
			t.Errorf("id %d is %d, want %d", i, ids[i], want)
		}
	}
	table := params["model.layers.0.mlp.gate.tid2eid"].Value.I32()
	if got := [2]int32(table[2*416:]); got != [2]int32{3, 1} {
		t.Errorf("experts of token 416 are %v, want [3 1]", got)
	}
	twice := 0
	for _, id := range ids {
		if table[2*id] == table[2*id+1] {
			twice++
		}
	}
	if twice != 4 {
		t.Errorf("%d tokens have one expert twice, want 4", twice)
	}
}
