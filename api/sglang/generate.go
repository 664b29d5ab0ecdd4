package sglang

import "encoding/json"

// Generate is the body of POST /generate.
type Generate struct {
	Text        Each[string]    `json:"text,omitzero"`
	InputIDs    IDs             `json:"input_ids,omitzero"`
	InputEmbeds json.RawMessage `json:"input_embeds,omitempty"`

	Params Each[Params] `json:"sampling_params,omitzero"`
	RID    Each[string] `json:"rid,omitzero"`
	Stream bool         `json:"stream,omitempty"`

	ReturnLogProb           Each[bool] `json:"return_logprob,omitzero"`
	LogProbStart            Each[*int] `json:"logprob_start_len,omitzero"` // -1 and absent: outputs only
	TopLogProbs             Each[int]  `json:"top_logprobs_num,omitzero"`
	TokenIDsLogProb         IDs        `json:"token_ids_logprob,omitzero"`
	ReturnTextInLogProbs    bool       `json:"return_text_in_logprobs,omitempty"`
	ReturnPromptTokenIDs    bool       `json:"return_prompt_token_ids,omitempty"`
	ReturnRoutedExperts     bool       `json:"return_routed_experts,omitempty"`
	RoutedExpertsStart      int        `json:"routed_experts_start_len,omitempty"`
	ReturnIndexerTopK       bool       `json:"return_indexer_topk,omitempty"`
	ReturnSamplingMask      bool       `json:"return_sampling_mask,omitempty"`
	ReturnHiddenStates      any        `json:"return_hidden_states,omitempty"` // true, false or "last"
	TokenIDsLogProbPosition any        `json:"token_ids_logprob_positions,omitempty"`

	ExtraKey  Each[string] `json:"extra_key,omitzero"`  // requests with different ones never share attention state
	CacheSalt Each[string] `json:"cache_salt,omitzero"` // the same
	Rank      *int         `json:"routed_dp_rank,omitempty"`
	OldRank   *int         `json:"data_parallel_rank,omitempty"`

	LoraPath      Each[*string]   `json:"lora_path,omitzero"`
	ImageData     json.RawMessage `json:"image_data,omitempty"`
	VideoData     json.RawMessage `json:"video_data,omitempty"`
	AudioData     json.RawMessage `json:"audio_data,omitempty"`
	Processor     json.RawMessage `json:"custom_logit_processor,omitempty"`
	SessionParams json.RawMessage `json:"session_params,omitempty"`

	ResponseStart *int `json:"response_start_len,omitempty"` // ours: what input_ids have from there on is a response that was begun

	LogMetrics *bool `json:"log_metrics,omitempty"` // false keeps the request out of metrics
}

// An Answer is what /generate says of one sample, or of a part of it in a stream.
type Answer struct {
	Text           *string `json:"text,omitempty"` // nil when the server has no tokenizer
	OutputIDs      []int32 `json:"output_ids"`
	Meta           Meta    `json:"meta_info"`
	PromptTokenIDs []int32 `json:"prompt_token_ids,omitempty"`
	Index          *int    `json:"index,omitempty"` // in streams of batches
}

// Meta is meta_info.
type Meta struct {
	ID                  string         `json:"id"`
	Finish              *Finish        `json:"finish_reason"` // nil before the end
	PromptTokens        int            `json:"prompt_tokens"`
	CompletionTokens    int            `json:"completion_tokens"`
	CachedTokens        int            `json:"cached_tokens"`
	CachedTokensDetails *CachedDetails `json:"cached_tokens_details,omitempty"`
	ReasoningTokens     int            `json:"reasoning_tokens"`
	WeightVersion       string         `json:"weight_version"`
	WeightVersions      []Span         `json:"weight_versions,omitempty"`
	Retractions         int            `json:"num_retractions"`
	Latency             *Seconds       `json:"e2e_latency,omitempty"`

	InputLogProbs        Triples   `json:"input_token_logprobs,omitzero"`
	OutputLogProbs       Triples   `json:"output_token_logprobs,omitzero"`
	OutputLogProbsLength *int      `json:"output_token_logprobs_length,omitempty"`
	InputTop             []Triples `json:"input_top_logprobs,omitzero"`
	OutputTop            []Triples `json:"output_top_logprobs,omitzero"`
	InputAmong           []Triples `json:"input_token_ids_logprobs,omitzero"`
	OutputAmong          []Triples `json:"output_token_ids_logprobs,omitzero"`
	RoutedExperts        *string   `json:"routed_experts,omitempty"` // base64 of little-endian int32 [rows, layers, choices]
}

// A Span says which version of the weights chose output tokens Start to End-1.
type Span struct {
	Version string `json:"version"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

// CachedDetails say where cached tokens lay.
type CachedDetails struct {
	Device int `json:"device"`
	Host   int `json:"host"`
}
