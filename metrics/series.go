package metrics

// A Series is a named number that a run measures again and again.
type Series struct {
	// Name is the name in rows. {x} stands for letters, digits, '_', '.' and '-'; {k}, {i} and {layer} for digits.
	Name    string
	Unit    string
	Meaning string
	// Wall marks what depends on the clock, the machine or the history of the process, and so differs between two runs of one seed.
	Wall bool
	// Part marks the parts of the trainer's clock: they add up to perf/step_time.
	Part bool
}

// All lists every series that may be written, by family.
func All() []Series { return table }

// stat lists mean, median, max and min of a quantity under one prefix.
func stat(prefix, unit, meaning string, wall bool) []Series {
	var s []Series
	for _, n := range []string{"mean", "median", "max", "min"} {
		s = append(s, Series{Name: prefix + "/" + n, Unit: unit, Meaning: n + " of " + meaning, Wall: wall})
	}
	return s
}

// plain makes series that depend on the seed alone, from triples of name, unit and meaning.
func plain(prefix string, triples ...[3]string) []Series {
	var s []Series
	for _, t := range triples {
		s = append(s, Series{Name: prefix + t[0], Unit: t[1], Meaning: t[2]})
	}
	return s
}

// wall is plain for series that depend on the clock.
func wall(prefix string, triples ...[3]string) []Series {
	s := plain(prefix, triples...)
	for i := range s {
		s[i].Wall = true
	}
	return s
}

func join(families ...[]Series) []Series {
	var all []Series
	for _, f := range families {
		all = append(all, f...)
	}
	return all
}

var table = join(train(), mismatch(), logpDiff(), ratio(), rollout(), reward(), passrate(), eval(), moe(), indexer(), data(), account(), update(), perf(), engine())

func train() []Series {
	return plain("train/", [][3]string{
		{"step", "steps", "optimizer steps taken since the run began"},
		{"loss", "nats", "what the step descended: policy loss, entropy and KL terms, weighted"},
		{"pg_loss", "nats", "policy-gradient part of the loss"},
		{"entropy_loss", "nats", "mean entropy of the policy over trained tokens (positive)"},
		{"kl_loss", "nats", "mean KL estimate against the reference over trained tokens, before its coefficient"},
		{"pg_clipfrac", "share", "trained tokens whose ratio the clip changed"},
		{"ppo_kl", "nats", "mean of logprob before the step minus logprob in the step"},
		{"ess_ratio", "share", "effective sample size of the ratios, per token, mean over samples"},
		{"train_rollout_logprob_abs_diff", "nats", "mean |trainer - rollout| logprob over trained tokens, weighed as the loss weighs them; train/logp_diff/mean weighs all alike"},
		{"train_rollout_kl", "nats", "low-variance KL of rollout against trainer over trained tokens"},
		{"ois", "ratio", "mean ratio of the step's policy to the policy before it"},
		{"tis", "ratio", "mean importance ratio of trainer to rollout, token by token, before any bound"},
		{"tis_clipfrac", "share", "trained tokens whose importance weight a bound changed, a mask included"},
		{"tis_used", "ratio", "mean of what multiplied the policy loss: the importance weight after bounds, rejection and normalisation, 1 without a correction"},
		{"tis_abs", "ratio", "mean |importance ratio - 1|, before any bound"},
		{"rejected_tokens", "tokens", "trained tokens of this cycle whose policy loss the correction took away: masked, rejected or vetoed; they stay in the denominator"},
		{"rejected_samples", "samples", "samples of this cycle all of whose tokens lost their policy loss to the correction"},
		{"opsm_clipfrac", "share", "trained tokens whose policy loss --use-opsm took away: those of wrong answers that have become too unlikely"},
		{"clip_cov_frac", "share", "trained tokens whose policy loss --clip-cov-ratio took away"},
		{"opd_kl", "nats", "mean over tokens of the policy's logprob before the step minus the teacher's: an estimate of the reverse KL"},
		{"value_loss", "reward^2", "loss of the critic"},
		{"explained_variance", "share", "share of the returns' variance that the critic's values foretold before the step; below 0 they are worse than a constant"},
		{"value_clipfrac", "share", "tokens whose value the clip changed"},
		{"mtp_loss", "nats", "loss of the multi-token prediction head"},
		{"grad_norm", "nats", "norm of the gradient over all parameters, before clipping"},
		{"grad_norm/{group}", "nats", "norm of the gradient of one group of parameters, before clipping"},
		{"lr-pg_{i}", "1", "learning rate of parameter group i"},
		{"excluded_samples", "samples", "samples of the batch that did not train: judged invalid, not judged, or empty"},
		{"skipped_steps", "steps", "steps of this cycle not taken: something was not finite, or no sample could train"},
		{"steps_taken", "steps", "steps of this cycle that were taken, where a cycle has several"},
		{"nonfinite_tokens", "tokens", "logprobs of trained tokens of this cycle, of rollout, trainer or reference, that are not finite"},
		{"nonfinite_tokens/rollout", "tokens", "those of the rollout engine; samples all alike"},
		{"nonfinite_tokens/trainer", "tokens", "those of the trainer, before the step"},
		{"nonfinite_tokens/reference", "tokens", "those of the reference"},
		{"nonfinite_tokens/teacher", "tokens", "those of the teacher; they are not in the sum"},
		{"tokens", "tokens", "tokens this cycle trained on, prompts not counted"},
		{"tokens_total", "tokens", "tokens trained on since the run began, prompts not counted"},
		{"samples", "samples", "samples this cycle trained on"},
		{"epoch", "epochs", "supervised training: passes over the data, with fraction"},
	}...)
}

