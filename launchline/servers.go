package launchline

import (
	"slices"
	"strings"

	"furlong/config"
)

// prefixed gives names a prefix.
func prefixed(prefix, names string) string {
	all := strings.Fields(names)
	for i := range all {
		all[i] = prefix + all[i]
	}
	return strings.Join(all, " ")
}

// ofServer makes rows of flags of an SGLang server, as launch lines pass them on.
func ofServer(kind config.Kind, takes config.Takes, why, names string) []config.Option {
	return rows(kind, takes, why, prefixed("sglang-", names))
}

// Reasons of the rows about servers.
const (
	noServer   = "no server is started: the engine is inside, or runs already at --rollout-url"
	otherModel = "the model is that of --hf-checkpoint"
	noPD       = "prompts and answers are computed by one engine"
)

// The arguments of an SGLang server behind --sglang-.
var servers = slices.Concat(computing, serving, holding, drawing, splitting)

// How a server computes: none of it changes a number that the model defines.
var computing = slices.Concat(
	ofServer(config.Idle, config.One, noGPU, `mem-fraction-static prefill-max-requests max-prefill-tokens=16384 schedule-policy=fcfs priority-scheduling-preemption-threshold=10
		schedule-conservativeness=1.0 swa-full-tokens-ratio=0.8 radix-eviction-policy=lru prefill-delayer-max-delay-passes=30 prefill-delayer-token-usage-low-watermark
		prefill-delayer-queue-min-ratio prefill-delayer-max-delay-ms=5000 device attention-context-parallel-size=1 attn-cp-size=1 moe-data-parallel-size=1 moe-dp-size=1
		pp-max-micro-batch-size pp-async-batch-depth=0 watchdog-timeout=300 soft-watchdog-timeout dist-timeout base-gpu-id=0 gpu-id-step=1 nccl-port dist-init-addr nccl-init-addr
		nnodes=1 node-rank=0 load-balance-method=auto
		attention-backend prefill-attention-backend decode-attention-backend sampling-backend grammar-backend mm-attention-backend dsa-prefill-backend dsa-decode-backend
		nsa-prefill-backend nsa-decode-backend nsa-prefill nsa-decode dsa-prefill-cp-mode nsa-prefill-cp-mode fp8-gemm-backend=auto fp4-gemm-backend bf16-gemm-backend
		moe-a2a-backend=none moe-runner-backend=auto flashinfer-mxfp4-moe-precision=default deepep-mode=auto deepep-dispatcher-output-dtype=auto deepep-config
		ep-num-redundant-experts=0 ep-dispatch-algorithm init-expert-location=trivial eplb-algorithm=auto eplb-rebalance-num-iterations=1000 eplb-rebalance-layers-per-chunk
		eplb-min-rebalancing-utilization-threshold=1.0 expert-distribution-recorder-mode expert-distribution-recorder-buffer-size moe-dense-tp-size elastic-ep-backend mooncake-ib-device
		max-mamba-cache-size mamba-ssm-dtype mamba-full-memory-ratio mamba-scheduler-strategy mamba-track-interval
		hicache-ratio=2.0 hicache-size=0 hicache-write-policy hicache-io-backend hicache-mem-layout hicache-storage-backend hicache-storage-prefetch-policy hicache-storage-backend-extra-config
		hierarchical-sparse-attention-extra-config kt-weight-path kt-method kt-cpuinfer kt-threadpool-count kt-num-gpu-experts kt-max-deferred-experts-per-token
		cpu-offload-gb=0 offload-group-size offload-num-in-group offload-prefetch-step offload-mode cuda-graph-max-bs tbo-token-distribution-threshold torch-compile-max-bs
		piecewise-cuda-graph-compiler piecewise-cuda-graph-max-tokens torchao-config triton-attention-num-kv-splits triton-attention-split-tile-size num-continuous-decode-steps=1
		scheduler-recv-interval=1 dynamic-batch-tokenizer-batch-size dynamic-batch-tokenizer-batch-timeout sm-group-num pdmux-config-path hybrid-kvcache-ratio`),
	ofServer(config.Idle, config.Some, noGPU, `cuda-graph-bs piecewise-cuda-graph-tokens numa-node prefill-delayer-forward-passes-buckets prefill-delayer-wait-seconds-buckets`),
	ofServer(config.Idle, config.Switch, noGPU, `enable-dynamic-chunking enable-priority-scheduling abort-on-priority-when-disabled schedule-low-priority-values-first disable-hybrid-swa-memory
		enable-prefill-delayer sleep-on-idle enable-quant-communications disable-flashinfer-autotune enable-flashinfer-allreduce-fusion enable-aiter-allreduce-fusion
		enable-fused-grouped-gemm-combine enable-eplb enable-expert-distribution-metrics enable-elastic-expert-backup enable-deepep-waterfill elastic-ep-rejoin
		enable-hierarchical-cache enable-lmcache disable-cuda-graph disable-cuda-graph-padding enable-profile-cuda-graph enable-cudagraph-gc enable-layerwise-nvtx-marker enable-nccl-nvls
		enable-symm-mem disable-flashinfer-cutlass-moe-fp4-allgather enable-tokenizer-batch-encode disable-tokenizer-batch-decode disable-outlines-disk-cache disable-custom-all-reduce
		enable-mscclpp enable-torch-symm-mem disable-overlap-schedule enable-mixed-chunk enable-dp-attention enable-dp-lm-head enable-two-batch-overlap enable-single-batch-overlap
		enable-torch-compile enable-torch-compile-debug-mode disable-piecewise-cuda-graph enforce-piecewise-cuda-graph enable-nan-detection enable-p2p-check triton-attention-reduce-in-fp32
		delete-ckpt-after-loading enable-memory-saver enable-weights-cpu-backup enable-draft-weights-cpu-backup flashinfer-mla-disable-ragged disable-shared-experts-fusion
		disable-chunked-prefix-cache enable-return-hidden-states enable-attn-tp-input-scattered enable-dsa-prefill-context-parallel enable-nsa-prefill-context-parallel
		enable-fused-qk-norm-rope enable-dynamic-batch-tokenizer enable-pdmux enable-ep-moe enable-deepep-moe prefill-round-robin-balance enable-flashinfer-cutlass-moe
		enable-flashinfer-cutedsl-moe enable-flashinfer-trtllm-moe enable-triton-kernel-moe enable-flashinfer-mxfp4-moe crash-on-nan enable-fp32-lm-head`),
)

