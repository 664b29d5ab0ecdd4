package launchline

import (
	"slices"

	"furlong/config"
)

// What launch lines say of the model: statements that are checked against its checkpoint, and properties that every model here has.
var architecture = slices.Concat(
	stated(config.One, `num-layers hidden-size ffn-hidden-size num-attention-heads norm-epsilon vocab-size
		q-lora-rank kv-lora-rank qk-head-dim qk-pos-emb-head-dim v-head-dim
		rotary-scaling-factor rotary-base original-max-position-embeddings beta-fast beta-slow
		num-experts moe-layer-freq moe-ffn-hidden-size moe-router-topk moe-shared-expert-intermediate-size
		moe-router-score-function moe-router-topk-scaling-factor activation-func-clamp-value
		dsv4-hc-mult dsv4-hc-sinkhorn-iters dsv4-compress-rope-theta dsv4-o-groups dsv4-o-lora-rank
		dsv4-n-hash-layers dsv4-window-size dsa-indexer-n-heads dsa-indexer-head-dim dsa-indexer-topk`),
	stated(config.Some, "dsv4-compress-ratios"),
	heldSwitches(theBlock, `swiglu untie-embeddings-and-output-weights multi-latent-attention qk-layernorm
		attention-softmax-in-fp32 moe-router-pre-softmax moe-router-enable-expert-bias`),
	rows(config.Held, config.Nothing, theBlock, "disable-bias-linear"),
	held("normalization", theBlock, "RMSNorm"),
	held("position-embedding-type", theBlock, "rope"),
	held("experimental-attention-variant", theBlock, "dsv4"),
	held("hidden-dropout", "there is no dropout", "0"),
	held("attention-dropout", "there is no dropout", "0"),
	held("moe-aux-loss-coeff", "there is no load-balancing loss", "0"),
	held("moe-router-dtype", "routers compute in float32", "fp32"),
	held("moe-router-bias-update-rate", "the routing bias is never updated", "0"),
	idle(config.One, "it weighs nothing while --moe-aux-loss-coeff is 0, and that is the only value", "moe-router-load-balancing-type"),
	idle(config.Some, "it names Python code for a model that is built in here", "spec"),
	heldSwitches("the routing bias is never updated", "freeze-e-score-correction-bias"),
	stated(config.Nothing, "no-activation-func-clamp-shared-expert"),
	idle(config.One, "the longest context is the model's, and --context-length", "max-position-embeddings seq-length"),
	rows(config.Idle, config.Nothing, "the longest context is the model's, and --context-length", "no-position-embedding use-rotary-position-embeddings"),
)
