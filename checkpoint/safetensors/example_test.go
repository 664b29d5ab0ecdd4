package safetensors_test

import (
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/safetensors"
	"furlong/tensor"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "model.safetensors")
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	w, err := safetensors.Create(path, []checkpoint.Entry{{Name: "x", Info: checkpoint.InfoOf(x)}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(w.Write("x", x), w.Close())

	f, err := safetensors.Open(path)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	y, err := f.Tensor("x")
	fmt.Println(y, y.F32(), err)
	// Output:
	// <nil> <nil>
	// F32[2 2] [1 2 3 4] <nil>
}
