package sglang

import "encoding/json"

// ModelInfo is the answer of GET /model_info.
type ModelInfo struct {
	ModelPath               string   `json:"model_path"`
	ServedModelName         string   `json:"served_model_name"`
	TokenizerPath           string   `json:"tokenizer_path"`
	IsGeneration            bool     `json:"is_generation"`
	PreferredSamplingParams *string  `json:"preferred_sampling_params"`
	WeightVersion           string   `json:"weight_version"`
	LoadFormat              string   `json:"load_format"`
	ReasoningParser         *string  `json:"reasoning_parser"`
	ToolCallParser          *string  `json:"tool_call_parser"`
	HasImageUnderstanding   bool     `json:"has_image_understanding"`
	HasAudioUnderstanding   bool     `json:"has_audio_understanding"`
	ModelType               string   `json:"model_type"`
	Architectures           []string `json:"architectures"`

	Attested *Attested `json:"attestation,omitempty"` // ours: nil where nothing is attested
}

// Attested is what a server of ours says of the weights that it serves: digests in hexadecimal, which trainers and engines of one backend can compare.
type Attested struct {
	State     string    `json:"state"`     // of the weights as they came
	Effective string    `json:"effective"` // of all that is computed with
	Canary    []float32 `json:"canary"`    // logprobs of fixed tokens
	Tensors   int       `json:"tensors"`
	Bytes     int       `json:"bytes"`
	Cold      bool      `json:"cold"` // what was derived was compared with a fresh derivation
}

// ServerInfo is what is read of GET /server_info, which is one flat object: launch settings by their names, the scheduler's figures, and the states of
// its ranks. Fields that a server leaves out or spells as another type stay zero.
type ServerInfo struct {
	ModelPath           string `json:"model_path"`
	ServedModelName     string `json:"served_model_name"`
	Version             string `json:"version"`
	WeightVersion       string `json:"weight_version"`
	TPSize              int    `json:"tp_size"`
	DPSize              int    `json:"dp_size"`
	PPSize              int    `json:"pp_size"`
	MaxRunningRequests  int    `json:"max_running_requests"`
	MaxTotalTokens      int    `json:"max_total_num_tokens"`
	ContextLength       int    `json:"context_length"`
	Quantization        string `json:"quantization"`
	KVCacheDtype        string `json:"kv_cache_dtype"`
	Dtype               string `json:"dtype"`
	Deterministic       bool   `json:"enable_deterministic_inference"`
	ReturnRoutedExperts bool   `json:"enable_return_routed_experts"`
	SkipTokenizerInit   bool   `json:"skip_tokenizer_init"`
	ResponseStart       bool   `json:"response_start_len"` // ours: requests may say it
}

// UnmarshalJSON reads the fields that have the type they should.
func (s *ServerInfo) UnmarshalJSON(raw []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	return lenient(all, s)
}

// Loads is the answer of GET /v1/loads.
type Loads struct {
	Timestamp       string  `json:"timestamp"`
	Version         string  `json:"version"`
	Accelerator     *string `json:"accelerator"`
	NumAccelerators int     `json:"num_accelerators"`
	Loads           []Load  `json:"loads"`
}

// A Load is that of one rank. Sections that were not asked for are nil.
type Load struct {
	Rank    int `json:"dp_rank"`
	Running int `json:"num_running_reqs"`
	Waiting int `json:"num_waiting_reqs"`
	Used    int `json:"num_used_tokens"`
	Total   int `json:"num_total_tokens"`

	*LoadCore `json:",omitempty"`
	Memory    *LoadMemory `json:"memory,omitempty"`
	Queues    *LoadQueues `json:"queues,omitempty"`
}

// LoadCore is the rest of the section core.
type LoadCore struct {
	MaxRunning   int     `json:"max_running_requests"`
	TokenUsage   Seconds `json:"token_usage"`
	Throughput   Seconds `json:"gen_throughput"`
	CacheHitRate Seconds `json:"cache_hit_rate"`
	Utilization  Seconds `json:"utilization"`
}

// LoadMemory is the section memory.
type LoadMemory struct {
	TokenCapacity int `json:"token_capacity"`
	FreeTokens    int `json:"free_tokens"`
	CachedTokens  int `json:"cached_tokens"`
}

// LoadQueues is the section queues.
type LoadQueues struct {
	Waiting   int `json:"waiting"`
	Grammar   int `json:"grammar"`
	Retracted int `json:"retracted"`
	Paused    int `json:"paused"`
}

// OldLoad is an element of the answer of GET /get_load.
type OldLoad struct {
	Rank          int     `json:"dp_rank"`
	Requests      int     `json:"num_reqs"`
	Waiting       int     `json:"num_waiting_reqs"`
	Tokens        int     `json:"num_tokens"`
	PendingTokens int     `json:"num_pending_tokens"`
	Tic           Seconds `json:"ts_tic"`
}
