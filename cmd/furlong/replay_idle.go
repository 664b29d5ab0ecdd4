package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furlong/config"
)

// actsOnReplay are the settings outside of whole groups that decide what training a recorded cycle again gives, or what is said of it.
var actsOnReplay = []string{
	"recipe", "config", "extra-args", "cycle", "generate", "json", "quiet", "dry-run", "extra-env-vars", "model-name",
	"load", "ckpt-step", "ref-load", "keep-experts",
	"num-rollout", "num-epoch", "num-steps-per-rollout", "global-batch-size", // they lay out schedules and steps
	"rollout-max-response-len", "context-length", "rollout-format", "enable-return-routed-experts",
	"load-debug-rollout-data", "save-debug-rollout-data", "dump-details", "debug-disable-optimizer",
}

// idleOnDraw are the settings of the groups that drawing again takes into account and which do nothing for it: nothing is saved or evaluated.
var idleOnDraw = []string{
	"eval-interval", "skip-eval-before-train", "save-interval", "save-keep", "save-retain-interval", "async-save", "save-trigger-sentinel", "debug-exit-after-rollout",
}

// acting returns the names of the settings that act on a replay.
func (r *replaying) acting() map[string]bool {
	f, on := newTrainFlags(), map[string]bool{}
	all := config.New("replay", replayPurpose).Add("", &f.model).Add("", &f.train, &f.teacher)
	if r.Generate {
		all.Add("", &f.loop, &f.batch).Add("", &f.sample).Add("", &f.rollout).Add("", &f.servers).Add("", &f.data).Add("", &f.reward)
	}
	for name := range all.Values() {
		on[name] = !slices.Contains(idleOnDraw, name)
	}
	for _, name := range actsOnReplay {
		on[name] = true
	}
	if r.Generate {
		on["load-debug-rollout-data"] = false // samples are drawn
	}
	return on
}

// checkTyped refuses settings on the command line that do nothing here: a replay that ignores what it is told looks like one that found no effect.
func (r *replaying) checkTyped(set *config.Set) error {
	on, idle := r.acting(), []string{}
	values := set.Values()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if o := values[name].Origin; !on[name] && (o == "flag" || strings.HasPrefix(o, "flag ")) {
			idle = append(idle, name)
		}
	}
	var errs []error
	for _, name := range idle {
		hint := ""
		if !r.Generate && r.drawing()[name] {
			hint = "; with --generate, which draws the samples again, it has one"
		}
		errs = append(errs, fmt.Errorf("--%s has no effect on a replay%s", name, hint))
	}
	return errors.Join(errs...)
}

// drawing returns the settings that act once samples are drawn again.
func (r *replaying) drawing() map[string]bool {
	drawn := *r
	drawn.Generate = true
	return drawn.acting()
}
