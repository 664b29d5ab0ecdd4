package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/metrics/trend"
	"furlong/progress"
	"furlong/rl"
)

// A progressLine shows a run's place and, on a terminal, how reward and gap went so far.
type progressLine struct {
	*progress.Line
	cycles      int64
	note        string
	reward, gap []float64 // by cycle
	window      int       // cycles of the moving average
	blocks      bool      // the terminal shows them
}

// newLine begins the line of a run, with what earlier starts of it went through.
func (j *job) newLine() *progressLine {
	l := &progressLine{Line: j.follow("train", "cycles", int64(j.f.loop.Cycles), j.f.talk), window: trend.Window(j.f.loop.Cycles), blocks: showsBlocks()}
	if j.f.run.Resume {
		rows, _, err := metrics.ReadRows(filepath.Join(j.dir.Path(), rundir.RowsFile))
		if err != nil {
			j.log.Warn("the line of progress begins anew", "error", err.Error())
		}
		l.recall(rows)
	}
	return l
}

func (l *progressLine) done(cycle int, s rl.Stats) {
	l.cycles = int64(cycle)
	l.reward, l.gap = append(l.reward, value(s, "rollout/raw_reward")), append(l.gap, value(s, "train/logp_diff/max"))
	l.note = fmt.Sprintf("reward %.3f  gap %.2g  len %.0f", s["rollout/raw_reward"], s["train/logp_diff/max"], s["rollout/response_len/mean"])
	if l.blocks {
		l.Under(row("reward", l.reward, l.window), row("gap", l.gap, l.window))
	}
	l.Set(l.cycles, l.note)
}

// recall takes up what earlier starts of the run went through.
func (l *progressLine) recall(rows []metrics.Row) {
	live, _ := metrics.Merge(rows)
	for _, r := range live {
		if r.Kind == metrics.Cycle {
			l.reward, l.gap = append(l.reward, value(r.Values, "rollout/raw_reward")), append(l.gap, value(r.Values, "train/logp_diff/max"))
		}
	}
}

func (l *progressLine) at(cycle int, phase string) { l.Set(l.cycles, l.note+"  "+phase) }

// row shows how a series went, and its moving average, once there are rows enough for one.
func row(name string, values []float64, window int) progress.Row {
	r := progress.Row{Name: name, Values: values}
	mean := trend.Average(values, window)
	if last := mean[len(mean)-1]; trend.Finite(last) {
		r.Note = fmt.Sprintf("average %.3g", last)
	}
	return r
}

// value returns a figure, NaN where it was not taken.
func value(s rl.Stats, name string) float64 {
	if v, ok := s[name]; ok {
		return v
	}
	return math.NaN()
}

// showsBlocks reports whether a terminal of this locale shows more than ASCII.
func showsBlocks() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
