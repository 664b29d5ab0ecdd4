package launchline

import (
	"slices"
	"strings"

	"furlong/config"
)

// A Variable is one of the environment that launch lines come with.
type Variable struct {
	Name string
	Fate string // "acted on" or "without effect"
	Why  string
}

// Environment is what becomes of the variables that published launch lines set.
var Environment = []Variable{
	{"MILES_SCRIPT_FLAG", "acted on", "as the flag of that name on a lower layer than files and the command line: MILES_SCRIPT_NUM_NODES=4 is --num-nodes 4"},
	{"FURLONG_FLAG", "acted on", "as MILES_SCRIPT_FLAG, and before it"},
	{dryVariable, "acted on", "0 is --dry-run, as there it prepares and submits nothing"},
	{"MILES_SCRIPT_EXTERNAL_RAY", "without effect", "no Ray is started or stopped"},
	{"MILES_SCRIPT_ENV_REPORT", "without effect", "config.json in the run directory says what the build is"},
	{"RAY_ADDRESS", "without effect", noRay},
	{"MASTER_ADDR", "without effect", noRay},
	{"PYTHONUNBUFFERED", "without effect", "there is no Python"},
	{"NCCL_*, GLOO_*, TP_SOCKET_IFNAME, TORCH_*", "without effect", "one process computes: there are no collectives"},
	{"GPU_MAX_HW_QUEUES, CUDA_DEVICE_MAX_CONNECTIONS, SGLANG_*, AITER_*, NVTE_*", "without effect", "they tune programs that are not started"},
}

// Origin is where notes on variables come from.
const Origin = "environment"

// dryVariable is what tells the launch script to prepare only.
const dryVariable = "MILES_SCRIPT_ENABLE_RAY_SUBMIT"

// named are the variables that have a row of their own.
func named(name string) (Variable, bool) {
	i := slices.IndexFunc(Environment, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		return Variable{}, false
	}
	return Environment[i], true
}

// A Reading is what variables say: flags with the variable that each comes from, those without effect, and those that nobody knows.
type Reading struct {
	Flags []VariableFlag
	Notes []config.Note
}

// A VariableFlag is a flag that a variable gives.
type VariableFlag struct {
	Variable string
	Words    []string
}

// prefixes of variables that give flags, the later going before the earlier.
var prefixes = []string{"MILES_SCRIPT_", "FURLONG_"}

// Variables reads the environment that a launch line comes with: NAME=VALUE each. isFlag says what a flag is: known, and a switch. FURLONG_ variables that name no flag are
// other programs' business.
func Variables(environ []string, isFlag func(name string) (known, isSwitch bool)) Reading {
	var out Reading
	for _, prefix := range prefixes {
		for _, e := range slices.Sorted(slices.Values(environ)) {
			name, value, _ := strings.Cut(e, "=")
			if rest, ok := strings.CutPrefix(name, prefix); ok && value != "" {
				out.add(name, value, rest, isFlag)
			}
		}
	}
	for _, name := range []string{"RAY_ADDRESS", "MASTER_ADDR"} {
		for _, e := range environ {
			if n, value, _ := strings.Cut(e, "="); n == name && value != "" {
				v, _ := named(name)
				out.Notes = append(out.Notes, config.Note{Flag: name, Value: value, Origin: Origin, Why: v.Why, Listed: true})
			}
		}
	}
	return out
}

// add reads one variable.
func (r *Reading) add(name, value, rest string, isFlag func(string) (known, isSwitch bool)) {
	flag := strings.ReplaceAll(strings.ToLower(rest), "_", "-")
	v, own := named(name)
	known, isSwitch := isFlag(flag)
	switch {
	case name == dryVariable:
		if value == "0" {
			r.Flags = append(r.Flags, VariableFlag{name, []string{"--dry-run"}})
		}
	case own:
		r.Notes = append(r.Notes, config.Note{Flag: name, Value: value, Origin: Origin, Why: v.Why, Listed: true})
	case known && isSwitch:
		r.Flags = append(r.Flags, VariableFlag{name, []string{"--" + flag + "=" + truth(value)}})
	case known:
		r.Flags = append(r.Flags, VariableFlag{name, []string{"--" + flag + "=" + value}})
	case strings.HasPrefix(name, prefixes[0]):
		r.Notes = append(r.Notes, config.Note{Flag: name, Value: value, Origin: Origin, Why: "--" + flag + " is no flag", Listed: true})
	}
}

// truth writes the words that programs take for true and false as true and false; anything else stays, to be complained of.
func truth(value string) string {
	switch strings.ToLower(value) {
	case "1", "true", "yes", "on":
		return "true"
	case "0", "false", "no", "off":
		return "false"
	}
	return value
}
