package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"furlong/eval"
)

// printResults prints each result for people, or whole as one JSON object if that is asked for.
func (e *env) printResults(all []*eval.Result, o evalOptions, whole any) error {
	if o.JSON {
		return json.NewEncoder(e.stdout).Encode(whole)
	}
	for _, r := range all {
		if len(all) > 1 {
			fmt.Fprintf(e.stdout, "%s:\n", r.Set)
		}
		if err := printResult(e.stdout, r, o.Table); err != nil {
			return err
		}
	}
	return nil
}

// printResult prints one result: figures with their intervals, counts, and each problem if table is set.
func printResult(w io.Writer, r *eval.Result, table bool) error {
	fmt.Fprintf(w, "%d problems x %d samples\n", len(r.Problems), r.Samples)
	for _, s := range r.Scores {
		printScore(w, "pass", s)
	}
	for _, s := range r.Majority {
		printScore(w, "maj", s)
	}
	if r.Mean != nil {
		printScore(w, "mean", *r.Mean)
	}
	m := r.Intervals
	fmt.Fprintf(w, "intervals: 95 %%, %d resamples of problems, %d of answers, seed %d\n", m.Resamples, m.Decode, m.Seed)
	if r.PassAt1Whole != nil {
		fmt.Fprintf(w, "pass@1 of responses that were not truncated %.4f\n", *r.PassAt1Whole)
	}
	if r.Truncated != nil {
		fmt.Fprintf(w, "truncated %.4f, ", *r.Truncated)
	}
	if l := r.Lengths; l != nil {
		fmt.Fprintf(w, "length mean %.1f, median %.1f, %d to %d tokens, ", l.Mean, l.Median, l.Min, l.Max)
	}
	fmt.Fprintf(w, "solved %d, invalid %d\n", r.Solved, r.Invalid)
	if r.Invalid > 0 {
		fmt.Fprintf(w, "the first invalid sample: %s\n", r.FirstInvalid)
	}
	for _, id := range r.Unjudged {
		fmt.Fprintf(w, "problem %s: no sample could be judged, so it is in no figure\n", id)
	}
	if r.NoMajority != "" {
		fmt.Fprintf(w, "no maj@k: %s\n", r.NoMajority)
	}
	if !table {
		return nil
	}
	return printProblems(w, r.Problems)
}

// printScore prints one figure.
func printScore(w io.Writer, kind string, s eval.Score) {
	fmt.Fprintf(w, "%-8s %.4f [%.4f, %.4f] over %d problems", fmt.Sprintf("%s@%d", kind, s.K), s.Value, s.Low, s.High, s.Problems)
	if s.Decode != nil {
		fmt.Fprintf(w, ", [%.4f, %.4f] by decoding alone", s.Decode.Low, s.Decode.High)
	}
	fmt.Fprintln(w)
}

// printProblems prints a row a problem.
func printProblems(w io.Writer, all []eval.Problem) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "problem\tright\tjudged\tinvalid\ttruncated\tmost frequent answer")
	for _, p := range all {
		vote := "-"
		if len(p.Votes) > 0 {
			v := p.Votes[0]
			vote = fmt.Sprintf("%s (%d, %s)", cell(v.Answer, 40), v.Count, map[bool]string{true: "right", false: "wrong"}[v.Right])
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\n", cell(p.ID, 40), p.C, p.N, p.Invalid, p.Truncated, vote)
	}
	return t.Flush()
}

// printComparison prints what changed.
func printComparison(w io.Writer, c *eval.Comparison) {
	fmt.Fprintf(w, "%s: %d problems, %d better, %d worse, sign test p %.4f\n", c.Set, c.Problems, c.Better, c.Worse, c.SignP)
	for _, s := range c.Scores {
		fmt.Fprintf(w, "%-8s %.4f [%.4f, %.4f] before, %.4f [%.4f, %.4f] after, difference %+.4f [%+.4f, %+.4f], p %.4f (%s)\n", fmt.Sprintf("pass@%d", s.K),
			s.Before.Value, s.Before.Low, s.Before.High, s.After.Value, s.After.Low, s.After.High, s.Difference.Value, s.Difference.Low, s.Difference.High, s.P, s.Test)
	}
	fmt.Fprintf(w, "intervals: 95 %%, %d resamples of problems in pairs, seed %d\n", c.Intervals.Resamples, c.Intervals.Seed)
	fmt.Fprintf(w, "gained %d: %s\n", len(c.Gained), listedIDs(c.Gained))
	fmt.Fprintf(w, "lost %d: %s\n", len(c.Lost), listedIDs(c.Lost))
	for _, d := range c.Differ {
		fmt.Fprintf(w, "settings differ: %s\n", d)
	}
}

// listedIDs lists the first ids; all of them are in the JSON.
func listedIDs(ids []string) string {
	const most = 10
	out := ""
	for i, id := range ids {
		if i == most {
			return fmt.Sprintf("%s, and %d more", out, len(ids)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += cell(id, 40)
	}
	if out == "" {
		return "none"
	}
	return out
}
