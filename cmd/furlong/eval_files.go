package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"furlong/eval"
	rundir "furlong/metrics/run"
	"furlong/rl"
	"furlong/verdict"
)

// evalResults prints the figures of a file of graded samples.
func (e *env) evalResults(o evalOptions, seed uint64) error {
	r, err := readRows(o.Results, o.K, seed)
	if err != nil {
		return err
	}
	report := eval.NewReport([]*eval.Result{r})
	return errors.Join(e.printResults(report.Results(), o, report), writeResult(o.File, report))
}

// readRows reads a file of graded samples.
func readRows(path string, ks []int, seed uint64) (*eval.Result, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return eval.ReadRows(file, path, ks, seed)
}

// evalCompare prints what changed from the first file to the second.
func (e *env) evalCompare(o evalOptions) error {
	before, err := readEvaluation(o.Compare[0])
	if err != nil {
		return err
	}
	after, err := readEvaluation(o.Compare[1])
	if err != nil {
		return err
	}
	pairs, err := samePairs(before, after, o.Compare)
	if err != nil {
		return err
	}
	var out struct {
		Sets []*eval.Comparison `json:"sets"`
	}
	for _, p := range pairs {
		c, err := eval.Compare(p[0], p[1], o.Ignore == "settings")
		if err != nil {
			return fmt.Errorf("%s and %s: %w", o.Compare[0], o.Compare[1], err)
		}
		out.Sets = append(out.Sets, c)
		if !o.JSON {
			printComparison(e.stdout, c)
		}
	}
	if o.JSON {
		err = json.NewEncoder(e.stdout).Encode(out)
	}
	return errors.Join(err, writeResult(o.File, out))
}

// samePairs returns the results of each set, in the order of before. Both sides must have the same sets.
func samePairs(before, after []*eval.Result, files []string) (pairs [][2]*eval.Result, err error) {
	sets := map[string]*eval.Result{}
	for _, r := range after {
		sets[r.Set] = r
	}
	for _, r := range before {
		if sets[r.Set] == nil {
			return nil, fmt.Errorf("set %s: is only in %s, not in %s", r.Set, files[0], files[1])
		}
		pairs = append(pairs, [2]*eval.Result{r, sets[r.Set]})
		delete(sets, r.Set)
	}
	for _, r := range after {
		if sets[r.Set] != nil {
			return nil, fmt.Errorf("set %s: is only in %s, not in %s", r.Set, files[1], files[0])
		}
	}
	return pairs, nil
}

// readEvaluation reads a file of --output, of a run's evaluation, or of graded samples.
func readEvaluation(path string) ([]*eval.Result, error) {
	report, err := eval.ReadReport(path)
	if err == nil {
		return report.Results(), nil
	}
	if !errors.Is(err, eval.ErrNoReport) {
		return nil, err
	}
	if e, bad, err := rundir.ReadEval(path); err == nil && len(bad) == 0 {
		return ofRun(e)
	}
	r, err := readRows(path, nil, defaultEval().Seed)
	if err != nil {
		return nil, fmt.Errorf("no report of an evaluation, and as a file of scores: %w", err)
	}
	r.Data = "" // another file is no other setting
	return []*eval.Result{r}, nil
}

// ofRun returns the evaluation of a run as a result of what a comparison needs.
func ofRun(e rundir.Evaluation) ([]*eval.Result, error) {
	var s settingsOfRun
	b, err := json.Marshal(e.Settings)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("evaluation %s: settings: %w", e.Name, err)
	}
	r := &eval.Result{Set: e.Name, Samples: s.Samples, Origin: eval.Origin{Grader: s.Grader, Prompts: s.Prompts}, Problems: verdict.Problems(e)}
	r.Sampling = rl.Sampling{
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, MaxTokens: s.MaxTokens, StopIDs: s.StopIDs, MinTokens: s.MinTokens, Seed: s.Seed,
	}
	r.Intervals.Seed = s.Seed
	return []*eval.Result{r}, nil
}

// settingsOfRun are those that a run records with an evaluation.
type settingsOfRun struct {
	Problems    int     `json:"problems"`
	Samples     int     `json:"samples"`
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	MinP        float64 `json:"min_p"`
	MaxTokens   int     `json:"max_tokens"`
	MinTokens   int     `json:"min_tokens"`
	StopIDs     []int32 `json:"stop_ids"`
	Seed        uint64  `json:"seed"`
	Grader      string  `json:"grader"`
	Data        string  `json:"data"`
	Prompts     string  `json:"prompts"`
}
