package dsv4

import "math"

// A configKey ties a field of a Config to its names in config.json, the one that we write first.
type configKey[T any] struct {
	at    *T
	above T    // largest value refused as too small
	most  T    // largest value accepted; no product of a tensor's sides comes near 2^63
	need  bool // false: absent leaves the field as it is, and 0 is allowed
	names []string
}

// integerKeys returns the whole-number keys of c. Those of the schedule, the rates and the rotated channels have rules of their own.
func (c *Config) integerKeys() []configKey[int] {
	c4 := c.Has(C4)
	return []configKey[int]{
		{&c.Vocab, 0, 1 << 24, true, []string{"vocab_size"}},
		{&c.Hidden, 0, 1 << 17, true, []string{"hidden_size", "dim"}},
		{&c.Heads, 0, 1 << 12, true, []string{"num_attention_heads", "n_heads"}},
		{&c.HeadDim, 0, 1 << 14, true, []string{"head_dim"}},
		{&c.QRank, 0, 1 << 17, true, []string{"q_lora_rank"}},
		{&c.OGroups, 0, 1 << 12, true, []string{"o_groups"}},
		{&c.ORank, 0, 1 << 17, true, []string{"o_lora_rank"}},
		{&c.Window, 0, 1 << 24, true, []string{"sliding_window", "window_size"}},
		{&c.IndexHeads, 0, 1 << 12, c4, []string{"index_n_heads"}},
		{&c.IndexDim, 0, 1 << 14, c4, []string{"index_head_dim"}},
		{&c.IndexTopK, 0, 1 << 24, c4, []string{"index_topk"}},
		{&c.Experts, 0, 1 << 16, true, []string{"n_routed_experts", "num_local_experts"}},
		{&c.TopK, 0, 1 << 10, true, []string{"num_experts_per_tok", "n_activated_experts"}},
		{&c.ExpertDim, 0, 1 << 17, true, []string{"moe_intermediate_size", "moe_inter_dim", "intermediate_size"}},
		{&c.Streams, 0, 1 << 6, true, []string{"hc_mult"}},
		{&c.SinkhornIter, 0, 1 << 10, true, []string{"hc_sinkhorn_iters"}},
		{&c.MaxPositions, 0, 1 << 30, true, []string{"max_position_embeddings", "max_seq_len"}},
	}
}

// rateKeys returns the keys of the compression rates.
func (c *Config) rateKeys() []configKey[int] {
	return []configKey[int]{
		{&c.RateC4, 0, 1 << 16, c.Has(C4), []string{"compress_rates.compressed_sparse_attention", "compress_rate_csa"}},
		{&c.RateC128, 0, 1 << 16, c.Has(C128), []string{"compress_rates.heavily_compressed_attention", "compress_rate_hca"}},
	}
}

// numberKeys returns the keys whose values need not be whole.
func (c *Config) numberKeys() []configKey[float64] {
	return []configKey[float64]{
		{&c.RoutedFactor, 0, 1e6, true, []string{"routed_scaling_factor", "route_scale"}},
		{&c.Limit, -math.MaxFloat32, math.MaxFloat32, true, []string{"swiglu_limit"}},
		{&c.HyperEps, 0, 1, true, []string{"hc_eps"}},
		{&c.NormEps, 0, 1, true, []string{"rms_norm_eps", "norm_eps"}},
		{&c.RopeTheta, 1, 1e15, true, []string{"rope_theta", "rope_parameters.main.rope_theta", "rope_parameters.rope_theta", "rope_scaling.rope_theta"}},
		{&c.CompressRopeTheta, 1, 1e15, c.compressed(), []string{"compress_rope_theta", "rope_parameters.compress.rope_theta"}},
		{&c.InitRange, 0, 1e6, false, []string{"initializer_range"}},
	}
}

// objectKeys are the keys that hold keys of ours. Any other object is one value.
var objectKeys = []string{"compress_rates", "rope_parameters", "rope_parameters.main", "rope_parameters.compress", "rope_scaling"}

// fixedKeys are the keys that ask for what the model does in one way only. Absent is well; any other value is refused.
var fixedKeys = []struct {
	names []string
	want  any // float64, string or bool
	write bool
}{
	{[]string{"model_type"}, "deepseek_v4", true},
	{[]string{"num_key_value_heads"}, 1, true},
	{[]string{"n_shared_experts"}, 1, true},
	{[]string{"scoring_func", "score_func"}, "sqrtsoftplus", true},
	{[]string{"topk_method"}, "noaux_tc", true},
	{[]string{"norm_topk_prob"}, true, true},
	{[]string{"hidden_act"}, "silu", true},
	{[]string{"tie_word_embeddings"}, false, true},
	{[]string{"attention_bias"}, false, true},
	{[]string{"mlp_bias"}, false, true},
	{[]string{"attention_dropout"}, 0.0, true},
	{[]string{"router_jitter_noise"}, 0.0, true},
	{[]string{"rope_parameters.main.rope_type", "rope_parameters.main.type"}, "default", false},
	{append(scaled("attention_factor"), "rope_parameters.main.attention_factor"), 1.0, false},
}

// idleKeys are the keys that we know and do not act on.
var idleKeys = []struct{ name, why string }{
	{"architectures", "model_type says it"},
	{"transformers_version", "says who wrote the file"},
	{"torch_dtype", "each stored tensor says its own type"},
	{"dtype", "each stored tensor says its own type"},
	{"expert_dtype", "each stored tensor says its own type"},
	{"scale_dtype", "each stored tensor says its own type"},
	{"scale_fmt", "each stored tensor says its own type"},
	{"quantization_config", "read by what reads the checkpoint"},
	{"pad_token_id", "sequences are packed, not padded"},
	{"max_batch_size", "an engine's own setting"},
	{"temperature", "a request's own setting"},
	{"use_cache", "an engine's own setting"},
	{"output_router_logits", "what a pass returns is the caller's choice"},
	{"router_aux_loss_coef", "no loss of ours is added for balance"},
	{"num_nextn_predict_layers", "blocks that predict further tokens are not part of this model"},
	{"n_mtp_layers", "blocks that predict further tokens are not part of this model"},
	{"dspark_block_size", "the draft model is not part of this model"},
	{"dspark_markov_rank", "the draft model is not part of this model"},
	{"dspark_noise_token_id", "the draft model is not part of this model"},
	{"dspark_target_layer_ids", "the draft model is not part of this model"},
}
