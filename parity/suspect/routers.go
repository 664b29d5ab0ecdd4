package suspect

import (
	"cmp"
	"math"
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

var (
	atChoice  = []string{"router_indices"}
	atWeights = []string{"router_weights"}
)

func routers() []known {
	return []known{
		best("no correction bias in the choice", "chooses experts by score alone, where the correction bias joins the score in the choice", func(_ *pass, s, _ float64) float64 { return s }, false),
		best("larger expert on equal scores", "takes the later of two experts with equal scores, where the earlier is to be taken", func(_ *pass, s, b float64) float64 { return s + b }, true),
		best("correction bias in BF16", "holds the correction bias in BF16, where it is float32", func(_ *pass, s, b float64) float64 { return s + toBF16(b) }, false),
		tabled("table layers routed by score", "chooses experts by score in layers whose experts a table of token ids says", func(at *pass, logits *tensor.Tensor, choice []int32) {
			scores := make([]float64, logits.Dim())
			for t := range logits.Rows() {
				for e := range scores {
					scores[e] = get(logits, t*len(scores)+e)
				}
				copy(choice[t*at.TopK:], largest(scores, at.TopK, false))
			}
		}),
		tabled("table of zeros", "has zeros for the table of experts, as if that had never been sent to it", func(_ *pass, _ *tensor.Tensor, choice []int32) { clear(choice) }),
		tabled("table through BF16", "took the table of experts through BF16, which has no odd numbers above 256", func(at *pass, _ *tensor.Tensor, choice []int32) {
			for i, e := range choice {
				choice[i] = min(int32(toBF16(float64(e))), int32(at.Experts-1))
			}
		}),
		weighing("correction bias left in the weight", "weighs the chosen experts by scores with the correction bias, where that is for the choice alone", func(s, bias, sum, _ float64) float64 { return (s + bias) / sum }),
		weighing("correction bias in weights and their sum", "weighs the chosen experts by scores with the correction bias, where that is for the choice alone", func(s, bias, _, biased float64) float64 {
			return (s + bias) / biased
		}),
		weighing("expert weights not normalised", "weighs the chosen experts by their scores as they are, where these are to be divided by their sum", func(s, _, _, _ float64) float64 { return s }),
		{
			name: "experts scored by sigmoid", ops: []string{"router_indices", "router_weights"},
			says:    "scores experts by the sigmoid of their logits, as models before this one do, where it is to be the root of the softplus",
			kernels: func(k part) kernels.Backend { return bySigmoid{k} },
		},
		{
			name: "experts weighed by softmax", ops: atWeights,
			says:    "weighs the chosen experts by the softmax of their logits, where it is to be the root of the softplus over their sum",
			kernels: func(k part) kernels.Backend { return bySoftmax{k} },
		},
		{
			name: "no routed factor", ops: atWeights,
			says:    "leaves out routed_scaling_factor from the experts' weights",
			when:    func(c config) bool { return c.RoutedFactor != 1 },
			kernels: func(k part) kernels.Backend { return unscaled{k} },
		},
		{
			name: "expert weights in BF16", ops: atWeights,
			says:    "rounds the experts' weights to BF16, where they are float32",
			kernels: func(k part) kernels.Backend { return coarseWeights{k} },
		},
		gating("router's product in BF16", "computes the router's logits in BF16, where that product is float32", true),
		gating("router's operands in BF16", "rounds what the router's product reads to BF16, where it is float32", false),
	}
}

// largest returns the k experts with the largest scores, the largest first.
func largest(scores []float64, k int, later bool) []int32 {
	order := make([]int32, len(scores))
	for i := range order {
		order[i] = int32(i)
		if later {
			order[i] = int32(len(scores) - 1 - i)
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(float32(scores[b]), float32(scores[a])) })
	return order[:k]
}

// chosen chooses experts by another score.
type chosen struct {
	part
	score func(at *pass, s, bias float64) float64
	later bool
}

func best(name, says string, score func(at *pass, s, bias float64) float64, later bool) known {
	return known{
		name: name, says: says, ops: atChoice,
		when: func(c config) bool {
			return slices.ContainsFunc(c.Layers, func(l dsv4.Layer) bool { return l.Router == dsv4.Learned })
		},
		kernels: func(k part) kernels.Backend { return chosen{k, score, later} },
	}
}

// TopExperts chooses.
func (k chosen) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	scores := make([]float64, logits.Dim())
	for t := range logits.Rows() {
		for e := range scores {
			b := 0.0
			if bias != nil {
				b = get(bias, e)
			}
			scores[e] = k.score(k.at, rootSoftplus(get(logits, t*len(scores)+e)), b)
		}
		copy(choice[t*n:], largest(scores, n, k.later))
	}
}

