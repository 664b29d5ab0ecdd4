package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	rundir "furlong/metrics/run"
)

// announce says what the run will do, before it does anything. A plan is no result: --quiet leaves it out.
func (j *job) announce(w io.Writer) error {
	if j.f.talk.Quiet {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, text string) { fmt.Fprintf(t, "%s\t%s\n", name, text) }
	line("run", j.sayRun())
	if s := j.from.saved; s != nil {
		line("from", j.sayFrom())
		line("data", sayPlace(s.Prompts))
		line("buffers", strings.Join(sayBuffers(s), "; "))
	}
	if j.from.before.Attempt > 0 {
		line("evaluated", j.sayEvaluated())
		line("done again", j.sayAgain())
	}
	line("plan", j.sayPlan())
	line("checkpoints", j.saySaving())
	return t.Flush()
}

// sayRun says which start of which run this is.
func (j *job) sayRun() string {
	text := fmt.Sprintf("%s, start %d: ", j.dir.Path(), j.dir.Attempt())
	b := j.from.before
	switch {
	case b.Attempt == 0 && j.from.saved != nil:
		return text + "goes on from another run"
	case b.Attempt == 0 && j.f.run.Save.Load != "":
		return text + "begins anew, since --load " + j.f.run.Save.Load + " holds nothing yet"
	case b.Attempt == 0:
		return text + "begins anew"
	case b.State == rundir.Running && j.from.told() == 0:
		return text + fmt.Sprintf("goes on; start %d died before its first cycle was done", b.Attempt)
	case b.State == rundir.Running:
		return text + fmt.Sprintf("goes on; start %d died after cycle %d", b.Attempt, j.from.told())
	}
	return text + fmt.Sprintf("goes on; start %d %s in cycle %d: %s", b.Attempt, b.State, b.Cycle, b.Exit)
}

func (j *job) sayFrom() string {
	s := j.from.saved
	steps := cmp.Or(j.from.steps, "an unknown number of")
	return fmt.Sprintf("%s, after cycle %d of %d and %s optimizer steps; the next version is %v (start %d, push %d)",
		j.from.dir, s.Cycle, j.f.loop.Cycles, steps, s.NextVersion(j.dir.Attempt()-1, j.from.own), j.dir.Attempt(), s.Pushes+1)
}

// sayPlace says where a source of prompts stands, by what it wrote down.
func sayPlace(state []byte) string {
	var p struct {
		Set          string
		Count, Group int64
		Files        []struct {
			Name                  string
			Epoch, Place, Prompts int
		}
	}
	if err := json.Unmarshal(state, &p); err != nil || len(state) == 0 {
		return "the place is known to its source alone"
	}
	if len(p.Files) == 0 {
		return fmt.Sprintf("%d prompts of %s handed out", p.Count, p.Set)
	}
	var at []string
	for _, f := range p.Files {
		at = append(at, fmt.Sprintf("%d of the %d prompts of %s in epoch %d", f.Place, f.Prompts, f.Name, f.Epoch))
	}
	return fmt.Sprintf("%d prompts handed out: at %s", p.Group, strings.Join(at, ", "))
}

// sayEvaluated counts the evaluations that need not be done again.
func (j *job) sayEvaluated() string {
	var sets []string
	for _, name := range evaluatedSets(j.dir.Path()) {
		done, _ := evaluatedAt(j.dir.Path(), name, j.from.after())
		if n := len(done); n > 0 {
			sets = append(sets, fmt.Sprintf("%s %d times, the last after cycle %d", name, n, done[n-1]))
		}
	}
	return orNothing(sets)
}

// sayAgain names what earlier starts did after the checkpoint, which this one does again.
func (j *job) sayAgain() string {
	at := j.from.after()
	var what []string
	if last := j.from.told(); last > at {
		what = append(what, fmt.Sprintf("%s, which came after the checkpoint", spanOf(at+1, last)))
	}
	for _, name := range evaluatedSets(j.dir.Path()) {
		if _, later := evaluatedAt(j.dir.Path(), name, at); len(later) > 0 {
			what = append(what, fmt.Sprintf("the evaluations of %s after %s", name, strings.Join(strs(later), ", ")))
		}
	}
	return orNothing(what)
}

func (j *job) sayPlan() string {
	first, c := j.from.after()+1, j.f.loop
	if first > c.Cycles {
		return "no cycle: the run died after its last one, whose weights are pushed and, if that is missing, evaluated"
	}
	text := fmt.Sprintf("%s (%s), each %d prompts by %d samples", spanOf(first, c.Cycles), c.Loop, c.Batch, c.PerPrompt)
	switch {
	case j.evals == nil:
		return text + "; nothing is evaluated"
	case first == 1 && !c.NoFirstEval:
		text += "; evaluated before the first,"
	default:
		text += "; evaluated"
	}
	if c.EvalEvery > 0 {
		text += fmt.Sprintf(" every %d cycles and", c.EvalEvery)
	}
	return text + " at the end"
}

func (j *job) saySaving() string {
	c := j.f.loop
	text := "at the end"
	if c.SaveEvery > 0 {
		text = fmt.Sprintf("every %d cycles and at the end", c.SaveEvery)
	}
	text += fmt.Sprintf(", the newest %d kept", c.Keep)
	if c.Retain > 0 {
		text += fmt.Sprintf(" and every %dth", c.Retain)
	}
	if c.Async && j.actor != nil {
		text += fmt.Sprintf("; written beside the run from a copy that takes %s bytes of memory", group(int64(j.actor.CopyBytes())))
	}
	if c.Sentinel != "" {
		text += "; also whenever there is a file " + c.Sentinel
	}
	if j.f.run.Save.Bare {
		text += "; without the optimizer (--no-save-optim), so that no run can go on from them"
	}
	return text
}

// evaluatedSets returns the names of the sets that a run has evaluated.
func evaluatedSets(dir string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(dir, "eval"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// evaluatedAt returns the cycles after which a set was evaluated: those up to a checkpoint's, and later ones.
func evaluatedAt(dir, name string, at int) (done, later []int) {
	files, _ := os.ReadDir(filepath.Join(dir, "eval", name))
	for _, f := range files {
		n, ok := strings.CutPrefix(strings.TrimSuffix(f.Name(), ".jsonl"), "c")
		c, err := strconv.Atoi(n)
		switch {
		case !ok || err != nil:
		case c > at:
			later = append(later, c)
		default:
			done = append(done, c)
		}
	}
	slices.Sort(done)
	slices.Sort(later)
	return done, later
}

func spanOf(first, last int) string {
	if first == last {
		return fmt.Sprintf("cycle %d", first)
	}
	return fmt.Sprintf("cycles %d to %d", first, last)
}

func strs(list []int) (out []string) {
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

func orNothing(list []string) string { return cmp.Or(strings.Join(list, "; "), "nothing") }
