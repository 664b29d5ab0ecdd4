package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"furlong/figure"
	"furlong/metrics"
	"furlong/summary"
)

// A finished run, as far as it matters here.
type finished struct {
	name         string
	sum          summary.Summary
	reward, gap  figure.Line
	pass1, pass8 figure.Line
	p99          []float64 // of the gap, cycle by cycle
}

const evalSet = "eval/tiny-arithmetic"

// runs prints a table of finished runs and draws their curves.
func runs(w io.Writer, prefix string, dirs []string) error {
	all, err := readRuns(dirs)
	if err != nil {
		return err
	}
	for _, r := range all {
		if len(r.pass1.Y) == 0 {
			return fmt.Errorf("%s: no evaluation, want some", r.name)
		}
	}
	fmt.Fprintln(w, "| rollout / actor | gap mean | gap p99 | gap max | reward, first third | last third | pass@1 before | after | pass@8 before | after |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %s | %.3g | %.3g | %.3g | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", r.name, mean(r.gap.Y), mean(r.p99), r.sum.Gap.MaxAbs,
			r.sum.Reward.FirstThird, r.sum.Reward.LastThird, r.pass1.Y[0], r.pass1.Y[len(r.pass1.Y)-1], r.pass8.Y[0], r.pass8.Y[len(r.pass8.Y)-1])
	}
	return draw(prefix, all)
}

// readRun reads a run directory, whose settings say the formats.
func readRun(dir string) (finished, error) {
	r, err := named(dir)
	if err != nil {
		return r, err
	}
	rows, bad, err := metrics.ReadRows(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || len(bad) > 0 {
		return r, fmt.Errorf("%s: %d lines can't be read: %w", dir, len(bad), err)
	}
	rows, _ = metrics.Merge(rows)
	for _, row := range rows {
		r.add(row)
	}
	if r.sum = summary.Of(rows); r.sum.Gap == nil || r.sum.Reward == nil {
		return r, fmt.Errorf("%s: no cycle with a gap and a reward, want some", dir)
	}
	return r, nil
}

// readRuns reads several.
func readRuns(dirs []string) ([]finished, error) {
	var all []finished
	for _, dir := range dirs {
		r, err := readRun(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// named returns a run without figures under the name of its formats.
func named(dir string) (finished, error) {
	var c map[string]struct{ Value any }
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return finished{}, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return finished{}, fmt.Errorf("%s: config.json: %w", dir, err)
	}
	name := fmt.Sprintf("%v / %v", c["rollout-format"].Value, c["actor-format"].Value)
	if kv := c["actor-kv-format"].Value; kv != "auto" {
		name += ", cache too"
	}
	return finished{name: name}, nil
}

// add takes a row's figures up.
func (r *finished) add(row metrics.Row) {
	at := float64(row.Cycle)
	point := func(c *figure.Line, series string) {
		if v, ok := row.Values[series]; ok {
			c.X, c.Y = append(c.X, at), append(c.Y, v)
		}
	}
	point(&r.pass1, evalSet+"-pass@1")
	point(&r.pass8, evalSet+"-pass@8")
	if row.Kind != metrics.Cycle {
		return
	}
	point(&r.reward, "rollout/raw_reward")
	point(&r.gap, "train/logp_diff/mean")
	r.p99 = append(r.p99, row.Values["train/logp_diff/p99"])
}

func mean(y []float64) (m float64) {
	for _, v := range y {
		m += v / float64(len(y))
	}
	return m
}

// draw writes the curves of reward, of the gap where there is one, and of pass@1.
func draw(prefix string, all []finished) error {
	reward := figure.Figure{Title: "Reward", Y: figure.Axis{Label: "share right, mean of ten cycles"}, X: figure.Axis{Label: "cycle"}}
	gap := figure.Figure{Title: "Gap", Y: figure.Axis{Label: "mean |logprob of rollout − of actor|, nats", Log: true}, X: figure.Axis{Label: "cycle"}}
	pass := figure.Figure{Title: "Held-out pass@1", Y: figure.Axis{Label: "share of problems"}, X: figure.Axis{Label: "cycle"}}
	for i, r := range all {
		add := func(f *figure.Figure, l figure.Line) {
			l.End = r.name
			l.Colour, l.Dash = figure.Nth(i)
			f.Marks = append(f.Marks, l)
		}
		add(&reward, figure.Line{X: r.reward.X, Y: smooth(r.reward.Y, 10)})
		add(&pass, figure.Line{X: r.pass1.X, Y: r.pass1.Y, Dot: figure.Disc})
		if r.sum.Gap.MaxAbs > 0 {
			add(&gap, figure.Line{X: r.gap.X, Y: r.gap.Y})
		}
	}
	for name, f := range map[string]*figure.Figure{"reward": &reward, "gap": &gap, "pass": &pass} {
		if err := os.WriteFile(prefix+"-"+name+".svg", []byte(f.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// smooth returns the mean of each number and the n-1 before it.
func smooth(y []float64, n int) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = mean(y[max(0, i-n+1) : i+1])
	}
	return out
}
