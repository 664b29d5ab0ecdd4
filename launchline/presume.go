package launchline

import (
	"slices"
	"strings"
)

// The recipes that lie under lines of other programs.
const (
	Reference = "dsv4-flash-mi355x"    // the launcher of the published MI355X run, with flags of its own
	Launch    = "dsv4-flash-launch"    // the public launch script
	Arguments = "dsv4-flash-arguments" // the trainer's own argument list, as the script writes it
)

// Flags that only lines of one program have.
var (
	ofScript    = strings.Fields("mode task model-org model-dir model-local-dir megatron-path data-dir enable-eval enable-mtp fp8-training train-deterministic enable-mis skip-saving debug-train-run-id cuda-core-dump")
	ofLauncher  = strings.Fields("actor-num-nodes context-length num-rollout num-steps-per-rollout rollout-batch-size tensor-model-parallel-size pipeline-model-parallel-size expert-model-parallel-size")
	ofArguments = strings.Fields("experimental-attention-variant")
)

// Presume tells whose line a command line is, and which recipe holds what that program sets by itself: "" for a line of our own.
func Presume(has func(flag string) bool) (recipe, why string) {
	first := func(names []string) string {
		if i := slices.IndexFunc(names, has); i >= 0 {
			return names[i]
		}
		return ""
	}
	arguments, script, launcher := first(ofArguments), first(ofScript), first(ofLauncher)
	switch {
	case arguments != "":
		return Arguments, "--" + arguments + " is of the trainer's argument list, which says everything but the trainer's own defaults"
	case script != "" && launcher != "":
		return Reference, "--" + script + " and --" + launcher + " are together on the launch line of the published run alone"
	case script != "":
		return Launch, "--" + script + " is of the public launch script, which has defaults of its own"
	}
	return "", ""
}