// mismatch lists train/mis_*: r is a token's ratio of trainer to rollout probability, the exponent bounded by 20 either way, w the importance weight at
// --tis-level. Means over tokens are weighed as the loss weighs them, rejected tokens included.
func mismatch() []Series {
	return plain("train/mis_", [][3]string{
		{"training_log_ppl", "nats", "minus the mean logprob by the trainer, before the step; mean over samples"},
		{"training_ppl", "ratio", "exp of a sample's mis_training_log_ppl, mean over samples"},
		{"rollout_log_ppl", "nats", "minus the mean logprob by the rollout engine; mean over samples"},
		{"rollout_ppl", "ratio", "exp of a sample's mis_rollout_log_ppl, mean over samples"},
		{"log_ppl_diff", "nats", "a sample's mis_training_log_ppl minus its mis_rollout_log_ppl, mean over samples"},
		{"log_ppl_abs_diff", "nats", "mean over samples of the absolute value of mis_log_ppl_diff"},
		{"ppl_ratio", "ratio", "exp of a sample's mis_log_ppl_diff, mean over samples"},
		{"kl", "nats", "mean over tokens of rollout minus trainer logprob: KL of rollout against trainer"},
		{"k3_kl", "nats", "mean over tokens of r - 1 - log r, an estimate of the same that is never negative"},
		{"chi2_token", "1", "mean over tokens of r^2, minus 1: chi-squared divergence of trainer from rollout"},
		{"chi2_seq", "1", "mean over samples of the squared product of r, minus 1; the logarithm of the product is bounded by 20 either way"},
		{"tis_weight_before_bound", "ratio", "mean over tokens of w"},
		{"tis_weight_after_bound", "ratio", "mean over tokens of w after --tis-mode; what it masks counts 0"},
		{"tis_truncate_fraction", "share", "tokens with w above --tis-upper-bound, for --tis-mode truncate"},
		{"tis_clip_fraction_low", "share", "tokens with w below --tis-lower-bound, for --tis-mode clip"},
		{"tis_clip_fraction_high", "share", "tokens with w above --tis-upper-bound, for --tis-mode clip"},
		{"tis_mask_fraction_low", "share", "tokens with w below --tis-lower-bound, for --tis-mode mask"},
		{"tis_mask_fraction_high", "share", "tokens with w above --tis-upper-bound, for --tis-mode mask"},
		{"rs_mask_fraction_low", "share", "tokens whose weight at --rs-level is below --rs-lower-bound"},
		{"rs_mask_fraction_high", "share", "tokens whose weight at --rs-level is above --rs-upper-bound"},
		{"rs_catastrophic_token_fraction", "share", "tokens with r below --rs-veto-threshold"},
		{"rs_catastrophic_seq_fraction", "share", "samples with such a token, all alike"},
		{"rejected_fraction", "share", "tokens masked, rejected or vetoed"},
		{"is_ratio_mean_after_tis_rs", "ratio", "mean over tokens of w after --tis-mode and rejection; what is rejected counts 0"},
		{"is_ratio_mean_final", "ratio", "the same after normalisation: the mean of what multiplies the policy loss"},
		{"is_ratio_min_final", "ratio", "least of what multiplies the policy loss of a token that is not rejected"},
		{"is_ratio_max_final", "ratio", "largest of what multiplies the policy loss of a token"},
		{"batch_norm_factor", "ratio", "mean of w after --tis-mode, by which weights are divided: over all tokens of the step that it does not mask, or at the other levels over samples; rejected ones included"},
	}...)
}

