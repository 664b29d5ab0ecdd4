package hf_test

import (
	"fmt"

	"furlong/checkpoint/hf"
)

// The down projections of a layer's experts are one parameter, and a tensor per expert in released files.
func ExamplePieces() {
	pieces, err := hf.Pieces(hf.Ref, "model.layers.5.mlp.experts.down_proj", []int{2, 4, 3})
	for _, p := range pieces {
		fmt.Println(p.Name, p.Shape, p.Lo)
	}
	fmt.Println(err)
	// Output:
	// layers.5.ffn.experts.0.w2.weight [4 3] 0
	// layers.5.ffn.experts.1.w2.weight [4 3] 12
	// <nil>
}
