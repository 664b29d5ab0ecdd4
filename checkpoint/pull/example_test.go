package pull_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"furlong/checkpoint"
	"furlong/checkpoint/pull"
	"furlong/checkpoint/safetensors"
	"furlong/tensor"
)

// A folder begins as a copy of what is served; asked again, it is that already.
func ExamplePull() {
	dir, err := os.MkdirTemp("", "pull")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	x := tensor.Of([]float32{1, 2}, 2)
	base := filepath.Join(dir, "base")
	w, err := safetensors.CreateDir(base, []checkpoint.Entry{{Name: "norm.weight", Info: checkpoint.InfoOf(x)}}, nil, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Write("norm.weight", x), w.Close())
	for range 2 {
		fmt.Println(pull.Pull(context.Background(), pull.Request{Local: filepath.Join(dir, "local"), Base: base, Version: 0}))
	}
	// Output:
	// <nil> <nil>
	// copied version 0, took up 0 deltas that changed 0 tensors (0 bytes), version 0 is held <nil>
	// version 0 is held already <nil>
}
