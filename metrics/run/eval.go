package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/rl"
)

// An Evaluation is one round over a held-out set, problem by problem. On disk it is a line with the fields of its own and then one line a problem.
type Evaluation struct {
	Kind     string         `json:"kind"` // "eval"
	Name     string         `json:"name"`
	Cycle    int            `json:"cycle"`
	Attempt  int            `json:"attempt"`
	Version  rl.Version     `json:"version"`
	Time     float64        `json:"time"`
	Settings map[string]any `json:"settings"` // how it was decoded and graded
	Problems []Problem      `json:"-"`
}

// A Problem is what an evaluation found of one problem.
type Problem struct {
	ID        string   `json:"id"`
	N         int      `json:"n"`         // answers
	C         int      `json:"c"`         // right ones
	Truncated int      `json:"truncated"` // cut at the length limit
	Group     int64    `json:"group"`     // under which its answers stand among the samples
	Samples   []Answer `json:"samples"`
}

// An Answer is one answer to a problem.
type Answer struct {
	Slot      int     `json:"slot"`
	Verdict   string  `json:"verdict"`
	Reward    float64 `json:"reward"`
	Length    int     `json:"length"` // tokens
	Truncated bool    `json:"truncated"`
}

// NewProblem counts the samples of one problem.
func NewProblem(group []*rl.Sample) Problem {
	p := Problem{N: len(group), Samples: []Answer{}}
	for _, s := range group {
		p.ID, p.Group = s.Prompt.ID, s.Prompt.Group
		cut := s.Stop == rl.StopLength
		if s.Verdict == rl.Right {
			p.C++
		}
		if cut {
			p.Truncated++
		}
		p.Samples = append(p.Samples, Answer{s.Index, s.Verdict.String(), s.Reward, len(s.Response), cut})
	}
	return p
}

// WriteEval writes the file of an evaluation; one of an earlier attempt is replaced. Kind, attempt and time are filled in.
func (d *Dir) WriteEval(e Evaluation) error {
	if err := CheckEvalName(e.Name); err != nil {
		return err
	}
	path := filepath.Join(d.path, EvalFile(e.Name, e.Cycle))
	e.Kind, e.Attempt, e.Time = "eval", d.holder.Attempt, metrics.Unix(d.o.Now())
	all, err := line(e)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range e.Problems {
		b, err := line(p)
		if err != nil {
			return fmt.Errorf("%s: problem %s: %w", path, p.ID, err)
		}
		all = append(all, b...)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return disk.ReplaceBytes(path, all)
}

// CheckEvalName reports a name that cannot stand in a series or a path.
func CheckEvalName(name string) error {
	s, ok := metrics.Lookup("eval/" + name)
	if !ok || s.Name != "eval/{name}" || name == "." || name == ".." {
		return fmt.Errorf("evaluation is called %q, want letters, digits, _ . and -, and no name of a series", name)
	}
	return nil
}

// ReadEval reads the file of an evaluation, and the lines that it could not read.
func ReadEval(path string) (Evaluation, []disk.Bad, error) {
	var e Evaluation
	var bad []disk.Bad
	_, err := disk.Follow(path, 0).Poll(func(offset int64, line []byte) error {
		if err := e.add(line); err != nil {
			bad = append(bad, disk.Bad{Path: path, Offset: offset, Err: err})
		}
		return nil
	})
	if err == nil && e.Kind == "" && len(bad) == 0 {
		_, err = os.Stat(path) // a file without lines is no evaluation, and no file is none either
		if err == nil {
			err = fmt.Errorf("%s: holds no evaluation", path)
		}
	}
	return e, bad, err
}

func (e *Evaluation) add(line []byte) error {
	if e.Kind == "" {
		if err := json.Unmarshal(line, e); err != nil {
			return err
		}
		if e.Kind != "eval" {
			e.Kind = ""
			return errors.New("line does not begin an evaluation")
		}
		return nil
	}
	p, err := parse[Problem](line)
	if err == nil {
		e.Problems = append(e.Problems, p)
	}
	return err
}