// Which server it is and what it tells.
var serving = slices.Concat(
	ofServer(config.Idle, config.One, noServer, `host=127.0.0.1 port=30000 fastapi-root-path warmups tokenizer-worker-num=1 download-dir stream-interval=1
		constrained-json-whitespace-pattern custom-sigquit-handler log-level=info log-level-http log-requests-level=2 log-requests-format=text crash-dump-folder
		tokenizer-metrics-custom-labels-header gc-warning-threshold-secs=0.0 decode-log-interval=40 kv-events-config otlp-traces-endpoint export-metrics-to-file-dir api-key admin-api-key
		served-model-name chat-template hf-chat-template-name completion-template file-storage-path reasoning-parser tool-call-parser tool-server load-watch-interval
		debug-tensor-dump-output-folder debug-tensor-dump-input-file debug-tensor-dump-inject msprobe-dump-config`),
	ofServer(config.Idle, config.Some, noServer, `log-requests-target uvicorn-access-log-exclude-prefixes tokenizer-metrics-allowed-custom-labels bucket-time-to-first-token
		bucket-inter-token-latency bucket-e2e-request-latency prompt-tokens-buckets generation-tokens-buckets debug-tensor-dump-layers`),
	ofServer(config.Idle, config.Switch, noServer, `grpc-mode skip-server-warmup skip-tokenizer-init incremental-streaming-output constrained-json-disable-any-whitespace log-requests show-time-cost
		enable-metrics enable-mfu-metrics enable-metrics-for-all-schedulers collect-tokens-histogram enable-request-time-stats-logging enable-trace export-metrics-to-file
		enable-cache-report allow-auto-truncate enable-custom-logit-processor`),
)

