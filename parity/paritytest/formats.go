package paritytest

import (
	"furlong/dtype"
	"furlong/kernels"
	"furlong/model/dsv4"
	"furlong/quant"
	"furlong/tensor"
)

// Small returns the recipe of E4M3 in blocks of 16 by 16, which even small weights have several of. Products round their activations if rounds.
func Small(rounds bool) quant.Recipe {
	f := quant.Format{Code: dtype.E4M3, Scale: dtype.E8M0, Block: quant.Block{Rows: 16, Cols: 16}}
	return quant.Recipe{Dense: f, Experts: f, Rounds: rounds}
}

// Quantised returns the mistakes that only engines with quantised weights can make.
func Quantised() []Mistake {
	const down, out = "mlp.experts.down_proj", "self_attn.o_b_proj.weight"
	return []Mistake{
		{Name: "scale bytes read as numbers", Trap: "T15", Fault: Weights, op: each("attn_out"), weight: scales(func(b byte) float32 { return float32(b) }, out)},
		{Name: "experts' scale bytes read as numbers", Trap: "T15", Fault: Weights, op: each("expert_out"), weight: scales(func(b byte) float32 { return float32(b) }, down)},
		{Name: "scales turned over", Trap: "T15", Fault: Weights, op: each("attn_out"), weight: scales(func(b byte) float32 { return dtype.FromE8M0(254 - b) }, out)},
		{Name: "scales ignored", Trap: "odd", Fault: Weights, op: each("expert_out"), weight: scales(func(byte) float32 { return 1 }, down)},
		{Name: "block scales transposed", Trap: "T26", Fault: Weights, op: each("attn_out"), weight: &change{[]string{out}, transposeScales}},
		{Name: "scales of the blocks one row below", Trap: "odd", Fault: Weights, op: each("attn_out"), weight: &change{[]string{out}, shiftScales}},
		{Name: "stale quantised projection", Trap: "T25", Fault: Weights, op: each("attn_out"), weight: ending(older, out)},
		{Name: "activations not rounded", Trap: "T26", Fault: Rounding, op: each("q_latent"), kernels: func(k part) kernels.Backend { return unrounded{k} }},
	}
}

// scales gives a weight float32 scales in place of bytes.
func scales(as func(byte) float32, end string) *change {
	return &change{[]string{end}, func(_ dsv4.Config, p *tensor.Param) {
		s := tensor.New(dtype.F32, p.Value.Scale.Shape...)
		for i, b := range p.Value.Scale.Mem {
			s.F32()[i] = as(b)
		}
		p.Value.Scale = s
	}}
}

// transposeScales takes the bytes of the file for a grid that lies column by column.
func transposeScales(_ dsv4.Config, p *tensor.Param) {
	s, file := p.Value.Scale, p.Value.Scale.Clone()
	h, wide := s.Shape[0], s.Shape[1]
	for i, b := range file.Mem {
		s.Mem[i%h*wide+i/h] = b
	}
}

func shiftScales(_ dsv4.Config, p *tensor.Param) {
	s, before := p.Value.Scale, p.Value.Scale.Clone()
	n := s.Dim()
	copy(s.Mem, before.Mem[n:])
}

// unrounded takes activations as they are.
type unrounded struct{ part }

func (k unrounded) Round(y, x *tensor.Tensor, _, _ int) { k.Copy(y, x) }

// Rounded rounds activations of an engine whose weights are not quantised.
func Rounded() Mistake {
	return Mistake{Name: "activations rounded", Trap: "T26", Fault: Rounding, op: each("q_latent"), kernels: func(k part) kernels.Backend { return rounds{k} }}
}

type rounds struct{ part }

func (k rounds) operand(x *tensor.Tensor, plain ...string) *tensor.Tensor {
	if k.at.follows(plain...) {
		return x
	}
	y := x.Clone()
	k.Round(y, x, x.Dim(), 128)
	return y
}

func (k rounds) Linear(y, x, w *tensor.Tensor, groups int) {
	// Mixers, the compressor, the grouped projection, the indexer's head weights and the router are in no recipe.
	plain := []string{"embed", "streams", "attn_streams", "kv", "compressed_kv", "attn_turned", "index_q", "mlp_in", "final_norm"}
	k.Backend.Linear(y, k.operand(x, plain...), w, groups)
}

func (k rounds) ExpertLinear(y, x, w *tensor.Tensor, off []int32) {
	k.Backend.ExpertLinear(y, k.operand(x), w, off)
}
