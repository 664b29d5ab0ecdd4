package sglang

import (
	"encoding/json"
	"fmt"

	"furlong/nearest"
)

// Params is sampling_params. nil and zero fields are absent, for which the server has defaults.
type Params struct {
	MaxNewTokens      Limit              `json:"max_new_tokens,omitzero"`
	Temperature       *float64           `json:"temperature,omitempty"`
	TopP              *float64           `json:"top_p,omitempty"`
	TopK              *int               `json:"top_k,omitempty"`
	MinP              *float64           `json:"min_p,omitempty"`
	Stop              Strings            `json:"stop,omitempty"`
	StopTokenIDs      Tokens             `json:"stop_token_ids,omitempty"`
	StopRegex         Strings            `json:"stop_regex,omitempty"`
	SkipSpecialTokens *bool              `json:"skip_special_tokens,omitempty"`
	SpacesBetween     *bool              `json:"spaces_between_special_tokens,omitempty"`
	NoStopTrim        *bool              `json:"no_stop_trim,omitempty"`
	IgnoreEOS         *bool              `json:"ignore_eos,omitempty"`
	MinNewTokens      *int               `json:"min_new_tokens,omitempty"`
	N                 *int               `json:"n,omitempty"`
	SamplingSeed      *int64             `json:"sampling_seed,omitempty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty,omitempty"`
	PresencePenalty   *float64           `json:"presence_penalty,omitempty"`
	RepetitionPenalty *float64           `json:"repetition_penalty,omitempty"`
	LogitBias         map[string]float64 `json:"logit_bias,omitempty"` // by token ids in decimal
	Regex             *string            `json:"regex,omitempty"`
	JSONSchema        *string            `json:"json_schema,omitempty"` // JSON in a string
	EBNF              *string            `json:"ebnf,omitempty"`
	StructuralTag     *string            `json:"structural_tag,omitempty"`
	CustomParams      json.RawMessage    `json:"custom_params,omitempty"`
	StreamInterval    *int               `json:"stream_interval,omitempty"`
	BeamWidth         *int               `json:"beam_width,omitempty"`
}

// UnmarshalJSON reads parameters and refuses a key that is none. null is no parameters.
func (p *Params) UnmarshalJSON(raw []byte) error {
	if *p = (Params{}); string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		return fmt.Errorf("is %.20s, want an object", raw)
	}
	return decode(raw, p, func(key string, known []string) error {
		near := nearest.Name(key, known)
		if key == "max_tokens" {
			near = "max_new_tokens"
		}
		if near == "" {
			return fmt.Errorf("has the key %q, which is no sampling parameter", key)
		}
		return fmt.Errorf("has the key %q, which is no sampling parameter; did you mean %q", key, near)
	})
}

// Over returns p with what it lacks taken from other.
func (p Params) Over(other Params) (Params, error) {
	mine, err := json.Marshal(p)
	if err != nil {
		return Params{}, err
	}
	if p.MaxNewTokens.None {
		other.MaxNewTokens = p.MaxNewTokens
	}
	return other, decode(mine, &other, nil)
}