// Which model it holds, and in which formats.
var holding = slices.Concat(
	ofServer(config.Idle, config.One, otherModel, "model-path model tokenizer-path tokenizer-mode=auto load-format=auto revision model-impl=auto dtype=auto model-loader-extra-config={}"),
	ofServer(config.Idle, config.Any, otherModel, "model-checksum"),
	ofServer(config.Idle, config.Switch, "no code comes with a model", "trust-remote-code"),
	ofServer(config.Missing, config.One, otherModel, "json-model-override-args={} decrypted-config-file decrypted-draft-config-file dllm-algorithm dllm-algorithm-config"),
	ofServer(config.Missing, config.One, "formats of the rollout engine are --rollout-format and --rollout-kv-format", `quantization quantization-param-path rl-quant-profile modelopt-quant
		modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-export-path`),
	ofServer(config.Missing, config.Switch, "formats of the rollout engine are --rollout-format and --rollout-kv-format", "quantize-and-serve"),
	ofServer(config.Missing, config.Switch, textOnly, "is-embedding enable-multimodal encoder-only"),
	ofServer(config.Idle, config.Switch, textOnly, `language-only disable-fast-image-processor keep-mm-feature-on-device enable-precise-embedding-interpolation enable-broadcast-mm-inputs-process
		mm-enable-dp-encoder enable-mm-global-cache enable-prefix-mm-cache`),
	ofServer(config.Idle, config.One, textOnly, "mm-max-concurrent-calls mm-per-request-timeout mm-process-config limit-mm-data-per-request encoder-transfer-backend"),
	ofServer(config.Idle, config.Some, textOnly, "encoder-urls"),
	ofServer(config.Idle, config.One, "weights reach the engine inside directly; servers that run elsewhere have it as they were started", `weight-version=default weight-loader-prefetch-num-threads
		remote-instance-weight-loader-seed-instance-ip remote-instance-weight-loader-seed-instance-service-port remote-instance-weight-loader-backend`),
	ofServer(config.Idle, config.Switch, "weights reach the engine inside directly; servers that run elsewhere have it as they were started", `checkpoint-engine-wait-weights-before-ready
		weight-loader-disable-mmap weight-loader-prefetch-checkpoints remote-instance-weight-loader-start-seed-via-transfer-engine`),
	ofServer(config.Idle, config.Some, "weights reach the engine inside directly; servers that run elsewhere have it as they were started", "remote-instance-weight-loader-send-weights-group-ports"),
	ofServer(config.Refused, config.Some, noPython, "custom-weight-loader forward-hooks"),
)

// What it draws, with drafts and with adapters.
var drawing = slices.Concat(
	ofServer(config.Idle, config.One, "every sample has a seed of its own, made from --rollout-seed", "random-seed"),
	ofServer(config.Idle, config.Switch, "a token's logprob never depends on the batch, so it is so in any case", "enable-deterministic-inference enable-prefill-only-deterministic-inference"),
	ofServer(config.Idle, config.One, "both engines compute the same bits where they hold the same formats", "rl-on-policy-target"),
	ofServer(config.Idle, config.Switch, "choices of entries are recorded where --use-rollout-indexer-replay asks for them", "enable-return-indexer-topk"),
	ofServer(config.Idle, config.One, "settings of draws are those of --rollout-temperature and the like", "sampling-defaults=model"),
	ofServer(config.Missing, config.One, "settings of draws are those of --rollout-temperature and the like", "preferred-sampling-params multi-item-scoring-delimiter"),
	ofServer(config.Missing, config.One, noDraft, `speculative-algorithm speculative-draft-model-path speculative-draft-model speculative-draft-model-revision speculative-draft-load-format speculative-token-map
		speculative-draft-model-quantization`),
	ofServer(config.Idle, config.One, noDraft, `speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens speculative-accept-threshold-single=1.0 speculative-accept-threshold-acc=1.0
		speculative-attention-mode=prefill speculative-draft-attention-backend speculative-moe-runner-backend speculative-moe-a2a-backend speculative-ngram-min-bfs-breadth=1
		speculative-ngram-max-bfs-breadth=10 speculative-ngram-match-type=BFS speculative-ngram-max-trie-depth=18 speculative-ngram-capacity=10000000`),
	ofServer(config.Idle, config.Switch, noDraft, "enable-multi-layer-eagle"),
	ofServer(config.Missing, config.Switch, noLoRA, "enable-lora"),
	ofServer(config.Missing, config.Some, noLoRA, "lora-paths"),
	ofServer(config.Idle, config.Some, noLoRA, "lora-target-modules"),
	ofServer(config.Idle, config.One, noLoRA, "max-lora-rank max-loras-per-batch=8 max-loaded-loras lora-eviction-policy=lru lora-backend max-lora-chunk-size=16 lora-drain-wait-threshold=0.0"),
	ofServer(config.Idle, config.Switch, noLoRA, "enable-lora-overlap-loading"),
)

