package launchline

import (
	"slices"
	"strconv"
	"strings"

	"furlong/config"
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

// Presume tells whose line a command line is, and what that program sets by itself: nothing for a line of our own. said is what the line says to a
// flag. Where engines have devices of their own, the next batch is generated while this one trains, unless the line says how else.
func Presume(said func(flag string) (value string, given bool)) config.Presumption {
	p := config.Presumption{}
	p.Recipe, p.Why = recipe(said)
	if p.Recipe != "" && isApart(said) {
		p.Flags, p.Origin = []string{"--loop", "one-step-off"}, "devices of its own for rollout"
	}
	return p
}

// recipe names the recipe under a line, and why.
func recipe(said func(flag string) (value string, given bool)) (name, why string) {
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

// isApart tells whether a line gives rollout devices of its own.
func isApart(said func(string) (string, bool)) bool {
	_, shared := said("colocate")
	return number(said, "rollout-num-nodes") > 0 || number(said, "rollout-num-gpus") > 0 && !shared
}

// number returns a number on the line, 0 where there is none.
func number(said func(string) (string, bool), flag string) int {
	value, _ := said(flag)
	n, _ := strconv.Atoi(value)
	return n
}
