package paritytest

import (
	"cmp"
	"math"
	"slices"

	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

const (
	hash    = dsv4.Hash
	learned = dsv4.Learned
)

func routerMistakes() []Mistake {
	return []Mistake{
		{Name: "no correction bias in the choice", Trap: "T5", op: routed("router_indices", learned), kernels: func(k part) kernels.Backend { return unbiased{k} }},
		{Name: "correction bias left in the weight", Trap: "T5", op: routed("router_weights", learned), kernels: weighed(func(s, bias float64) float64 { return s + bias }, true)},
		{Name: "correction bias in the weight and in their sum", Trap: "T5", op: routed("router_weights", learned), kernels: func(k part) kernels.Backend { return &biasedScores{part: k} }},
		{Name: "weights not normalised", Trap: "table", op: each("router_weights"), kernels: weighed(nil, false)},
		{Name: "no routed factor", Trap: "table", op: each("router_weights"), config: func(c *dsv4.Config) { c.RoutedFactor = 1 }},
		{Name: "experts weighed by softmax", Trap: "odd", op: each("router_weights"), kernels: func(k part) kernels.Backend { return soft{k} }},
		{Name: "experts scored by sigmoid", Trap: "odd", op: scoredOp, kernels: func(k part) kernels.Backend { return flat{k} }},
		{Name: "router weights in bfloat16", Trap: "T9", Fault: Rounding, op: each("router_weights"), kernels: func(k part) kernels.Backend { return coarseWeights{k} }},
		{Name: "gate computed in bfloat16", Trap: "T22", Fault: Rounding, op: each("router_logits"), kernels: func(k part) kernels.Backend { return coarseGate{k, true} }},
		{Name: "gate's operands in bfloat16", Trap: "T22", Fault: Rounding, op: each("router_logits"), kernels: func(k part) kernels.Backend { return coarseGate{k, false} }},
		{Name: "table layers routed by score", Trap: "T2", op: routed("router_indices", hash), over: byScore},
		{Name: "one layer too few routed by table", Trap: "T2", op: lastHash, over: byScore},
		{Name: "one layer too many routed by table", Trap: "T2", op: firstLearned, over: byTable},
		{Name: "table of zeros", Trap: "T4", Fault: Weights, op: routed("router_indices", hash), weight: tables(func(int32, int) int32 { return 0 })},
		{Name: "table through bfloat16", Trap: "T4", Fault: Weights, op: manyExperts, weight: tables(func(e int32, n int) int32 { return min(int32(bf16(float32(e))), int32(n-1)) })},
		{Name: "table read at the token before", Trap: "odd", op: routed("router_indices", hash), over: shifted},
		{Name: "smallest experts first", Trap: "odd", op: routed("router_indices", learned), kernels: func(k part) kernels.Backend { return worst{k} }},
		{Name: "correction bias in bfloat16", Trap: "T17", Fault: Faint, op: routed("router_indices", learned), weight: named(coarse, "e_score_correction_bias")},
	}
}

// lastHash is the last layer that a table routes.
func lastHash(c dsv4.Config, layer int) string {
	if within(c, layer) && c.Layers[layer].Router == hash && (layer+1 == len(c.Layers) || c.Layers[layer+1].Router == learned) {
		return "router_indices"
	}
	return ""
}

// firstLearned is the first layer behind those.
func firstLearned(c dsv4.Config, layer int) string {
	if layer > 0 && within(c, layer) && c.Layers[layer].Router == learned && c.Layers[layer-1].Router == hash {
		return "router_indices"
	}
	return ""
}

// manyExperts is where a table holds numbers that bfloat16 can't.
func manyExperts(c dsv4.Config, layer int) string {
	if c.Experts <= 257 {
		return ""
	}
	return routed("router_indices", hash)(c, layer)
}

func tables(f func(e int32, experts int) int32) *change {
	return &change{[]string{"mlp.gate.tid2eid"}, func(c dsv4.Config, p *tensor.Param) {
		for i, e := range p.Value.I32() {
			p.Value.I32()[i] = f(e, c.Experts)
		}
	}}
}

type unbiased struct{ part }

func (k unbiased) TopExperts(choice []int32, logits, _ *tensor.Tensor, n int) {
	k.Backend.TopExperts(choice, logits, nil, n)
}

// worst takes the experts of the smallest scores.
type worst struct{ part }

func (k worst) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	other := logits.Clone()
	for i := range other.F32() {
		other.F32()[i] *= -1
	}
	k.Backend.TopExperts(choice, other, bias, n)
}

// weighs makes the chosen experts' weights otherwise.
type weighs struct {
	part
	of   func(score, bias float64) float64
	norm bool
	bias *tensor.Tensor // of the choice just made
}

func weighed(of func(score, bias float64) float64, norm bool) func(part) kernels.Backend {
	if of == nil {
		of = func(score, _ float64) float64 { return score }
	}
	return func(k part) kernels.Backend { return &weighs{part: k, of: of, norm: norm} }
}

func (k *weighs) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	k.bias = bias
	k.Backend.TopExperts(choice, logits, bias, n)
}

func (k *weighs) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	n := w.Dim()
	for t := range w.Rows() {
		sum, of := 1e-20, make([]float64, n)
		for j, e := range choice[t*n:][:n] {
			s, bias := rootSoftplus(rowOf(logits, t)[e]), 0.0
			if k.bias != nil {
				bias = float64(k.bias.F32()[e])
			}
			of[j] = k.of(s, bias)
			sum += s
		}
		if !k.norm {
			sum = 1
		}
		for j := range of {
			rowOf(w, t)[j] = float32(of[j] * factor / sum)
		}
	}
	k.bias = nil
}

