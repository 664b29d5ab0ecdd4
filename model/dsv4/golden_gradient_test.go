package dsv4

import (
	"math"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/tensor"
)

// goldenGradients are norms and first elements of gradients of the mean loss. Layer numbers stand for "model.layers.".
var goldenGradients = []struct {
	name        string
	norm, first float64
}{
	{"model.embed_tokens.weight", 1.208506, 0},
	{"lm_head.weight", 1.865176, -4.30575e-4},
	{"model.norm.weight", .2679519, -.0131365},
	{"model.hc_head.hc_fn", .1168041, -.00175641},
	{"model.hc_head.hc_base", .004559686, -.00241967},
	{"model.hc_head.hc_scale", .00325027, .00325027},
	{"0.attn_hc.fn", 1.622509, 0}, // equal streams and a norm that takes any factor out: 3.7e-14
	{"0.attn_hc.base", .01181794, 0},
	{"0.attn_hc.scale", .01079971, 0},
	{"0.self_attn.sinks", .0285045, .0272375},
	{"0.self_attn.q_a_proj.weight", 2.455854, -.0542543},
	{"0.self_attn.q_a_norm.weight", .2163895, .00153943},
	{"0.self_attn.q_b_proj.weight", 2.572621, -.0186122},
	{"0.self_attn.kv_proj.weight", 4.11934, -.0128009},
	{"0.self_attn.kv_norm.weight", .4885699, -.0190035},
	{"0.self_attn.o_a_proj.weight", 3.234857, .00400039},
	{"0.self_attn.o_b_proj.weight", 3.312698, -.00315533},
	{"0.mlp.gate.weight", .6357878, .032215},
	{"0.mlp.experts.gate_up_proj", 3.572813, .00107182},
	{"0.mlp.experts.down_proj", 2.423229, -8.66796e-4},
	{"0.mlp.shared_experts.up_proj.weight", 2.081479, .0154756},
	{"2.self_attn.compressor.kv_proj.weight", .2996118, 6.36667e-4},
	{"2.self_attn.compressor.gate_proj.weight", .2179782, 2.53467e-4},
	{"2.self_attn.compressor.position_bias", .01881412, -3.75415e-5},
	{"2.self_attn.compressor.kv_norm.weight", .0350903, -.00143737},
	{"2.mlp.gate.weight", .2056619, -.00139852},
	{"2.input_layernorm.weight", .09815984, .00407603},
	{"2.post_attention_layernorm.weight", .2142576, .00401701},
	{"3.self_attn.compressor.kv_proj.weight", .1148571, 1.6833e-4},
	{"3.self_attn.compressor.position_bias", .007809953, -2.98548e-5},
	{"5.ffn_hc.fn", .3788037, -6.06127e-4},
	{"5.mlp.experts.down_proj", .5137431, -4.71095e-4},
}

// checkGradients compares norms within a relative limit, and first elements within the same part of the norm or half a unit of their sixth
// digit, whichever is more.
func (g *pass) checkGradients(t *testing.T, limit float64) {
	params := map[string]*tensor.Param{}
	all := 0.0
	for _, p := range g.m.Params() {
		params[strings.TrimPrefix(p.Name, "model.layers.")] = p
		if p.Grad != nil {
			all += square(widened(p.Grad))
		}
	}
	if got, want := math.Sqrt(all), 11.297815; math.Abs(got-want) > limit*want {
		t.Errorf("norm of all gradients = %.7f, want %.6f", got, want)
	}
	for _, tt := range goldenGradients {
		l, grad := limit, widened(params[tt.name].Grad)
		if strings.HasSuffix(tt.name, "scale") {
			l *= 10
		}
		if got := math.Sqrt(square(grad)); math.Abs(got-tt.norm) > l*tt.norm {
			t.Errorf("%s: norm of the gradient = %.8g, want %.7g", tt.name, got, tt.norm)
		}
		if math.Abs(grad[0]-tt.first) > max(l*tt.norm, 5e-6*math.Abs(tt.first)) {
			t.Errorf("%s: first element of the gradient = %.7g, want %.6g", tt.name, grad[0], tt.first)
		}
	}
}

func square(x []float64) (sum float64) {
	for _, v := range x {
		sum += v * v
	}
	return sum
}

// checkFrozen: nothing trains the indexer, the correction biases, or the tables.
func (g *pass) checkFrozen(t *testing.T) {
	count := map[string]int{}
	for _, p := range g.m.Params() {
		for _, part := range []string{"indexer", "e_score_correction_bias", "tid2eid"} {
			if !strings.Contains(p.Name, part) {
				continue
			}
			count[part]++
			if !p.Frozen || p.Grad != nil || p.Decay {
				t.Errorf("%s: frozen %v, gradient %v, decayed %v, want true, nil, false", p.Name, p.Frozen, p.Grad, p.Decay)
			}
		}
	}
	for part, want := range map[string]int{"indexer": 12, "e_score_correction_bias": 4, "tid2eid": 2} {
		if count[part] != want {
			t.Errorf("%d parameters of %s, want %d", count[part], part, want)
		}
	}
}

// overwriting keeps one weight an expert, the last, as a scatter into a row of experts does.
type overwriting struct{ *ref.Backend[float64] }

func (k overwriting) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.Backend.RouteWeights(w, logits, choice, factor)
	for i := 0; i < len(choice); i += 2 {
		if choice[i] == choice[i+1] {
			w.F64()[i] = 0
		}
	}
}

// Only the golden input has tokens whose two slots name one expert. Overwriting one weight by the other must show.
func TestGoldenSeesOverwrittenDuplicates(t *testing.T) {
	for _, tt := range []struct {
		name string
		k    kernels.Backend
		seen bool
	}{
		{"right", ref.New[float64](), false},
		{"overwriting", overwriting{ref.New[float64]()}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := goldenModel(dtype.F64)
			c := ops.NewCtx(tt.k, &tensor.Arena{}, dtype.F64)
			ready(c, m)
			in, stores := sequence(goldenIDs()), make([]kv.InPlace, len(golden.Layers))
			x := model.Forward(c, m, in, func(i int) kv.Store { return &stores[i] }, false)
			logits, worst := ops.Linear(c, m.Final(c, x), m.Head()).F64(), 0.0
			for at, want := range goldenLogits {
				for i, w := range want {
					worst = max(worst, math.Abs(logits[at*golden.Vocab+i]-w))
				}
			}
			if seen := worst > 5e-5; seen != tt.seen {
				t.Errorf("the worst logit is off by %.2g, want it seen: %v", worst, tt.seen)
			}
		})
	}
}
