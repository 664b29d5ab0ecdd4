package launchline

import (
	"slices"

	"furlong/config"
)

// The script's own flags. Those that stand for others do so as the script expands them.
var script = slices.Concat(
	expands("mode", config.One, "which of the script's two sets of defaults",
		config.Sense{Value: "normal", Flags: "--over-sampling-batch-size 512 --dynamic-sampling-filter-path miles.rollout.filter_hub.dynamic_sampling_filters.check_reward_nonzero_std"},
		config.Sense{Value: "debug_minimal", Flags: ""},
	),
	expands("task", config.One, "data, grader and lengths of a task",
		config.Sense{Value: "dapo_aime", Flags: "--prompt-data {data-dir}/dapo-math-17k/dapo-math-17k.jsonl --input-key prompt --label-key label --rm-type math " +
			"--apply-chat-template --rollout-shuffle --rollout-max-response-len 8192 --apply-chat-template-kwargs '{\"thinking_mode\":\"thinking\"}'"},
		config.Sense{Value: "gsm8k", Flags: "--prompt-data {data-dir}/gsm8k/train.parquet --input-key messages --label-key label --rm-type math " +
			"--apply-chat-template --rollout-shuffle --rollout-max-response-len 256"},
	),
	expands("enable-eval", config.Switch, "the held-out set of the task",
		config.Sense{Value: "true", Flags: "--eval-interval 20 --eval-top-p 0.7 --n-samples-per-eval-prompt 8"},
		config.Sense{Value: "true", When: "task=dapo_aime", Flags: "--eval-prompt-data aime {data-dir}/aime-2024/aime-2024.jsonl --eval-max-response-len 4096"},
		config.Sense{Value: "true", When: "task=gsm8k", Flags: "--eval-prompt-data gsm8k {data-dir}/gsm8k/test.parquet --eval-max-response-len 256"},
		config.Sense{Value: "false", Flags: ""},
	),
	expands("fp8-training", config.Switch, "the format of the trainer's products",
		config.Sense{Value: "true", Flags: "--actor-format fp8"}, config.Sense{Value: "false", Flags: "--actor-format bf16"}),
	expands("train-fp8", config.Switch, "the format of the trainer's products",
		config.Sense{Value: "true", Flags: "--actor-format fp8"}, config.Sense{Value: "false", Flags: "--actor-format bf16"}),
	expands("rollout-fp8", config.Switch, "the format of the rollout engine's products",
		config.Sense{Value: "true", Flags: "--rollout-format fp8"}, config.Sense{Value: "false", Flags: "--rollout-format bf16"}),
	expands("enable-mis", config.Switch, "importance weights with rejection",
		config.Sense{Value: "true", Flags: "--use-tis --is-correction mis"}, config.Sense{Value: "false", Flags: ""}),
	expands("skip-saving", config.Switch, "no checkpoint between the first cycle and the last",
		config.Sense{Value: "true", Flags: "--save-interval 0 --save-retain-interval 0"}, config.Sense{Value: "false", Flags: ""}),
	expands("debug-train-run-id", config.One, "the run whose samples are trained on again",
		config.Sense{Flags: "--debug-train-only --load-debug-rollout-data {debug-data-root}/{debug-train-run-id}/dump_details/rollout_data/{debug-train-rollout-id}.pt"}),
	expands("debug-train-rollout-id", config.One, "the cycle of --debug-train-run-id", config.Sense{}),
	expands("data-dir", config.One, "where the files of --task are", config.Sense{}),
	expands("debug-data-root", config.One, "where dumps are", config.Sense{}),

	idle(config.One, "it finds or prepares files for Python trainers; --hf-checkpoint names the model", "model-org model-dir=/root/models model-local-dir megatron-path=/root/Megatron-LM"),
	idle(config.One, "a run is written to --run-dir, or runs/ and --run-id", "save-dir=/root/models"),
	idle(config.One, "core dumps are of GPU code, and there is none", "output-dir=/root/shared_data"),
	idle(config.Switch, "it asks for core dumps of GPU code, and there is none", "cuda-core-dump"),
	idle(config.One, "a device is found, not named; --gpu-memory and --num-gpus-per-node describe one for a dry run", "hardware=auto"),
	idle(config.One, "no process is started that would read variables, and this one reads none of them", "train-env-vars={}"),
	missing(config.Switch, "there is no speculative decoding", "enable-mtp"),
	missing(config.Switch, "MXFP8 has blocks of 32 with scales that are powers of two; --actor-format and --rollout-format have fp8 in blocks of 128x128", "train-mxfp8 rollout-mxfp8"),
	heldSwitches("every sum has one order, so a run repeats bit for bit", "train-deterministic"),
)
