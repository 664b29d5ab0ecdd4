package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"furlong/config"
	"furlong/eval"
	"furlong/metrics/disk"
	"furlong/rl"
)

const evalPurpose = `Evaluates a checkpoint on held-out problems: unbiased pass@k and maj@k with intervals, truncation, what could not be judged. With --results it reads samples that others drew and graded; with --compare it holds two evaluations of the same problems against each other.`

// evalOptions say what furlong eval does, and what it writes.
type evalOptions struct {
	Results string   `flag:"results" help:"evaluate nothing: work the figures out of this file, a JSON object a line with scores (0 and 1, one a sample) and id, or with id and score"`
	Compare []string `flag:"compare" help:"evaluate nothing: compare two evaluations of the same problems, files of --output, of --results, or of a run's eval folder"`
	Ignore  string   `flag:"ignore" choices:"settings" help:"compare although settings differ"`
	K       powers   `flag:"k" help:"the k of pass@k and maj@k, with commas between them; without it 1, 2, 4, ... up to the samples of a problem"`
	Table   bool     `flag:"per-problem" help:"print what became of each problem"`
	JSON    bool     `flag:"json" help:"print the result as one JSON object and nothing else"`
	File    string   `flag:"output" help:"also write the result, problem by problem, to this file"`
}

// Validate reports what is wrong with o, in the words of the flags.
func (o evalOptions) Validate() error {
	var errs []error
	if len(o.Compare) != 0 && len(o.Compare) != 2 {
		errs = append(errs, fmt.Errorf("--compare has %d words, want two files", len(o.Compare)))
	}
	if o.Results != "" && len(o.Compare) > 0 {
		errs = append(errs, errors.New("--results and --compare are both given, want one of them"))
	}
	return errors.Join(append(errs, writable(o.File))...)
}

// writable reports a --output that nothing could be written to when all is done: a directory, or a file in none.
func writable(path string) error {
	if path == "" {
		return nil
	}
	if s, err := os.Stat(path); err == nil && s.IsDir() {
		return fmt.Errorf("--output %s is a directory, want a file", path)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("--output %s: %w", path, err)
	}
	return nil
}

// powers are the k of pass@k, written with commas.
type powers []int

// UnmarshalText reads whole numbers from 1 on.
func (p *powers) UnmarshalText(text []byte) error {
	*p = nil
	for word := range strings.SplitSeq(string(text), ",") {
		k, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || k < 1 || slices.Contains(*p, k) {
			return fmt.Errorf("%q, want different numbers from 1 on, with commas between them", word)
		}
		*p = append(*p, k)
	}
	return nil
}

// MarshalText is the inverse.
func (p powers) MarshalText() ([]byte, error) {
	return []byte(strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(p)), " ", ","), "[]")), nil
}

func runEval(ctx context.Context, e *env) int {
	f := newTrainFlags()
	var o evalOptions
	set := config.New("eval", evalPurpose).Layered("tiny-arithmetic")
	set.Add("Output", &o, &f.talk).Add("Model", &f.model).Add("Evaluation", &f.eval).Add("Sampling", &f.sample)
	set.Add("Rollout engine", &f.rollout).Add("Rollout servers", &f.servers).Add("Data", &f.data).Add("Reward", &f.reward)
	set.Add("Checks", &graded{f}, &evaluates{f}, &evalMode{&o, f, set})
	set.Example("furlong eval", "the model inside the binary, on the recipe's held-out problems")
	set.Example("furlong eval --hf-checkpoint runs/a/checkpoints/step-000100 --output a.json", "a checkpoint of a run, kept for a comparison")
	set.Example("furlong eval --compare before.json after.json", "what changed, and whether it could be chance")
	set.Example("furlong eval --results graded.jsonl --k 1,2,4,8 --json", "the figures of samples that others drew and graded")
	if code, ok := e.parse(set); !ok {
		return code
	}
	f.model.Checkpoint = modelDir(f.model.Checkpoint)
	switch {
	case o.Results != "":
		return e.fail(e.evalResults(o, f.eval.Seed))
	case len(o.Compare) > 0:
		return e.fail(e.evalCompare(o))
	}
	res, err := e.eval(ctx, f, o.K)
	if err != nil {
		return e.fail(err)
	}
	return e.fail(errors.Join(e.printResults(res.Results(), o, res), writeResult(o.File, res)))
}

// An evaluated is what eval found, and of which weights: as the engine attested them. Digests are empty where servers attest nothing.
type evaluated struct {
	eval.Report
	State     rl.Digest `json:"state"`
	Effective rl.Digest `json:"effective"`
	Format    string    `json:"rollout_format"`
	KV        string    `json:"rollout_kv_format"`
}

// writeResult writes the whole result to a file, if one is named.
func writeResult(path string, res any) error {
	if path == "" {
		return nil
	}
	return disk.Replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(res) })
}
