package ops

import (
	"math/rand/v2"

	"furlong/kernels"
	"furlong/tensor"
)

type (
	acts    = []*tensor.Tensor
	weights = []*tensor.Param
)

func linearFormulas(r *rand.Rand) []formula {
	off := []int32{0, 2, 2, 5}
	return []formula{
		{"linear", acts{normal(r, 5, 6)}, weights{matrix(r, 7, 6)}, func(c *Ctx, x acts, w weights) acts {
			return acts{Linear(c, x[0], w[0])}
		}},
		{"grouped linear", acts{normal(r, 5, 6)}, weights{matrix(r, 8, 3)}, func(c *Ctx, x acts, w weights) acts {
			return acts{GroupedLinear(c, x[0], w[0], 2)}
		}},
		{"expert linear", acts{normal(r, 5, 3)}, weights{matrix(r, 3, 4, 3)}, func(c *Ctx, x acts, w weights) acts {
			return acts{ExpertLinear(c, x[0], w[0], off)}
		}},
		{"join", acts{normal(r, 3, 2), normal(r, 3, 4)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{Join(c, x[0], x[1])}
		}},
	}
}

func normFormulas(r *rand.Rand) []formula {
	return []formula{
		{"rms norm", acts{normal(r, 3, 10)}, weights{vector(r, 5)}, func(c *Ctx, x acts, w weights) acts {
			return acts{RMSNorm(c, x[0], w[0], 1e-3)}
		}},
		{"head norm", acts{normal(r, 3, 10)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{HeadNorm(c, x[0], 5, 1e-3)}
		}},
	}
}

func attentionFormulas(r *rand.Rand) []formula {
	in := &Tokens{Seq: make([]int32, 4), Pos: []int32{0, 1, 2, 3}}
	turn := in.Rotation(wideCtx(), []float32{1, .3}, 1)
	rope := func(inverse bool) func(*Ctx, acts, weights) acts {
		return func(c *Ctx, x acts, _ weights) acts {
			return acts{RoPE(c, x[0], turn, 6, inverse)}
		}
	}
	ropeOver := func(c *Ctx, x acts, _ weights) acts {
		return acts{RoPEOver(c, HeadNorm(c, x[0], 6, 1e-6), turn, 6, false)}
	}
	near := kernels.View{Rows: []int32{0, 1, 2, 3}, Lo: []int32{0, 0, 1, 2}, Hi: []int32{1, 2, 3, 4}}
	far := kernels.View{Rows: []int32{1, 0}, Lo: []int32{0, 0, 0, 0}, Hi: []int32{0, 1, 1, 2}}
	return []formula{
		{"rope", acts{normal(r, 4, 12)}, nil, rope(false)},
		{"rope inverse", acts{normal(r, 4, 12)}, nil, rope(true)},
		{"rope over its input", acts{normal(r, 4, 12)}, nil, ropeOver},
		{
			"attend",
			acts{normal(r, 4, 6), normal(r, 4, 3), normal(r, 2, 3)},
			weights{vector(r, 2)},
			func(c *Ctx, x acts, w weights) acts {
				a, b := near, far
				a.Pool, b.Pool = x[1], x[2]
				return acts{Attend(c, x[0], w[0], 2, a, b)}
			},
		},
	}
}

func poolFormulas(r *rand.Rand) []formula {
	own := kernels.View{Rows: []int32{0, 1, 2, 3, 4, 5}, Lo: []int32{0, 2, 4}, Hi: []int32{2, 4, 6}}
	prev := kernels.View{Rows: own.Rows, Lo: []int32{0, 0, 2}, Hi: []int32{0, 2, 4}}
	return []formula{
		{"pool", acts{normal(r, 6, 6)}, weights{vector(r, 2, 3)}, func(c *Ctx, x acts, w weights) acts {
			v := own
			v.Pool = x[0]
			return acts{Pool(c, w[0], false, View{}, v)}
		}},
		{"pool with overlap", acts{normal(r, 6, 12)}, weights{vector(r, 2, 6)}, func(c *Ctx, x acts, w weights) acts {
			u, v := prev, own
			u.Pool, v.Pool = x[0], x[0]
			return acts{Pool(c, w[0], true, u, v)}
		}},
	}
}

func hyperFormulas(r *rand.Rand) []formula {
	p := kernels.HyperParams{Iters: 4, Eps: 1e-3, NormEps: 1e-3}
	const s, d = 3, 4
	return []formula{
		{
			"enter",
			acts{normal(r, siteRows+2, s, d)},
			weights{matrix(r, s*(2+s), s*d), vector(r, s*(2+s)), vector(r, 3)},
			func(c *Ctx, x acts, w weights) acts {
				e := Enter(c, StreamsOf(x[0]), SiteWeights{w[0], w[1], w[2], p}, true)
				return acts{e.In, e.Pre, e.Post, e.Comb}
			},
		},
		{
			"last enter",
			acts{normal(r, 2, s, d)},
			weights{matrix(r, s, s*d), vector(r, s), vector(r, 1)},
			func(c *Ctx, x acts, w weights) acts {
				e := Enter(c, StreamsOf(x[0]), SiteWeights{w[0], w[1], w[2], p}, false)
				return acts{e.In, e.Pre}
			},
		},
		{
			"leave with another's output",
			acts{normal(r, siteRows+2, s, d), normal(r, siteRows+2, d)},
			weights{matrix(r, s*(2+s), s*d), vector(r, s*(2+s)), vector(r, 3)},
			func(c *Ctx, x acts, w weights) acts {
				return acts{Enter(c, StreamsOf(x[0]), SiteWeights{w[0], w[1], w[2], p}, true).Leave(c, x[1]).Tensor(c)}
			},
		},
		{
			"sub-layer after sub-layer",
			acts{normal(r, siteRows+2, s, d), normal(r, siteRows+2, d), normal(r, siteRows+2, d)},
			weights{matrix(r, s*(2+s), s*d), vector(r, s*(2+s)), vector(r, 3), matrix(r, s*(2+s), s*d), vector(r, s*(2+s)), vector(r, 3)},
			func(c *Ctx, x acts, w weights) acts {
				y := Enter(c, StreamsOf(x[0]), SiteWeights{w[0], w[1], w[2], p}, true).Leave(c, x[1])
				e := Enter(c, y, SiteWeights{w[3], w[4], w[5], p}, true)
				return acts{e.In, e.Leave(c, x[2]).Tensor(c)}
			},
		},
		{
			"a sub-layer",
			acts{normal(r, 2, s, d)},
			weights{matrix(r, s*(2+s), s*d), vector(r, s*(2+s)), vector(r, 3), vector(r, d)},
			func(c *Ctx, x acts, w weights) acts {
				e := Enter(c, StreamsOf(x[0]), SiteWeights{w[0], w[1], w[2], p}, true)
				return acts{e.Leave(c, RMSNorm(c, e.In, w[3], 1e-3)).Tensor(c)}
			},
		},
	}
}

