package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// shown are the figures that are printed even where they are the same.
var shown = []string{"train/loss", "train/grad_norm", "train/logp_diff/mean", "rollout/raw_reward"}

// print prints the report, as a table or as JSON.
func (r *replaying) print() error {
	if r.f.run.JSON {
		return json.NewEncoder(r.stdout).Encode(r.report)
	}
	w := r.stdout
	fmt.Fprintf(w, "cycle %d of %s, from %s\n", r.Cycle, r.Run, cmp.Or(r.report.From, "the run's start"))
	for _, c := range r.report.Changed {
		fmt.Fprintf(w, "changed: %s\n", c)
	}
	for _, c := range r.report.Cycles {
		if err := c.print(w); err != nil {
			return err
		}
	}
	return nil
}

func (f *cycleFinding) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\ncycle %d\trecorded\treplayed\n", f.Cycle)
	same := 0
	for _, p := range f.Figures {
		if p.same() {
			same++
		}
		if !p.same() || slices.Contains(shown, p.Name) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Name, short64(p.Recorded), short64(p.Replayed), sameness(p.same()))
		}
	}
	known := f.State[0] != "" && f.State[1] != ""
	fmt.Fprintf(w, "weights\t%s\t%s\t", cmp.Or(f.State[0], "not recorded"), cmp.Or(f.State[1], "not published"))
	if known {
		fmt.Fprint(w, sameness(f.State[0] == f.State[1]))
	}
	fmt.Fprintf(w, "\nfigures\t%d\t%d\t%d the same\n", len(f.Figures), len(f.Figures), same)
	if f.Blind != "" {
		fmt.Fprintf(w, "trainer's logprobs\t\t\tnot compared: %s\n", f.Blind)
		return w.Flush()
	}
	fmt.Fprintf(w, "trainer's logprobs\t%d\t%d\t%s\n", f.Trainer.Tokens, f.Trainer.Tokens, tokensSay(f.Trainer))
	if d := f.Draws; d != nil {
		fmt.Fprintf(w, "samples\t%d\t%d\t%d the same\n", d.Samples-d.Missing, d.Samples, d.Samples-d.Missing-d.Differ)
	}
	return w.Flush()
}

func tokensSay(t tokenPair) string {
	if t.Differ == 0 {
		return "the same"
	}
	return fmt.Sprintf("%d differ, by up to %.3g", t.Differ, float64(t.Largest))
}

func sameness(same bool) string {
	if same {
		return "the same"
	}
	return "differs"
}

// short64 prints a number with all digits that tell it from others.
func short64(n jsonNumber) string { return strconv.FormatFloat(float64(n), 'g', -1, 64) }
