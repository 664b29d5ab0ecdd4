package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"furlong/api/sglang"
)

// Sampling is how tokens are drawn, the same in both endpoints. nil is absent.
type Sampling struct {
	Temperature       *float64           `json:"temperature,omitempty"`
	TopP              *float64           `json:"top_p,omitempty"`
	TopK              *int               `json:"top_k,omitempty"`
	MinP              *float64           `json:"min_p,omitempty"`
	N                 *int               `json:"n,omitempty"`
	Seed              *int64             `json:"seed,omitempty"`
	Stop              sglang.Strings     `json:"stop,omitempty"`
	StopTokenIDs      sglang.Tokens      `json:"stop_token_ids,omitempty"`
	StopRegex         sglang.Strings     `json:"stop_regex,omitempty"`
	MinTokens         *int               `json:"min_tokens,omitempty"`
	FrequencyPenalty  *float64           `json:"frequency_penalty,omitempty"`
	PresencePenalty   *float64           `json:"presence_penalty,omitempty"`
	RepetitionPenalty *float64           `json:"repetition_penalty,omitempty"`
	LogitBias         map[string]float64 `json:"logit_bias,omitempty"`
	NoStopTrim        *bool              `json:"no_stop_trim,omitempty"`
	IgnoreEOS         *bool              `json:"ignore_eos,omitempty"`
	SkipSpecialTokens *bool              `json:"skip_special_tokens,omitempty"`
	Regex             *string            `json:"regex,omitempty"`
	EBNF              *string            `json:"ebnf,omitempty"`
	JSONSchema        *string            `json:"json_schema,omitempty"`
	ResponseFormat    *ResponseFormat    `json:"response_format,omitempty"`
}

// Params returns s as parameters of the native dialect, with room for limit tokens; nil is all there is room for.
func (s Sampling) Params(limit *int) (sglang.Params, error) {
	p := sglang.Params{
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, N: s.N, SamplingSeed: s.Seed, Stop: s.Stop, StopTokenIDs: s.StopTokenIDs,
		StopRegex: s.StopRegex, MinNewTokens: s.MinTokens, FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty,
		RepetitionPenalty: s.RepetitionPenalty, LogitBias: s.LogitBias, NoStopTrim: s.NoStopTrim, IgnoreEOS: s.IgnoreEOS,
		SkipSpecialTokens: s.SkipSpecialTokens, Regex: s.Regex, EBNF: s.EBNF, JSONSchema: s.JSONSchema, MaxNewTokens: sglang.Limit{None: true},
	}
	if limit != nil {
		p.MaxNewTokens = sglang.AtMost(*limit)
	}
	return p, s.ResponseFormat.into(&p)
}

// A ResponseFormat says what the response has to look like.
type ResponseFormat struct {
	Type       string          `json:"type"` // text, json_object, json_schema or structural_tag
	JSONSchema *Schema         `json:"json_schema,omitempty"`
	Whole      json.RawMessage `json:"-"` // as it came: a structural_tag is passed on
}

// UnmarshalJSON reads a format.
func (f *ResponseFormat) UnmarshalJSON(raw []byte) error {
	f.Whole = bytes.Clone(raw)
	return sglang.Decode(raw, f)
}

// A Schema is a JSON schema with a name.
type Schema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict *bool           `json:"strict,omitempty"`
}

// anyObject is the schema of json_object.
const anyObject = `{"type":"object"}`

// into sets the constraint of p that f asks for. One that is set besides stays, so that whoever reads p can refuse both.
func (f *ResponseFormat) into(p *sglang.Params) error {
	if f == nil {
		return nil
	}
	switch f.Type {
	case "text":
		return nil
	case "json_object":
		return set(&p.JSONSchema, anyObject)
	case "json_schema":
		if f.JSONSchema == nil || len(f.JSONSchema.Schema) == 0 {
			return fmt.Errorf("response_format is of type json_schema and has no json_schema.schema")
		}
		return set(&p.JSONSchema, string(f.JSONSchema.Schema))
	case "structural_tag":
		return set(&p.StructuralTag, string(f.Whole))
	}
	return fmt.Errorf("response_format has the type %q, want text, json_object, json_schema or structural_tag", f.Type)
}

func set(to **string, v string) error {
	if *to != nil {
		return fmt.Errorf("response_format and json_schema are both given, want one of them")
	}
	*to = &v
	return nil
}
