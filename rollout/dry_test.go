package rollout

import (
	"furlong/kernels"
	"furlong/tensor"
)

// dry computes nothing: with it a benchmark sees what a pass costs besides arithmetic. Choices are of expert 0 and of the first rows.
type dry struct{}

var _ kernels.Backend = dry{}

func (dry) Name() string                                                   { return "dry" }
func (d dry) Split(int) []kernels.Backend                                  { return []kernels.Backend{d} }
func (dry) Prepare(*tensor.Tensor)                                         {}
func (dry) Linear(_, _, _ *tensor.Tensor, _ int)                           {}
func (dry) LinearBackward(_, _, _, _, _ *tensor.Tensor, _ int)             {}
func (dry) ExpertLinear(_, _, _ *tensor.Tensor, _ []int32)                 {}
func (dry) ExpertLinearBackward(_, _, _, _, _ *tensor.Tensor, _ []int32)   {}
func (dry) Round(_, _ *tensor.Tensor, _, _ int)                            {}
func (dry) Add(_, _, _ *tensor.Tensor)                                     {}
func (dry) Zero(*tensor.Tensor)                                            {}
func (dry) Copy(_, _ *tensor.Tensor)                                       {}
func (dry) Join(_, _, _ *tensor.Tensor)                                    {}
func (dry) JoinBackward(_, _, _ *tensor.Tensor)                            {}
func (dry) RMSNorm(_, _, _ *tensor.Tensor, _ int, _ float64)               {}
func (dry) RMSNormBackward(_, _, _, _, _ *tensor.Tensor, _ int, _ float64) {}
func (dry) Angles(_, _ *tensor.Tensor, _ []int32, _ []float32)             {}
func (dry) RoPE(_, _, _, _ *tensor.Tensor, _ int, _ bool)                  {}
func (dry) RoPEBackward(_, _, _, _ *tensor.Tensor, _ int, _ bool)          {}
func (dry) Attend(_, _, _, _ *tensor.Tensor, _ int, _ ...kernels.View)     {}
func (dry) Pool(_, _ *tensor.Tensor, _ bool, _, _ kernels.View)            {}
func (dry) PoolBackward(_, _, _, _ *tensor.Tensor, _ bool, _, _ kernels.View) {
}

func (dry) AttendBackward(_, _ *tensor.Tensor, _ []*tensor.Tensor, _, _, _, _, _ *tensor.Tensor, _ int, _ ...kernels.View) {
}

func (dry) IndexTopK(_, _ *tensor.Tensor, _ int, keys kernels.View, k int) kernels.View {
	out := kernels.View{Pool: keys.Pool, Rows: keys.Rows, Lo: keys.Lo, Hi: make([]int32, len(keys.Lo))}
	for t, lo := range keys.Lo {
		out.Hi[t] = min(keys.Hi[t], lo+int32(k))
	}
	return out
}
func (dry) HyperMap(_, _, _, _, _, _, _ *tensor.Tensor, _ kernels.HyperParams) {}
func (dry) HyperMapBackward(_, _, _, _, _, _, _, _, _, _, _ *tensor.Tensor, _ kernels.HyperParams) {
}
func (dry) Collapse(_, _, _ *tensor.Tensor)                                   {}
func (dry) CollapseBackward(_, _, _, _, _ *tensor.Tensor)                     {}
func (dry) Expand(_, _, _, _, _ *tensor.Tensor)                               {}
func (dry) ExpandBackward(_, _, _, _, _, _, _, _, _ *tensor.Tensor)           {}
func (dry) TopExperts(choice []int32, _, _ *tensor.Tensor, _ int)             { clear(choice) }
func (dry) RouteWeights(_, _ *tensor.Tensor, _ []int32, _ float64)            {}
func (dry) RouteWeightsBackward(_, _, _ *tensor.Tensor, _ []int32, _ float64) {}
func (dry) Dispatch(_, _ *tensor.Tensor, _ []int32, _ int)                    {}
func (dry) Combine(_, _ *tensor.Tensor, _ []int32, _ int)                     {}
func (dry) DispatchAdd(_, _ *tensor.Tensor, _ []int32, _ int)                 {}
func (dry) SwiGLU(_, _, _ *tensor.Tensor, _ float64)                          {}
func (dry) SwiGLUBackward(_, _, _, _, _ *tensor.Tensor, _ float64)            {}
func (dry) Embed(_, _ *tensor.Tensor, _ []int32)                              {}
func (dry) EmbedBackward(_, _ *tensor.Tensor, _ []int32)                      {}
func (dry) Gather(_, _ *tensor.Tensor, _ []int32)                             {}
func (dry) GatherBackward(_, _ *tensor.Tensor, _ []int32)                     {}
func (dry) LogProb(_, _, _, _ *tensor.Tensor, _ []int32, _ []float32)         {}
func (dry) LogProbBackward(_, _, _, _, _, _ *tensor.Tensor, _ []int32, _ []float32) {
}
func (dry) AdamW(_, _, _, _ []float32, _ kernels.AdamWStep) {}
