package config

// Reasons that several options share.
const (
	manyDevices  = "more needs several devices; this build drives one, the CPU"
	manyMachines = "more needs several machines; this build drives one"
	noTracker    = "there is no tracker client; the run directory holds metrics.jsonl and TensorBoard files"
	noGPU        = "it tunes a GPU engine; the rollout engine here runs on the CPU"
	noMegatron   = "it tunes a GPU trainer and changes no number; the trainer here runs on the CPU"
	oneProcess   = "rollout and training share one process; there is no server to watch or to restart"
	inModel      = "it describes the model, which its checkpoint already does"
)

// Options are the flags of published launch lines for DeepSeek-V4 that furlong train reads and does not act on. A
// setting of the same name takes precedence, so a row may stay when its flag gets a meaning.
var Options = join(
	parallelism,
	modelArchitecture,
	modelFixed,
	launcher,
	trainer,
	servers,
	tracking,
)

func join(lists ...[]Option) []Option {
	var out []Option
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func rows(kind Kind, takes Takes, why string, names ...string) []Option {
	var out []Option
	for _, n := range names {
		out = append(out, Option{Name: n, Takes: takes, Kind: kind, Why: why})
	}
	return out
}

func held(name, why string, only ...string) Option {
	return Option{Name: name, Takes: One, Kind: Held, Only: only, Why: why}
}

var parallelism = []Option{
	held("tensor-model-parallel-size", manyDevices, "1"),
	held("pipeline-model-parallel-size", manyDevices, "1"),
	held("context-parallel-size", manyDevices, "1"),
	held("expert-model-parallel-size", manyDevices, "1"),
	held("expert-tensor-parallel-size", manyDevices, "1"),
	{Name: "decoder-first-pipeline-num-layers", Takes: One, Kind: Refused, Why: "it cuts a pipeline into stages, and there is one; " + manyDevices},
	{Name: "decoder-last-pipeline-num-layers", Takes: One, Kind: Refused, Why: "it cuts a pipeline into stages, and there is one; " + manyDevices},
	{Name: "sequence-parallel", Kind: Idle, Why: "it acts only under tensor parallelism, and --tensor-model-parallel-size is 1"},
	held("num-nodes", manyMachines, "1"),
	held("actor-num-nodes", manyMachines, "1"),
	held("rollout-num-nodes", "rollout and training share a machine; "+manyMachines, "0"),
	held("actor-num-gpus-per-node", manyDevices, "0", "1"),
	held("num-gpus-per-node", manyDevices, "0", "1"),
	held("rollout-num-gpus", manyDevices, "0", "1"),
	held("rollout-num-gpus-per-engine", manyDevices, "0", "1"),
	held("sglang-tp-size", manyDevices, "1"),
	held("sglang-dp-size", manyDevices, "1"),
	held("sglang-ep-size", manyDevices, "1"),
	{Name: "colocate", Kind: Held, Why: "rollout and training share this machine"},
}

// modelArchitecture are statements about the checkpoint; Check compares them with it.
var modelArchitecture = join(
	rows(Stated, One, inModel,
		"num-layers", "hidden-size", "ffn-hidden-size", "num-attention-heads", "norm-epsilon", "vocab-size",
		"q-lora-rank", "kv-lora-rank", "qk-head-dim", "qk-pos-emb-head-dim", "v-head-dim",
		"rotary-scaling-factor", "rotary-base", "original-max-position-embeddings", "beta-fast", "beta-slow",
		"num-experts", "moe-layer-freq", "moe-ffn-hidden-size", "moe-router-topk", "moe-shared-expert-intermediate-size",
		"moe-router-score-function", "moe-router-topk-scaling-factor", "activation-func-clamp-value",
		"dsv4-hc-mult", "dsv4-hc-sinkhorn-iters", "dsv4-compress-rope-theta", "dsv4-o-groups", "dsv4-o-lora-rank",
		"dsv4-n-hash-layers", "dsv4-window-size", "dsa-indexer-n-heads", "dsa-indexer-head-dim", "dsa-indexer-topk"),
	rows(Stated, Some, inModel, "dsv4-compress-ratios"),
	rows(Stated, Nothing, inModel, "no-activation-func-clamp-shared-expert"),
)

// modelFixed are properties that every model here has.
var modelFixed = join(
	rows(Held, Nothing, "the DeepSeek-V4 block has it so",
		"disable-bias-linear", "swiglu", "untie-embeddings-and-output-weights", "multi-latent-attention", "qk-layernorm",
		"attention-softmax-in-fp32", "moe-router-pre-softmax", "moe-router-enable-expert-bias"),
	[]Option{
		held("normalization", "the DeepSeek-V4 block has it so", "RMSNorm"),
		held("position-embedding-type", "the DeepSeek-V4 block has it so", "rope"),
		held("experimental-attention-variant", "the DeepSeek-V4 block has it so", "dsv4"),
		held("hidden-dropout", "there is no dropout", "0"),
		held("attention-dropout", "there is no dropout", "0"),
		held("moe-aux-loss-coeff", "there is no load-balancing loss", "0"),
		held("model-name", "the model comes from --hf-checkpoint; names select nothing", "deepseekv4"),
		{Name: "moe-router-load-balancing-type", Takes: One, Kind: Idle, Why: "it weighs nothing while --moe-aux-loss-coeff is 0, and that is the only value"},
		{Name: "spec", Takes: Some, Kind: Idle, Why: "it names Python code for a model that is built in here"},
		{Name: "freeze-e-score-correction-bias", Kind: Held, Why: "the routing bias is never updated"},
		{Name: "moe-router-freeze-gate", Kind: Refused, Why: "the router is trained, and no setting stops that yet"},
	},
)

var launcher = join(
	rows(Idle, One, "it finds or prepares files for Python trainers; --hf-checkpoint and --prompt-data name files directly",
		"model-org", "data-dir", "model-dir", "model-local-dir", "megatron-path", "output-dir", "debug-data-root"),
	rows(Idle, Nothing, "it asks for core dumps of GPU code, and there is none", "cuda-core-dump", "no-cuda-core-dump"),
	rows(Idle, One, "no process is started that would read variables, and this one reads none of them", "extra-env-vars", "train-env-vars"),
	rows(Refused, Nothing, "speculative decoding is not built in", "enable-mtp"),
	rows(Held, Nothing, "no tokens are drafted", "no-enable-mtp"),
	rows(Held, Nothing, "routes are not replayed without --use-rollout-routing-replay", "no-enable-r3"),
	rows(Refused, Nothing, "an FP8 actor is --actor-format fp8", "fp8-training"),
	rows(Held, Nothing, "the actor is as --actor-format says, bf16 by default", "no-fp8-training"),
	rows(Held, Nothing, "every sum has one order, so a run repeats bit for bit", "train-deterministic", "deterministic-mode"),
	rows(Refused, Nothing, "there is no faster, unordered arithmetic to choose", "no-train-deterministic"),
)

var trainer = join(
	rows(Idle, Nothing, noMegatron,
		"no-rope-fusion", "no-bias-swiglu-fusion", "moe-grouped-gemm", "no-gradient-accumulation-fusion",
		"optimizer-cpu-offload", "optimizer-offload", "no-optimizer-offload", "use-precision-aware-optimizer", "overlap-cpu-optimizer-d2h-h2d",
		"offload-train", "no-offload-train", "offload-rollout", "no-offload-rollout"),
	rows(Idle, One, noMegatron,
		"optimizer-offload-fraction", "train-memory-margin-bytes", "moe-token-dispatcher-type", "transformer-impl", "qkv-format",
		"recompute-granularity", "recompute-method", "recompute-num-layers"),
	rows(Refused, One, "an FP8 actor is --actor-format fp8, in blocks of 128x128; there are no recipes of Transformer Engine", "fp8-format", "fp8-recipe"),
	rows(Held, Nothing, "gradients are summed in FP32", "accumulate-allreduce-grads-in-fp32"),
	rows(Idle, Nothing, "it spreads samples over data-parallel ranks, and there is one", "balance-data"),
	rows(Idle, One, "weights pass inside one process, not through buffers of a size", "update-weight-buffer-size"),
	[]Option{
		{Name: "ref-load", Takes: One, Kind: Refused, Why: "a torch_dist checkpoint cannot be read; name the starting weights with --hf-checkpoint"},
	},
)

var servers = join(
	rows(Idle, One, noGPU, "sglang-mem-fraction-static", "sglang-watchdog-timeout", "sglang-server-concurrency"),
	rows(Idle, One, oneProcess,
		"router-health-success-threshold", "router-health-check-interval-secs", "router-health-failure-threshold",
		"rollout-health-check-interval", "rollout-health-check-timeout", "rollout-health-check-first-wait"),
	rows(Idle, Nothing, oneProcess, "use-fault-tolerance", "no-use-fault-tolerance"),
)

var tracking = join(
	rows(Idle, Nothing, noTracker, "use-wandb", "disable-wandb-random-suffix", "wandb-always-use-train-step", "use-mlflow"),
	rows(Idle, One, noTracker,
		"wandb-mode", "wandb-dir", "wandb-host", "wandb-team", "wandb-group", "wandb-project", "wandb-run-id",
		"mlflow-tracking-uri", "mlflow-experiment-name", "mlflow-run-name", "mlflow-run-id"),
	rows(Refused, One, "a key on a command line can be read by every process of the machine, and by whoever reads the log", "wandb-key"),
)
