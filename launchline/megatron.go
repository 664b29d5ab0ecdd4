package launchline

import (
	"slices"

	"furlong/config"
)

// Megatron's flags, as launch lines for DeepSeek-V4 have them, and those that recipes for other models are full of.
var megatron = slices.Concat(
	idle(config.Nothing, noMegatron, `no-rope-fusion no-bias-swiglu-fusion no-bias-dropout-fusion no-masked-softmax-fusion no-gradient-accumulation-fusion no-bias-gelu-fusion
		moe-grouped-gemm moe-permute-fusion moe-router-fusion moe-enable-deepep moe-shared-expert-overlap use-flash-attn cross-entropy-loss-fusion
		use-precision-aware-optimizer overlap-cpu-optimizer-d2h-h2d use-distributed-optimizer overlap-grad-reduce overlap-param-gather overlap-param-gather-with-optimizer-step
		tp-comm-overlap overlap-p2p-communication no-overlap-p2p-communication batch-p2p-communication no-check-for-nan-in-loss-and-grad check-for-nan-in-loss-and-grad
		use-cpu-initialization no-create-attention-mask-in-dataloader distribute-saved-activations manual-gc empty-unused-memory-level enable-cuda-graph
		use-torch-fsdp2 use-custom-fsdp auto-detect-ckpt-format use-dist-ckpt ckpt-fully-parallel-save ckpt-fully-parallel-load
		ckpt-assume-constant-structure log-throughput log-params-norm log-num-zeros-in-grad timing-log-option`),
	idle(config.One, noMegatron, `moe-token-dispatcher-type=allgather moe-flex-dispatcher-backend moe-layer-recompute transformer-impl attention-backend cross-entropy-fusion-impl
		recompute-method recompute-num-layers manual-gc-interval ddp-bucket-size ckpt-format dist-ckpt-format dist-ckpt-strictness log-interval
		make-vocab-size-divisible-by padded-vocab-size tokenizer-type tokenizer-model vocab-file merge-file num-workers init-method-std distributed-timeout-seconds-after-init
		virtual-pipeline-model-parallel-size num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank hierarchical-context-parallel-sizes cp-comm-type`),
	idle(config.Some, noMegatron, "recompute-modules moe-router-padding-for-fp8 tensorboard-dir"),
	idle(config.Switch, "it acts only under tensor parallelism", "sequence-parallel"),
	expands("recompute-granularity", config.One, "what a layer keeps for the gradient",
		config.Sense{Value: "full", Flags: "--recompute"}, config.Sense{Value: "selective", Flags: "--no-recompute"}),
	heldSwitches("the format of weights and products is --dtype, bf16 by default", "bf16"),
	refused(config.Switch, "float16 is no format of weights here; --dtype has bf16 and f32", "fp16"),
	expands("fp8-format", config.One, "the format of FP8 products", config.Sense{Value: "e4m3", Flags: "--actor-format fp8"}),
	[]config.Option{{
		Name: "fp8-recipe", Takes: config.One, Kind: config.Refused, Only: []string{"blockwise"},
		Why: "FP8 has blocks of 128x128, which is blockwise; there is no other",
	}},
	idle(config.One, "--fp8-format says it for every product", "fp8-param-gather fp8-amax-history-len fp8-amax-compute-algo fp8-margin"),
	held("optimizer", "AdamW is the optimizer", "adam"),
	heldSwitches("gradients are summed in float32", "accumulate-allreduce-grads-in-fp32"),
	heldSwitches("every sum has one order, so a run repeats bit for bit", "deterministic-mode"),
	refused(config.Nothing, "a run goes on with all of its state or with none; --hf-checkpoint DIR/trainer/model begins another with a checkpoint's weights alone", "finetune no-load-optim no-load-rng"),
	rows(config.Held, config.Nothing, "draws follow from seeds, so there is no state of a generator to save", "no-save-rng"),
	refused(config.One, "how long a run is says --num-rollout", "train-iters train-samples exit-interval"),
	refused(config.One, "warm-up is counted in steps: --lr-warmup-iters", "lr-warmup-fraction lr-warmup-samples lr-warmup-init"),
	refused(config.One, "decay is counted in steps: --lr-decay-iters, --lr-wsd-decay-iters", "lr-decay-samples lr-wsd-decay-samples"),
	held("lr-wsd-decay-style", "the last leg of --lr-decay-style WSD goes down linearly", "linear"),
	refused(config.One, "weight decay is constant", "start-weight-decay end-weight-decay weight-decay-incr-style=constant"),
	idle(config.Nothing, "a resumed run goes on with its schedule", "override-opt-param-scheduler use-checkpoint-opt-param-scheduler override-opt_param-scheduler"),
	missing(config.One, "there are no draft layers in training", "mtp-num-layers mtp-loss-scaling-factor=0.2"),
	missing(config.Switch, "there are no draft layers in training", "enable-mtp-training"),
	missing(config.One, "one expert's tokens are all of it: none is dropped", "moe-expert-capacity-factor"),
	missing(config.One, "no gradient is added to keep routers small", "moe-z-loss-coeff"),
	missing(config.One, "precision is told by --actor-format", "te-precision-config-file"),
)