// Engines for prompts apart from engines for answers, and an engine over several devices in a way that no dry run estimates.
var splitting = slices.Concat(
	ofServer(config.Missing, config.One, noPD, "disaggregation-mode=null"),
	ofServer(config.Missing, config.One, "an engine's stages are not told apart", "pp-size=1 pipeline-parallel-size=1"),
	ofServer(config.Idle, config.One, noPD, `disaggregation-transfer-backend=mooncake disaggregation-bootstrap-port=8998 disaggregation-ib-device num-reserved-decode-tokens=512
		disaggregation-decode-polling-interval=1`),
	ofServer(config.Idle, config.Switch, noPD, "disaggregation-decode-enable-offload-kvcache"),
)

// ofRouter makes rows of flags of SGLang's router.
func ofRouter(takes config.Takes, names string) []config.Option {
	return rows(config.Idle, takes, oneProcess+"; furlong router is a command of its own", prefixed("router-", names))
}

// The arguments of SGLang's router behind --router-.
var routers = slices.Concat(
	ofRouter(config.One, `health-success-threshold health-check-interval-secs health-failure-threshold health-check-timeout-secs health-check-endpoint
		policy prefill-policy decode-policy worker-startup-timeout-secs worker-startup-check-interval cache-threshold balance-abs-threshold balance-rel-threshold eviction-interval-secs eviction-interval
		max-tree-size max-payload-size log-dir log-level service-discovery-port service-discovery-namespace model-path tokenizer-path prometheus-port prometheus-host request-timeout-secs
		max-concurrent-requests queue-size queue-timeout-secs rate-limit-tokens-per-second retry-max-retries retry-initial-backoff-ms retry-max-backoff-ms retry-backoff-multiplier retry-jitter-factor
		cb-failure-threshold cb-success-threshold cb-timeout-duration-secs cb-window-duration-secs backend history-backend reasoning-parser tool-call-parser shutdown-grace-period-secs host port api-key
		bucket-adjust-interval-secs assignment-mode max-idle-secs`),
	ofRouter(config.Some, "worker-urls decode cors-allowed-origins request-id-headers prometheus-duration-buckets selector prefill-selector decode-selector prefill"),
	ofRouter(config.Switch, "dp-aware pd-disaggregation service-discovery disable-retries disable-circuit-breaker disable-health-check enable-igw enable-trace mini-lb disable-auto-detokenize"),
)

// Pass has set take flags of servers and routers that the table does not know: the next release of either has some, and none of them means anything
// here. One that is a misspelled flag of the table's stays an error where that flag has a meaning (docs/adr/0029-unknown-flags-of-servers.md).
func Pass(set *config.Set) *config.Set {
	for _, prefix := range []string{"sglang-", "router-"} {
		set.Pass(prefix, "the flag is unknown, and no server is started that could know it")
	}
	return set
}
