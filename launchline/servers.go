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
var servers = slices.Concat(
	// how it computes
	ofServer(config.Idle, config.One, noGPU, `mem-fraction-static watchdog-timeout soft-watchdog-timeout device nccl-port nnodes node-rank dist-init-addr dist-timeout base-gpu-id gpu-id-step
		attention-backend prefill-attention-backend decode-attention-backend mm-attention-backend nsa-prefill-backend nsa-decode-backend dsa-prefill-backend dsa-decode-backend
		sampling-backend grammar-backend moe-runner-backend moe-a2a-backend moe-dense-tp-size deepep-mode deepep-config flashinfer-mxfp4-moe-precision fp8-gemm-backend fp4-gemm-backend
		cuda-graph-max-bs triton-attention-num-kv-splits triton-attention-split-tile-size flashinfer-workspace-size flashinfer-mla-disable-ragged torchao-config torch-compile-max-bs
		max-prefill-tokens max-micro-batch-size pp-max-micro-batch-size prefill-max-requests schedule-policy schedule-conservativeness num-continuous-decode-steps stream-interval
		load-balance-method dp-attention-local-control-broadcast prefill-round-robin-balance hicache-ratio hicache-size hicache-write-policy hicache-io-backend hicache-mem-layout
		hicache-storage-backend hicache-storage-prefetch-policy hicache-storage-backend-extra-config radix-eviction-policy swa-full-tokens-ratio mamba-ssm-dtype max-mamba-cache-size
		mamba-full-memory-ratio eplb-algorithm eplb-rebalance-num-iterations eplb-rebalance-layers-per-chunk eplb-min-rebalancing-utilization-threshold init-expert-location
		ep-num-redundant-experts ep-dispatch-algorithm expert-distribution-recorder-mode expert-distribution-recorder-buffer-size tbo-token-distribution-threshold
		cpu-offload-gb offload-group-size offload-num-in-group offload-prefetch-step offload-mode numa-node mem-saver-mode weight-loader-prefetch
		kt-weight-path kt-method kt-cpuinfer kt-threadpool-count kt-num-gpu-experts kt-max-deferred-experts-per-token crash-dump-folder max-total-num-tokens-limit
		constrained-json-whitespace-pattern delete-ckpt-after-loading remote-instance-weight-loader-seed-instance-ip gc-warning-threshold-secs`),
	ofServer(config.Idle, config.Some, noGPU, "cuda-graph-bs"),
	ofServer(config.Idle, config.Switch, noGPU, `disable-cuda-graph disable-cuda-graph-padding disable-piecewise-cuda-graph enable-piecewise-cuda-graph enable-profile-cuda-graph enable-cudagraph-gc enable-nccl-nvls
		enable-symm-mem disable-flashinfer-cutlass-moe-fp4-allgather enable-tokenizer-batch-encode disable-outlines-disk-cache disable-custom-all-reduce enable-mscclpp enable-torch-symm-mem
		disable-overlap-schedule enable-mixed-chunk enable-dp-attention enable-dp-lm-head enable-two-batch-overlap enable-single-batch-overlap enable-torch-compile enable-nan-detection
		enable-p2p-check triton-attention-reduce-in-fp32 enable-memory-saver enable-weights-cpu-backup enable-draft-weights-cpu-backup disable-shared-experts-fusion disable-chunked-prefix-cache
		disable-fast-image-processor keep-mm-feature-on-device enable-fused-moe-sum-all-reduce numa-bind enable-hierarchical-cache enable-lmcache enable-eplb enable-expert-distribution-metrics
		enable-elastic-expert-backup enable-flashinfer-allreduce-fusion enable-aiter-allreduce-fusion enable-deepep-moe enable-ep-moe enable-flashinfer-moe enable-attn-tp-input-scattered
		enable-nsa-prefill-context-parallel enable-dynamic-chunking disable-hybrid-swa-memory scheduler-recv-skip-idle enable-pdmux enable-return-hidden-states tokenizer-worker-num-auto
		enable-priority-scheduling schedule-low-priority-values-first enable-fp32-lm-head disable-flashinfer-autotune weight-loader-disable-mmap enable-hisparse`),

	// which server it is and what it tells
	ofServer(config.Idle, config.One, noServer, `host port grpc-port api-key admin-api-key served-model-name tokenizer-worker-num tokenizer-backend detokenizer-worker-num download-dir log-level log-level-http log-requests-level
		crash-dump-dir show-time-cost metrics-http-port decode-log-interval prompt-tokens-buckets generation-tokens-buckets bucket-time-to-first-token bucket-inter-token-latency bucket-e2e-request-latency
		gc-warning-threshold kv-events-config oltp-traces-endpoint trace-level file-storage-path reasoning-parser tool-call-parser tool-server completion-template chat-template hf-chat-template-name
		bootstrap-port warmups ssl-keyfile ssl-certfile ssl-ca-certs ssl-keyfile-password max-loaded-loras load-watch-interval export-metrics-to-file-dir forward-tokenizer-metrics`),
	ofServer(config.Idle, config.Switch, noServer, `log-requests enable-metrics enable-metrics-for-all-schedulers collect-tokens-histogram enable-request-time-stats-logging enable-trace skip-server-warmup
		enable-cache-report incremental-streaming-output sleep-on-idle use-ray enable-http2 uvicorn-access-log-exclude-prefixes disable-radix-cache-warmup skip-tokenizer-init trust-remote-code
		stream-output enable-streaming-session enable-multi-layer-eagle-stats log-requests-target export-metrics-to-file allow-auto-truncate enable-custom-logit-processor`),

	// which model it holds
	ofServer(config.Idle, config.One, otherModel, "model-path tokenizer-path tokenizer-mode tokenizer-revision revision load-format model-loader-extra-config model-impl dtype model-config-parser"),
	ofServer(config.Missing, config.One, otherModel, "json-model-override-args decrypted-config-file decrypted-draft-config-file modelopt-quant modelopt-checkpoint-restore-path"),
	ofServer(config.Missing, config.One, "formats of the rollout engine are --rollout-format and --rollout-kv-format", "quantization quantization-param-path rl-quant-profile fp8-gemm-runner-backend-format"),
	ofServer(config.Missing, config.Switch, "models here write text", "is-embedding enable-multimodal"),
	ofServer(config.Idle, config.One, textOnly, "mm-max-concurrent-calls mm-per-request-timeout mm-process-config limit-mm-data-per-request preprocess-workers"),

	// what it draws
	ofServer(config.Idle, config.One, "every sample has a seed of its own, made from --rollout-seed", "random-seed"),
	ofServer(config.Idle, config.Switch, "a token's logprob never depends on the batch, so it is so in any case", "enable-deterministic-inference enable-prefill-only-deterministic-inference"),
	ofServer(config.Idle, config.Switch, "choices of entries are recorded where --use-rollout-indexer-replay asks for them", "enable-return-indexer-topk"),
	ofServer(config.Idle, config.One, "settings of draws are those of --rollout-temperature and the like", "sampling-defaults=model"),
	ofServer(config.Missing, config.One, "settings of draws are those of --rollout-temperature and the like", "preferred-sampling-params"),
	ofServer(config.Missing, config.One, noDraft, `speculative-algorithm speculative-draft-model-path speculative-draft-model-revision speculative-draft-load-format speculative-token-map
		speculative-draft-model-quantization`),
	ofServer(config.Idle, config.One, noDraft, `speculative-num-steps speculative-eagle-topk speculative-num-draft-tokens speculative-accept-threshold-single speculative-accept-threshold-acc
		speculative-attention-mode speculative-moe-runner-backend speculative-moe-a2a-backend speculative-draft-attention-backend speculative-ngram-min-match-window-size
		speculative-ngram-max-match-window-size speculative-ngram-min-bfs-breadth speculative-ngram-max-bfs-breadth speculative-ngram-match-type speculative-ngram-branch-length speculative-ngram-capacity`),
	ofServer(config.Idle, config.Switch, noDraft, "enable-multi-layer-eagle"),

	// adapters, and engines for prompts apart from engines for answers
	ofServer(config.Missing, config.Switch, noLoRA, "enable-lora"),
	ofServer(config.Missing, config.Some, noLoRA, "lora-paths"),
	ofServer(config.Idle, config.Some, noLoRA, "lora-target-modules"),
	ofServer(config.Idle, config.One, noLoRA, "max-lora-rank max-loras-per-batch lora-eviction-policy lora-backend max-lora-chunk-size"),
	ofServer(config.Idle, config.Switch, noLoRA, "enable-lora-overlap-loading"),
	ofServer(config.Missing, config.One, noPD, "disaggregation-mode=null"),
	ofServer(config.Idle, config.One, noPD, `disaggregation-bootstrap-port disaggregation-transfer-backend disaggregation-decode-tp disaggregation-decode-dp disaggregation-prefill-pp
		disaggregation-ib-device disaggregation-decode-polling-interval num-reserved-decode-tokens engine-info-bootstrap-port`),
	ofServer(config.Idle, config.Switch, noPD, "disaggregation-decode-enable-offload-kvcache disaggregation-decode-enable-fake-auto"),

	// updates
	ofServer(config.Idle, config.One, "weights reach the engine inside directly; servers started elsewhere have it as they were started", "weight-version checkpoint-engine-wait-weights-before-ready custom-weight-loader"),
	ofServer(config.Idle, config.Switch, "the state of every update is attested", "enable-weight-checker"),
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
