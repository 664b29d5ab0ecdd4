package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"furlong/api/sglang"
)

// Options are what both endpoints know besides how tokens are drawn.
type Options struct {
	Model               string           `json:"model,omitempty"`
	Stream              bool             `json:"stream,omitempty"`
	StreamOptions       *StreamOptions   `json:"stream_options,omitempty"`
	RID                 sglang.Strings   `json:"rid,omitempty"`
	ExtraKey            *string          `json:"extra_key,omitempty"`
	CacheSalt           *string          `json:"cache_salt,omitempty"`
	LoraPath            json.RawMessage  `json:"lora_path,omitempty"`
	ReturnTokenIDs      bool             `json:"return_token_ids,omitempty"`
	ReturnPromptIDs     bool             `json:"return_prompt_token_ids,omitempty"`
	ReturnMeta          bool             `json:"return_meta_info,omitempty"`
	ReturnRoutedExperts bool             `json:"return_routed_experts,omitempty"`
	RoutedExpertsStart  int              `json:"routed_experts_start_len,omitempty"`
	ReturnIndexerTopK   bool             `json:"return_indexer_topk,omitempty"`
	ReturnHiddenStates  *json.RawMessage `json:"return_hidden_states,omitempty"`
}

// StreamOptions says what streams tell besides text.
type StreamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitempty"`
}

// Completion is the body of POST /v1/completions.
type Completion struct {
	Options  `json:"-"`
	Sampling `json:"-"`

	Prompt    Prompt `json:"prompt"`
	MaxTokens *int   `json:"max_tokens,omitempty"` // absent: 16
	Echo      bool   `json:"echo,omitempty"`
	LogProbs  *int   `json:"logprobs,omitempty"` // alternatives at each position
}

// ReadCompletion reads a request.
func ReadCompletion(raw []byte) (*Completion, error) {
	var c Completion
	return &c, errors.Join(sglang.Decode(raw, &c.Options), sglang.Decode(raw, &c.Sampling), sglang.Decode(raw, &c))
}

// A Prompt is one prompt or several, as text or as ids.
type Prompt struct {
	Texts []string
	IDs   [][]int32
	Many  bool // it came as a list of prompts
}

// Len returns the number of prompts.
func (p Prompt) Len() int { return len(p.Texts) + len(p.IDs) }

// UnmarshalJSON reads a text, a list of texts, a list of ids, or a list of such lists.
func (p *Prompt) UnmarshalJSON(raw []byte) error {
	*p = Prompt{}
	if raw[0] != '[' {
		p.Texts = make([]string, 1)
		return json.Unmarshal(raw, &p.Texts[0])
	}
	switch inner := bytes.TrimLeft(raw[1:], " \t\r\n"); {
	case inner[0] == '"':
		p.Many = true
		return json.Unmarshal(raw, &p.Texts)
	case inner[0] == '[':
		p.Many = true
		return json.Unmarshal(raw, &p.IDs)
	}
	p.IDs = make([][]int32, 1)
	return json.Unmarshal(raw, &p.IDs[0])
}

// Chat is the body of POST /v1/chat/completions.
type Chat struct {
	Options  `json:"-"`
	Sampling `json:"-"`

	Messages            []Message                  `json:"messages"`
	InputIDs            sglang.Tokens              `json:"input_ids,omitempty"` // in place of the template's
	MaxTokens           *int                       `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int                       `json:"max_completion_tokens,omitempty"` // wins
	LogProbs            bool                       `json:"logprobs,omitempty"`
	TopLogProbs         *int                       `json:"top_logprobs,omitempty"`
	Tools               []Tool                     `json:"tools,omitempty"`
	ToolChoice          ToolChoice                 `json:"tool_choice,omitzero"`
	ReasoningEffort     *string                    `json:"reasoning_effort,omitempty"`
	SeparateReasoning   *bool                      `json:"separate_reasoning,omitempty"`
	TemplateArgs        map[string]json.RawMessage `json:"chat_template_kwargs,omitempty"`
	ContinueFinal       bool                       `json:"continue_final_message,omitempty"`
}

// ReadChat reads a request.
func ReadChat(raw []byte) (*Chat, error) {
	var c Chat
	return &c, errors.Join(sglang.Decode(raw, &c.Options), sglang.Decode(raw, &c.Sampling), sglang.Decode(raw, &c))
}

// Limit returns the most tokens of a response, nil for all there is room for.
func (c *Chat) Limit() *int {
	if c.MaxCompletionTokens != nil {
		return c.MaxCompletionTokens
	}
	return c.MaxTokens
}

// A Message is a turn of a conversation.
type Message struct {
	Role       string     `json:"role"`
	Content    Content    `json:"content"`
	Reasoning  *string    `json:"reasoning_content,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

// Content is text, which may come in parts; null is no text.
type Content string

// UnmarshalJSON reads a text or a list of parts that are all text.
func (c *Content) UnmarshalJSON(raw []byte) error {
	if raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var all strings.Builder
	for i, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("part %d of the content is of type %q, want text", i, p.Type)
		}
		all.WriteString(p.Text)
	}
	*c = Content(all.String())
	return nil
}

// A Tool is something that the model may call.
type Tool struct {
	Type     string   `json:"type"` // function
	Function Function `json:"function"`
}

// A Function is a tool's name and parameters.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Whole       json.RawMessage `json:"-"` // as it came
}

// UnmarshalJSON reads a function.
func (f *Function) UnmarshalJSON(raw []byte) error {
	f.Whole = bytes.Clone(raw)
	return sglang.Decode(raw, f)
}

// A ToolChoice says whether tools must be called: auto (and absent), none, required, or the name of a function.
type ToolChoice struct {
	Mode string
	Name string
}

// UnmarshalJSON reads a mode or {"type":"function","function":{"name":...}}.
func (t *ToolChoice) UnmarshalJSON(raw []byte) error {
	*t = ToolChoice{}
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &t.Mode); err != nil {
			return err
		}
		switch t.Mode {
		case "auto", "none", "required":
			return nil
		}
		return fmt.Errorf("is %q, want auto, none, required or a function", t.Mode)
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	if named.Function.Name == "" {
		return errors.New("has no function.name")
	}
	t.Mode, t.Name = "function", named.Function.Name
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (t ToolChoice) MarshalJSON() ([]byte, error) {
	if t.Name == "" {
		return json.Marshal(t.Mode)
	}
	return json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": t.Name}})
}
