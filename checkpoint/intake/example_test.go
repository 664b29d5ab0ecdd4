package intake_test

import (
	"fmt"

	"furlong/checkpoint/intake"
	"furlong/dtype"
	"furlong/rl"
	"furlong/tensor"
)

// A trainer sends a norm in BF16, as files have it, under its own name for it; the engine holds it in F32.
func Example() {
	held := []*tensor.Param{{Name: "model.norm.weight", Value: tensor.New(dtype.F32, 2)}}
	model, err := intake.Describe(held, 0, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := model.Begin(intake.Options{Strict: true})
	err = s.Put([]rl.Tensor{{Name: "norm.weight", Type: "torch.bfloat16", Shape: []int{2}, Data: []byte{0x80, 0x3f, 0, 0x40}}})
	fmt.Println(err)
	w, err := s.End(7, intake.Held{})
	fmt.Println(w.Version(), err)
	fmt.Println(s.Report())
	// Output:
	// <nil>
	// 7 <nil>
	// 1 tensors, 4 bytes; 1 recast without loss
}
