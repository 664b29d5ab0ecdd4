package report

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/orchestrator"
	"furlong/verdict"
)

// A Run is what a directory tells of a run.
type Run struct {
	Dir      string
	Now      time.Time
	Life     run.Life
	Rows     []metrics.Row // that count, by cycle
	Settings map[string]run.Setting
	Alarms   []verdict.Alarm
	Sets     []Set // held-out sets, by name
	Samples  []Shown
	Experts  *run.Experts // of the last cycle that has a file
	Log      []run.LogLine
	Digest   string   // SHA-256 of metrics.jsonl
	Bytes    int64    // of metrics.jsonl
	Problems []string // what could not be read
	Resume   string   // newest checkpoint within the directory, if there is one

	verdict verdict.Run
	data    columns
}

// A Set is a held-out set: its first and its last evaluation, if both are there problem by problem.
type Set struct {
	Name   string
	Paired []Paired // by k
	Gained []string // problems without a right answer in the first, and with one in the last
	Lost   []string
}

// A Paired is the difference of pass@K of the last evaluation to the first.
type Paired struct {
	Set   string `json:"set"`
	K     int    `json:"k"`
	First int    `json:"first"` // cycles
	Last  int    `json:"last"`
	verdict.Difference
}

// Read reads the run in dir. self and now are the reader and its clock; tokens is how many tokens of samples are kept for the page, at most.
func Read(dir string, self run.Holder, now time.Time, tokens int) (*Run, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, want the directory of a run", dir)
	}
	r := &Run{Dir: dir, Now: now}
	r.measure(self)
	var err error
	if r.Settings, err = run.ReadConfig(dir); err != nil {
		r.problem(err)
	}
	r.Samples = r.pick(tokens)
	r.experts()
	r.log()
	if at, err := orchestrator.Newest(filepath.Join(dir, "checkpoints")); err != nil {
		r.problem(err)
	} else if at > 0 {
		r.Resume = orchestrator.Checkpoint("checkpoints", at)
	}
	return r, nil
}

// Closing returns the answers to the four questions for a run that is about to write that it has ended so.
func Closing(dir string, self run.Holder, now time.Time, state run.State) []verdict.Sentence {
	r := &Run{Dir: dir, Now: now}
	r.measure(self)
	r.verdict.Life.State = state
	return r.Sentences()
}

// measure reads what the sentences speak of.
func (r *Run) measure(self run.Holder) {
	rows := r.rows()
	r.verdict = verdict.FromRows(rows)
	usual := time.Duration(verdict.Usual(r.verdict) * float64(time.Second))
	var err error
	if r.Life, err = run.ReadLife(r.Dir, self, r.Now, usual); err != nil {
		r.problem(err)
	}
	r.Rows, _ = metrics.Merge(rows)
	r.data = newColumns(r.Rows)
	lines, bad, err := disk.ReadLines(filepath.Join(r.Dir, run.AlarmsFile), run.ParseAlarm)
	r.problem(append(errs(bad), err)...)
	r.Alarms = verdict.Fold(lines, verdict.Begun(rows))
	r.sets()
	r.verdict.Life, r.verdict.Now, r.verdict.Alarms = r.Life, r.Now, r.Alarms
}

// Sentences returns the answers to the four questions.
func (r *Run) Sentences() []verdict.Sentence { return verdict.Of(r.verdict) }

// Attempts returns the cycles that were run twice.
func (r *Run) Attempts() []metrics.Repeat { return r.verdict.Twice }

// rows reads metrics.jsonl and its digest.
func (r *Run) rows() []metrics.Row {
	path := filepath.Join(r.Dir, run.RowsFile)
	rows, bad, err := metrics.ReadRows(path)
	r.problem(append(errs(bad), err)...)
	f, err := os.Open(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.problem(err)
		}
		return rows
	}
	defer f.Close()
	h := sha256.New()
	if r.Bytes, err = io.Copy(h, f); err != nil {
		r.problem(err)
		return rows
	}
	r.Digest = hex.EncodeToString(h.Sum(nil))
	return rows
}

func errs(bad []disk.Bad) (out []error) {
	for _, b := range bad {
		out = append(out, b)
	}
	return out
}

// most is how many problems of one kind are told.
const most = 10

// problem notes what could not be read, the first ten of each call.
func (r *Run) problem(all ...error) {
	all = slices.DeleteFunc(all, func(err error) bool { return err == nil })
	for i, err := range all {
		if i == most {
			r.Problems = append(r.Problems, fmt.Sprintf("and %d more", len(all)-most))
			return
		}
		r.Problems = append(r.Problems, strings.TrimPrefix(err.Error(), r.Dir+string(filepath.Separator)))
	}
}

// sets compares the first and the last evaluation of each held-out set.
func (r *Run) sets() {
	r.verdict.Held = map[string]verdict.Difference{}
	for _, name := range r.data.sets() {
		s := Set{Name: name}
		if before, after, ok := r.ends(name); ok {
			for _, k := range r.data.ks(name) {
				d, ok, err := verdict.Paired(before, after, k)
				r.problem(err)
				if ok && err == nil {
					s.Paired = append(s.Paired, Paired{name, k, before.Cycle, after.Cycle, d})
				}
				if ok && err == nil && k == 1 {
					r.verdict.Held[name] = d
				}
			}
			s.Gained, s.Lost = turned(before, after)
		}
		r.Sets = append(r.Sets, s)
	}
}

// ends reads the first and the last evaluation of a set. It reports false where there are not two.
func (r *Run) ends(name string) (first, last run.Evaluation, ok bool) {
	if run.CheckEvalName(name) != nil {
		return first, last, false
	}
	x := r.data.eval(name, "pass@1").X
	if len(x) < 2 {
		return first, last, false
	}
	first, ok = r.evaluation(name, int(x[0]))
	if !ok {
		return first, last, false
	}
	last, ok = r.evaluation(name, int(x[len(x)-1]))
	return first, last, ok
}

func (r *Run) evaluation(name string, cycle int) (run.Evaluation, bool) {
	e, bad, err := run.ReadEval(filepath.Join(r.Dir, run.EvalFile(name, cycle)))
	r.problem(append(errs(bad), err)...)
	return e, err == nil && len(bad) == 0
}

// turned returns the problems that had no right answer and have one, and the other way round.
func turned(before, after run.Evaluation) (gained, lost []string) {
	was := map[string]int{}
	for _, p := range before.Problems {
		was[p.ID] = p.C
	}
	for _, p := range after.Problems {
		c, ok := was[p.ID]
		switch {
		case ok && c == 0 && p.C > 0:
			gained = append(gained, p.ID)
		case ok && c > 0 && p.C == 0:
			lost = append(lost, p.ID)
		}
	}
	return gained, lost
}

// experts reads the loads of the last cycle that has some.
func (r *Run) experts() {
	for i := len(r.Rows) - 1; i >= 0; i-- {
		if r.Rows[i].Kind != metrics.Cycle {
			continue
		}
		e, err := run.ReadExperts(filepath.Join(r.Dir, run.ExpertsFile(r.Rows[i].Cycle)))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			r.problem(err)
			return
		}
		r.Experts = &e
		return
	}
}

// log reads the last lines of the log, for a run that ended badly.
func (r *Run) log() {
	if r.Life.State != run.Crashed && r.Life.State != run.Failed {
		return
	}
	lines, bad, err := disk.ReadLines(filepath.Join(r.Dir, run.LogFile), run.ParseLog)
	r.problem(append(errs(bad), err)...)
	r.Log = lines[max(0, len(lines)-20):]
}
