package rollout_test

import (
	"context"
	"fmt"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/kv"
	"furlong/model"
	"furlong/ops"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tensor"
	"furlong/weightsync"
)

// successor is a model that always says the next number: its head scores token (t+1) mod 8 highest after token t.
type successor struct{ embed, head *tensor.Param }

func newSuccessor() *successor {
	return &successor{
		embed: &tensor.Param{Name: "embed", Value: tensor.New(dtype.F32, 8, 8)},
		head:  &tensor.Param{Name: "head", Value: tensor.New(dtype.F32, 8, 8), Product: true},
	}
}

func (m *successor) Params() []*tensor.Param { return []*tensor.Param{m.embed, m.head} }
func (m *successor) Layers() [][]kv.Spec     { return make([][]kv.Spec, 1) }
func (m *successor) Vocab() int              { return 8 }
func (m *successor) Head() *tensor.Param     { return m.head }

func (m *successor) Embed(c *ops.Ctx, in *ops.Tokens) *tensor.Tensor {
	return ops.Embed(c, in, m.embed, 1)
}

func (m *successor) Block(_ *ops.Ctx, _ int, _ *ops.Tokens, _ kv.Store, x *ops.Streams) *ops.Streams {
	return x
}

func (m *successor) Final(_ *ops.Ctx, x *tensor.Tensor) *tensor.Tensor { return x.View(x.Shape[0], 8) }

var _ model.Model = (*successor)(nil)

// counting returns the first version of the policy.
func counting() rl.Weights {
	m := newSuccessor()
	for t := range 8 {
		m.embed.Value.F32()[t*8+t] = 1
		m.head.Value.F32()[(t+1)%8*8+t] = 20
	}
	return weightsync.Of(1, weightsync.Flatten(m.Params()), weightsync.Everything)
}

func Example() {
	engine, err := rollout.New(rollout.Default(), newSuccessor(), ref.New[float32]())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()

	if err := engine.Update(ctx, counting()); err != nil {
		fmt.Println(err)
	}
	sampling := rl.DefaultSampling()
	sampling.MaxTokens = 12
	sampling.StopIDs = []int32{7}
	prompt := &rl.Prompt{ID: "count", Tokens: []int32{0, 1, 2}}
	for s, err := range engine.Generate(ctx, []rl.Request{{ID: 1, Prompt: prompt, Sampling: sampling}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Response, s.Stop, s.Versions)
	}

	cancel()
	fmt.Println(<-ended)
	// Output:
	// [3 4 5 6 7] stop [{1 5}]
	// context canceled
}