// tabled changes what a table of token ids says.
func tabled(name, says string, change func(at *pass, logits *tensor.Tensor, choice []int32)) known {
	return known{
		name: name, says: says, ops: atChoice,
		when: func(c config) bool {
			return slices.ContainsFunc(c.Layers, func(l dsv4.Layer) bool { return l.Router == dsv4.Hash })
		},
		over: func(at *pass) ops.Watch {
			var logits *tensor.Tensor
			return func(layer int, name string, x *tensor.Tensor, choice []int32) {
				switch {
				case name == "router_logits":
					logits = x
				case name == "router_indices" && at.Layers[layer].Router == dsv4.Hash:
					change(at, logits, choice)
				}
			}
		},
	}
}

// weighed weighs the chosen experts otherwise: of takes an expert's score and bias, and the sums of both over the chosen ones, the latter with bias.
type weighed struct {
	part
	of func(s, bias, sum, biased float64) float64
}

func weighing(name, says string, of func(s, bias, sum, biased float64) float64) known {
	return known{name: name, says: says, ops: atWeights, kernels: func(k part) kernels.Backend { return weighed{k, of} }}
}

// RouteWeights weighs.
func (k weighed) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	n, bias := w.Dim(), k.at.weight("mlp.gate.e_score_correction_bias")
	for t := range w.Rows() {
		s, b := make([]float64, n), make([]float64, n)
		sum, biased := 1e-20, 1e-20
		for j, e := range choice[t*n:][:n] {
			s[j] = rootSoftplus(get(logits, t*logits.Dim()+int(e)))
			if bias != nil {
				b[j] = get(bias, int(e))
			}
			sum, biased = sum+s[j], biased+s[j]+b[j]
		}
		for j := range s {
			set(w, t*n+j, factor*k.of(s[j], b[j], sum, biased))
		}
	}
}

// bySigmoid scores experts as the models before did.
type bySigmoid struct{ part }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TopExperts chooses.
func (k bySigmoid) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	scores := make([]float64, logits.Dim())
	for t := range logits.Rows() {
		for e := range scores {
			scores[e] = sigmoid(get(logits, t*len(scores)+e))
			if bias != nil {
				scores[e] += get(bias, e)
			}
		}
		copy(choice[t*n:], largest(scores, n, false))
	}
}

// RouteWeights weighs.
func (k bySigmoid) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	share(w, logits, choice, factor, sigmoid)
}

// bySoftmax weighs by exponentials.
type bySoftmax struct{ part }

// RouteWeights weighs.
func (k bySoftmax) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	share(w, logits, choice, factor, math.Exp)
}

// share gives each chosen expert its part of factor: what its logit counts over what all of a token's count.
func share(w, logits *tensor.Tensor, choice []int32, factor float64, counts func(logit float64) float64) {
	n := w.Dim()
	for t := range w.Rows() {
		sum := 0.0
		for _, e := range choice[t*n:][:n] {
			sum += counts(get(logits, t*logits.Dim()+int(e)))
		}
		for j, e := range choice[t*n:][:n] {
			set(w, t*n+j, factor*counts(get(logits, t*logits.Dim()+int(e)))/sum)
		}
	}
}

// unscaled leaves out the factor.
type unscaled struct{ part }

// RouteWeights weighs.
func (k unscaled) RouteWeights(w, logits *tensor.Tensor, choice []int32, _ float64) {
	k.Backend.RouteWeights(w, logits, choice, 1)
}

// coarseWeights rounds weights of experts.
type coarseWeights struct{ part }

// RouteWeights weighs.
func (k coarseWeights) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.Backend.RouteWeights(w, logits, choice, factor)
	remake(w, toBF16)
}

// coarseGate computes the router's product from rounded operands, and rounds the result if it is to.
type coarseGate struct {
	part
	result bool
	made   copies
}

func gating(name, says string, result bool) known {
	return known{name: name, says: says, ops: []string{"router_logits"}, kernels: func(k part) kernels.Backend { return coarseGate{k, result, copies{}} }}
}

// Linear is a product.
func (k coarseGate) Linear(y, x, w *tensor.Tensor, groups int) {
	if !k.at.after("mlp_in") {
		k.Backend.Linear(y, x, w, groups)
		return
	}
	k.Backend.Linear(y, remade(x, toBF16), k.made.of(k.at, w, inBF16), groups)
	if k.result {
		remake(y, toBF16)
	}
}

// inBF16 returns a weight's values in BF16: as they are if they are that already, or codes.
func inBF16(w *tensor.Tensor) *tensor.Tensor {
	y := w.Clone()
	if w.Type == dtype.F32 || w.Type == dtype.F64 {
		remake(y, toBF16)
	}
	return y
}
