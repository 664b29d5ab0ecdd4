package sglang

import "encoding/json"

// BeginUpdate is the body of POST /begin_weight_update.
type BeginUpdate struct {
	Selector string `json:"selector,omitempty"` // target, draft or all; "" is all
}

// PostProcess is the body of POST /post_process_weights, which older callers use in place of begin and end.
type PostProcess struct {
	Restore  bool `json:"restore_weights_before_load"`
	Quantize bool `json:"post_process_quantization"`
}

// InitGroup is the body of POST /init_weights_update_group.
type InitGroup struct {
	Address    string `json:"master_address"`
	Port       int    `json:"master_port"`
	RankOffset int    `json:"rank_offset"`
	WorldSize  int    `json:"world_size"`
	Name       string `json:"group_name,omitempty"` // "" is weight_update_group
	Backend    string `json:"backend,omitempty"`    // "" is nccl
}

// DestroyGroup is the body of POST /destroy_weights_update_group.
type DestroyGroup struct {
	Name string `json:"group_name,omitempty"` // "" is weight_update_group
}

// UpdateDistributed is the body of POST /update_weights_from_distributed.
type UpdateDistributed struct {
	Names      []string `json:"names"`
	Dtypes     []string `json:"dtypes"` // bfloat16, float8_e4m3fn and so on, with torch. before or not
	Shapes     [][]int  `json:"shapes"`
	Group      string   `json:"group_name,omitempty"`
	FlushCache *bool    `json:"flush_cache,omitempty"` // nil is true
	AbortAll   bool     `json:"abort_all_requests"`
	Version    *string  `json:"weight_version,omitempty"`
	LoadFormat *string  `json:"load_format,omitempty"` // nil or flattened_bucket
	Selector   string   `json:"selector,omitempty"`
	EmptyCache bool     `json:"torch_empty_cache,omitempty"`
}

// UpdateTensor is the body of POST /update_weights_from_tensor.
type UpdateTensor struct {
	Tensors    []string `json:"serialized_named_tensors,omitempty"`
	LoadFormat *string  `json:"load_format,omitempty"` // nil, direct, flattened_bucket; safetensors is ours
	URI        string   `json:"uri,omitempty"`         // ours: where the safetensors are
	FlushCache *bool    `json:"flush_cache,omitempty"` // nil is true
	AbortAll   bool     `json:"abort_all_requests"`
	Version    *string  `json:"weight_version,omitempty"`
	Selector   string   `json:"selector,omitempty"`
}

// UpdateDisk is the body of POST /update_weights_from_disk.
type UpdateDisk struct {
	ModelPath  string  `json:"model_path"`
	LoadFormat *string `json:"load_format,omitempty"`
	AbortAll   bool    `json:"abort_all_requests"`
	Version    *string `json:"weight_version,omitempty"`
	FlushCache *bool   `json:"flush_cache,omitempty"` // nil is true
	KeepPause  bool    `json:"keep_pause,omitempty"`
	Async      bool    `json:"is_async,omitempty"`
	EmptyCache bool    `json:"torch_empty_cache,omitempty"`
	Step       int     `json:"token_step,omitempty"`
}

// PullWeights is the body of POST /pull_weights.
type PullWeights struct {
	Local   string `json:"local_checkpoint_dir"`
	Source  string `json:"source_dir"`
	Version *int   `json:"target_version"`
}

// UpdateVersion is the body of POST /update_weight_version.
type UpdateVersion struct {
	Version  string `json:"new_version"`
	AbortAll *bool  `json:"abort_all_requests,omitempty"` // nil is true
}

// WeightsByName is the body of /get_weights_by_name.
type WeightsByName struct {
	Name     string `json:"name"`
	Truncate *int   `json:"truncate_size,omitempty"` // rows; nil is 100
}

// Check is the body of /weights_checker.
type Check struct {
	Action          string   `json:"action"` // checksum, snapshot, reset_tensors or compare
	AllowQuantError bool     `json:"allow_quant_error,omitempty"`
	Skip            []string `json:"skip_tensor_list,omitempty"`
	Selector        string   `json:"selector,omitempty"`
}

// Checked is its answer.
type Checked struct {
	Success  bool          `json:"success"`
	Message  string        `json:"message"`
	Ranks    []CheckedRank `json:"ranks,omitempty"`
	Checksum string        `json:"per_engine_checksum,omitempty"`
}

// CheckedRank is what one rank holds.
type CheckedRank struct {
	Checksums   map[string]string `json:"checksums"` // 16 hexadecimal digits by parameter
	Checksum    string            `json:"per_gpu_checksum"`
	Parallelism []Parallelism     `json:"parallelism_info"`
}

// Parallelism says which rank it was.
type Parallelism struct {
	Role   string `json:"role"`
	Rank   int    `json:"rank"`
	Size   int    `json:"size"`
	TPRank int    `json:"tp_rank"`
	TPSize int    `json:"tp_size"`
	DPRank int    `json:"dp_rank"`
	DPSize int    `json:"dp_size"`
	PPRank int    `json:"pp_rank"`
	PPSize int    `json:"pp_size"`
}

// Memory is the body of /release_memory_occupation and /resume_memory_occupation.
type Memory struct {
	Tags Strings `json:"tags,omitempty"` // kv_cache, weights, cuda_graph; none is all
}

// Adapters is what the endpoints of LoRA adapters answer.
type Adapters struct {
	Success bool              `json:"success"`
	Message string            `json:"error_message,omitempty"`
	Loaded  map[string]string `json:"loaded_adapters"` // paths by names
}

// UpdateIPC is the body of POST /update_weights_from_ipc.
type UpdateIPC struct {
	Handles    map[string]json.RawMessage `json:"zmq_handles"`
	FlushCache *bool                      `json:"flush_cache,omitempty"`
	Version    *string                    `json:"weight_version,omitempty"`
}
