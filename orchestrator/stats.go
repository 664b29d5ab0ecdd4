package orchestrator

import (
	"slices"

	"furlong/metrics/samples"
	"furlong/orchestrator/gather"
	"furlong/rl"
)

// rolloutStats describes a batch under its metric names.
func rolloutStats(stats rl.Stats, b *gather.Batch, served rl.Version) {
	all := b.Samples()
	n := float64(len(all))
	var reward, truncated, repeated, tokens, cached, prompt, invalid, right float64
	var lengths []float64
	for _, s := range all {
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
	notes(stats, all)
	slices.Sort(lengths)
	stats["rollout/response_len/mean"] = tokens / n
	stats["rollout/response_len/median"] = lengths[len(lengths)/2]
	stats["rollout/response_len/max"] = lengths[len(lengths)-1]
	stats["rollout/response_len/min"] = lengths[0]
	spread(stats, all)
	age(stats, all, served)
	if !b.T1.IsZero() {
		seconds := b.T1.Sub(b.T0).Seconds()
		stats["perf/rollout_time"], stats["perf/reward_time"] = seconds, b.T2.Sub(b.T1).Seconds()
		if seconds > 0 {
			stats["perf/tokens_per_gpu_per_sec"] = tokens / seconds
		}
	}
}

// notes counts what verdicts rest on besides comparisons.
func notes(stats rl.Stats, all []*rl.Sample) {
	count := [rl.Broke + 1]float64{}
	for _, s := range all {
		count[s.Note]++
	}
	stats["reward/over"], stats["reward/raised"] = count[rl.TooLarge], count[rl.Breaks]
	stats["reward/grader_timeout"], stats["reward/grader_error"] = count[rl.TimedOut], count[rl.Broke]
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

// trains reports whether token i of a response counts in the loss.
func trains(s *rl.Sample, i int) bool { return s.LossMask == nil || s.LossMask[i] }

// oldestTrained returns the count of the oldest version that chose a token which trains: the one served if none does.
func oldestTrained(s *rl.Sample, served rl.Version) int {
	if s.LossMask == nil {
		return s.Oldest().Count()
	}
	least, at := served.Count(), 0
	for _, sp := range s.Versions {
		if slices.Contains(s.LossMask[at:at+sp.Tokens], true) {
			least = min(least, sp.Version.Count())
		}
		at += sp.Tokens
	}
	return least
}

// age says which versions the batch's tokens are of, and how far behind the one that is served.
func age(stats rl.Stats, samples []*rl.Sample, served rl.Version) {
	var versions []float64
	var mixed, behind, most float64
	for _, s := range samples {
		v := float64(s.Oldest().Count())
		versions = append(versions, v)
		mixed += one(len(s.Versions) > 1)
		d := float64(served.Count() - oldestTrained(s, served))
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
