package dsv4

// An AttentionKind says what a layer attends to besides its sliding window.
type AttentionKind uint8

// The kinds, by the names of the released configuration.
const (
	W    AttentionKind = iota // sliding_attention: nothing
	C4                        // compressed_sparse_attention: the indexer's choice of overlapping windows
	C128                      // heavily_compressed_attention: all windows
)

var kindNames = [...]string{"sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"}

// String returns the name that configuration files use.
func (k AttentionKind) String() string { return kindNames[k] }

// A RouterKind says how a layer chooses experts.
type RouterKind uint8

// The kinds, by the names of the released configuration.
const (
	Learned RouterKind = iota // moe: by score and correction bias
	Hash                      // hash_moe: by a table of token ids
)

var routerNames = [...]string{"moe", "hash_moe"}

// String returns the name that configuration files use.
func (k RouterKind) String() string { return routerNames[k] }

// A Layer is the schedule's entry for one block.
type Layer struct {
	Attention AttentionKind
	Router    RouterKind
}

// Yarn stretches rotation frequencies beyond the length a model was first trained on. The zero value stretches nothing.
type Yarn struct {
	Factor   float64
	Original int // tokens
	BetaFast float64
	BetaSlow float64
}

// Config is a model's shape and constants. Field comments give the name in config.json.
type Config struct {
	Vocab                           int     // vocab_size
	Hidden                          int     // hidden_size
	Layers                          []Layer // layer_types or compress_ratios; mlp_layer_types or num_hash_layers
	Heads                           int     // num_attention_heads
	HeadDim                         int     // head_dim
	RopeDim                         int     // qk_rope_head_dim, or head_dim * partial_rotary_factor
	QRank                           int     // q_lora_rank
	OGroups                         int     // o_groups
	ORank                           int     // o_lora_rank
	Window                          int     // sliding_window, the query included
	RateC4                          int     // compress_rates.compressed_sparse_attention
	RateC128                        int     // compress_rates.heavily_compressed_attention
	IndexHeads, IndexDim, IndexTopK int     // index_n_heads, index_head_dim, index_topk

	Experts      int     // n_routed_experts
	TopK         int     // num_experts_per_tok
	ExpertDim    int     // moe_intermediate_size, of routed and shared experts
	RoutedFactor float64 // routed_scaling_factor
	Limit        float64 // swiglu_limit; 0 or less clamps nothing
	LimitShared  float64 // swiglu_limit_shared; as Limit where absent

	Streams      int     // hc_mult
	SinkhornIter int     // hc_sinkhorn_iters
	HyperEps     float64 // hc_eps
	NormEps      float64 // rms_norm_eps

	RopeTheta         float64 // rope_theta: W layers
	CompressRopeTheta float64 // compress_rope_theta: everything in C4 and C128 layers
	Yarn              Yarn    // of the compress frequencies only

	MaxPositions int     // max_position_embeddings
	InitRange    float64 // initializer_range
	BOS, EOS     int32   // bos_token_id, eos_token_id
}
