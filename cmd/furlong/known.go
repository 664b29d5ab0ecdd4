package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"furlong/config"
	"furlong/launchline"
)

// A knownFlag is a flag that furlong train reads, and what becomes of it.
type knownFlag struct {
	Name    string   `json:"name"`
	Others  []string `json:"other_names,omitempty"`
	Switch  bool     `json:"switch,omitempty"`  // it has a --no- form
	Takes   string   `json:"takes,omitempty"`   // what follows it
	Default string   `json:"default,omitempty"` // of an option, where it comes from
	Fate    string   `json:"fate"`
	Only    []string `json:"only,omitempty"` // values that pass where others do not
	From    string   `json:"from"`           // a heading of --help, or the program it comes from
	Why     string   `json:"why"`            // what it does, or why it does not
	Senses  []string `json:"stands_for,omitempty"`
}

// actedOn is the fate of settings.
const actedOn = "acted on"

// knownFlags returns every flag of a set: its settings, then the options that are none.
func knownFlags(set *config.Set) []knownFlag {
	var out []knownFlag
	for _, n := range set.Settings() {
		k := knownFlag{Name: n.Name, Others: n.Others, Switch: n.Takes() == "", Takes: n.Takes(), Fate: actedOn, From: n.Group, Why: n.Help}
		if n.Default != "" && n.Default != "''" && n.Default != "false" {
			k.Default = n.Default
		}
		out = append(out, k)
	}
	for _, o := range set.Options() {
		k := knownFlag{Name: o.Name, Switch: o.Takes == config.Switch, Takes: o.Takes.String(), Default: o.Default, Fate: o.Kind.String(), Only: o.Only, From: o.Section, Why: o.Why}
		for _, s := range o.Senses {
			if text := sense(s); text != "" {
				k.Senses = append(k.Senses, text)
			}
		}
		out = append(out, k)
	}
	return out
}

// sense writes what a value stands for.
func sense(s config.Sense) string {
	if s.Flags == "" {
		return ""
	}
	text := s.Value
	if s.When != "" {
		text += " with --" + strings.Replace(s.When, "=", " ", 1)
	}
	return strings.TrimSpace(text + ": " + s.Flags)
}

// spelling writes a flag as it is typed.
func (k knownFlag) spelling() string {
	if k.Switch {
		return "--[no-]" + k.Name
	}
	return strings.TrimSpace("--" + k.Name + " " + k.Takes)
}

// fate writes what becomes of a flag, with the values that are so in any case.
func (k knownFlag) fate() string {
	if len(k.Only) == 0 {
		return k.Fate
	}
	return k.Fate + ", but for " + strings.Join(k.Only, ", ")
}

// printKnown lists the flags that furlong train knows.
func (e *env) printKnown() int {
	var f struct {
		JSON bool   `flag:"json" help:"print JSON: a list of objects"`
		Word string `arg:"[WORD]" help:"only flags with this in their name"`
	}
	own := config.New("config known", "Lists every flag that furlong train knows, its own and those of launch lines of other programs, and what becomes of each.")
	own.Add("Printing", &f).Example("furlong config known wandb", "those about one thing")
	if code, ok := e.parse(own); !ok {
		return code
	}
	all := slices.DeleteFunc(knownFlags(newTrainFlags().set("train", "")), func(k knownFlag) bool {
		return !strings.Contains(strings.Join(append(k.Others, k.Name), " "), f.Word)
	})
	if f.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return e.fail(enc.Encode(all))
	}
	tw := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "FLAG\tFATE\tFROM\tWHY")
	for _, k := range all {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", k.spelling(), k.fate(), k.From, strings.Join(append([]string{k.Why}, k.Senses...), "; "))
	}
	return e.fail(tw.Flush())
}

// flagsPage writes docs/flags.md.
func flagsPage(w io.Writer, set *config.Set) {
	all := knownFlags(set)
	fmt.Fprint(w, flagsHead)
	fmt.Fprintln(w, "| from |", strings.Join(fates, " | "), "|")
	fmt.Fprintln(w, "|---|"+strings.Repeat("---|", len(fates)))
	for _, from := range sections(all) {
		counts := make([]string, len(fates))
		for i, fate := range fates {
			if n := len(slices.DeleteFunc(slices.Clone(all), func(k knownFlag) bool { return k.From != from || k.Fate != fate })); n > 0 {
				counts[i] = fmt.Sprint(n)
			}
		}
		fmt.Fprintf(w, "| %s | %s |\n", from, strings.Join(counts, " | "))
	}
	fmt.Fprint(w, "\n## Variables\n\n| variable | fate | why |\n|---|---|---|\n")
	for _, v := range launchline.Environment {
		fmt.Fprintf(w, "| %s | %s | %s |\n", v.Name, v.Fate, v.Why)
	}
	for _, from := range sections(all) {
		fmt.Fprintf(w, "\n## %s\n\n| flag | default | fate | what it does, or why it does not |\n|---|---|---|---|\n", from)
		for _, k := range all {
			if k.From == from {
				k.row(w)
			}
		}
	}
}

