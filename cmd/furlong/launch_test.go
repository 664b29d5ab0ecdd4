package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/config"
	"furlong/internal/golden"
)

// sameAs compares with a file, or with -update writes it.
func sameAs(t *testing.T, path string, got []byte) {
	t.Helper()
	golden.Compare(t, path, got, *rewriteDocs)
}

// launchWords reads a command line as it is published, in a shell's spelling, with comments.
func launchWords(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, strings.TrimSuffix(line, "\\"))
		}
	}
	words, err := config.Split(strings.Join(kept, "\n"))
	if err != nil || len(words) == 0 || words[0] != "train" {
		t.Fatalf("%s: %q, %v, want a line that begins with train", path, words, err)
	}
	return words[1:]
}

// dryJSON runs train with --dry-run --json and returns what it prints.
func dryJSON(t *testing.T, args []string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	e := &env{name: "train", args: append(slices.Clone(args), "--dry-run", "--json"), stdout: &out, stderr: &errs, log: slog.New(slog.DiscardHandler)}
	if code := runTrain(context.Background(), e); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, errs.String())
	}
	return out.Bytes()
}

// Published command lines, and the recipe of the published run, expand to what they always did.
func TestLaunchLines(t *testing.T) {
	lines, err := filepath.Glob("testdata/launch/*.txt")
	if err != nil || len(lines) < 5 {
		t.Fatalf("launch lines are %v, %v", lines, err)
	}
	for _, path := range lines {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			sameAs(t, strings.TrimSuffix(path, ".txt")+".json", dryJSON(t, launchWords(t, path)))
		})
	}
	t.Run("recipe", func(t *testing.T) {
		sameAs(t, "testdata/launch/recipe.json", dryJSON(t, []string{"--recipe", "dsv4-flash-mi355x"}))
	})
}

// The published launch line says nothing that the recipe of that run does not say too, but for its name and its owner's, and leaves nothing out.
func TestRecipeIsTheLaunchLine(t *testing.T) {
	read := func(args []string) map[string]config.Printed {
		var d struct {
			Settings map[string]config.Printed `json:"settings"`
		}
		if err := json.Unmarshal(dryJSON(t, args), &d); err != nil {
			t.Fatal(err)
		}
		delete(d.Settings, "run-id")
		delete(d.Settings, "wandb-team")
		for name, v := range d.Settings {
			d.Settings[name] = config.Printed{Value: v.Value}
		}
		return d.Settings
	}
	text := func(m map[string]config.Printed) string {
		b, err := json.MarshalIndent(m, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	line, recipe := text(read(launchWords(t, "testdata/launch/reference-run.txt"))), text(read([]string{"--recipe", "dsv4-flash-mi355x"}))
	if line != recipe {
		t.Errorf("the launch line and the recipe differ: %s", golden.FirstDifference(line, recipe))
	}
}

// What a dry run prints as the same run without a recipe is the same run, for every line.
func TestCommandIsTheSameRun(t *testing.T) {
	lines, err := filepath.Glob("testdata/launch/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	type run struct { // but for the command, and for settings, some of which change nothing and are not in it
		Model    any                       `json:"model"`
		Layout   any                       `json:"layout"`
		Batch    any                       `json:"batch"`
		Lengths  any                       `json:"lengths"`
		Formats  any                       `json:"formats"`
		Memory   any                       `json:"memory"`
		Settings map[string]config.Printed `json:"settings"`
		Command  []string                  `json:"command"`
	}
	read := func(args []string) (r run, values string) {
		if err := json.Unmarshal(dryJSON(t, args), &r); err != nil {
			t.Fatal(err)
		}
		bare := r
		bare.Command, bare.Settings = nil, nil
		b, err := json.MarshalIndent(bare, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return r, string(b)
	}
	for _, args := range append([][]string{nil, {"--recipe", "dsv4-flash-mi355x"}}, each(lines, func(path string) []string { return launchWords(t, path) })...) {
		r, want := read(args)
		again, got := read(r.Command[2:])
		if got != want {
			t.Errorf("%.80q: %s", args, golden.FirstDifference(got, want))
		}
		for name, v := range again.Settings {
			if !reflect.DeepEqual(v.Value, r.Settings[name].Value) {
				t.Errorf("%.80q: %s is %v, was %v", args, name, v.Value, r.Settings[name].Value)
			}
		}
	}
}

func each[A, B any](in []A, f func(A) B) []B {
	var out []B
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}
