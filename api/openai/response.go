package openai

import (
	"encoding/json"
	"math"

	"furlong/api/sglang"
)

// The objects that answers say they are.
const (
	ObjectCompletion = "text_completion"
	ObjectChat       = "chat.completion"
	ObjectChunk      = "chat.completion.chunk"
	ObjectList       = "list"
	ObjectModel      = "model"
)

// A Reply is what all answers begin and end with.
type Reply struct {
	ID       string    `json:"id"`
	Object   string    `json:"object"`
	Created  int64     `json:"created"`
	Model    string    `json:"model"`
	Choices  any       `json:"choices"` // a list, never null
	Usage    *Usage    `json:"usage,omitempty"`
	Metadata *Metadata `json:"metadata,omitempty"`
	Ext      *Ext      `json:"sglext,omitempty"`
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int            `json:"prompt_tokens"`
	CompletionTokens int            `json:"completion_tokens"`
	TotalTokens      int            `json:"total_tokens"`
	ReasoningTokens  int            `json:"reasoning_tokens"`
	PromptDetails    *PromptDetails `json:"prompt_tokens_details"`
}

// PromptDetails says how many prompt tokens were not computed anew.
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// Metadata says which weights answered.
type Metadata struct {
	WeightVersion string `json:"weight_version"`
}

// Ext are SGLang's extensions of an answer.
type Ext struct {
	WeightVersion string  `json:"weight_version,omitempty"`
	RoutedExperts *string `json:"routed_experts,omitempty"`
}

// A CompletionChoice is one completion, or a piece of one in a stream.
type CompletionChoice struct {
	Index          int                 `json:"index"`
	Text           string              `json:"text"`
	LogProbs       *CompletionLogProbs `json:"logprobs"`
	FinishReason   *string             `json:"finish_reason"`
	MatchedStop    any                 `json:"matched_stop"` // a token, a text or null
	TokenIDs       []int32             `json:"token_ids,omitempty"`
	PromptTokenIDs []int32             `json:"prompt_token_ids,omitempty"`
	Meta           *sglang.Meta        `json:"meta_info,omitempty"`
}

// CompletionLogProbs are the logprobs of a completion, lists of one length.
type CompletionLogProbs struct {
	Tokens        []string           `json:"tokens"`
	TokenLogProbs []LogProb          `json:"token_logprobs"`
	TopLogProbs   []map[string]Float `json:"top_logprobs"`
	TextOffset    []int              `json:"text_offset"` // -1: not told
}

// A Float is written as null when it is not finite.
type Float float32

// A LogProb is a Float: null is a token before which there is nothing.
type LogProb = Float

// MarshalJSON writes the number.
func (f Float) MarshalJSON() ([]byte, error) { return sglang.AppendFloat(nil, float64(f)), nil }

// UnmarshalJSON reads a number; null is NaN.
func (f *Float) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*f = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(raw, (*float32)(f))
}

// A ChatChoice is one answer of a conversation.
type ChatChoice struct {
	Index          int           `json:"index"`
	Message        AnswerMessage `json:"message"`
	LogProbs       *ChatLogProbs `json:"logprobs"`
	FinishReason   *string       `json:"finish_reason"`
	MatchedStop    any           `json:"matched_stop"`
	PromptTokenIDs []int32       `json:"prompt_token_ids,omitempty"`
	TokenIDs       []int32       `json:"token_ids,omitempty"`
	Meta           *sglang.Meta  `json:"meta_info,omitempty"`
}

// An AnswerMessage is what the model said.
type AnswerMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"` // "" when there is none
	Reasoning *string    `json:"reasoning_content"`
	ToolCalls []ToolCall `json:"tool_calls"`
}

// A ToolCall is a call that the model asks for, or a piece of one in a stream.
type ToolCall struct {
	ID       *string  `json:"id,omitempty"`
	Index    int      `json:"index"`
	Type     string   `json:"type,omitempty"`
	Function CallText `json:"function"`
}

// CallText is the function called and its arguments, JSON in a string.
type CallText struct {
	Name      *string `json:"name,omitempty"`
	Arguments string  `json:"arguments"`
}

// ChatLogProbs are the logprobs of an answer.
type ChatLogProbs struct {
	Content []TokenLogProb `json:"content"`
}

// A TokenLogProb is a token with its logprob and the likeliest at its place.
type TokenLogProb struct {
	Token   string       `json:"token"`
	Bytes   []int        `json:"bytes"`
	LogProb Float        `json:"logprob"`
	Top     []TopLogProb `json:"top_logprobs"`
}

// TopLogProb is one of the likeliest tokens.
type TopLogProb struct {
	Token   string `json:"token"`
	Bytes   []int  `json:"bytes"`
	LogProb Float  `json:"logprob"`
}

// A ChunkChoice is a piece of an answer.
type ChunkChoice struct {
	Index        int           `json:"index"`
	Delta        Delta         `json:"delta"`
	LogProbs     *ChatLogProbs `json:"logprobs"`
	FinishReason *string       `json:"finish_reason"`
	MatchedStop  any           `json:"matched_stop"`
}

// A Delta is what a chunk adds to an answer.
type Delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning *string    `json:"reasoning_content,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// A Model is an entry of /v1/models.
type Model struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

// Models is the answer of /v1/models.
type Models struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// BadRequest returns the shape in which these endpoints refuse a request.
func BadRequest(message string) sglang.Problem {
	return sglang.Problem{Object: "error", Message: message, Type: "BadRequestError", Code: 400}
}

// InStream is the shape of an error in a stream that has begun.
type InStream struct {
	Error sglang.Problem `json:"error"`
}

// NoModel is the answer for a model that is not served.
func NoModel(id string) any {
	return map[string]any{"error": map[string]any{
		"message": "The model `" + id + "` does not exist", "type": "invalid_request_error", "param": "model", "code": "model_not_found",
	}}
}
