package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"furlong/nearest"
)

// A command is one subcommand. It reads its flags from env.args with [env.parse], which also answers --help.
type command struct {
	name string
	help string // one line, lower case, no full stop
	run  func(ctx context.Context, e *env) int
}

// commands returns the table, in the order of the list that furlong prints. To add one: write its run function in a
// file of its own and a line here.
func commands() []command {
	return []command{
		{"train", "the main job: reinforcement learning, from prompts to a better policy", runTrain},
		{"sft", "supervised training: makes warm starts", runSFT},
		{"dash", "shows runs as pages, living or ended", runDash},
		{"report", "tells a run on one page, and in figures", runReport},
		{"serve", "the rollout engine over HTTP, in the dialects of SGLang and OpenAI", runServe},
		{"replay", "trains a cycle of a run again, and says what differs", runReplay},
		{"bench", "how fast generation, scoring and training are, against what this machine can do", runBench},
		{"inspect", "what is in a checkpoint", runInspect},
		{"convert", "writes a checkpoint in other formats, names or files", runConvert},
		{"eval", "evaluates a checkpoint on held-out problems", runEval},
		{"data", "what is wrong with files of prompts: duplicates, labels, escapes, overlap", runData},
		{"grade", "grades a file of answers as a run would", runGrade},
		{"router", "spreads requests over several servers of one policy", runRouter},
		{"config", "prints settings, where they come from, and recipes", runConfig},
		{"parity", "holds two engines against each other token by token, down to the operation", runParity},
		{"oracle", "checks this build against reference vectors", runOracle},
		{"version", "which build this is", runVersion},
	}
}

const purpose = `Furlong: reinforcement learning for DeepSeek-V4-style models, in one binary.`

// dispatch runs the command that the first argument names.
func dispatch(ctx context.Context, e *env) int {
	name := ""
	if len(e.args) > 0 {
		name, e.args = e.args[0], e.args[1:]
	}
	switch name {
	case "":
		listCommands(e.stderr)
		return exitUsage
	case "help", "-h", "--help":
		return help(ctx, e)
	case "--version":
		name = "version"
	}
	return runCommand(ctx, e, name)
}

// help lists the commands, or shows what one of them says to --help.
func help(ctx context.Context, e *env) int {
	if len(e.args) == 0 {
		listCommands(e.stdout)
		return exitOK
	}
	name := e.args[0]
	e.args = []string{"--help"}
	return runCommand(ctx, e, name)
}

// scripted says what to do in place of the sub-commands of the published launch script.
var scripted = map[string]string{
	"full-train":       "furlong train takes the same flags, and needs nothing prepared",
	"prepare-download": "nothing is fetched here; --hf-checkpoint and --prompt-data name what is there",
	"prepare-single":   "nothing is prepared: furlong train reads a checkpoint in the Hugging Face layout as it is, FP8 too; furlong convert writes others",
	"prepare-spmd":     "nothing is prepared: furlong train reads a checkpoint in the Hugging Face layout as it is; furlong convert writes others",
	"prepare-cp":       "nothing is copied: --hf-checkpoint names where a checkpoint is",
}

func runCommand(ctx context.Context, e *env, name string) int {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			e.name = name
			return c.run(ctx, e)
		}
		names = append(names, c.name)
	}
	hint := "furlong help lists them"
	if near := nearest.Name(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if own := scripted[name]; own != "" {
		hint = "which is of the published launch script: " + own
	}
	fmt.Fprintf(e.stderr, "furlong: unknown command %q, %s\n", name, hint)
	return exitUsage
}

func listCommands(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  furlong COMMAND [flags]\n\nCommands:\n", purpose)
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(tw, "  %s\t%s\n", c.name, c.help)
	}
	tw.Flush()
	fmt.Fprintf(w, "\nfurlong help COMMAND shows purpose, examples and flags of one.\n")
}
