package suspect

import (
	"math"

	"furlong/kernels"
	"furlong/kv"
	"furlong/ops"
	"furlong/parity/taps"
	"furlong/tensor"
)

var atMix = []string{"attn_mix"}

func attention() []known {
	return []known{
		sinks("no attention sink", "leaves out the attention sinks", func(*pass, float64) float64 { return math.Inf(-1) }),
		sinks("sink scaled like a key", "scales the attention sinks by head_dim^-0.5 as it does scores, where they join the softmax as they are", func(at *pass, s float64) float64 {
			return s / math.Sqrt(float64(at.HeadDim))
		}),
		sinks("sinks in BF16", "holds the attention sinks in BF16, where they are float32", func(_ *pass, s float64) float64 { return toBF16(s) }),
		window("window one longer", "lets the window reach one token further back, where it has sliding_window tokens, the query's own among them", 1),
		window("window one shorter", "lets the window reach one token less far back, where it has sliding_window tokens, the query's own among them", -1),
		{
			name: "FP8 cache", ops: atMix,
			says:  "keeps attention state as an FP8 cache does, where the judge does not round it",
			needs: func(j taps.Judge) bool { return !j.FP8 },
			judge: func(j *taps.Judge, _ *pass) { j.FP8 = true },
		},
		{
			name: "no FP8 cache", ops: atMix,
			says:  "keeps attention state as it is, where the judge rounds it as an FP8 cache does",
			needs: func(j taps.Judge) bool { return j.FP8 },
			judge: func(j *taps.Judge, _ *pass) { j.FP8 = false },
		},
	}
}

// sunk changes sinks.
type sunk struct {
	part
	as func(at *pass, sink float64) float64
}

func sinks(name, says string, as func(*pass, float64) float64) known {
	return known{name: name, says: says, ops: atMix, kernels: func(k part) kernels.Backend { return sunk{k, as} }}
}

// Attend attends with other sinks.
func (k sunk) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	k.Backend.Attend(o, lse, q, remade(sink, func(s float64) float64 { return k.as(k.at, s) }), heads, views...)
}

// near is attention state of which tokens see another window.
type near struct {
	kv.Store
	window int
}

func window(name, says string, more int) known {
	return known{
		name: name, says: says, ops: atMix,
		when: func(c config) bool { return c.Window+more > 0 },
		judge: func(j *taps.Judge, at *pass) {
			before := j.Store
			j.Store = func(layer int, s kv.Store) kv.Store {
				if before != nil {
					s = before(layer, s)
				}
				return near{s, at.Window + more}
			}
		},
	}
}

// See says which rows tokens read.
func (n near) See(in *ops.Tokens, s kv.Stream, r kv.Reach) ops.View {
	if s == kv.Window {
		r = kv.Sliding(n.window)
	}
	return n.Store.See(in, s, r)
}
