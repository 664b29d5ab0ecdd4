package launchline

import (
	"slices"

	"furlong/config"
)

// The trainer's own flags, in the groups of its help.
var miles = slices.Concat(cluster, training, rollouts, updates, faults, data, evaluation, algorithm, distillation, adapters, tracking, debugging, hooks, sessions, dashboard)

var cluster = slices.Concat(
	idle(config.One, "a critic computes where the actor does", "critic-num-nodes critic-num-gpus-per-node"),
	idle(config.Switch, "it moves weights and optimizer state between memories and changes no number; there is one memory here", "offload offload-train offload-rollout stream-optimizer-state-to-disk"),
	idle(config.Any, "it moves weights and optimizer state between memories and changes no number; there is one memory here", "offload-rollout-level"),
	idle(config.One, "it moves weights and optimizer state between memories and changes no number; there is one memory here",
		"offload-train-target=cpu offload-train-disk-dir offload-train-disk-chunk-mb=256"),
	missing(config.One, "moments are kept in float32", "stream-optimizer-state-moment-dtype=fp32"),
	idle(config.One, "one process computes: there are no collectives", "distributed-backend=nccl distributed-timeout-minutes=10"),
	idle(config.Switch, "one process computes: there are no collectives", "debug-deterministic-collective use-distributed-post"),
)

var training = slices.Concat(
	idle(config.One, "there is one trainer, the one inside", "train-backend=megatron megatron-to-hf-mode=raw"),
	idle(config.One, "it chooses among kernels of a GPU trainer", "linear-attention-backend=fla miles-dsa-topk-backend=torch dsa-attention-backend=tilelang"),
	idle(config.Switch, "both engines compute the same bits where they hold the same formats; see --actor-format and --rollout-format", "true-on-policy-mode"),
	idle(config.Switch, "a prefill gives the bits that decoding gave", "recompute-logprobs-via-prefill"),
	idle(config.One, noMegatron, "train-memory-margin-bytes=1073741824 log-probs-chunk-size=-1 log-probs-max-tokens-per-gpu mfu-peak-tflops"),
	idle(config.Switch, noMegatron, "recompute-loss-function delay-split-train-data-by-dp allgather-cp low-memory-resume"),
	idle(config.Switch, "weights are rounded from float32 masters after each step in any case", "rematerialize-param-from-master-weight check-rematerialize-param-from-master-weight"),
	missing(config.Any, "one format holds for all layers", "extra-high-precision-layers-hf extra-high-precision-layers-megatron"),
	missing(config.Switch, "ranks are not independent of each other: there is one", "indep-dp"),
	missing(config.Switch, "what the indexers weigh is trained with everything else", "freeze-indexer"),
)

var rollouts = slices.Concat(
	missing(config.Switch, "a grader sees the text of all tokens", "rollout-skip-special-tokens"),
	missing(config.Some, "a response ends where the model ends it, or at its limit", "rollout-stop rollout-stop-token-ids"),
	expands("fully-async", config.Switch, "the loop that draws without end", config.Sense{Value: "true", Flags: "--loop fully-async"}, config.Sense{Value: "false", Flags: ""}),
	missing(config.Switch, "old logprobs are those of the trainer before the first step of a cycle", "keep-old-actor"),
	idle(config.One, "samples pass inside one process", "object-store-backend=ray mooncake-store-init-kwargs mooncake-replica-num=1"),
	idle(config.Switch, noRay, "pin-rollout-manager-to-head"),
	idle(config.Switch, "--rollout-url says that servers generate, and which", "rollout-external"),
	idle(config.One, "there is no cap besides the memory of attention state; of servers it is --rollout-concurrency", "sglang-server-concurrency=512"),
	missing(config.One, "servers that share the work of prompts and answers are not told apart", "prefill-num-servers sglang-config"),
	missing(config.One, "name the router with --rollout-url", "sglang-router-ip sglang-router-port"),
	idle(config.One, oneProcess, "sglang-router-policy sglang-router-request-timeout-secs=14400"),
	idle(config.Switch, noLoRA, "sglang-lora-use-virtual-experts"),
	idle(config.One, "servers are asked without a proxy, as the environment does not ask for one", "http-proxy"),
)

