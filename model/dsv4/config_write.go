package dsv4

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// JSON returns c as a config.json in the spelling of transformers 5, keys in order. ReadConfig of it is c. It says nothing of how
// weights are stored (dtype, quantization_config): what stores them adds that. An invalid c panics.
func (c Config) JSON() []byte {
	if err := c.Validate(); err != nil {
		panic(fmt.Sprintf("dsv4: config to write: %v", err))
	}
	t := configTree{"architectures": []string{"DeepseekV4ForCausalLM"}, "pad_token_id": nil, "num_nextn_predict_layers": 0}
	for _, f := range fixedKeys {
		if f.write {
			t.set(f.names[0], f.want)
		}
	}
	c.putKeys(t)
	c.putLayers(t)
	c.putRope(t)
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("dsv4: config to write: %v", err)) // a valid Config holds nothing that JSON cannot
	}
	return append(b, '\n')
}

// A configTree is an object to write.
type configTree map[string]any

// set puts v where name, such as rope_parameters.main.rope_theta, says. Numbers that need not be whole are written as such: some
// readers tell 1 from 1.0.
func (t configTree) set(name string, v any) {
	if f, ok := v.(float64); ok {
		v = decimal(f)
	}
	object, rest, nested := strings.Cut(name, ".")
	if !nested {
		t[name] = v
		return
	}
	if t[object] == nil {
		t[object] = configTree{}
	}
	t[object].(configTree).set(rest, v)
}

// decimal returns the shortest text that reads as f again and does not look like an integer.
func decimal(f float64) json.RawMessage {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.RawMessage(s)
}

// putKeys writes what stands alone. A key that no layer needs and that is 0 is absent.
func (c *Config) putKeys(t configTree) {
	for _, k := range append(c.integerKeys(), c.rateKeys()...) {
		if k.need || *k.at != 0 {
			t.set(k.names[0], *k.at)
		}
	}
	for _, k := range c.numberKeys() {
		if k.need || *k.at != 0 {
			t.set(k.names[0], *k.at)
		}
	}
	if c.LimitShared != c.Limit {
		t.set("swiglu_limit_shared", c.LimitShared)
	}
	t.set("bos_token_id", c.BOS)
	t.set("eos_token_id", c.EOS)
}

func (c *Config) putLayers(t configTree) {
	attention, router := make([]string, len(c.Layers)), make([]string, len(c.Layers))
	for i, l := range c.Layers {
		attention[i], router[i] = l.Attention.String(), l.Router.String()
	}
	t.set("num_hidden_layers", len(c.Layers))
	t.set("layer_types", attention)
	t.set("mlp_layer_types", router)
}

// putRope writes both frequencies, and again at the top level what readers of either spelling look for there.
func (c *Config) putRope(t configTree) {
	factor := rotaryFactor(c.RopeDim, c.HeadDim)
	t.set("qk_rope_head_dim", c.RopeDim)
	t.set("partial_rotary_factor", factor)
	t.set("rope_parameters.main.partial_rotary_factor", factor)
	t.set("rope_parameters.main.rope_theta", c.RopeTheta)
	t.set("rope_parameters.main.rope_type", "default")
	t.set("rope_parameters.compress.partial_rotary_factor", factor)
	if c.CompressRopeTheta != 0 {
		t.set("rope_parameters.compress.rope_theta", c.CompressRopeTheta)
	}
	c.putYarn(t)
}

func (c *Config) putYarn(t configTree) {
	const at = "rope_parameters.compress."
	if c.Yarn == (Yarn{}) {
		t.set(at+"rope_type", "default")
		return
	}
	t.set(at+"rope_type", "yarn")
	t.set(at+"attention_factor", 1.0)
	t.set(at+"beta_fast", c.Yarn.BetaFast)
	t.set(at+"beta_slow", c.Yarn.BetaSlow)
	t.set(at+"factor", c.Yarn.Factor)
	t.set(at+"original_max_position_embeddings", c.Yarn.Original)
}
