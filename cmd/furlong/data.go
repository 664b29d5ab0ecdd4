package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"furlong/chat"
	"furlong/config"
	"furlong/data/doctor"
	"furlong/progress"
	"furlong/reward"
	"furlong/tokenizer"
)

const dataPurpose = `Looks for what is wrong with files of prompts, jsonl or Parquet, before a run trains on them: problems that stand there more than once or
nearly so, labels that are missing or that no grader can read, LaTeX commands that lost a backslash, rows that no run would take, and problems that are also in the files
of --against. What harms is told from what is only odd. With --fix a copy without the rows that harm is written, in their order, and a list of what was left out.

The exit code is 1 if something would harm a run, and with --fix if it could not be written.`

// dataOptions say what furlong data does besides reading as a run would.
type dataOptions struct {
	Files        []string `arg:"FILE" help:"files of prompts, jsonl or Parquet"`
	Input        string   `flag:"input-key" help:"key of the prompt: a string or a list of chat messages"`
	Label        string   `flag:"label-key" help:"key of the label; empty looks at no labels"`
	Metadata     string   `flag:"metadata-key" help:"key of an object that travels with the prompt"`
	Tools        string   `flag:"tool-key" help:"key of the tools that the prompt tells the model of"`
	Longest      int      `flag:"rollout-max-prompt-len" help:"prompts beyond so many tokens are findings; 0 takes any"`
	MaxLine      int      `flag:"max-line-bytes" unit:"bytes" help:"longest row; longer ones are malformed"`
	Checkpoint   string   `flag:"hf-checkpoint" help:"directory whose tokenizer counts and whose chat template renders; without it, a byte is a token, and what any template renders will do"`
	Grader       string   `flag:"rm-type" help:"grader that looks at the labels, as in furlong train; none looks at none"`
	Against      []string `flag:"against" again:"adds" help:"files that a run is evaluated on: rows with their problems are findings"`
	AgainstInput string   `flag:"against-input-key" help:"key of the prompt in them; without it, --input-key"`
	AgainstLabel string   `flag:"against-label-key" help:"key of the label in them; without it, --label-key"`
	Near         int      `flag:"most-near" unit:"count" help:"different problems among which near ones are looked for, 250 bytes each"`
	Fix          string   `flag:"fix" help:"write a copy without the rows that harm"`
	JSON         bool     `flag:"json" help:"print the report as one JSON object"`
	Talk         talk
}

// Validate reports a grader that is none, and a copy that would take the place of a file that is read.
func (o *dataOptions) Validate() error {
	var errs []error
	if o.Grader != "none" {
		if _, err := reward.New(o.Grader); err != nil {
			errs = append(errs, fmt.Errorf("--rm-type: %w, or none", err))
		}
	}
	if o.Fix == "" {
		return errors.Join(errs...)
	}
	for _, out := range []string{o.Fix, doctor.LeftOutFile(o.Fix)} {
		for _, in := range slices.Concat(o.Files, o.Against) {
			if same(out, in) {
				errs = append(errs, fmt.Errorf("--fix is %q: %s would take the place of %s, which is read: want another name", o.Fix, out, in))
			}
		}
	}
	return errors.Join(errs...)
}

// same reports whether two paths lead to one file that is there.
func same(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(x, y)
}

func runData(ctx context.Context, e *env) int {
	d := doctor.Default()
	o := dataOptions{
		Input: d.Data.InputKey, Label: "label", Metadata: d.Data.MetadataKey, Tools: d.Data.ToolKey, MaxLine: d.Data.MaxLineBytes, Grader: "furlong", Near: d.MostNear,
	}
	set := config.New("data", dataPurpose).Add("Flags", &o)
	set.Example("furlong data train.jsonl --input-key prompt", "what would harm a run")
	set.Example("furlong data raw.parquet --input-key prompt --label-key reward_model.ground_truth --against aime.jsonl --fix clean.jsonl", "a clean copy")
	if code, ok := e.parse(set); !ok {
		return code
	}
	return e.examine(ctx, o, d)
}

// examine looks at the files and prints what it found.
func (e *env) examine(ctx context.Context, o dataOptions, d doctor.Options) int {
	d.Files, d.Against, d.AgainstInput, d.AgainstLabel, d.MostNear = o.Files, o.Against, o.AgainstInput, o.AgainstLabel, o.Near
	d.Data.InputKey, d.Data.LabelKey, d.Data.MetadataKey, d.Data.ToolKey = o.Input, o.Label, o.Metadata, o.Tools
	d.Data.MaxPromptTokens, d.Data.MaxLineBytes = o.Longest, o.MaxLine
	var err error
	if o.Checkpoint != "" {
		if d.Tokens, err = tokenizer.Open(o.Checkpoint); err != nil {
			return e.fail(err)
		}
		template, err := chat.For(d.Tokens, o.Checkpoint)
		if err != nil {
			return e.fail(err)
		}
		d.Templates = []chat.Template{template}
	}
	if o.Grader != "none" {
		if d.Grades, err = reward.New(o.Grader); err != nil {
			return e.fail(err)
		}
	}
	line := readingLine{env: e, talk: o.Talk}
	d.Progress = line.set
	found, report, err := doctor.Run(ctx, d)
	var fixed *doctor.Fixed
	if err == nil && o.Fix != "" {
		fixed, err = found.Fix(ctx, o.Fix)
	}
	line.finish()
	if err != nil {
		return e.fail(err)
	}
	if err := e.printFound(report, fixed, o.JSON); err != nil {
		return e.fail(err)
	}
	if report.Harmful() > 0 {
		return exitFailed
	}
	return exitOK
}

// printFound prints a report, and what became of the rows if there is a copy.
func (e *env) printFound(r *doctor.Report, f *doctor.Fixed, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(e.stdout).Encode(struct {
			*doctor.Report
			Harmful int           `json:"harmful"`
			Fixed   *doctor.Fixed `json:"fixed,omitempty"`
		}{r, r.Harmful(), f})
	}
	if _, err := fmt.Fprint(e.stdout, r); err != nil {
		return err
	}
	if f != nil {
		if _, err := fmt.Fprint(e.stdout, f); err != nil {
			return err
		}
	}
	if n := r.Harmful(); n > 0 {
		fmt.Fprintf(e.stdout, "%d kinds of findings would harm a run\n", n)
		return nil
	}
	_, err := fmt.Fprintln(e.stdout, "nothing would harm a run")
	return err
}

// A readingLine is the progress of reading files, one after the other; short ones have none.
type readingLine struct {
	env  *env
	talk talk
	what string
	line *progress.Line
}

func (l *readingLine) set(what string, done, total int64) {
	if what != l.what {
		l.finish()
		l.what = what
	}
	if l.line == nil && total >= longRead {
		l.line = l.env.follow(what, "MB", total/1e6, l.talk)
	}
	if l.line != nil {
		l.line.Set(done/1e6, "")
	}
}

func (l *readingLine) finish() {
	if l.line != nil {
		l.line.Finish()
		l.line = nil
	}
}