var updates = slices.Concat(
	idle(config.One, "weights pass inside one process; of servers it is --rollout-bucket-bytes", "update-weight-buffer-size=536870912"),
	expands("update-weight-transfer-mode", config.One, "how weights reach servers",
		config.Sense{Value: "broadcast", Flags: ""}, config.Sense{Value: "disk", Flags: "--update-weight-transport disk"}),
	missing(config.One, "updates are whole: nothing is sent as a difference", "update-weight-local-checkpoint-dir"),
	idle(config.One, "updates are whole: nothing is sent as a difference", "update-weight-delta-encoding=xor update-weight-delta-checksum=xxh3-128"),
	idle(config.One, "there is no transfer between devices", "p2p-transfer-num-workers=4 p2p-transfer-timeout=30.0"),
)

var faults = slices.Concat(
	idle(config.Switch, oneProcess, "use-fault-tolerance mini-ft-controller-enable"),
	idle(config.Any, oneProcess, "ft-components ci-ft-test-actions"),
	idle(config.One, oneProcess, `rollout-health-check-interval=30.0 rollout-health-check-timeout=30.0 rollout-health-check-first-wait=0 control-server-port=0
		mini-ft-controller-poll-interval=10.0 mini-ft-controller-resume-delay=10.0
		trainer-heartbeat-checker-interval trainer-heartbeat-checker-timeout trainer-heartbeat-checker-first-wait`),
)

var data = slices.Concat(
	missing(config.Switch, "prompts come from the files of --prompt-data", "disable-rollout-global-dataset"),
	missing(config.One, "chats are laid out as the model's family does", "chat-template-path"),
	refused(config.One, textOnly, "multimodal-keys"),
	idle(config.Switch, "it spreads samples over data-parallel ranks, and there is one", "balance-data balance-by-flops"),
	missing(config.Switch, "a cycle's samples are cut into equal steps", "allow-partial-train-step"),
	heldSwitches("micro-batches are packed up to --max-tokens-per-gpu in any case", "use-dynamic-batch-size"),
	idle(config.One, "micro-batches are packed up to --max-tokens-per-gpu; the gradient is the same bits however a batch is cut", "micro-batch-size=1"),
	idle(config.One, "sequences are packed without padding", "data-pad-size-multiplier=128 qkv-format=thd"),
	idle(config.One, "the loss is on the tokens of the response", "loss-mask-type=qwen rollout-task-type=math"),
	missing(config.One, "there is no outside buffer of rollouts", "rollout-buffer-url"),
	idle(config.One, "there is no outside buffer of rollouts", "fetch-trajectory-retry-times=-1 min-batch-collection-ratio=1"),
	missing(config.Switch, "a cycle trains on --rollout-batch-size times --n-samples-per-prompt samples", "disable-rollout-trim-samples use-dynamic-global-batch-size"),
	idle(config.One, "a run is written to --run-dir, or runs/ and --run-id, with its checkpoints", "save"),
)

var evaluation = slices.Concat(
	missing(config.One, "no such limit is applied to held-out prompts", "eval-tool-key eval-max-prompt-len eval-max-context-len"),
	missing(config.One, "--eval-config has it, as min_new_tokens", "eval-min-new-tokens"),
	missing(config.One, "held-out prompts are judged as training prompts are, or as --eval-config says", "eval-reward-key"),
	missing(config.One, "evaluations run on the rollout engine", "eval-num-gpus=0 eval-hf-dir"),
	idle(config.One, "evaluations run on the rollout engine, one at a time", "eval-num-gpus-per-engine=1 eval-max-in-flight=2 eval-overflow-policy=backpressure eval-keep-snapshots=2"),
)

