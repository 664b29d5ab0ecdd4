package paritytest

import (
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/tensor"
)

// Head is the name of what follows the last boundary: logits, and logprobs from them.
const Head = "logprob"

func endMistakes() []Mistake {
	return []Mistake{
		{Name: "embedding scaled by the root of its width", Trap: "odd", op: atStart("embed"), kernels: func(k part) kernels.Backend { return scaledEmbedding{k} }},
		{Name: "no weight on the last norm", Trap: "odd", op: atEnd("final_norm"), kernels: func(k part) kernels.Backend { return bareNorm{k} }},
		{Name: "logits in bfloat16", Trap: "T24", Fault: Rounding, op: atEnd(Head), kernels: logits(func(x []float32) []float32 { coarse(dsv4.Config{}, x); return x })},
		{Name: "vocabulary padding inside the logsumexp", Trap: "T24", op: atEnd(Head), kernels: logits(padded)},
		{Name: "temperature 0.8", Trap: "T24", op: atEnd(Head), kernels: logits(func(x []float32) []float32 { times(x, 1/float32(0.8)); return x })},
		{Name: "renormalised over the likeliest 16", Trap: "T24", op: atEnd(Head), kernels: logits(likeliest)},
	}
}

type scaledEmbedding struct{ part }

func (k scaledEmbedding) Embed(y, table *tensor.Tensor, ids []int32) {
	k.Backend.Embed(y, table, ids)
	times(y.F32(), float32(math.Sqrt(float64(table.Dim()))))
}

// bareNorm is the last norm without its weight.
type bareNorm struct{ part }

func (k bareNorm) RMSNorm(y, x, w *tensor.Tensor, dim int, eps float64) {
	if k.at.follows("hc_head") {
		w = nil
	}
	k.Backend.RMSNorm(y, x, w, dim, eps)
}

// ends makes logprobs of other logits.
type ends struct {
	part
	change func([]float32) []float32
}

func logits(change func([]float32) []float32) func(part) kernels.Backend {
	return func(k part) kernels.Backend { return ends{k, change} }
}

func (k ends) LogProb(lp, entropy, lse, logits *tensor.Tensor, next []int32, scale []float32) {
	var all []float32
	for r := range logits.Rows() {
		all = append(all, k.change(append([]float32(nil), rowOf(logits, r)...))...)
	}
	other := tensor.New(dtype.F32, logits.Rows(), len(all)/logits.Rows())
	copy(other.F32(), all)
	k.Backend.LogProb(lp, entropy, lse, other, next, scale)
}

// padded appends logits of zero, as a table has that is padded to a multiple of 64 rows.
func padded(x []float32) []float32 { return append(x, make([]float32, 63-(len(x)+63)%64)...) }

// likeliest all but takes out what is not among the largest sixteen: a logprob of minus infinity would tell at once.
func likeliest(x []float32) []float32 {
	for _, i := range best(x, len(x))[16:] {
		x[i] -= 20
	}
	return x
}

func exp(x float32) float64 { return math.Exp(float64(x)) }
