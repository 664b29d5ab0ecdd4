package dsv4

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// Each change to a file must be refused for this one reason.
func TestReadConfigRefuses(t *testing.T) {
	long := strings.Repeat("x", 1<<12)
	for _, tt := range []struct {
		file    string
		changes map[string]any
		want    string
	}{
		// what the model does in one way only
		{"oracle", map[string]any{"model_type": "deepseek_v3"}, `model_type is "deepseek_v3", want "deepseek_v4"`},
		{"oracle", map[string]any{"num_key_value_heads": 4}, `num_key_value_heads is 4, want 1`},
		{"oracle", map[string]any{"num_key_value_heads": "1"}, `num_key_value_heads is "1", want 1`},
		{"oracle", map[string]any{"n_shared_experts": 2}, `n_shared_experts is 2, want 1`},
		{"oracle", map[string]any{"scoring_func": "softmax"}, `scoring_func is "softmax", want "sqrtsoftplus"`},
		{"program", map[string]any{"score_func": "sigmoid"}, `score_func is "sigmoid", want "sqrtsoftplus"`},
		{"flash", map[string]any{"topk_method": "greedy"}, `topk_method is "greedy", want "noaux_tc"`},
		{"oracle", map[string]any{"norm_topk_prob": false}, `norm_topk_prob is false, want true`},
		{"oracle", map[string]any{"norm_topk_prob": []int{}}, `norm_topk_prob is a list, want true`},
		{"oracle", map[string]any{"hidden_act": "gelu"}, `hidden_act is "gelu", want "silu"`},
		{"oracle", map[string]any{"tie_word_embeddings": true}, `tie_word_embeddings is true, want false`},
		{"oracle", map[string]any{"attention_bias": true}, `attention_bias is true, want false`},
		{"oracle", map[string]any{"mlp_bias": true}, `mlp_bias is true, want false`},
		{"oracle", map[string]any{"attention_dropout": 0.1}, `attention_dropout is 0.1, want 0`},
		{"oracle", map[string]any{"router_jitter_noise": 0.01}, `router_jitter_noise is 0.01, want 0`},
		{"oracle", map[string]any{"rope_parameters.compress.attention_factor": 1.2}, `rope_parameters.compress.attention_factor is 1.2, want 1`},
		{"flash", map[string]any{"rope_scaling.attention_factor": 1.27}, `rope_scaling.attention_factor is 1.27, want 1`},
		{"oracle", map[string]any{"rope_parameters.main.rope_type": "yarn"}, `rope_parameters.main.rope_type is "yarn", want "default"`},

		// copies that disagree
		{"oracle", map[string]any{"dim": 128}, `hidden_size is 64 but dim is 128`},
		{"oracle", map[string]any{"intermediate_size": 64}, `moe_intermediate_size is 32 but intermediate_size is 64`},
		{"oracle", map[string]any{"num_local_experts": 4}, `n_routed_experts is 8 but num_local_experts is 4`},
		{"oracle", map[string]any{"n_layers": 7}, `num_hidden_layers is 6 but n_layers is 7`},
		{"oracle", map[string]any{"rope_theta": 1e6}, `rope_theta is 1e+06 but rope_parameters.main.rope_theta is 10000`},
		{"oracle", map[string]any{"compress_rope_theta": 160000}, `compress_rope_theta is 160000 but rope_parameters.compress.rope_theta is 1000`},
		{"oracle", map[string]any{"compress_rate_hca": 128}, `compress_rates.heavily_compressed_attention is 16 but compress_rate_hca is 128`},
		{"oracle", map[string]any{"qk_rope_head_dim": 16}, "qk_rope_head_dim is 16 but head_dim * rope_parameters.compress.partial_rotary_factor is 8\n" +
			"qk_rope_head_dim is 16 but head_dim * rope_parameters.main.partial_rotary_factor is 8\nqk_rope_head_dim is 16 but head_dim * partial_rotary_factor is 8"},
		{"oracle", map[string]any{"rope_head_dim": 16}, `qk_rope_head_dim is 8 but rope_head_dim is 16`},
		{"oracle", map[string]any{"partial_rotary_factor": 0.5}, `qk_rope_head_dim is 8 but head_dim * partial_rotary_factor is 16`},
		{"oracle", map[string]any{"rope_scaling.factor": 16}, `rope_parameters.compress.factor is 4 but rope_scaling.factor is 16`},
		{"oracle", map[string]any{"rope_scaling.type": "default"}, `rope_parameters.compress.rope_type is yarn but rope_scaling.type is default`},
		{"oracle", map[string]any{"compress_ratios": []int{0, 4, 128, 4, 4, 0}}, `layer_types[4] is heavily_compressed_attention but compress_ratios[4] is 4`},
		{"oracle", map[string]any{"num_hash_layers": 4}, `mlp_layer_types[3] is moe but num_hash_layers is 4`},
		{"oracle", map[string]any{"n_hash_layers": 2}, `mlp_layer_types[2] is hash_moe but n_hash_layers is 2`},
		{"flash", map[string]any{"n_hash_layers": 2}, `num_hash_layers is 3 but n_hash_layers is 2`},

		// the schedule
		{"oracle", map[string]any{"layer_types": absent{}}, `layer_types is missing, want one kind a layer`},
		{"oracle", map[string]any{"mlp_layer_types": absent{}}, `mlp_layer_types is missing, want one kind a layer`},
		{"oracle", map[string]any{"num_hidden_layers": absent{}}, `num_hidden_layers is missing, want 1 to 4096`},
		{"oracle", map[string]any{"num_hidden_layers": 0}, `num_hidden_layers is 0, want 1 to 4096`},
		{"oracle", map[string]any{"num_hidden_layers": 1 << 40}, `num_hidden_layers is 1099511627776, want 1 to 4096`},
		{"oracle", map[string]any{"num_hidden_layers": 5}, "layer_types has 6 entries, want 5 (num_hidden_layers)\nmlp_layer_types has 6 entries, want 5 (num_hidden_layers)"},
		{"flash", map[string]any{"num_hidden_layers": 45}, `compress_ratios has 44 entries, want 45 (num_hidden_layers)`},
		{"flash", map[string]any{"compress_ratios": []int{0, 4, 16}}, `compress_ratios[2] is 16, want 0, 4 or 128`},
		{"flash", map[string]any{"compress_ratios": 4}, `compress_ratios is 4, want a list`},
		{"flash", map[string]any{"compress_ratios": []any{0, "4"}}, `compress_ratios[1] is "4", want 0, 4 or 128`},
		{"flash", map[string]any{"num_hash_layers": -1}, `num_hash_layers is -1, want a count of layers`},
		{
			"oracle",
			map[string]any{"layer_types": []string{"full_attention"}},
			`layer_types[0] is "full_attention", want one of sliding_attention, compressed_sparse_attention, heavily_compressed_attention`,
		},
		{"oracle", map[string]any{"mlp_layer_types": []any{0}}, `mlp_layer_types[0] is 0, want one of moe, hash_moe`},
		{"oracle", map[string]any{"compress_rates": absent{}}, "compress_rates.compressed_sparse_attention is missing, want an integer\n" +
			"compress_rates.heavily_compressed_attention is missing, want an integer"},
		{"oracle", map[string]any{"compress_rates.compressed_sparse_attention": 0}, `compress_rates.compressed_sparse_attention is 0, want more than 0, at most 65536`},
		{"oracle", map[string]any{"compress_rates": []int{4, 16}}, "compress_rates is a list, want an object\n" +
			"compress_rates.compressed_sparse_attention is missing, want an integer\ncompress_rates.heavily_compressed_attention is missing, want an integer"},

		// rotation
		{"tiny", map[string]any{"partial_rotary_factor": absent{}}, `qk_rope_head_dim is missing, want an integer`},
		{"tiny", map[string]any{"partial_rotary_factor": 1.5}, `partial_rotary_factor is 1.5, want a number above 0, at most 1`},
		{"tiny", map[string]any{"partial_rotary_factor": 0.24}, `qk_rope_head_dim is 15, want an even number above 0`},
		{"tiny", map[string]any{"partial_rotary_factor": 0.75}, `qk_rope_head_dim is 48, want at most index_head_dim (32)`},
		{"flash", map[string]any{"qk_rope_head_dim": 1024, "index_head_dim": 1024}, `qk_rope_head_dim is 1024, want at most head_dim (512)`},
		{"flash", map[string]any{"qk_rope_head_dim": 0}, `qk_rope_head_dim is 0, want an even number above 0`},
		{"flash", map[string]any{"rope_scaling.type": "linear"}, `rope_scaling.type is "linear", want default or yarn` + "\n" +
			"rope_scaling.factor is 16 but no rope_type is yarn\nrope_scaling.original_max_position_embeddings is 65536 but no rope_type is yarn\n" +
			"rope_scaling.beta_fast is 32 but no rope_type is yarn\nrope_scaling.beta_slow is 1 but no rope_type is yarn"},
		{"tiny", map[string]any{"rope_scaling.factor": 16}, `rope_scaling.factor is 16 but no rope_type is yarn`},
		{"tiny", map[string]any{"rope_scaling.type": "yarn"}, "rope_parameters.compress.original_max_position_embeddings is missing, want an integer\n" +
			"rope_parameters.compress.factor is missing, want a finite number"},
		{"flash", map[string]any{"rope_scaling.factor": 1}, `rope_parameters.compress.factor is 1, want more than 1, at most 1e+06`},
		{"flash", map[string]any{"rope_scaling.original_max_position_embeddings": 0}, `rope_parameters.compress.original_max_position_embeddings is 0, want more than 0, at most 1073741824`},
		{"flash", map[string]any{"rope_scaling.beta_slow": 64}, `rope_parameters.compress.beta_slow is 64, want at most beta_fast (32)`},
		{"flash", map[string]any{"rope_scaling.beta_slow": 0}, `rope_parameters.compress.beta_slow is 0, want more than 0, at most 1e+06`},
		{"flash", map[string]any{"rope_scaling": "yarn"}, `rope_scaling is "yarn", want an object`},
		{"tiny", map[string]any{"rope_theta": 1}, `rope_theta is 1, want more than 1, at most 1e+15`},
		{"tiny", map[string]any{"compress_rope_theta": absent{}}, `compress_rope_theta is missing, want a finite number`},

		// sizes
		{"tiny", map[string]any{"hidden_size": absent{}}, `hidden_size is missing, want an integer`},
		{"tiny", map[string]any{"index_topk": absent{}}, `index_topk is missing, want an integer`},
		{"tiny", map[string]any{"swiglu_limit": absent{}}, `swiglu_limit is missing, want a finite number`},
		{"tiny", map[string]any{"num_attention_heads": 5}, `num_attention_heads is 5, want a multiple of o_groups (2)`},
		{"tiny", map[string]any{"num_experts_per_tok": 17}, `num_experts_per_tok is 17, want at most n_routed_experts (16)`},
		{"tiny", map[string]any{"hidden_size": -128}, `hidden_size is -128, want more than 0, at most 131072`},
		{"tiny", map[string]any{"hidden_size": math.MaxInt64}, `hidden_size is 9223372036854775807, want more than 0, at most 131072`},
		{"tiny", map[string]any{"hidden_size": json.RawMessage("1e300")}, `hidden_size is 1e300, want an integer`},
		{"tiny", map[string]any{"head_dim": 1 << 60}, "head_dim is 1152921504606846976, want more than 0, at most 16384\n" +
			"qk_rope_head_dim is 288230376151711744, want at most index_head_dim (32)"},
		{"tiny", map[string]any{"o_groups": 0}, `o_groups is 0, want more than 0, at most 4096`},
		{"tiny", map[string]any{"hc_eps": 0}, `hc_eps is 0, want more than 0, at most 1`},
		{"tiny", map[string]any{"rms_norm_eps": json.RawMessage("1e999")}, `rms_norm_eps is 1e999, want a finite number`},
		{"tiny", map[string]any{"swiglu_limit": json.RawMessage("1e300")}, "swiglu_limit is 1e+300, want more than -3.4028234663852886e+38, at most 3.4028234663852886e+38\n" +
			"swiglu_limit_shared is 1e+300, want a number that float32 can hold"},
		{"tiny", map[string]any{"eos_token_id": 512}, `eos_token_id is 512, want 0 or more, less than vocab_size (512)`},
		{"tiny", map[string]any{"bos_token_id": -1}, `bos_token_id is -1, want a token id`},
		{"tiny", map[string]any{"eos_token_id": []int{1, 2}}, `eos_token_id is a list, want a token id`},

		// types
		{"tiny", map[string]any{"hidden_size": 128.5}, `hidden_size is 128.5, want an integer`},
		{"tiny", map[string]any{"hidden_size": "128"}, `hidden_size is "128", want an integer`},
		{"tiny", map[string]any{"hidden_size": nil}, `hidden_size is null, want an integer`},
		{"tiny", map[string]any{"hidden_size": true}, `hidden_size is true, want an integer`},
		{"tiny", map[string]any{"hidden_size.x": 1}, `hidden_size is an object, want an integer`},
		{"tiny", map[string]any{"rope_theta": "10000"}, `rope_theta is "10000", want a finite number`},
		{"tiny", map[string]any{"hidden_size": long}, `hidden_size is "` + long[:48] + `...", want an integer`},

		// keys
		{"tiny", map[string]any{"slidding_window": 64}, `"slidding_window" is no key we know, the nearest is sliding_window`},
		{"tiny", map[string]any{"n_group": 8}, `"n_group" is no key we know, the nearest is o_groups`},
		{"oracle", map[string]any{"rope_parameters.main.factor": 2}, `"rope_parameters.main.factor" is no key we know, the nearest is rope_parameters.factor`},
		{"oracle", map[string]any{"compress_rates.sliding_attention": 1}, `"compress_rates.sliding_attention" is no key we know`},
		{"tiny", map[string]any{"text_config": map[string]any{}}, `"text_config" is no key we know`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, err := ReadConfig(edit(t, testConfig(t, tt.file), tt.changes))
			got := fmt.Sprint(err)
			if !strings.HasPrefix(got, tt.want) || strings.Count(got, "\n") != strings.Count(tt.want, "\n") {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestReadConfigRefusesText(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", ``, `config is not JSON: unexpected end of JSON input`},
		{"half", `{"vocab_size": 1`, `config is not JSON: unexpected end of JSON input`},
		{"two", `{} {}`, `config is not JSON: invalid character '{' after top-level value`},
		{"not a number", `{"vocab_size": NaN}`, `config is not JSON: invalid character 'N' looking for beginning of value`},
		{"list", `[]`, `config is a list, want an object`},
		{"null", `null`, `config is null, want an object`},
		{"twice", `{"vocab_size": 1, "dim": 2, "vocab_size": 1}`, `"vocab_size" stands twice, want once`},
		{"twice inside", `{"rope_scaling": {"type": "yarn", "type": "yarn"}}`, `"type" stands twice, want once`},
		{"twice where nothing reads", `{"quantization_config": [{"a": 1, "a": 1}]}`, `"a" stands twice, want once`},
		{"deep", deep, `config nests deeper than 32`},
		{"dotted", `{"rope_parameters.main.rope_theta": 1}`, `"rope_parameters.main.rope_theta" is no key we know: none has a dot`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadConfig([]byte(tt.data))
			if got, _, _ := strings.Cut(fmt.Sprint(err), "\n"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReadConfigBoundsItsReport(t *testing.T) {
	changes := map[string]any{}
	for i := range 1000 {
		changes[fmt.Sprintf("%0400d", i)] = i
	}
	_, err := ReadConfig(edit(t, testConfig(t, "tiny"), changes))
	got := fmt.Sprint(err)
	if lines := strings.Count(got, "\n") + 1; lines != 21 || len(got) > 4000 {
		t.Errorf("%d lines of %d bytes, want 21 lines, at most 4000 bytes", lines, len(got))
	}
	if want := "980 more keys are none we know"; !strings.HasSuffix(got, want) {
		t.Errorf("report ends %q, want %q", got[max(0, len(got)-40):], want)
	}
}

// Each change to a valid configuration must be refused for this one reason. What a file can say is tested above.
func TestConfigValidate(t *testing.T) {
	if err := flash.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Layers = nil }, `num_hidden_layers is 0, want 1 to 4096`},
		{func(c *Config) { c.Layers = make([]Layer, maxLayers+1) }, `num_hidden_layers is 4097, want 1 to 4096`},
		{
			func(c *Config) { c.Layers = []Layer{{9, 0}} },
			`layer_types[0] is kind 9, want one of sliding_attention, compressed_sparse_attention, heavily_compressed_attention`,
		},
		{func(c *Config) { c.Layers = []Layer{{0, 9}} }, `mlp_layer_types[0] is kind 9, want one of moe, hash_moe`},
		{func(c *Config) { c.RateC4 = 1 << 17 }, `compress_rates.compressed_sparse_attention is 131072, want more than 0, at most 65536`},
		{func(c *Config) { c.NormEps = math.NaN() }, `rms_norm_eps is NaN, want more than 0, at most 1`},
		{func(c *Config) { c.Limit = math.Inf(1) }, `swiglu_limit is +Inf, want more than -3.4028234663852886e+38, at most 3.4028234663852886e+38`},
		{func(c *Config) { c.LimitShared = math.NaN() }, `swiglu_limit_shared is NaN, want a number that float32 can hold`},
		{func(c *Config) { c.RopeDim = -2 }, `qk_rope_head_dim is -2, want an even number above 0`},
		{func(c *Config) { c.BOS = -1 }, `bos_token_id is -1, want 0 or more, less than vocab_size (129280)`},
		{func(c *Config) { c.Yarn.BetaFast = 0 }, "rope_parameters.compress.beta_fast is 0, want more than 0, at most 1e+06\n" +
			"rope_parameters.compress.beta_slow is 1, want at most beta_fast (0)"},
		{func(c *Config) { c.Layers = schedule("WW", 0); c.IndexHeads = -1 }, `index_n_heads is -1, want more than 0, at most 4096`},
		{func(c *Config) { c.Window, c.Streams = 0, 65 }, "sliding_window is 0, want more than 0, at most 16777216\nhc_mult is 65, want more than 0, at most 64"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			c := flash
			tt.change(&c)
			if got := fmt.Sprint(c.Validate()); got != tt.want {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}