var algorithm = slices.Concat(
	missing(config.One, "checkpoints are directories in the Hugging Face layout, without steps", "ref-ckpt-step opd-teacher-ckpt-step"),
	idle(config.One, "nothing is drawn in training: weights come from a checkpoint and there is no dropout; rollout has --rollout-seed", "seed=1234"),
	missing(config.One, "the critic starts from the actor and is saved with the run", "critic-load critic-save"),
	missing(config.Switch, "advantages are computed in any case", "disable-compute-advantages-and-returns"),
	missing(config.One, "the reference policy stays what it was", "ref-update-interval"),
	missing(config.Switch, "entropy is the trainer's", "use-rollout-entropy"),
	heldSwitches("entropy is measured in any case", "observe-training-entropy"),
	missing(config.Switch, "optimizer state is kept from step to step", "reset-optimizer-states"),
	missing(config.Switch, "the trainer scores the samples whenever a formula needs it", "skip-actor-forward-only"),
	missing(config.Switch, "the trainer's own choices of entries are computed again in a step", "use-indexer-replay"),
	missing(config.Switch, "rewards are of single samples", "group-rm"),
	expands("custom-tis-function-path", config.One, "importance weights with rejection",
		config.Sense{Value: "examples.train_infer_mismatch_helper.mis.compute_mis_weights_with_cp", Flags: "--is-correction mis"}),
)

var distillation = slices.Concat(
	missing(config.One, "distillation takes the logprob of the token that was drawn", "opd-log-prob-top-k=0"),
	idle(config.One, "--opd-log-prob-top-k is 0", "opd-top-k-strategy=only-student opd-reward-weight-mode=student_p"),
	idle(config.Switch, "--opd-log-prob-top-k is 0", "opd-topk-per-position"),
	missing(config.Some, "the teacher is in the trainer; name its checkpoint with --opd-teacher-load", "opd-teacher-urls"),
	idle(config.One, "the teacher is in the trainer", "opd-teacher-key=opd_teacher"),
)

var adapters = slices.Concat(
	missing(config.One, noLoRA, "lora-rank=0 lora-adapter-path multi-lora-n-adapters=0"),
	idle(config.One, noLoRA, `lora-alpha=16 lora-dropout=0.0 lora-type=lora multi-lora-idle-poll-s=5.0 multi-lora-http-server-path multi-lora-backend-path
		multi-lora-api-port=8068 multi-lora-max-adapter-global-batch-size multi-lora-max-coalesce-wait-s=0.5 multi-lora-max-empty-wait-s=30.0`),
	idle(config.Any, noLoRA, "target-modules exclude-modules multi-lora-adapter"),
	idle(config.Switch, noLoRA, "lora-sync-from-tensor lora-base-cpu-backup experts-shared-outer-loras multi-lora-disable-service-mode check-lora-weight-equal"),
	missing(config.Switch, noLoRA, "lora-train-only"),
)

// Reasons of the rows about trackers.
const (
	noTracker = "there is no client of it; the run directory holds metrics.jsonl and TensorBoard files"
	inRows    = "rows of metrics.jsonl and files of samples hold what it would add"
)

var tracking = slices.Concat(
	idle(config.Switch, noTracker, "wandb-always-use-train-step use-mlflow"),
	heldSwitches("TensorBoard files are in the run directory in any case", "use-tensorboard"),
	idle(config.One, noTracker, `mlflow-tracking-uri mlflow-experiment-name=miles mlflow-run-name mlflow-run-id`),
	idle(config.One, "TensorBoard files are in the run directory, which has the name of the run", "tb-project-name tb-experiment-name"),
	secret("a key on a command line can be read by every process of the machine, and by whoever reads the log: the client reads WANDB_API_KEY", "wandb-key"),
	idle(config.Switch, inRows, "log-multi-turn log-passrate log-correct-samples"),
	idle(config.One, inRows, "log-reward-category"),
)

