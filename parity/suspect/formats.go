package suspect

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/quant"
	"furlong/tensor"
)

// atProducts is every boundary behind a product whose weight may be quantised.
var atProducts = []string{
	"q_latent", "q_normed", "kv_normed", "compress_raw", "index_raw", "index_q", "attn_grouped", "attn_out",
	"expert_gate_up", "expert_out", "shared_gate_up", "shared_out",
}

func formats() []known {
	return []known{
		scaling("scale bytes read as numbers", "reads the bytes of E8M0 scales as numbers, where byte b stands for 2^(b-127)", func(b byte) float32 { return float32(b) }),
		scaling("scales turned over", "multiplies by one over a weight's block scales, where the scale itself multiplies", func(b byte) float32 { return 1 / dtype.FromE8M0(b) }),
		scaling("scales ignored", "takes the codes of a quantised weight for numbers, without their block scales", func(byte) float32 { return 1 }),
		{
			name: "block scales transposed", ops: atProducts,
			says:    "reads the block scales of a quantised weight column by column, where they lie row by row",
			kernels: func(k part) kernels.Backend { return recoded{k, copies{}, transposedScales} },
		}, {
			name: "activations rounded", ops: atProducts,
			says:    "rounds what goes into products to FP8, where the judge does not",
			kernels: func(k part) kernels.Backend { return &rounding{k, nil} },
		}, {
			name: "activations not rounded", ops: atProducts,
			says:    "multiplies quantised weights with activations as they are, where the judge rounds those to FP8",
			kernels: func(k part) kernels.Backend { return unrounded{k} },
		},
	}
}

// recoded reads quantised weights otherwise.
type recoded struct {
	part
	made copies
	make func(w *tensor.Tensor) *tensor.Tensor
}

func scaling(name, says string, as func(byte) float32) known {
	make := func(w *tensor.Tensor) *tensor.Tensor {
		y := w.Clone()
		if w.Scale.Type != dtype.E8M0 || w.Type != dtype.E4M3 {
			return y
		}
		y.Scale = tensor.New(dtype.F32, w.Scale.Shape...)
		for i, b := range w.Scale.Mem {
			y.Scale.F32()[i] = as(b)
		}
		return y
	}
	return known{name: name, says: says, ops: atProducts, kernels: func(k part) kernels.Backend { return recoded{k, copies{}, make} }}
}

// transposedScales reads the scales of each matrix [h, w] as [w, h].
func transposedScales(w *tensor.Tensor) *tensor.Tensor {
	y, n := w.Clone(), len(w.Scale.Shape)
	h, wide := w.Scale.Shape[n-2]/w.Fused, w.Scale.Dim()
	size := w.Scale.Type.Bytes(1)
	for at := 0; at < w.Scale.Len(); at += h * wide {
		for i := range h {
			for j := range wide {
				copy(y.Scale.Mem[(at+i*wide+j)*size:][:size], w.Scale.Mem[(at+j*h+i)*size:])
			}
		}
	}
	return y
}

func (k recoded) weight(w *tensor.Tensor) *tensor.Tensor {
	if !w.Quantised() {
		return w
	}
	return k.made.of(k.at, w, k.make)
}

// Linear is a product.
func (k recoded) Linear(y, x, w *tensor.Tensor, groups int) {
	k.Backend.Linear(y, x, k.weight(w), groups)
}

// ExpertLinear is a product for each expert.
func (k recoded) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	k.Backend.ExpertLinear(y, x, k.weight(w), off)
}

// rounding rounds what goes into products with weights that recipes quantise.
type rounding struct {
	part
	quantises map[*tensor.Tensor]bool
}

func (k *rounding) operand(x, w *tensor.Tensor) *tensor.Tensor {
	if k.quantises == nil {
		k.quantises = map[*tensor.Tensor]bool{}
		for name, v := range k.at.weights {
			k.quantises[v] = quant.Quantises(name)
		}
	}
	if !k.quantises[w] {
		return x
	}
	y := x.Clone()
	k.Round(y, x, x.Dim(), quant.ActivationE4M3.Cols)
	return y
}

// Linear is a product.
func (k *rounding) Linear(y, x, w *tensor.Tensor, groups int) {
	k.Backend.Linear(y, k.operand(x, w), w, groups)
}

// ExpertLinear is a product for each expert.
func (k *rounding) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	k.Backend.ExpertLinear(y, k.operand(x, w), w, off)
}

// unrounded rounds nothing.
type unrounded struct{ part }

// Round copies. An FP8 cache still rounds.
func (k unrounded) Round(y, x *tensor.Tensor, cols, group int) {
	if group != quant.ActivationE4M3.Cols || cols != x.Dim() {
		k.Backend.Round(y, x, cols, group)
		return
	}
	k.Copy(y, x)
}
