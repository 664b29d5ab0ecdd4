package main

import (
	"context"
	"fmt"

	"furlong/config"
)

const configUsage = `Prints settings and recipes.

Usage:
  furlong config print [flags of furlong train]   every setting, its value, and where it came from
  furlong config flags [flags of furlong train]   the same as a file that --config reads
  furlong config known [WORD] [--json]            every flag that furlong train knows, and what becomes of it
  furlong config recipes                          the recipes inside the binary
  furlong config recipe NAME                      one of them
`

// configPurpose says what the commands do that take the flags of furlong train.
var configPurpose = map[string]string{
	"print": "Takes the flags of furlong train and prints every setting of it: its value, and where it came from (default, recipe, file, flag).",
	"flags": "Takes the flags of furlong train and prints every setting of it as a file that --config reads.",
}

func runConfig(ctx context.Context, e *env) int {
	if len(e.args) == 0 {
		return e.usage(configUsage)
	}
	what := e.args[0]
	e.args = e.args[1:]
	switch what {
	case "print", "flags":
		return e.printConfig(what)
	case "recipes":
		if len(e.args) > 0 {
			return e.configHelp("furlong config recipes: takes no arguments; furlong config recipe NAME prints one")
		}
		for _, name := range config.Recipes() {
			fmt.Fprintln(e.stdout, name)
		}
		return exitOK
	case "recipe":
		return e.printRecipe()
	case "known":
		return e.printKnown()
	case "-h", "--help":
		return e.configHelp("")
	}
	return e.usage(fmt.Sprintf("furlong config: unknown %q; want print, flags, known, recipes or recipe NAME", what))
}

// helpWanted reports whether the only argument asks for help.
func (e *env) helpWanted() bool {
	return len(e.args) == 1 && (e.args[0] == "-h" || e.args[0] == "--help")
}

// configHelp prints the usage if it was asked for, or else complains.
func (e *env) configHelp(complaint string) int {
	if complaint != "" && !e.helpWanted() {
		return e.usage(complaint)
	}
	fmt.Fprint(e.stdout, configUsage)
	return exitOK
}

func (e *env) usage(text string) int {
	fmt.Fprintln(e.stderr, text)
	return exitUsage
}

// printConfig shows the settings that furlong train would have with the same arguments.
func (e *env) printConfig(what string) int {
	set := newTrainFlags().set("train", configPurpose[what])
	set.CalledAs("config "+what).Example("furlong config "+what+" --lr 1e-5", "what a run with that flag would use")
	var json struct {
		JSON bool `flag:"print-json" help:"print JSON: {setting: {value, origin}}"`
	}
	set.Add("Printing", &json)
	if code, ok := e.parse(set); !ok {
		return code
	}
	switch {
	case what == "flags" && json.JSON:
		return e.usage("furlong config flags: --print-json is for furlong config print")
	case what == "flags":
		return e.fail(set.PrintFlags(e.stdout))
	case json.JSON:
		return e.fail(set.PrintJSON(e.stdout))
	}
	return e.fail(set.PrintText(e.stdout))
}

func (e *env) printRecipe() int {
	if len(e.args) != 1 || e.helpWanted() {
		return e.configHelp("furlong config recipe: want one name; furlong config recipes lists them")
	}
	text, err := config.Recipe(e.args[0])
	if err != nil {
		return e.usage(fmt.Sprintf("furlong config recipe: %v", err))
	}
	fmt.Fprint(e.stdout, text)
	return exitOK
}