// Reasons of the rows about looking inside.
const (
	inSamples = "samples/ in the run directory holds every sample, with both engines' logprobs"
	profiled  = "it profiles GPU code; spans/ in the run directory says what took how long"
	dumped    = "furlong parity says what passes compute on the way, and where two first differ"
	forTests  = "it belongs to another program's own tests"
)

var debugging = slices.Concat(
	idle(config.One, inSamples, "save-debug-trajectory-data save-debug-event-data"),
	idle(config.Switch, dumped, "dumper-enable"),
	idle(config.Any, dumped, "dumper-inference dumper-fwd-only dumper-fwd-bwd"),
	idle(config.One, dumped, "dumper-dir=/tmp/dumper dumper-source-patcher-config-inference dumper-source-patcher-config-train"),
	idle(config.One, profiled, "memory-snapshot-dir=. memory-snapshot-num-steps memory-recorder=torch"),
	idle(config.Some, profiled, "profile-target=train_overall"),
	idle(config.One, "--check-weight-update-equal compares everything", "check-weight-update-selector=all"),
	idle(config.Any, "--check-weight-update-equal compares everything", "check-weight-update-skip-list"),
	missing(config.Switch, "updates are compared bit for bit", "check-weight-update-allow-quant-error"),
	idle(config.Switch, "the digest of every update is in the log", "save-local-weight-checksum enable-event-analyzer enable-witness"),
	idle(config.One, "the digest of every update is in the log", "witness-buffer-size=1048576"),
	idle(config.Switch, forTests, "ci-test ci-disable-kl-checker ci-disable-logprobs-checker ci-disable-weight-update-checker ci-save-model-hash ci-check-model-hash"),
	idle(config.One, forTests, "ci-metric-checker-key ci-metric-checker-threshold ci-save-grad-norm ci-load-grad-norm"),
	idle(config.One, "config.json in the run directory says what the build is", "env-report"),
)

var hooks = slices.Concat(
	refused(config.One, noPython, `custom-model-provider-path rollout-function-path custom-async-data-buffer-path custom-generate-function-path
		custom-rollout-log-function-path custom-eval-rollout-log-function-path buffer-filter-path rollout-data-postprocess-path custom-update-weight-post-write-path
		data-source-path=miles.rollout.data_source.RolloutDataSourceWithBuffer eval-function-path custom-megatron-post-save-hook-path custom-loss-function-path
		custom-pg-loss-reducer-function-path custom-reward-post-process-path custom-convert-samples-to-train-data-path rollout-sample-filter-path
		rollout-all-samples-process-path custom-megatron-init-path custom-megatron-before-log-prob-hook-path custom-megatron-before-train-step-hook-path`),
	refused(config.One, noPython+"; --custom-rm-command runs a program of yours, --rm-url asks a server", "custom-rm-path"),
	refused(config.One, "it adds settings that nobody here knows; --config reads a file of flags", "custom-config-path"),
)

var sessions = slices.Concat(
	missing(config.Switch, "samples are of one turn: there are no sessions", "use-session-server"),
	idle(config.One, "samples are of one turn: there are no sessions", `session-server-ip session-server-port tito-model=default session-message-matcher=strict
		session-sample-picker-path=miles.rollout.session.v2.picker_hub.drop_retries
		session-sample-postprocessor-path=miles.rollout.session.v2.postprocessor_hub.default_postprocess`),
	idle(config.Switch, "furlong router is a command of its own", "use-miles-router"),
	idle(config.One, "furlong router is a command of its own", "miles-router-timeout miles-router-max-connections miles-router-health-check-failure-threshold=3"),
)

var dashboard = slices.Concat(
	idle(config.Switch, "what a dashboard shows is in the run directory", "use-miles-dashboard dashboard-forward-prometheus"),
	idle(config.One, "what a dashboard shows is in the run directory", "dashboard-flush-interval=5.0 dashboard-gpu-sample-interval=1.0 dashboard-sglang-scrape-interval=2.0 dashboard-sglang-scrape-mode=auto"),
	idle(config.Any, "what a dashboard shows is in the run directory", "dashboard-sglang-metrics"),
)