func logpDiff() []Series {
	return plain("train/logp_diff/", [][3]string{
		{"mean", "nats", "mean |trainer - rollout| logprob over trained tokens, both under the weights that sampled them where the loop allows it"},
		{"signed", "nats", "mean of trainer minus rollout logprob"},
		{"p50", "nats", "median of |trainer - rollout|"},
		{"p95", "nats", "95th percentile of |trainer - rollout|"},
		{"p99", "nats", "99th percentile of |trainer - rollout|"},
		{"p999", "nats", "99.9th percentile of |trainer - rollout|"},
		{"max", "nats", "largest |trainer - rollout|"},
		{"frac_gt_0.5", "share", "trained tokens with |trainer - rollout| above 0.5 nats"},
		{"frac_gt_2", "share", "trained tokens with |trainer - rollout| above 2 nats"},
		{"frac_exact", "share", "trained tokens whose two logprobs are the same bits"},
		{"by_position/{bucket}", "nats", "mean |trainer - rollout| of the tokens at these positions of the response"},
		{"by_prob/{bucket}", "nats", "mean |trainer - rollout| of the tokens with this rollout probability"},
		{"by_age/{i}", "nats", "mean |trainer - rollout| of the tokens chosen i versions before the one that serves as the cycle trains"},
	}...)
}

// ratio lists train/ratio/*: importance ratios of trainer to rollout engine, token by token, all tokens alike. raw is as they are, used what multiplied the policy
// loss after the correction.
func ratio() (all []Series) {
	for _, of := range [][2]string{{"raw", "importance ratios, before the correction"}, {"used", "what multiplied the policy loss, after the correction; 1 without one"}} {
		for _, figure := range [][2]string{{"mean", "mean"}, {"min", "least"}, {"p99", "99th percentile"}, {"max", "largest"}} {
			all = append(all, Series{Name: "train/ratio/" + of[0] + "_" + figure[0], Unit: "ratio", Meaning: figure[1] + " of " + of[1]})
		}
	}
	return all
}