// biasedScores weighs the chosen experts by what they were chosen for.
type biasedScores struct {
	part
	bias *tensor.Tensor
}

func (k *biasedScores) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	k.bias = bias
	k.Backend.TopExperts(choice, logits, bias, n)
}

func (k *biasedScores) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	n := w.Dim()
	for t := range w.Rows() {
		var sum float64
		of := func(e int32) float64 { return rootSoftplus(rowOf(logits, t)[e]) + float64(k.bias.F32()[e]) }
		for _, e := range choice[t*n:][:n] {
			sum += of(e)
		}
		for j, e := range choice[t*n:][:n] {
			rowOf(w, t)[j] = float32(factor * of(e) / sum)
		}
	}
}

// soft weighs the chosen experts by the exponential of their logits.
type soft struct{ part }

func (k soft) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.Backend.RouteWeights(w, logits, choice, factor)
	n := w.Dim()
	for t := range w.Rows() {
		var sum float64
		for _, e := range choice[t*n:][:n] {
			sum += exp(rowOf(logits, t)[e])
		}
		for j, e := range choice[t*n:][:n] {
			rowOf(w, t)[j] = float32(factor * exp(rowOf(logits, t)[e]) / sum)
		}
	}
}

// scoredOp is where scores show that are others: in the choice, unless they choose the same, or in the weights.
func scoredOp(c dsv4.Config, layer int) string {
	if op := routed("router_indices|router_weights", learned)(c, layer); op != "" {
		return op
	}
	return routed("router_weights", hash)(c, layer)
}

// flat scores experts by a sigmoid. Its logit is such that the right score of it is the sigmoid of the one that came.
type flat struct{ part }

func (k flat) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	k.Backend.TopExperts(choice, flattened(logits), bias, n)
}

func (k flat) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.Backend.RouteWeights(w, flattened(logits), choice, factor)
}

func flattened(logits *tensor.Tensor) *tensor.Tensor {
	y := logits.Clone()
	for i, v := range logits.F32() {
		s := 1 / (1 + exp(-v))
		y.F32()[i] = float32(math.Log(math.Expm1(s * s)))
	}
	return y
}

type coarseWeights struct{ part }

func (k coarseWeights) RouteWeights(w, logits *tensor.Tensor, choice []int32, factor float64) {
	k.Backend.RouteWeights(w, logits, choice, factor)
	coarse(k.at.Config, w.F32())
}

// coarseGate takes both operands of the router's product in bfloat16, and maybe its result.
type coarseGate struct {
	part
	result bool
}

func (k coarseGate) Linear(y, x, w *tensor.Tensor, groups int) {
	if !k.at.follows("mlp_in") {
		k.Backend.Linear(y, x, w, groups)
		return
	}
	w = rounded(w)
	k.Prepare(w)
	k.Backend.Linear(y, rounded(x), w, groups)
	if k.result {
		coarse(k.at.Config, y.F32())
	}
}

// byScore writes over a table's choice the best by score.
func byScore(at *Place) ops.Watch {
	var logits *tensor.Tensor
	return func(_ int, name string, x *tensor.Tensor, choice []int32) {
		switch name {
		case "router_logits":
			logits = x.Clone()
		case "router_indices":
			n := at.Config.TopK
			for t := range logits.Rows() {
				copy(choice[t*n:][:n], best(rowOf(logits, t), n))
			}
		}
	}
}

// best returns the n largest logits' places, the largest first.
func best(logits []float32, n int) []int32 {
	order := make([]int32, len(logits))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(logits[b], logits[a]) })
	return order[:n]
}

// byTable writes over a choice by score what a table of consecutive experts says.
func byTable(at *Place) ops.Watch {
	return func(_ int, name string, _ *tensor.Tensor, choice []int32) {
		if name != "router_indices" {
			return
		}
		for i := range choice {
			choice[i] = int32((i*7 + 3*(i%at.Config.TopK)) % at.Config.Experts)
		}
	}
}

// shifted gives each token the experts of the one before it.
func shifted(at *Place) ops.Watch {
	return func(_ int, name string, _ *tensor.Tensor, choice []int32) {
		if n := at.Config.TopK; name == "router_indices" {
			copy(choice[n:], slices.Clone(choice))
		}
	}
}

// Ties returns the mistakes that only an engine with equal scores shows: see [Tied].
func Ties() []Mistake {
	return []Mistake{
		{Name: "larger expert on equal scores", Trap: "T12", op: oddExperts, kernels: func(k part) kernels.Backend { return lastExperts{k} }},
		{Name: "larger entry on equal scores", Trap: "T12", op: kinds("index_topk", c4), kernels: func(k part) kernels.Backend { return newest{k} }},
	}
}

// oddExperts is where one expert of a pair is taken at times: where tokens go to an odd number.
func oddExperts(c dsv4.Config, layer int) string {
	if c.TopK%2 == 0 {
		return ""
	}
	return routed("router_indices", learned)(c, layer)
}

// lastExperts takes the later of experts with equal scores: it sees them from the last to the first.
type lastExperts struct{ part }

func (k lastExperts) TopExperts(choice []int32, logits, bias *tensor.Tensor, n int) {
	turned := func(x *tensor.Tensor) *tensor.Tensor {
		y, d := x.Clone(), x.Dim()
		for i, v := range x.F32() {
			y.F32()[i/d*d+d-1-i%d] = v
		}
		return y
	}
	k.Backend.TopExperts(choice, turned(logits), turned(bias), n)
	for i := range choice {
		choice[i] = int32(logits.Dim()-1) - choice[i]
	}
}
