package orchestrator

import (
	"slices"

	"furlong/metrics/samples"
	"furlong/rl"
)

// rolloutStats describes a batch under its metric names.
func rolloutStats(stats rl.Stats, b *batch, served rl.Version) {
	n := float64(len(b.samples))
	var reward, truncated, repeated, tokens, cached, prompt, invalid, right float64
	var lengths []float64
	for _, s := range b.samples {
		reward += s.Reward
		lengths = append(lengths, float64(len(s.Response)))
		tokens += float64(len(s.Response))
		cached += float64(s.CachedTokens)
		prompt += float64(len(s.Prompt.Tokens))
		truncated += one(s.Stop == rl.StopLength)
		invalid += one(s.Verdict == rl.Invalid)
		right += one(s.Verdict == rl.Right)
		repeated += one(samples.Repeats(s.Text))
	}
	judged := max(n-invalid, 1)
	stats["rollout/raw_reward"] = reward / judged
	stats["rollout/truncated_ratio"] = truncated / n
	stats["rollout/repetition_frac"] = repeated / n
	stats["rollout/prefix_cache_hit_rate"] = cached / max(prompt, 1)
	stats["rollout/tokens"], stats["rollout/samples"] = tokens, n
	stats["rollout/prompt_tokens"] = prompt
	stats["reward/right"], stats["reward/invalid"], stats["reward/invalid_samples"] = right/n, invalid/n, invalid
	stats["reward/wrong"] = (n - right - invalid) / n
	slices.Sort(lengths)
	stats["rollout/response_len/mean"] = tokens / n
	stats["rollout/response_len/median"] = lengths[len(lengths)/2]
	stats["rollout/response_len/max"] = lengths[len(lengths)-1]
	stats["rollout/response_len/min"] = lengths[0]
	spread(stats, b.samples)
	age(stats, b.samples, served)
	if !b.t1.IsZero() {
		seconds := b.t1.Sub(b.t0).Seconds()
		stats["perf/rollout_time"], stats["perf/reward_time"] = seconds, b.t2.Sub(b.t1).Seconds()
		stats["perf/tokens_per_gpu_per_sec"] = tokens / max(seconds, 1e-9)
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// spread says how many groups have no signal: all members of them have one reward.
func spread(stats rl.Stats, all []*rl.Sample) {
	var groups, zero, top, flat float64
	for len(all) > 0 {
		n := groupSize(all)
		groups++
		if same(all[:n]) {
			flat++
			zero += one(all[0].Reward == 0)
			top += one(all[0].Reward == 1)
		}
		all = all[n:]
	}
	stats["rollout/zero_std/ratio"] = flat / groups
	stats["rollout/zero_std/all_zero_percentage"] = 100 * zero / groups
	stats["rollout/zero_std/all_one_percentage"] = 100 * top / groups
}

// groupSize returns how many samples from the first on are of its group.
func groupSize(samples []*rl.Sample) int {
	n := slices.IndexFunc(samples, func(s *rl.Sample) bool { return s.Prompt.Group != samples[0].Prompt.Group })
	if n < 0 {
		return len(samples)
	}
	return n
}

func same(group []*rl.Sample) bool {
	return !slices.ContainsFunc(group, func(s *rl.Sample) bool { return s.Reward != group[0].Reward })
}

// age says which versions the batch's tokens are of, and how far behind the one that is served.
func age(stats rl.Stats, samples []*rl.Sample, served rl.Version) {
	var versions []float64
	var mixed, behind, most float64
	for _, s := range samples {
		v := float64(s.Oldest().Count())
		versions = append(versions, v)
		mixed += one(len(s.Versions) > 1)
		d := float64(served.Count()) - v
		behind += d
		most = max(most, d)
	}
	n := float64(len(samples))
	sum := 0.0
	for _, v := range versions {
		sum += v
	}
	slices.Sort(versions)
	stats["rollout/weight_version/mean"] = sum / n
	stats["rollout/weight_version/median"] = versions[len(versions)/2]
	stats["rollout/weight_version/min"] = versions[0]
	stats["rollout/weight_version/max"] = versions[len(versions)-1]
	stats["rollout/weight_version/mixed_version_ratio"] = mixed / n
	stats["rollout/staleness/mean"] = behind / n
	stats["rollout/staleness/max"] = most
}