func rollout() []Series {
	return join(
		stat("rollout/response_len", "tokens", "response lengths", false),
		stat("rollout/weight_version", "versions", "publication number of the version that chose a sample's last token, over samples", false),
		plain("rollout/", [][3]string{
			{"weight_version/mixed_version_ratio", "share", "samples whose tokens come from more than one version"},
			{"step", "cycles", "rollout steps taken since the run began"},
			{"raw_reward", "reward", "mean reward of the samples trained on, as graded; biased by filtering"},
			{"rewards", "reward", "mean of what the estimator made of the rewards within their groups"},
			{"advantages", "1", "mean advantage over trained tokens"},
			{"returns", "reward", "mean return over trained tokens"},
			{"values", "reward", "mean value of the critic over trained tokens"},
			{"log_probs", "nats", "mean logprob by the trainer, before the step"},
			{"ref_log_probs", "nats", "mean logprob by the reference"},
			{"rollout_log_probs", "nats", "mean logprob by the rollout engine"},
			{"teacher_log_probs", "nats", "mean logprob by the teacher"},
			{"entropy", "nats", "mean entropy over response tokens, by the trainer"},
			{"rollout_entropy", "nats", "mean entropy over response tokens, by the rollout engine"},
			{"truncated", "share", "samples trained on that were cut at the length limit"},
			{"truncated_ratio", "share", "generated samples that were cut at the length limit"},
			{"response_lengths", "tokens", "mean response length of the samples trained on"},
			{"total_lengths", "tokens", "mean length of prompt and response of the samples trained on"},
			{"repetition_frac", "share", "samples whose last 10,000 characters shrink more than tenfold under zlib"},
			{"garbled_frac", "share", "samples whose text is not clean UTF-8"},
			{"zero_std/count_{reward}", "groups", "groups whose rewards all equal this one"},
			{"zero_std/ratio", "share", "groups whose members all have one reward: no signal"},
			{"prompt_tokens", "tokens", "prompt tokens of the batch, once a sample"},
			{"zero_std/all_zero_percentage", "percent", "groups whose rewards are all the lowest"},
			{"zero_std/all_one_percentage", "percent", "groups whose rewards are all the highest"},
			{"samples", "samples", "samples generated"},
			{"tokens", "tokens", "response tokens generated"},
			{"aborted", "samples", "samples that were ended from outside"},
			{"group_acceptance", "share", "groups that the dynamic filter kept"},
			{"dynamic_filter/drop_{reason}", "groups", "groups that the dynamic filter dropped, by reason"},
			{"surplus_discarded_tokens", "tokens", "response tokens generated and then thrown away"},
			{"discarded_exceptions", "groups", "groups dropped because something broke"},
			{"trimmed_samples", "samples", "samples cut off to fill whole global batches"},
			{"staleness/mean", "versions", "mean over trained tokens of served version minus the version that chose the token"},
			{"staleness/max", "versions", "largest served version minus the version that chose a trained token"},
			{"spec_accept_rate", "share", "drafted tokens that were accepted"},
			{"spec_accept_length", "tokens", "mean length of accepted drafts"},
			{"error_cat/{category}", "share", "samples in this category of the grader"},
			{"fully_async/queue_size", "groups", "groups waiting when the batch was taken"},
			{"fully_async/aborted_groups_filtered", "groups", "groups dropped for an aborted sample"},
			{"fully_async/stale_groups_filtered", "groups", "groups dropped as too old"},
			{"staleness/steps", "steps", "optimizer steps that the served weights trail the trainer as the batch begins to train"},
			{"fully_async/avg_staleness", "versions", "mean age of the groups looked at, the dropped ones included"},
			{"fully_async/max_staleness", "versions", "greatest age of the groups looked at, the dropped ones included"},
			{"fully_async/buffer_avg_staleness", "versions", "mean age of the groups that wait"},
			{"fully_async/buffer_max_staleness", "versions", "greatest age of the groups that wait"},
		}...),
		// What is in the cache depends on what the process computed before, an evaluation for one, and is lost with it.
		wall("rollout/", [][3]string{
			{"prefix_cache_hit_rate", "share", "prompt tokens whose state came from the cache"},
			{"avg_cached_tokens_per_sample", "tokens", "prompt tokens from the cache, mean over samples"},
		}...))
}

func reward() []Series {
	return join(
		plain("reward/", [][3]string{
			{"right", "share", "graded samples found right"},
			{"wrong", "share", "graded samples found wrong"},
			{"invalid", "share", "samples that the grader could not judge; they do not train"},
			{"invalid_samples", "samples", "samples that the grader could not judge"},
			{"over", "samples", "samples found wrong since comparing them would have taken too long"},
			{"raised", "samples", "samples found wrong since the published grader breaks there"},
			{"grader_timeout", "samples", "samples whose grader ran out of time"},
			{"grader_error", "samples", "samples whose grader broke"},
		}...),
		wall("reward/", [3]string{"grader_ms", "ms", "mean time to grade a sample"}))
}

func passrate() []Series {
	return plain("passrate/", [][3]string{
		{"pass@{k}", "share", "unbiased pass@k on the training batch; biased by filtering"},
	}...)
}

