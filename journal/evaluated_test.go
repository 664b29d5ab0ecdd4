package journal

import (
	"os"
	"path/filepath"
	"testing"

	"furlong/metrics"
	"furlong/metrics/run"
	"furlong/metrics/samples"
	"furlong/rl"
)

// evaluation is one of a set with one sample.
func evaluation(name string, cycle int) Evaluation {
	s := report(cycle, nil).Samples[0]
	return Evaluation{
		Evaluation: run.Evaluation{Name: name, Cycle: cycle, Version: 1, Problems: []run.Problem{run.NewProblem([]*rl.Sample{s})}},
		Drawn:      []*rl.Sample{s},
	}
}

// The evaluations of a cycle are one row, a body of samples each, and a file each.
func TestEvaluationsAreOneRow(t *testing.T) {
	j, path := newJournal(t)
	values := map[string]float64{"eval/step": 2, "eval/a": 1, "eval/b": 0}
	if err := j.Evaluated([]Evaluation{evaluation("a", 2), evaluation("b", 2)}, 2, values); err != nil {
		t.Fatal(err)
	}
	rows, bad, err := metrics.ReadRows(filepath.Join(path, run.RowsFile))
	if err != nil || len(bad) > 0 || len(rows) != 1 || rows[0].Kind != metrics.Eval || rows[0].Values["eval/a"] != 1 || rows[0].Cycle != 2 {
		t.Errorf("rows %v, %v, %v, want one of an evaluation", rows, bad, err)
	}
	for _, name := range []string{"a", "b"} {
		e, bad, err := run.ReadEval(filepath.Join(path, run.EvalFile(name, 2)))
		if err != nil || len(bad) > 0 || e.Name != name || len(e.Problems) != 1 || e.Problems[0].C != 1 {
			t.Errorf("evaluation %s is %+v, %v, %v", name, e, bad, err)
		}
		if _, err := os.Stat(filepath.Join(path, run.SamplesDir, samples.Name(2, name))); err != nil {
			t.Error(err)
		}
	}
	if err := j.Evaluated(nil, 2, values); err != nil {
		t.Errorf("of no set: %v", err)
	}
}

// A row that can't be written leaves no file that says the evaluation is there.
func TestEvaluationsComeAfterTheirRow(t *testing.T) {
	j, path := newJournal(t)
	if err := j.Evaluated([]Evaluation{evaluation("a", 2), evaluation("b", 2)}, 2, map[string]float64{"no/series": 1}); err == nil {
		t.Fatal("a series that is not in the table is written")
	}
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(path, run.EvalFile(name, 2))); !os.IsNotExist(err) {
			t.Errorf("evaluation %s is there: %v", name, err)
		}
	}
}
