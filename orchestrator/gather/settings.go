package gather

import (
	"errors"
	"fmt"

	"furlong/rl"
)

// Settings is what gathering can be told. The zero value is not usable; start from Default.
type Settings struct {
	OverSampling int     `flag:"over-sampling-batch-size" help:"prompts handed out at once for a batch: a round; 0 for as many as a batch holds"`
	Policy       string  `flag:"over-sampling-policy" choices:"prompt-order first reservoir" help:"which groups make the batch where more are drawn: prompt-order: the first in the order of the prompts; first: the first that are finished, which favours short responses; reservoir: some of a whole round, drawn by the seed"`
	Filter       string  `flag:"dynamic-sampling-filter-path" help:"groups that train: check_reward_nonzero_std, check_no_aborted (a name with dots counts by its last part), or pass-rate:LO-HI; none for all"`
	MaxRounds    int     `flag:"max-resample-rounds" help:"rounds beyond the first that a filter may cost a batch before the run stops; 0 for any number"`
	Partial      bool    `flag:"partial-rollout" help:"end what is still being drawn once a batch is there, and go on with it for the next"`
	MaskOld      bool    `flag:"mask-offpolicy-in-partial-rollout" help:"tokens of a partial rollout that an earlier version chose do not train"`
	Bound        int     `flag:"max-weight-staleness" help:"versions by which a token that trains may be older than the one served when its batch is taken; -1 for any number"`
	Unused       string  `flag:"async-unused-samples-handler" choices:"drop retry mask" help:"groups that are too old or were ended from outside: drop: counted and gone; retry: their prompts are handed out again; mask: their old tokens do not train"`
	Capacity     float64 `flag:"async-data-buffer-capacity-factor" help:"fully-async: batches of groups that may be finished or in flight"`
	Concurrent   int     `flag:"async-max-concurrent-samples" help:"fully-async: samples in flight; 0 for those of a batch"`
	Granularity  string  `flag:"rollout-submission-granularity" choices:"sample group" help:"fully-async: what makes room for another group: so many samples that are finished, or a group"`
	Retries      int     `flag:"rollout-group-retries" help:"times that a group whose samples an engine failed at goes on from the tokens that were there"`
}

// The policies, and what is done with groups that are too old.
const (
	PromptOrder = "prompt-order"
	First       = "first"
	Reservoir   = "reservoir"

	Drop  = "drop"
	Retry = "retry"
	Mask  = "mask"
)

// Default returns batches of all groups, in the order of their prompts, of any age.
func Default() Settings {
	return Settings{Policy: PromptOrder, MaxRounds: 16, Bound: -1, Unused: Drop, Capacity: 2, Granularity: "sample", Retries: 2}
}

// A Run is what a gatherer is told: its settings, and what else of the run concerns it.
type Run struct {
	Settings
	Batch     int    // groups of a batch
	PerPrompt int    // samples of a group
	Seed      uint64 // of all draws
	Async     bool   // samples are drawn without end
	Lag       int    // pushes between the beginning of a batch and its training
	Sampling  rl.Sampling
	Report    rl.Report
}

// round returns how many prompts are handed out at once. The loop that draws without end has no rounds; what a batch may cost is counted in batches there.
func (r Run) round() int {
	if r.OverSampling == 0 || r.Async {
		return r.Batch
	}
	return r.OverSampling
}

// budget returns how many samples may be in flight in the fully asynchronous loop.
func (r Run) budget() int {
	if r.Concurrent == 0 {
		return r.Batch * r.PerPrompt
	}
	return r.Concurrent
}

// capacity returns how many groups may wait or be in flight there.
func (r Run) capacity() int { return int(r.Capacity * float64(r.Batch)) }

// mostSamples is how many samples a batch or a round may have: far beyond what a cycle can train on, and small enough to be counted.
const mostSamples = 1 << 24

// Validate reports everything that is wrong with r, in the words of the flags.
func (r Run) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !r.Async && r.OverSampling != 0 && r.OverSampling < r.Batch {
		bad("--over-sampling-batch-size is %d, want at least --rollout-batch-size (%d), or 0", r.OverSampling, r.Batch)
	}
	if r.PerPrompt > 0 && max(r.Batch, r.OverSampling) > mostSamples/r.PerPrompt {
		bad("--rollout-batch-size %d, --over-sampling-batch-size %d, --n-samples-per-prompt %d: want at most %d samples at a time", r.Batch, r.OverSampling, r.PerPrompt, mostSamples)
	}
	if r.MaxRounds < 0 || r.Retries < 0 {
		bad("--max-resample-rounds %d, --rollout-group-retries %d: want 0 or more", r.MaxRounds, r.Retries)
	}
	if r.Bound < -1 {
		bad("--max-weight-staleness is %d, want 0 or more, or -1 for no bound", r.Bound)
	}
	if r.Bound >= 0 && r.Bound < r.Lag {
		bad("--max-weight-staleness is %d, want at least %d: in this loop every batch trains that many pushes after it was begun", r.Bound, r.Lag)
	}
	if f, err := parseFilter(r.Filter); err != nil {
		errs = append(errs, err)
	} else if f.kind == nonzeroStd && r.PerPrompt == 1 {
		bad("--dynamic-sampling-filter-path %s with --n-samples-per-prompt 1 keeps nothing: one reward has no deviation", r.Filter)
	}
	return errors.Join(append(errs, r.validatePartial(), r.validateAsync())...)
}

func (r Run) validatePartial() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Partial && r.Async {
		bad("--partial-rollout with --loop fully-async: samples go on over updates there, want one or the other")
	}
	if r.MaskOld && !r.Partial {
		bad("--mask-offpolicy-in-partial-rollout without --partial-rollout: which tokens?")
	}
	if r.Partial && r.Policy == Reservoir {
		bad("--partial-rollout with --over-sampling-policy reservoir: a round is drawn from when all of it is there, and nothing is left to be ended")
	}
	return errors.Join(errs...)
}

func (r Run) validateAsync() error {
	if !r.Async {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !(r.Capacity >= 1 && r.Capacity <= 1000) {
		bad("--async-data-buffer-capacity-factor is %v, want 1 to 1000: a batch must fit", r.Capacity)
	}
	if r.Concurrent != 0 && r.Concurrent < r.PerPrompt {
		bad("--async-max-concurrent-samples is %d, want at least --n-samples-per-prompt (%d): a group must fit", r.Concurrent, r.PerPrompt)
	}
	return errors.Join(errs...)
}