func eval() []Series {
	return join(
		plain("eval/", [][3]string{
			{"step", "cycles", "cycles trained before this evaluation"},
			{"lag_steps", "cycles", "cycles by which the evaluated weights trail the trainer"},
			{"{name}", "reward", "mean reward on the held-out set"},
			{"{name}-pass@{k}", "share", "unbiased pass@k by the grader's verdict, mean over problems"},
			{"{name}-pass@{k}_lo", "share", "lower end of its 95 % interval, problems resampled"},
			{"{name}-pass@{k}_hi", "share", "upper end of its 95 % interval, problems resampled"},
			{"{name}-pass@{k}_decode_lo", "share", "lower end of its 95 % interval, answers of a problem resampled"},
			{"{name}-pass@{k}_decode_hi", "share", "upper end of its 95 % interval, answers of a problem resampled"},
			{"{name}-maj@{k}", "share", "problems whose most frequent answer of k is right"},
			{"{name}-maj@{k}_lo", "share", "lower end of its 95 % interval, problems resampled"},
			{"{name}-maj@{k}_hi", "share", "upper end of its 95 % interval, problems resampled"},
			{"{name}-maj@{k}_decode_lo", "share", "lower end of its 95 % interval, answers of a problem resampled"},
			{"{name}-maj@{k}_decode_hi", "share", "upper end of its 95 % interval, answers of a problem resampled"},
			{"{name}-mean@{k}", "share", "right answers among k a problem"},
			{"{name}-mean@{k}_lo", "share", "lower end of its 95 % interval, problems resampled"},
			{"{name}-mean@{k}_hi", "share", "upper end of its 95 % interval, problems resampled"},
			{"{name}-mean@{k}_decode_lo", "share", "lower end of its 95 % interval, answers of a problem resampled"},
			{"{name}-mean@{k}_decode_hi", "share", "upper end of its 95 % interval, answers of a problem resampled"},
			{"{name}-pass@{k}_not_truncated", "share", "pass@k over the answers that were not cut"},
			{"{name}-truncated_ratio", "share", "answers that were cut at the length limit"},
			{"{name}-none_reward_ratio", "share", "answers without a reward"},
			{"{name}-invalid_ratio", "share", "answers that the grader could not judge"},
			{"{name}-problems", "prompts", "problems in the set"},
			{"{name}-samples", "samples", "answers a problem"},
			{"{name}-solved", "prompts", "problems with at least one right answer"},
			{"{name}/repetition_frac", "share", "answers whose last 10,000 characters shrink more than tenfold under zlib"},
			{"{name}/truncated_ratio", "share", "answers that were cut at the length limit"},
			{"{name}/loss", "nats", "mean loss a token, for supervised training"},
			{"{name}/entropy", "nats", "mean entropy over response tokens"},
			{"{name}/zero_std/count_{reward}", "groups", "problems whose rewards all equal this one"},
			{"{name}/zero_std/all_zero_percentage", "percent", "problems whose rewards are all the lowest"},
			{"{name}/zero_std/all_one_percentage", "percent", "problems whose rewards are all the highest"},
			{"{name}/weight_version/mixed_version_ratio", "share", "answers whose tokens come from more than one version"},
			{"skipped_busy", "evals", "evaluations not run since the run began: the engine was busy"},
			{"skipped_export_failed", "evals", "evaluations not run since the run began: no export"},
			{"skipped_ckpt_missing", "evals", "evaluations not run since the run began: no checkpoint"},
			{"skipped_crashed", "evals", "evaluations not run since the run began: the engine died"},
			{"skipped_unhealthy", "evals", "evaluations not run since the run began: the engine was ill"},
			{"skipped_pin_violation", "evals", "evaluations not run since the run began: the weights changed below it"},
		}...),
		stat("eval/{name}/response_len", "tokens", "response lengths", false),
		stat("eval/{name}/weight_version", "versions", "publication number of the version that chose a sample's last token, over samples", false),
		wall("eval/", [][3]string{
			{"duration_seconds", "s", "time the evaluation took"},
			{"export_time_seconds", "s", "time the export of the weights took"},
			{"{name}/prefix_cache_hit_rate", "share", "prompt tokens whose state came from the cache"},
		}...))
}

