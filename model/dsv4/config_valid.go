package dsv4

import "math"

// Validate reports everything that is wrong with c, in the words of config.json.
func (c Config) Validate() error {
	var w complaints
	c.checkLayers(&w)
	for _, k := range append(c.integerKeys(), c.rateKeys()...) {
		checkRange(&w, k)
	}
	for _, k := range c.numberKeys() {
		checkRange(&w, k)
	}
	if math.IsNaN(c.LimitShared) || math.Abs(c.LimitShared) > math.MaxFloat32 {
		w.bad("swiglu_limit_shared is %v, want a number that float32 can hold", c.LimitShared)
	}
	c.checkAttention(&w)
	c.checkExperts(&w)
	c.Yarn.check(&w)
	return w.join()
}

func checkRange[T int | float64](w *complaints, k configKey[T]) {
	v := *k.at
	if v == 0 && !k.need || v > k.above && v <= k.most { // not a NaN
		return
	}
	w.bad("%s is %v, want more than %v, at most %v", k.names[0], v, k.above, k.most)
}

func (c *Config) checkLayers(w *complaints) {
	if n := len(c.Layers); n < 1 || n > maxLayers {
		w.bad("num_hidden_layers is %d, want 1 to %d", n, maxLayers)
	}
	for i, l := range c.Layers {
		if int(l.Attention) >= len(kindNames) {
			w.bad("layer_types[%d] is kind %d, want %s", i, uint8(l.Attention), oneOf(kindNames[:]))
		}
		if int(l.Router) >= len(routerNames) {
			w.bad("mlp_layer_types[%d] is kind %d, want %s", i, uint8(l.Router), oneOf(routerNames[:]))
		}
	}
}

func (c *Config) checkAttention(w *complaints) {
	if c.OGroups > 0 && c.Heads%c.OGroups != 0 {
		w.bad("num_attention_heads is %d, want a multiple of o_groups (%d)", c.Heads, c.OGroups)
	}
	if c.RopeDim < 2 || c.RopeDim%2 != 0 {
		w.bad("qk_rope_head_dim is %d, want an even number above 0", c.RopeDim)
	}
	if c.RopeDim > c.HeadDim {
		w.bad("qk_rope_head_dim is %d, want at most head_dim (%d)", c.RopeDim, c.HeadDim)
	}
	if c.Has(C4) && c.RopeDim > c.IndexDim {
		w.bad("qk_rope_head_dim is %d, want at most index_head_dim (%d)", c.RopeDim, c.IndexDim)
	}
}

func (c *Config) checkExperts(w *complaints) {
	if c.TopK > c.Experts {
		w.bad("num_experts_per_tok is %d, want at most n_routed_experts (%d)", c.TopK, c.Experts)
	}
	if c.BOS < 0 || int(c.BOS) >= c.Vocab {
		w.bad("bos_token_id is %d, want 0 or more, less than vocab_size (%d)", c.BOS, c.Vocab)
	}
	if c.EOS < 0 || int(c.EOS) >= c.Vocab {
		w.bad("eos_token_id is %d, want 0 or more, less than vocab_size (%d)", c.EOS, c.Vocab)
	}
}

// check reports what is wrong with a stretching. A factor of 1 would still round the frequencies, and how is not agreed: it is refused.
func (y Yarn) check(w *complaints) {
	const at = "rope_parameters.compress."
	if y == (Yarn{}) {
		return
	}
	checkRange(w, configKey[float64]{&y.Factor, 1, 1e6, true, []string{at + "factor"}})
	checkRange(w, configKey[int]{&y.Original, 0, 1 << 30, true, []string{at + "original_max_position_embeddings"}})
	checkRange(w, configKey[float64]{&y.BetaFast, 0, 1e6, true, []string{at + "beta_fast"}})
	checkRange(w, configKey[float64]{&y.BetaSlow, 0, 1e6, true, []string{at + "beta_slow"}})
	if y.BetaSlow > y.BetaFast {
		w.bad("%sbeta_slow is %v, want at most beta_fast (%v)", at, y.BetaSlow, y.BetaFast)
	}
}
