package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"furlong/data"
	"furlong/data/arithmetic"
	rundir "furlong/metrics/run"
	"furlong/reward"
)

// An evalSet is a held-out set with the settings that hold for it: its own go before the defaults of its file, those before --eval-*, and those before
// --rollout-* and what training has.
type evalSet struct {
	name, file string
	flags      evalFlags // Data, keys, Problems and Samples are the set's own
	data       data.Config
	sample     sampleFlags
	stops      []int32
	minTokens  int
	reward     reward.Config
	ownLength  bool // max_response_len is in the file
}

// A setSettings is what --eval-config can say of a set, or of all sets.
type setSettings struct {
	Samples     *int     `json:"n_samples_per_eval_prompt"`
	Problems    *int     `json:"problems"` // the first so many, 0 for all
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	TopK        *int     `json:"top_k"`
	MinP        *float64 `json:"min_p"`
	MaxTokens   *int     `json:"max_response_len"`
	MinTokens   *int     `json:"min_new_tokens"`
	StopIDs     []int32  `json:"stop_token_ids"` // besides the end of a response
	Grader      *string  `json:"rm_type"`
	InputKey    *string  `json:"input_key"`
	LabelKey    *string  `json:"label_key"`
	MetadataKey *string  `json:"metadata_key"`
}

// An evalConfig is the file of --eval-config.
type evalConfig struct {
	Defaults setSettings `json:"defaults"`
	Datasets []struct {
		Name string `json:"name"`
		Path string `json:"path"`
		setSettings
	} `json:"datasets"`
}

// readEvalConfig reads a file of --eval-config. What it does not know is an error that names it.
func readEvalConfig(path string) (*evalConfig, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--eval-config: %w", err)
	}
	if isYAML(path) {
		if b, err = yamlToJSON(b); err != nil {
			return nil, fmt.Errorf("--eval-config: %s: %w", path, err)
		}
	}
	var c evalConfig
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(&c)
	if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) && kind.Field != "" {
		return nil, fmt.Errorf("--eval-config: %s: %s is a %s, want a value of another type", path, strings.Replace(kind.Field, "setSettings.", "", 1), kind.Value)
	}
	if err != nil {
		return nil, fmt.Errorf("--eval-config: %s: want defaults and datasets, as YAML in a file that ends in .yaml, else as a JSON object: %w", path, err)
	}
	if d.More() {
		return nil, fmt.Errorf("--eval-config: %s: holds more than one JSON object", path)
	}
	if len(c.Datasets) == 0 {
		return nil, fmt.Errorf("--eval-config: %s: datasets is empty, want at least one", path)
	}
	for i, s := range c.Datasets {
		if s.Name == "" || s.Path == "" {
			return nil, fmt.Errorf("--eval-config: %s: datasets[%d] has name %q and path %q, want both", path, i, s.Name, s.Path)
		}
	}
	return &c, nil
}

// evalSets returns the held-out sets that the flags name, none for nothing.
func (f *trainFlags) evalSets() (all []*evalSet, err error) {
	switch {
	case f.eval.Config != "":
		c, err := readEvalConfig(f.eval.Config)
		if err != nil {
			return nil, err
		}
		for _, d := range c.Datasets {
			all = append(all, f.evalSet(d.Name, d.Path).with(c.Defaults).with(d.setSettings))
		}
	case len(f.eval.Data) > 0:
		for i := 0; i < len(f.eval.Data); i += 2 {
			all = append(all, f.evalSet(f.eval.Data[i], f.eval.Data[i+1]))
		}
	case f.eval.name(f.data) != "":
		all = append(all, f.evalSet(arithmetic.Set, ""))
	}
	return all, f.checkSets(all)
}

// evalSet returns a set with the settings of the flags.
func (f *trainFlags) evalSet(name, file string) *evalSet {
	s := &evalSet{name: name, file: file, flags: f.eval, data: f.data, sample: f.eval.sample(f.sample), reward: f.reward}
	s.flags.Data, s.flags.Config = nil, ""
	if file != "" {
		s.flags.Data = []string{name, file}
	}
	if s.reward.Type == "" && file == "" {
		s.reward.Type = recipeGrader
	}
	return s
}

// with takes over what is said.
func (s *evalSet) with(c setSettings) *evalSet {
	set(&s.flags.Samples, c.Samples)
	set(&s.flags.Problems, c.Problems)
	set(&s.flags.InputKey, c.InputKey)
	set(&s.flags.LabelKey, c.LabelKey)
	set(&s.data.MetadataKey, c.MetadataKey)
	set(&s.sample.Temperature, c.Temperature)
	set(&s.sample.TopP, c.TopP)
	set(&s.sample.TopK, c.TopK)
	set(&s.sample.MinP, c.MinP)
	set(&s.sample.MaxTokens, c.MaxTokens)
	set(&s.minTokens, c.MinTokens)
	set(&s.reward.Type, c.Grader)
	if c.StopIDs != nil {
		s.stops = c.StopIDs
	}
	s.ownLength = s.ownLength || c.MaxTokens != nil
	return s
}

// checkSets reports everything that is wrong with the sets.
func (f *trainFlags) checkSets(all []*evalSet) error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range all {
		if seen[s.name] {
			errs = append(errs, fmt.Errorf("evaluation set %s: its name is there twice", s.name))
		}
		seen[s.name] = true
		for _, err := range s.wrong(f.rollout.Context) {
			errs = append(errs, fmt.Errorf("evaluation set %s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// wrong returns what is wrong with a set.
func (s *evalSet) wrong(context int) (errs []error) {
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	add(rundir.CheckEvalName(s.name))
	add(s.flags.Validate())
	add(s.sample.check("eval"))
	add(s.reward.Validate())
	if s.reward.Type == "" {
		add(errors.New("there is neither rm_type nor --rm-type: how are its responses judged?"))
	}
	if s.ownLength && s.sample.MaxTokens >= context {
		add(fmt.Errorf("--context-length is %d, want more than its max_response_len (%d)", context, s.sample.MaxTokens))
	}
	if s.minTokens < 0 || s.minTokens > s.sample.MaxTokens {
		add(fmt.Errorf("min_new_tokens is %d, want 0 to its longest response (%d)", s.minTokens, s.sample.MaxTokens))
	}
	return errs
}

// openHeldOut reads a set and makes its grader, once the grader has seen the labels.
func (j *job) openHeldOut(ctx context.Context, s *evalSet) (*heldOut, error) {
	open := func(c data.Config) (*data.Set, error) {
		return j.openData(c, j.policy.tok, j.f.model.Checkpoint, j.f.talk)
	}
	prompts, err := s.flags.prompts(open, s.data, j.policy.tok, j.f.rollout.Context, j.log)
	if err != nil {
		return nil, err
	}
	grades := j.grades
	if s.reward != j.f.reward {
		if grades, err = grader(s.reward); err != nil {
			return nil, err
		}
	}
	if err := j.gradable(ctx, grades, s.name, prompts); err != nil {
		return nil, err
	}
	sampling := s.sample.sampling(j.policy.tok)
	sampling.Seed, sampling.MinTokens = s.flags.Seed, s.minTokens
	sampling.StopIDs = append(sampling.StopIDs, s.stops...)
	return &heldOut{s.name, s.file, prompts, s.flags.Samples, sampling, s.reward.Type, grades}, nil
}
