package sglang

import "encoding/json"

// Abort is the body of POST /abort_request.
type Abort struct {
	RID     string `json:"rid,omitempty"`
	All     bool   `json:"abort_all,omitempty"`
	Message string `json:"abort_message,omitempty"`
	Prefix  bool   `json:"prefix,omitempty"` // RID is a beginning
}

// What becomes of samples in flight in a pause.
const (
	PauseAbort   = "abort"
	PauseRetract = "retract"
	PauseInPlace = "in_place"
)

// Pause is the body of POST /pause_generation.
type Pause struct {
	Mode string `json:"mode,omitempty"` // "" is abort
}

// Continue is the body of POST /continue_generation.
type Continue struct {
	EmptyCache *bool `json:"torch_empty_cache,omitempty"`
}

// Status is what both answer.
type Status struct {
	Message string `json:"message"`
	Status  string `json:"status"`
}

// Tokenize is the body of POST /tokenize.
type Tokenize struct {
	Prompt             Each[string]    `json:"prompt,omitzero"`
	Messages           json.RawMessage `json:"messages,omitempty"`
	Tools              json.RawMessage `json:"tools,omitempty"`
	AddSpecialTokens   *bool           `json:"add_special_tokens,omitempty"` // nil is true
	ChatTemplateKwargs json.RawMessage `json:"chat_template_kwargs,omitempty"`
}

// Tokenized is its answer. Tokens and Count are lists when Prompt was one.
type Tokenized struct {
	Tokens      IDs       `json:"tokens"`
	Count       Each[int] `json:"count"`
	MaxModelLen int       `json:"max_model_len"`
}

// Detokenize is the body of POST /detokenize.
type Detokenize struct {
	Tokens            IDs   `json:"tokens,omitzero"`
	SkipSpecialTokens *bool `json:"skip_special_tokens,omitempty"` // nil is true
}

// Detokenized is its answer.
type Detokenized struct {
	Text Each[string] `json:"text"`
}

// SetInternalState is the body of POST /set_internal_state.
type SetInternalState struct {
	ServerArgs map[string]json.RawMessage `json:"server_args,omitempty"`
}

// Profile is the body of /start_profile. Other keys of the dialect are for other machines and are ignored.
type Profile struct {
	OutputDir  string  `json:"output_dir,omitempty"`
	Activities Strings `json:"activities,omitempty"`
	Prefix     string  `json:"profile_prefix,omitempty"`
	ID         string  `json:"profile_id,omitempty"`
}
