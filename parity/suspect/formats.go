package suspect

import (
	"slices"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/parity/taps"
	"furlong/quant"
	"furlong/tensor"
)

// atProducts is every boundary behind a product whose weight may be quantised.
var atProducts = []string{
	"q_latent", "q_normed", "kv_normed", "compress_raw", "index_raw", "index_q", "attn_grouped", "attn_out",
	"expert_gate_up", "expert_out", "shared_gate_up", "shared_out",
}

// leads says which boundary follows a product, by the one before it.
var leads = map[string]string{
	"attn_in": "q_latent", "q_latent": "q_normed", "q": "kv_normed", "kv": "compress_raw", "compressed_kv": "index_raw", "index_keys": "index_q",
	"attn_turned": "attn_grouped", "attn_grouped": "attn_out",
	"router_weights": "expert_gate_up", "expert_mid": "expert_out", "expert_out": "shared_gate_up", "shared_mid": "shared_out",
}

// formats returns each mistake once for every product, and makes it there alone: an engine may read one weight wrongly and the others not.
func formats() []known {
	var list []known
	for _, op := range atProducts {
		list = append(list,
			scaling("scale bytes read as numbers", "reads the bytes of E8M0 scales as numbers, where byte b stands for 2^(b-127)", op, func(b byte) float32 { return float32(b) }),
			scaling("scales turned over", "multiplies by one over a weight's block scales, where the scale itself multiplies", op, func(b byte) float32 { return 1 / dtype.FromE8M0(b) }),
			scaling("scales ignored", "takes the codes of a quantised weight for numbers, without their block scales", op, func(byte) float32 { return 1 }),
			recoding("block scales transposed", "reads the block scales of a quantised weight column by column, where they lie row by row", op, transposedScales),
			known{
				name: "activations rounded", ops: []string{op},
				says:    "rounds what goes into products to FP8, where the judge does not",
				needs:   some(func(p *tensor.Param) bool { return quant.Quantises(p.Name) && !p.Rounds }),
				kernels: func(k part) kernels.Backend { return rounding{k, op} },
			},
			known{
				name: "activations not rounded", ops: []string{op},
				says:    "multiplies quantised weights with activations as they are, where the judge rounds those to FP8",
				needs:   some(func(p *tensor.Param) bool { return p.Rounds }),
				kernels: func(k part) kernels.Backend { return unrounded{k, op} },
			},
		)
	}
	return list
}

// some reports whether any parameter of a judge is such.
func some(such func(p *tensor.Param) bool) func(taps.Judge) bool {
	return func(j taps.Judge) bool { return slices.ContainsFunc(j.Model.Params(), such) }
}

// recoded reads the quantised weights before a boundary otherwise.
type recoded struct {
	part
	op   string
	made copies
	make func(w *tensor.Tensor) *tensor.Tensor
}

func recoding(name, says, op string, make func(w *tensor.Tensor) *tensor.Tensor) known {
	return known{
		name: name, says: says, ops: []string{op},
		needs:   some(func(p *tensor.Param) bool { return p.Value.Quantised() }),
		kernels: func(k part) kernels.Backend { return recoded{k, op, copies{}, make} },
	}
}

func scaling(name, says, op string, as func(byte) float32) known {
	return recoding(name, says, op, func(w *tensor.Tensor) *tensor.Tensor {
		y := w.Clone()
		if w.Scale.Type != dtype.E8M0 || w.Type != dtype.E4M3 {
			return y
		}
		y.Scale = tensor.New(dtype.F32, w.Scale.Shape...)
		for i, b := range w.Scale.Mem {
			y.Scale.F32()[i] = as(b)
		}
		return y
	})
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
	if !w.Quantised() || leads[k.at.last] != k.op {
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

// rounding rounds what goes into the product before a boundary.
type rounding struct {
	part
	op string
}

func (k rounding) operand(x *tensor.Tensor) *tensor.Tensor {
	if leads[k.at.last] != k.op {
		return x
	}
	y := x.Clone()
	k.Round(y, x, x.Dim(), quant.ActivationE4M3.Cols)
	return y
}

// Linear is a product.
func (k rounding) Linear(y, x, w *tensor.Tensor, groups int) {
	k.Backend.Linear(y, k.operand(x), w, groups)
}

// ExpertLinear is a product for each expert.
func (k rounding) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	k.Backend.ExpertLinear(y, k.operand(x), w, off)
}

// unrounded does not round what goes into the product before a boundary.
type unrounded struct {
	part
	op string
}

// Round copies.
func (k unrounded) Round(y, x *tensor.Tensor, cols, group int) {
	if leads[k.at.last] != k.op {
		k.Backend.Round(y, x, cols, group)
		return
	}
	k.Copy(y, x)
}
