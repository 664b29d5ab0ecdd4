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
  furlong config recipes                          the recipes inside the binary
  furlong config recipe NAME                      one of them
`

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
		for _, name := range config.Recipes() {
			fmt.Fprintln(e.stdout, name)
		}
		return exitOK
	case "recipe":
		return e.printRecipe()
	case "-h", "--help":
		fmt.Fprint(e.stdout, configUsage)
		return exitOK
	}
	return e.usage(fmt.Sprintf("furlong config: unknown %q; want print, flags, recipes or recipe NAME", what))
}

func (e *env) usage(text string) int {
	fmt.Fprintln(e.stderr, text)
	return exitUsage
}

// printConfig shows the settings that furlong train would have with the same arguments.
func (e *env) printConfig(what string) int {
	set := newTrainFlags().set("train", "furlong config print, with the flags of furlong train: prints every setting of furlong train: its value, and where it came from (default, recipe, file, flag).")
	set.Example("furlong config print --lr 1e-5", "what a run with that flag would use")
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
	if len(e.args) != 1 {
		return e.usage("furlong config recipe: want one name; furlong config recipes lists them")
	}
	text, err := config.Recipe(e.args[0])
	if err != nil {
		return e.usage(fmt.Sprintf("furlong config recipe: %v", err))
	}
	fmt.Fprint(e.stdout, text)
	return exitOK
}
