package paritytest

import (
	"hash/fnv"
	"math/rand/v2"

	"furlong/dtype"
	"furlong/kv"
	"furlong/model/dsv4"
	"furlong/ops"
	"furlong/tensor"
)

func weightMistakes() []Mistake {
	var stale []Mistake
	for _, s := range []struct {
		name string
		op   place
	}{
		{"self_attn.q_a_proj.weight", each("q_latent")},
		{"self_attn.q_b_proj.weight", each("q_normed")},
		{"self_attn.kv_norm.weight", each("kv_normed")},
		{"self_attn.o_a_proj.weight", each("attn_grouped")},
		{"self_attn.o_b_proj.weight", each("attn_out")},
		{"self_attn.sinks", each("attn_mix")},
		{"self_attn.compressor.gate_proj.weight", kinds("compress_raw", c4, c128)},
		{"compressor.indexer.scorer.weights_proj.weight", kinds("index_weights", c4)},
		{"attn_hc.fn", each("attn_hc.pre")},
		{"ffn_hc.base", each("ffn_hc.pre")},
		{"input_layernorm.weight", each("attn_in")},
		{"mlp.gate.weight", each("router_logits")},
		{"mlp.experts.gate_up_proj", each("expert_gate_up")},
		{"mlp.experts.down_proj", each("expert_out")},
		{"mlp.shared_experts.up_proj.weight", each("shared_gate_up")},
		{"mlp.shared_experts.down_proj.weight", each("shared_out")},
		{"embed_tokens.weight", atStart("embed")},
		{"model.norm.weight", atEnd("final_norm")},
		{"lm_head.weight", atEnd(Head)},
	} {
		stale = append(stale, Mistake{Name: "stale " + s.name, Trap: "T25", Fault: Weights, op: s.op, weight: ending(older, s.name)})
	}
	return append(stale,
		Mistake{Name: "a quarter of the experts stale", Trap: "T25", Fault: Weights, op: each("expert_gate_up"), weight: ending(someExperts, "mlp.experts.gate_up_proj")},
		Mistake{Name: "attention sinks in bfloat16", Trap: "T17", Fault: Rounding, op: each("attn_mix"), weight: named(coarse, "self_attn.sinks")},
		Mistake{Name: "router's weight quantised to E4M3", Trap: "T22", Fault: Rounding, op: each("router_logits"), weight: named(eighths, "mlp.gate.weight")},
	)
}

// ending is named for weights of any format that has numbers.
func ending(f func(name string, p *tensor.Tensor), end string) *change {
	return &change{[]string{end}, func(_ dsv4.Config, p *tensor.Param) { f(p.Name, p.Value) }}
}

// older sets a weight to what it may have been some steps before.
func older(name string, x *tensor.Tensor) {
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	if x.Quantised() {
		for i := range x.Mem {
			if r.IntN(4) == 0 {
				x.Mem[i] ^= 1 // the next code, or the one before
			}
		}
		return
	}
	edit(x, func(v []float32) {
		for i := range v {
			v[i] *= 1 + 0.02*float32(r.NormFloat64())
		}
	})
}

// edit changes the numbers of an F32 or BF16 tensor.
func edit(x *tensor.Tensor, f func(v []float32)) {
	if x.Type != dtype.BF16 {
		f(x.F32())
		return
	}
	v := make([]float32, x.Len())
	for i, code := range x.BF16() {
		v[i] = dtype.FromBF16(code)
	}
	f(v)
	for i := range v {
		x.BF16()[i] = dtype.ToBF16(v[i])
	}
}

// someExperts is older for every fourth expert.
func someExperts(name string, x *tensor.Tensor) {
	for e := 0; e < x.Shape[0]; e += 4 {
		older(name, x.Slice(e, e+1))
	}
}

// eighths rounds numbers to three bits behind the leading one.
func eighths(_ dsv4.Config, v []float32) {
	for i := range v {
		v[i] = dtype.FromE4M3(dtype.ToE4M3Sat(v[i]*64)) / 64
	}
}

func stateMistakes() []Mistake {
	return []Mistake{
		{Name: "FP8 cache", Trap: "T18", Fault: Rounding, op: each("attn_mix"), store: coarseRows},
		{Name: "prefix cached under an older version", Trap: "T27", Fault: State, op: stateOp, store: stalePrefix},
		{Name: "window rows of another sequence", Trap: "odd", Fault: State, op: each("attn_mix"), store: strayRows},
	}
}

// stateOp is where rows of a stale prefix are read first.
func stateOp(c dsv4.Config, layer int) string {
	if op := kinds("compress_pooled", c4, c128)(c, layer); op != "" {
		return op
	}
	return each("attn_mix")(c, layer)
}

// coarseRows keeps rows as an FP8 cache does.
func coarseRows(e *Engine, _ []int32) func(int, kv.Store) kv.Store {
	return func(layer int, _ kv.Store) kv.Store {
		return &kv.InPlace{Keep: kv.FP8(e.K, e.Model.Layers()[layer])}
	}
}

// stalePrefix keeps, of the first half of a sequence, the rows that an older version of all weights made.
func stalePrefix(e *Engine, ids []int32) func(int, kv.Store) kv.Store {
	old := Mistake{op: anywhere, weight: &change{nil, func(_ dsv4.Config, p *tensor.Param) {
		if p.Value.Type != dtype.I32 {
			older(p.Name, p.Value)
		}
	}}}
	type key struct {
		layer  int
		stream kv.Stream
	}
	rows := map[key][]float32{}
	old.store = func(*Engine, []int32) func(int, kv.Store) kv.Store {
		return func(layer int, right kv.Store) kv.Store {
			return overRows{right, func(at *ops.Tokens, s kv.Stream, x *tensor.Tensor) {
				rows[key{layer, s}] = append([]float32(nil), x.F32()...)
			}}
		}
	}
	e.Run(old, Everywhere, ids[:len(ids)/2], nil)
	return func(layer int, right kv.Store) kv.Store {
		return overRows{right, func(_ *ops.Tokens, s kv.Stream, x *tensor.Tensor) { copy(x.F32(), rows[key{layer, s}]) }}
	}
}

func anywhere(dsv4.Config, int) string { return "anything" }

// strayRows puts rows of a later token where those of every seventh are to be.
func strayRows(*Engine, []int32) func(int, kv.Store) kv.Store {
	return func(_ int, right kv.Store) kv.Store {
		return overRows{right, func(_ *ops.Tokens, s kv.Stream, x *tensor.Tensor) {
			for t := 3; s == kv.Window && t+2 < x.Rows(); t += 7 {
				copy(rowOf(x, t), rowOf(x, t+2))
			}
		}}
	}
}

// overRows writes over rows before they are kept, and leaves what was shown of them as it was.
type overRows struct {
	kv.Store
	write func(at *ops.Tokens, s kv.Stream, rows *tensor.Tensor)
}

func (o overRows) Put(at *ops.Tokens, s kv.Stream, rows *tensor.Tensor) {
	kept := rows.Clone()
	if o.write(at, s, kept); at.Len() == 0 {
		kept = rows
	}
	o.Store.Put(at, s, kept)
}