func expertFormulas(r *rand.Rand) []formula {
	choice := []int32{2, 0, 1, 1, 0, 2} // token 1 has one expert twice
	plan := NewPlan(choice, 2, 3)
	gated := func(limit float64) func(*Ctx, acts, weights) acts {
		return func(c *Ctx, x acts, _ weights) acts { return acts{SwiGLU(c, x[0], x[1], limit)} }
	}
	return []formula{
		{"route weights", acts{normal(r, 3, 4)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{RouteWeights(c, x[0], choice, 2, 1.5)}
		}},
		{"dispatch", acts{normal(r, 3, 4)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{Dispatch(c, x[0], plan)}
		}},
		{"dispatch weights", acts{normal(r, 3, 2)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{DispatchWeights(c, x[0], plan)}
		}},
		{"combine", acts{normal(r, 3, 4), normal(r, 6, 4)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{Combine(c, HeadNorm(c, x[0], 4, 1e-6), x[1], plan)} // over a result that nobody else reads
		}},
		{"swiglu", acts{normal(r, 4, 10), normal(r, 4)}, nil, gated(0)},
		{"swiglu clamped", acts{clearOf(.8, normal(r, 4, 10)), normal(r, 4)}, nil, gated(.8)},
		{"swiglu of the shared expert", acts{clearOf(.8, normal(r, 4, 10))}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{SwiGLU(c, x[0], nil, .8)}
		}},
	}
}

// clearOf moves elements away from a clamp's bounds, where differences see a kink.
func clearOf(limit float64, x *tensor.Tensor) *tensor.Tensor {
	for i, v := range x.F64() {
		for _, bound := range []float64{limit, -limit} {
			if d := v - bound; d > -0.01 && d < 0.01 {
				x.F64()[i] = bound + 0.01
			}
		}
	}
	return x
}

func headFormulas(r *rand.Rand) []formula {
	in := &Tokens{ID: []int32{3, 0, 3}, Seq: make([]int32, 3), Pos: []int32{0, 1, 2}}
	rows, scale := []int32{2, 0, 2}, []float32{1, .5, 2}
	return []formula{
		{"embed", nil, weights{vector(r, 4, 5)}, func(c *Ctx, _ acts, w weights) acts {
			return acts{Embed(c, in, w[0], 3)}
		}},
		{"gather", acts{normal(r, 3, 4)}, nil, func(c *Ctx, x acts, _ weights) acts {
			return acts{Gather(c, x[0], rows)}
		}},
		{"logprob", acts{normal(r, 3, 4)}, weights{matrix(r, 6, 4)}, func(c *Ctx, x acts, w weights) acts {
			lp, entropy := LogProb(c, x[0], w[0], in.ID, scale)
			return acts{lp, entropy}
		}},
	}
}

func tapeFormulas(r *rand.Rand) []formula {
	step := func(w *tensor.Param) func(*Ctx, *tensor.Tensor) *tensor.Tensor {
		return func(c *Ctx, x *tensor.Tensor) *tensor.Tensor { return HeadNorm(c, Linear(c, x, w), 4, 1e-3) }
	}
	return []formula{
		{"reshape", acts{normal(r, 3, 4)}, weights{vector(r, 6)}, func(c *Ctx, x acts, w weights) acts {
			return acts{RMSNorm(c, Reshape(c, x[0], 2, 6), w[0], 1e-3)}
		}},
		{"recompute", acts{normal(r, 3, 4)}, weights{matrix(r, 4, 4)}, func(c *Ctx, x acts, w weights) acts {
			return acts{Recompute(c, x[0], step(w[0]))}
		}},
		{"recompute in a recompute", acts{normal(r, 3, 4)}, weights{matrix(r, 4, 4), matrix(r, 4, 4)}, func(c *Ctx, x acts, w weights) acts {
			return acts{Recompute(c, x[0], func(c *Ctx, x *tensor.Tensor) *tensor.Tensor {
				return step(w[1])(c, Recompute(c, x, step(w[0])))
			})}
		}},
		{"an input and a weight used twice", acts{normal(r, 3, 4)}, weights{matrix(r, 4, 4)}, func(c *Ctx, x acts, w weights) acts {
			return acts{Join(c, Linear(c, step(w[0])(c, x[0]), w[0]), x[0])}
		}},
	}
}
