package train

import (
	"context"
	"fmt"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
)

func Example() {
	e, err := New(Default(), actor(dtype.BF16, 1), nil, ref.New[float32](), files())
	if err != nil {
		fmt.Println(err)
		return
	}
	// Two answers to one prompt, as a rollout engine returns them and a grader has judged them.
	prompt := &rl.Prompt{ID: "2+3", Tokens: []int32{2, 20, 3}}
	answer := func(v rl.Verdict, reward float64, response ...int32) *rl.Sample {
		return &rl.Sample{Prompt: prompt, Sampling: rl.DefaultSampling(), Response: response, LogProbs: make([]float32, len(response)), Verdict: v, Reward: reward}
	}
	b := &rl.Batch{Samples: []*rl.Sample{answer(rl.Right, 1, 5), answer(rl.Wrong, 0, 2, 3)}}
	before := Digest(e.Params())
	stats, err := e.Step(context.Background(), b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("tokens", stats["train/tokens"], "skipped", stats["train/skipped_steps"], "ratio", stats["train/ois"])
	fmt.Printf("advantages %.3f %.3f\n", b.Samples[0].Advantage, b.Samples[1].Advantage)
	fmt.Println("weights moved:", Digest(e.Params()) != before)
	// Output:
	// tokens 3 skipped 0 ratio 1
	// advantages 0.707 -0.707
	// weights moved: true
}
