package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// comparison is two checkpoints beside each other.
type comparison struct {
	Paths       [2]string        `json:"paths"`
	States      [2]stateContents `json:"states"`
	Differences []difference     `json:"differences"`
}

// A difference is a tensor that two checkpoints do not share.
type difference struct {
	Name string `json:"name"`
	What string `json:"what"`
}

// compare reads two checkpoints and tells in which tensors they differ, as an engine would hold them.
func (e *env) compare(ctx context.Context, opts inspectOptions) int {
	var c comparison
	for i, path := range []string{opts.Path, opts.Other} {
		dir, err := modelIn(path)
		if err != nil {
			return e.fail(err)
		}
		s, err := readState(ctx, dir, opts)
		if err != nil {
			return e.fail(err)
		}
		c.Paths[i], c.States[i] = path, *s
	}
	c.Differences = differences(c.States[0].List, c.States[1].List)
	if err := e.printComparison(&c, opts.JSON); err != nil {
		return e.fail(err)
	}
	if len(c.Differences) > 0 {
		return exitFailed
	}
	return exitOK
}

// differences goes through two lists in the order of names.
func differences(a, b []sumContents) []difference {
	out := []difference{}
	add := func(name, format string, args ...any) {
		out = append(out, difference{name, fmt.Sprintf(format, args...)})
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			add(a[0].Name, "is in the first alone")
			a = a[1:]
			continue
		case len(a) == 0 || b[0].Name < a[0].Name:
			add(b[0].Name, "is in the second alone")
			b = b[1:]
			continue
		case a[0].Format != b[0].Format || !slices.Equal(a[0].Shape, b[0].Shape):
			add(a[0].Name, "is %s%v in the first, %s%v in the second", a[0].Format, a[0].Shape, b[0].Format, b[0].Shape)
		case a[0].Digest != b[0].Digest:
			add(a[0].Name, "has other bytes: %v in the first, %v in the second", a[0].Digest, b[0].Digest)
		}
		a, b = a[1:], b[1:]
	}
	return out
}

func (e *env) printComparison(c *comparison, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(e.stdout).Encode(c)
	}
	tw := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	for i, s := range c.States {
		fmt.Fprintf(tw, "%s\n", c.Paths[i])
		s.print(tw)
	}
	if len(c.Differences) == 0 {
		fmt.Fprintf(tw, "the same: every tensor, byte for byte\n")
	} else {
		fmt.Fprintf(tw, "%d tensors differ\n", len(c.Differences))
	}
	for _, d := range c.Differences {
		fmt.Fprintf(tw, "%s\t%s\n", d.Name, d.What)
	}
	if c.States[0].Recipe != c.States[1].Recipe {
		fmt.Fprintf(tw, "formats differ: %s and %s; --as packs both alike first\n", c.States[0].Recipe, c.States[1].Recipe)
	}
	return tw.Flush()
}

// print writes a state for people.
func (s *stateContents) print(w io.Writer) {
	fmt.Fprintf(w, "state\t%v\n", s.State)
	fmt.Fprintf(w, "\t%d tensors, recipe %s: %s\n", s.Tensors, s.Recipe, s.Formats)
}
