package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"furlong/config"
	"furlong/reward"
	"furlong/reward/sheet"
)

const gradePurpose = `Grades a file of answers as a run would: each row is a JSON object with gold, the gold answer, and answer, the response
or its last part. gold is a text, a number, a list of alternatives, or for countdown an object with nums and target. With --json each row comes
back, in order, with equal (true, false, or null where it cannot be judged) and why added; other keys stay.

The modes are those of --rm-type: furlong, our own rules; math, deepscaler, dapo and math-verify, which give the verdicts of the published graders
of these names; gsm8k, countdown, exact. docs/rewards.md tells their rules. The exit code is 1 when a row cannot be read.`

// gradeOptions say what is graded, and how.
type gradeOptions struct {
	File string `arg:"FILE" help:"rows, one JSON object a line; - reads standard input"`
	Mode string `flag:"mode" choices:"furlong math deepscaler dapo math-verify gsm8k countdown exact" help:"which rules"`
	JSON bool   `flag:"json" help:"print the rows as JSON, without a summary"`
	Bare bool   `flag:"bare" help:"answers stand by themselves, in no box and behind no Answer:"`
}

func runGrade(ctx context.Context, e *env) int {
	opts := gradeOptions{Mode: "furlong"}
	var rules reward.Rules
	set := config.New("grade", gradePurpose).Add("Flags", &opts, &rules)
	set.Example("furlong grade answers.jsonl", "a table and a summary")
	set.Example("furlong grade answers.jsonl --mode math --json", "the verdicts of the published grader, row by row")
	set.Example("furlong grade - --bare", "answers from standard input that are in no box")
	if code, ok := e.parse(set); !ok {
		return code
	}
	in, name := io.NopCloser(e.stdin), "standard input"
	if opts.File != "-" {
		file, err := os.Open(opts.File)
		if err != nil {
			return e.fail(err)
		}
		in, name = file, opts.File
	}
	defer in.Close()
	return e.grade(ctx, in, sheet.Options{Mode: opts.Mode, Rules: rules, Bare: opts.Bare, Name: name}, opts.JSON)
}

// grade prints the rows of in with their verdicts.
func (e *env) grade(ctx context.Context, in io.Reader, o sheet.Options, asJSON bool) int {
	out := bufio.NewWriter(e.stdout)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	show := func(r *sheet.Row) error { return lines.Encode(r) }
	if !asJSON {
		fmt.Fprintln(table, "line\tequal\tgold\tanswer\twhy")
		show = func(r *sheet.Row) error { return tabulate(table, r) }
	}
	summary, err := sheet.Grade(ctx, in, o, func(r *sheet.Row) error {
		if r.Fault != nil {
			fmt.Fprintf(e.stderr, "furlong grade: %v\n", r.Fault)
		}
		return show(r)
	})
	if err == nil && !asJSON {
		err = table.Flush()
		fmt.Fprintln(out, summary)
	}
	if flush := out.Flush(); err == nil {
		err = flush
	}
	if err != nil {
		return e.fail(err)
	}
	if summary.Faults > 0 {
		return exitFailed
	}
	return exitOK
}

// tabulate writes a row for people.
func tabulate(w io.Writer, r *sheet.Row) error {
	equal := "-"
	if r.Equal != nil {
		equal = map[bool]string{true: "yes", false: "no"}[*r.Equal]
	}
	_, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", r.Line, equal, cell(r.Gold, 24), cell(r.Answer, 40), cell(r.Why, 120))
	return err
}

// cell returns a text on one line, its end if it is long: there answers stand.
func cell(text string, most int) string {
	runes := []rune(strings.Map(printable, text))
	if len(runes) > most {
		return "..." + string(runes[len(runes)-most+3:])
	}
	return string(runes)
}

// printable turns what would disturb a table into spaces.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return ' '
	}
	return r
}