func moe() []Series {
	return plain("moe/", [][3]string{
		{"load_cv", "ratio", "standard deviation over mean of tokens an expert, mean over layers"},
		{"load_cv/{layer}", "ratio", "standard deviation over mean of tokens an expert, of one layer"},
		{"max_load", "ratio", "tokens of the busiest expert over the fair share, worst layer"},
		{"max_load/{layer}", "ratio", "tokens of the busiest expert over the fair share, of one layer"},
		{"router_agreement", "share", "expert choices that rollout and trainer share, mean over layers; the trainer's own, also where others are replayed"},
		{"router_agreement/{layer}", "share", "expert choices that rollout and trainer share, of one layer"},
		{"router_agreement_worst", "share", "expert choices that rollout and trainer share, in the worst layer"},
		{"router_agreement_same", "share", "tokens and layers whose choice of experts is the same set"},
		{"router_agreement_none", "share", "tokens and layers without an expert in common"},
		{"router_agreement_used", "share", "expert choices that rollout shares with what the trainer used: 1 where they are replayed"},
		{"router_entropy", "nats", "mean entropy of the router over experts, mean over layers"},
		{"dead_experts", "experts", "experts that got no token in this cycle, over all layers"},
	}...)
}

// indexer is of the tokens that see more compressed entries than they read.
func indexer() []Series {
	return plain("indexer/", [][3]string{
		{"agreement", "share", "entries read that rollout and trainer share, where some are dropped, mean over layers; the trainer's own, also where others are replayed"},
		{"agreement/{layer}", "share", "entries read that rollout and trainer share, where some are dropped, of one layer"},
		{"agreement_worst", "share", "entries read that rollout and trainer share, where some are dropped, in the worst layer"},
		{"agreement_same", "share", "tokens and layers that read the same entries, of those that drop some"},
		{"agreement_none", "share", "tokens and layers that read no entry in common, of those that drop some"},
		{"agreement_used", "share", "entries read that rollout shares with what the trainer used: 1 where they are replayed"},
	}...)
}

func data() []Series {
	return plain("data/", [][3]string{
		{"epoch", "epochs", "passes over the prompts begun before this cycle"},
		{"offset", "prompts", "place within the pass"},
		{"prompts_skipped", "prompts", "prompts left out since the run began: too long, empty, or double"},
	}...)
}

// account lists what became of all that was handed out since the run began, as the cycle trained: generated is the sum of the others.
func account() (all []Series) {
	for _, of := range [][2]string{{"tokens", "response tokens that came back"}, {"samples", "samples asked for"}, {"prompts", "prompts handed out"}} {
		all = append(all, plain("account/"+of[0]+"/", [][3]string{
			{"generated", of[0], of[1] + " since the run began"},
			{"trained", of[0], "those with which a step was taken"},
			{"masked", of[0], "those in trained batches that do not train, too old or off policy"},
			{"waiting", of[0], "those in flight, unfinished, or kept for later batches"},
			{"dropped", of[0], "those given up"},
		}...)...)
	}
	return append(all, plain("account/tokens/", [][3]string{
		{"dropped/{reason}", "tokens", "response tokens given up for this reason since the run began"},
		{"masked/{reason}", "tokens", "response tokens that do not train for this reason, since the run began"},
	}...)...)
}

func update() []Series {
	return plain("update/", [][3]string{
		{"version", "versions", "publication number of the version that the rollout engine took up"},
		{"attested", "1", "1 if the engine attested the state that the trainer published, 0 if it attests nothing; any other state ends the run"},
		{"compared", "1", "1 if what was derived from the weights was compared with a second derivation (--check-weight-update-equal), else 0"},
		{"retries", "updates", "attempts beyond the first"},
		{"refused", "updates", "attempts that the engine refused as damaged or incomplete"},
		{"tensors", "tensors", "tensors of the version: weights, scales, buffers and tables"},
		{"bytes", "bytes", "bytes of them that were to be sent"},
	}...)
}

