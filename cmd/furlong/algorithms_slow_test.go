//go:build slow

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"furlong/metrics"
	rundir "furlong/metrics/run"
)

// Ten cycles of the default recipe, in two steps each: with every estimator more answers are right than the policy that learns nothing gives to the same problems with the same seeds. Over the
// last five cycles, 1,280 samples, chance moves the difference by 0.014; the runs gain 0.025 to 0.04. Without the comparison they would say little: some cycles' problems are harder.
func TestEveryEstimatorLearns(t *testing.T) {
	untaught := rewardAfter(t, "--lr 0")
	for _, args := range []string{
		"--advantage-estimator gspo --eps-clip 3e-3 --eps-clip-high 4e-3",
		"--advantage-estimator rloo",
		"--advantage-estimator cispo",
		"--advantage-estimator ppo --num-critic-only-steps 2 --critic-lr 5e-4 --normalize-advantages",
	} {
		t.Run(strings.Fields(args)[1], func(t *testing.T) {
			if got := rewardAfter(t, "--lr 1.5e-4 --lr-warmup-iters 4 --num-steps-per-rollout 2 "+args); got < untaught+0.02 {
				t.Errorf("reward is %.4f, without learning %.4f, want 0.02 more", got, untaught)
			}
		})
	}
}

// rewardAfter returns the mean reward of the second half of ten cycles.
func rewardAfter(t *testing.T, args string) (mean float64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	succeed(t, append(strings.Fields("train --num-rollout 10 --eval-problems 0 --save-interval 0 --quiet "+args), "--run-dir", dir)...)
	rows, bad, err := metrics.ReadRows(filepath.Join(dir, rundir.RowsFile))
	if err != nil || len(bad) > 0 || len(rows) != 10 {
		t.Fatalf("%d rows, %v, %v, want 10", len(rows), bad, err)
	}
	for _, r := range rows[5:] {
		mean += r.Values["rollout/raw_reward"] / 5
	}
	return mean
}
