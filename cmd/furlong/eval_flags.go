package main

import (
	"errors"
	"fmt"
	"log/slog"

	"furlong/data"
	"furlong/data/arithmetic"
	"furlong/rl"
	"furlong/tokenizer"
)

// evalFlags say on what, how often and how a policy is evaluated.
type evalFlags struct {
	Data        []string `flag:"eval-prompt-data" help:"held-out sets: a name and a file of each, jsonl or Parquet; without it, the recipe's held-out problems if it also makes the prompts"`
	Config      string   `flag:"eval-config" help:"JSON or YAML file of held-out sets with settings of their own, in place of --eval-prompt-data"`
	InputKey    string   `flag:"eval-input-key" help:"key of the prompt in it; without it, --input-key"`
	LabelKey    string   `flag:"eval-label-key" help:"key of the label in it; without it, --label-key"`
	Problems    int      `flag:"eval-problems" help:"held-out problems of the recipe; of a file, the first so many, 0 for all"`
	Samples     int      `flag:"n-samples-per-eval-prompt" help:"samples of a problem"`
	Seed        uint64   `flag:"eval-seed" help:"seed of problems, draws and intervals"`
	Temperature *float64 `flag:"eval-temperature" help:"as --rollout-temperature, which it is without it"`
	TopP        *float64 `flag:"eval-top-p" help:"as --rollout-top-p, which it is without it"`
	TopK        *int     `flag:"eval-top-k" help:"as --rollout-top-k, which it is without it"`
	MaxTokens   *int     `flag:"eval-max-response-len" help:"as --rollout-max-response-len, which it is without it"`
}

func defaultEval() evalFlags { return evalFlags{Problems: 256, Samples: 8, Seed: 1234} }

// Validate reports everything that is wrong with f, in the words of the flags.
func (f evalFlags) Validate() error {
	var errs []error
	if len(f.Data)%2 != 0 {
		errs = append(errs, fmt.Errorf("--eval-prompt-data has %d words, want a name and a file for each set", len(f.Data)))
	}
	if len(f.Data) > 0 && f.Config != "" {
		errs = append(errs, errors.New("--eval-prompt-data and --eval-config are both given, want one of them"))
	}
	if f.Samples < 1 {
		errs = append(errs, fmt.Errorf("--n-samples-per-eval-prompt is %d, want at least 1", f.Samples))
	}
	if f.Problems < 0 {
		errs = append(errs, fmt.Errorf("--eval-problems is %d, want 0 or more", f.Problems))
	}
	return errors.Join(errs...)
}

// files reports whether held-out problems come from files.
func (f evalFlags) files() bool { return len(f.Data) > 0 || f.Config != "" }

// name returns the name of the first set, or of the file that names them, "" when there is none.
func (f evalFlags) name(train data.Config) string {
	switch {
	case len(f.Data) > 0:
		return f.Data[0]
	case f.Config != "":
		return f.Config
	case train.File == "" && f.Problems > 0:
		return arithmetic.Set
	}
	return ""
}

// prompts returns the held-out problems, all of which fit into a context. Files are opened by open. What is left out of one is logged.
func (f evalFlags) prompts(open func(data.Config) (*data.Set, error), train data.Config, tok tokenizer.Tokenizer, context int, log *slog.Logger) ([]*rl.Prompt, error) {
	if len(f.Data) == 0 {
		return arithmetic.HeldOut(tok, f.Seed, f.Problems)
	}
	c := train
	c.File, c.Shuffle = f.Data[1], false
	if f.InputKey != "" {
		c.InputKey = f.InputKey
	}
	if f.LabelKey != "" {
		c.LabelKey = f.LabelKey
	}
	set, err := open(c)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	all, err := set.Prompts()
	if err != nil {
		return nil, err
	}
	if f.Problems > 0 && f.Problems < len(all) {
		all = all[:f.Problems]
	}
	log.Info("held-out data loaded", "set", f.Data[0], "problems", len(all), "left_out", set.Len()-len(all))
	return all, fit(set.Report().File, all, context)
}

// sample returns how responses are drawn: as in rollout, but for what f says.
func (f evalFlags) sample(s sampleFlags) sampleFlags {
	set(&s.Temperature, f.Temperature)
	set(&s.TopP, f.TopP)
	set(&s.TopK, f.TopK)
	set(&s.MaxTokens, f.MaxTokens)
	return s
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