// fates are what can become of a flag, in the order of the page.
var fates = []string{
	actedOn, config.Expands.String(), config.Idle.String(), config.Held.String(), config.Stated.String(), config.Missing.String(), config.Refused.String(),
}

// sections returns where flags come from, in their order.
func sections(all []knownFlag) []string {
	var out []string
	for _, k := range all {
		if !slices.Contains(out, k.From) {
			out = append(out, k.From)
		}
	}
	return out
}

func (k knownFlag) row(w io.Writer) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + cell(text) + "`"
	}
	why := []string{cell(k.Why)}
	for _, s := range k.Senses {
		why = append(why, code(s))
	}
	for _, o := range k.Others {
		why = append(why, "also "+code("--"+o))
	}
	fmt.Fprintf(w, "| %s | %s | %s | %s |\n", code(k.spelling()), code(k.Default), cell(k.fate()), strings.Join(why, "; "))
}

const flagsHead = `# Flags

Every flag that ` + "`furlong train`" + ` knows: its own, and those of launch lines that people already have (Miles' launch script and trainer, Megatron, SGLang's
servers and router), so that such a line need not be edited. This page is written by ` + "`go test ./cmd/furlong -run TestFlagsPage -update`" + `; ` + "`furlong config known WORD --json`" + ` prints the same.

| fate | what happens |
|---|---|
| acted on | it is a setting |
| stands for others | it is spelled out as other flags, at its own place; flags that are spelled out in the same place go before it |
| without effect | nothing changes: it is named in one line at the start, and ` + "`furlong config print`" + ` says why |
| so in any case | it asks for what is always so; another value is an error |
| checked against the model | it says something of the model, which is held against the checkpoint |
| not built in | ` + "`--dry-run`" + ` shows it, and a run does not begin; a value that asks for nothing passes |
| refused | it cannot mean anything here, or would train something else |

## How a line is read
- ` + "`--x v`, `--x=v`, `--x a b c`" + ` for lists, ` + "`--x` and `--no-x`" + ` for switches. The last word on a flag counts. ` + "`None`" + ` is as if the flag were not there. Unknown flags are errors that name the
  nearest one; everything that is wrong is told at once. Unknown flags of servers and routers (` + "`--sglang-*`" + `, ` + "`--router-*`" + `) have no effect and are named in a line at the start, unless they are a misspelled
  flag that has a meaning here ([decision 0029](adr/0029-unknown-flags-of-servers.md)).
- Two names of one setting (` + "`--context-length`, `--sglang-context-length`" + `) may stand beside each other with one value, and not with two.
- Later layers win: defaults, recipe, variables, ` + "`--config FILE`" + `, command line, ` + "`--extra-args`" + `.
- ` + "`--extra-env-vars`" + ` takes NAME=VALUE separated by any white space, line breaks too, each split at its first ` + "`=`" + `, with quotes, or a JSON object.
- A flag on the command line that changes nothing beside the others is refused or named, with the reason.

## Whose line it is
The public launch script sets most of a run itself. Where its flags are on the command line and no ` + "`--recipe`" + `, a recipe with its defaults lies under the line, and a line at the start says so:

| the line has | recipe |
|---|---|
| flags of the script (` + "`--mode`, `--task`, ..." + `) and ` + "`--actor-num-nodes`" + ` | ` + launchline.Reference + `: the published run on MI355X, every setting with its source |
| flags of the script | ` + launchline.Launch + `, or ` + launchline.Launch4 + ` where four machines train |
| ` + "`--experimental-attention-variant`" + `: the trainer's argument list | ` + launchline.Arguments + ` |

Where such a line gives rollout devices of its own (` + "`--rollout-num-nodes`" + `, or ` + "`--rollout-num-gpus`" + ` without ` + "`--colocate`" + `), the loop is ` + "`one-step-off`" + `; ` + "`--loop sync`" + ` is what the published launcher does.

` + "`furlong train --recipe " + launchline.Reference + " --dry-run`" + ` prints what would run: model, ranks, batch arithmetic, lengths, formats, what each device would hold by which formula, and what
stands in the way here. It works for every command line, also with ` + "`--json`" + `.

## How many

`