func perf() []Series {
	all := join(
		wall("perf/", [][3]string{
			{"step_time", "s", "wall time of the cycle on the trainer's clock"},
			{"train_time", "s", "trainer at work: scoring, packing, forward, backward, step"},
			{"update_weights_time", "s", "publishing the weights until the engine serves them"},
			{"eval_time", "s", "trainer waiting for an evaluation"},
			{"save_model_time", "s", "writing a checkpoint"},
			{"rollout_wait_time", "s", "trainer waiting for samples; in the synchronous loop, the rollout itself"},
			{"reward_wait_time", "s", "trainer waiting for graders after the last sample ended"},
			{"other_time", "s", "what the other parts of the cycle do not account for"},
			{"rollout_time", "s", "from the first request of the cycle to its last sample"},
			{"reward_time", "s", "time graders were at work, summed over samples"},
			{"train_wait_time", "s", "trainer waiting for rollout and reward"},
			{"actor_train_time", "s", "forward, backward and optimizer step"},
			{"log_probs_time", "s", "scoring under the actor"},
			{"ref_log_probs_time", "s", "scoring under the reference"},
			{"data_preprocess_time", "s", "packing samples into micro-batches"},
			{"sleep_time", "s", "putting the rollout engine aside"},
			{"wake_up_time", "s", "bringing the rollout engine back"},
			{"update_weights_stop_time", "s", "time the rollout engine chose no token because of the update"},
			{"update_weights_{part}_time", "s", "one part of the update: quantise (pack in the engine's formats), gather (list, with digests), apply (send, check, derive, canary)"},
			{"wait_time_ratio", "share", "train_wait_time over step_time"},
			{"bubble_ratio", "share", "part of the cycle that trainer and rollout engine stood still, mean of the two"},
			{"overlap_ratio", "share", "part of rollout_time during which the trainer was at work"},
			{"tokens_per_gpu_per_sec", "tok/s", "response tokens generated a second and device"},
			{"effective_tokens_per_gpu_per_sec", "tok/s", "response tokens trained on, a second of rollout and device"},
			{"longest_sample_tokens_per_sec", "tok/s", "speed of the longest sample"},
			{"longest_effective_sample_tokens_per_sec", "tok/s", "speed of the longest sample trained on"},
			{"actor_train_tok_per_s", "tok/s", "prompt and response tokens through forward and backward a second"},
			{"log_probs_tflops", "TFLOP/s", "scoring under the actor, a device"},
			{"ref_log_probs_tflops", "TFLOP/s", "scoring under the reference, a device"},
			{"actor_train_tflops", "TFLOP/s", "forward and backward, a device"},
			{"actor_train_mfu", "share", "actor_train_tflops over mfu_peak_tflops"},
			{"mfu_peak_tflops", "TFLOP/s", "peak of the device"},
			{"cpu_memory_{label}_gb", "GB", "resident memory of the process at this point"},
			{"update_weights_density", "share", "weights that changed since the last update"},
			{"update_weights_wire_bytes", "bytes", "bytes that went over the wire in the updates since the last row, refused ones included"},
			{"samples_write_time", "s", "writing samples and index"},
		}...),
		stat("perf/non_generation_time", "s", "time a sample spent in tools and environment", true))
	parts := map[string]bool{"train": true, "update_weights": true, "eval": true, "save_model": true, "rollout_wait": true, "reward_wait": true, "other": true}
	for i, s := range all {
		all[i].Part = parts[trim(s.Name, "perf/", "_time")]
	}
	return all
}

func engine() []Series {
	return wall("engine/", [][3]string{
		{"running", "samples", "sequences in flight, mean over the cycle"},
		{"queued", "samples", "requests that wait, mean over the cycle"},
		{"kv_used", "share", "pages in use, mean over the cycle"},
		{"evicted", "samples", "sequences that lost their pages and began again"},
		{"decode_tok_s", "tok/s", "tokens decoded a second"},
		{"prefill_tok_s", "tok/s", "prompt tokens prefilled a second"},
	}...)
}
