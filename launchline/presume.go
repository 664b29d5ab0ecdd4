package launchline

import (
	"slices"
	"strconv"
	"strings"
)

// The recipes that lie under lines of other programs.
const (
	Reference = "dsv4-flash-mi355x"    // the launcher of the published MI355X run, with flags of its own
	Launch    = "dsv4-flash-launch"    // the public launch script, with one machine that trains
	Launch4   = "dsv4-flash-launch-4"  // with four
	Arguments = "dsv4-flash-arguments" // the trainer's own argument list, as the script writes it
)

// Flags that only lines of one program have.
var (
	ofScript    = strings.Fields("mode task model-org model-dir model-local-dir megatron-path data-dir enable-eval enable-mtp fp8-training train-deterministic enable-mis skip-saving debug-train-run-id cuda-core-dump")
	ofLauncher  = strings.Fields("actor-num-nodes")
	ofArguments = strings.Fields("experimental-attention-variant")
)

// Presume tells whose line a command line is, and which recipe holds what that program sets by itself: "" for a line of our own. said is what the line
// says to a flag.
func Presume(said func(flag string) (value string, given bool)) (recipe, why string) {
	first := func(names []string) string {
		i := slices.IndexFunc(names, func(n string) bool { _, given := said(n); return given })
		if i < 0 {
			return ""
		}
		return names[i]
	}
	arguments, script, launcher := first(ofArguments), first(ofScript), first(ofLauncher)
	switch {
	case arguments != "":
		return Arguments, "--" + arguments + " is of the trainer's argument list, which says everything but the trainer's own defaults"
	case script != "" && launcher != "":
		return Reference, "--" + script + " and --" + launcher + " are together on the launch line of the published run alone"
	case script == "":
		return "", ""
	case number(said, "num-nodes")-number(said, "rollout-num-nodes") == 4:
		return Launch4, "--" + script + " is of the public launch script, which has defaults of its own for four machines that train"
	}
	return Launch, "--" + script + " is of the public launch script, which has defaults of its own"
}

// number returns a number on the line, 0 where there is none.
func number(said func(string) (string, bool), flag string) int {
	value, _ := said(flag)
	n, _ := strconv.Atoi(value)
	return n
}
