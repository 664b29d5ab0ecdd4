package kerneltest

import (
	"fmt"
	"math"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/tensor"
)

// testAdamW wants the bits of ref after three steps, whatever the number of weights and however the moments begin.
func testAdamW(t reporter, b kernels.Backend) {
	t.Helper()
	g := newGen(51)
	step := kernels.AdamWStep{B1: 0.9, B2: 0.98, C1: 1 - float32(0.9), C2: 1 - float32(0.98), LR: 1e-3, Keep: 0.9999, Root2: 3.2, Eps: 1e-8, Clip: 0.37}
	for _, n := range []int{0, 1, 7, 8, 63, 65, 1 << 17, 1<<17 + 5} {
		for _, size := range []float64{1, 1e-20, 1e15} {
			grad, w := g.normal(size, n), g.normal(1, n)
			if n > 3 {
				grad.F32()[1], grad.F32()[3] = 0, float32(math.Copysign(0, -1))
			}
			got, want := stepped(b, w, grad, step), stepped(ref.New[float32](), w, grad, step)
			for i, name := range []string{"w", "m", "v"} {
				sameBits(t, fmt.Sprintf("AdamW of %d weights, gradients of %g", n, size), "after three steps", name, got[i], want[i])
			}
		}
	}
}

// stepped returns weights and moments after three steps.
func stepped(k kernels.Backend, w, grad *tensor.Tensor, s kernels.AdamWStep) [3]*tensor.Tensor {
	to := [3]*tensor.Tensor{w.Clone(), tensor.New(dtype.F32, w.Shape...), tensor.New(dtype.F32, w.Shape...)}
	for range 3 {
		k.AdamW(to[0].F32(), to[1].F32(), to[2].F32(), grad.F32(), s)
	}
	return to
}
