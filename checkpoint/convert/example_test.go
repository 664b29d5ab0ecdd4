package convert_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint/convert"
	"furlong/checkpoint/hf"
	"furlong/dtype"
	"furlong/quant"
	"furlong/tensor"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")

	weight := tensor.New(dtype.BF16, 128, 128)
	for i := range weight.BF16() {
		weight.BF16()[i] = dtype.ToBF16(float32(i%15 - 7))
	}
	params := []*tensor.Param{
		{Name: "model.embed_tokens.weight", Value: tensor.New(dtype.BF16, 4, 128)},
		{Name: "model.layers.0.self_attn.q_a_proj.weight", Value: weight},
		{Name: "model.norm.weight", Value: tensor.New(dtype.F32, 128)},
		{Name: "lm_head.weight", Value: tensor.New(dtype.BF16, 4, 128)},
	}
	if err := hf.Save(from, params, hf.Ref, []byte("{}"), hf.SaveOptions{}); err != nil {
		panic(err)
	}
	r, err := convert.Run(context.Background(), from, to, convert.Options{Recipe: quant.Recipe{Dense: quant.FP8}, Scheme: hf.Wire, Layers: 1})
	fmt.Print(r)
	fmt.Println(err)
	// Output:
	// read   4 tensors, 35328 bytes: bf16, named as in ref
	// wrote  5 tensors, 18945 bytes: fp8+bf16, named as in wire
	// way    copied 3, packed 1
	// loss   exact
	// <nil>
}
