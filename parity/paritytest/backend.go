package paritytest

import (
	"sync"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// Other returns a backend whose products are summed in float64, and rounded once: as right as k's, and other bits.
func Other(k kernels.Backend) kernels.Backend { return &other{Backend: k} }

type other struct {
	kernels.Backend
	values sync.Map // of weights: *tensor.Tensor to []float32
}

func (k *other) of(w *tensor.Tensor) []float32 {
	if !w.Quantised() {
		return w.F32()
	}
	v, ok := k.values.Load(w)
	if !ok {
		x := tensor.New(dtype.F32, w.Shape...)
		quant.Unpack(x, w)
		v, _ = k.values.LoadOrStore(w, x.F32())
	}
	return v.([]float32)
}

func (k *other) Linear(y, x, w *tensor.Tensor, groups int) {
	values, n, rows := k.of(w), w.Dim(), w.Shape[0]/groups
	for t := range x.Shape[0] {
		in, out := rowOf(x, t), rowOf(y, t)
		for i := range out {
			out[i] = float32(inner(in[i/rows*n:][:n], values[i*n:][:n]))
		}
	}
}

func (k *other) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	values, n, rows := k.of(w), w.Dim(), w.Shape[1]
	for e := range w.Shape[0] {
		for t := off[e]; t < off[e+1]; t++ {
			for i := range rows {
				rowOf(y, int(t))[i] = float32(inner(rowOf(x, int(t)), values[(e*rows+i)*n:][:n]))
			}
		}
	}
}
