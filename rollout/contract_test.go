package rollout

import (
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/rl/rltest"
)

func TestContract(t *testing.T) {
	open := func(t *testing.T) rltest.Rig {
		cfg := settings()
		cfg.Context = 400
		m := policy(dtype.F32, 2)
		return rltest.Rig{
			Engine: begin(t, cfg, dtype.F32, ref.New[float32]()).Engine,
			Prompts: []*rl.Prompt{
				{ID: "a", Tokens: []int32{1, 2, 3}}, {ID: "b", Tokens: []int32{1, 2, 3, 4, 5, 6, 7, 8}}, {ID: "c", Tokens: []int32{9}},
			},
			Weights: func(v rl.Version) rl.Weights { return snapshot{version: v, m: m} },
			Long:    300,
		}
	}
	rltest.RunRollout(t, open)
	rltest.RunAsked(t, open)
	rltest.RunBegun(t, open)
}
