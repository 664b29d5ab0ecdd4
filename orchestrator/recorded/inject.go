package recorded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"furlong/metrics/rollouts"
	"furlong/rl"
)

// An Injector is a trainer that has another train on recorded samples in the place of those that were drawn. Drawing goes on as it would, and is held against
// the recording: the prompts must be the recorded ones, and so must most tokens of the responses. So two runs whose weights differ in their last bits train on the
// same samples, and an engine that serves wrong weights is noticed all the same.
type Injector struct {
	rl.TrainEngine
	Path     rollouts.Path
	From     int     // the first cycle whose samples are recorded ones
	MinMatch float64 // least mean share of a response's tokens that are the recorded ones
	Limits
	Fits func(*rl.Sample) error                      // reports what else keeps a sample from training; nil: nothing does
	Told func(cycle int, path string, m Match) error // is told how far the two agree; nil: nobody is
}

// A Match says how far drawn responses are the recorded ones: of each the share of places that hold the same token, the longer of the two being 1.
type Match struct {
	Mean, Least float64
}

// Probe reports files that are missing or cut off, from the first cycle that needs one up to the last of the run.
func (in *Injector) Probe(last int) error {
	for c := in.From; c <= last; c++ {
		if err := rollouts.Probe(in.Path.Of(c)); err != nil {
			return fmt.Errorf("recorded rollouts of cycle %d, to be injected: %w", c, err)
		}
	}
	return nil
}

// Step trains on the batch, or on what is recorded of its cycle: the batch's samples then become the recorded ones.
func (in *Injector) Step(ctx context.Context, b *rl.Batch) (rl.Stats, error) {
	if b.Cycle >= in.From {
		if err := in.inject(b); err != nil {
			return nil, fmt.Errorf("injection: %w", err)
		}
	}
	return in.TrainEngine.Step(ctx, b)
}

func (in *Injector) inject(b *rl.Batch) error {
	path := in.Path.Of(b.Cycle)
	had, err := rollouts.Read(path)
	if err != nil {
		return err
	}
	if err := in.Own(had); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if had.Cycle > 0 && had.Cycle != b.Cycle {
		return fmt.Errorf("%s: holds cycle %d of its run, want %d", path, had.Cycle, b.Cycle)
	}
	if err := in.pair(b.Samples, had.Samples); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m := matchOf(b.Samples, had.Samples)
	if in.Told != nil {
		if err := in.Told(b.Cycle, path, m); err != nil {
			return err
		}
	}
	if m.Mean < in.MinMatch {
		return fmt.Errorf("%s: %.4f of the tokens that were drawn are the recorded ones (of one response %.4f), want at least %v: does the rollout engine serve the trainer's weights?",
			path, m.Mean, m.Least, in.MinMatch)
	}
	replace(b.Samples, had.Samples)
	return nil
}

// pair reports samples that are not those of one batch: as many, of the same prompts, each fit to train.
func (in *Injector) pair(drawn, had []*rl.Sample) error {
	if len(drawn) != len(had) {
		return fmt.Errorf("holds %d samples, want %d, as many as were drawn", len(had), len(drawn))
	}
	for i, s := range had {
		d := drawn[i]
		err := in.Check(s)
		switch {
		case err != nil:
		case !slices.Equal(s.Prompt.Tokens, d.Prompt.Tokens) || s.Index != d.Index:
			err = fmt.Errorf("it is sample %d of prompt %s, and sample %d of prompt %s was drawn: want the recording of a run with the same prompts in the same order", s.Index, s.Prompt.ID, d.Index, d.Prompt.ID)
		case s.Verdict == rl.Ungraded:
			err = errors.New("it has no verdict")
		case in.Fits != nil:
			err = in.Fits(s)
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	}
	return nil
}

// matchOf compares responses in pairs.
func matchOf(drawn, had []*rl.Sample) Match {
	m := Match{Mean: 1, Least: 1}
	sum := 0.0
	for i, s := range had {
		share := agreement(drawn[i].Response, s.Response)
		sum, m.Least = sum+share, min(m.Least, share)
	}
	if len(had) > 0 {
		m.Mean = sum / float64(len(had))
	}
	return m
}

// agreement returns the share of places at which two responses have the same token; 1 if there is no place.
func agreement(a, b []int32) float64 {
	places, same := max(len(a), len(b)), 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			same++
		}
	}
	if places == 0 {
		return 1
	}
	return float64(same) / float64(places)
}

// replace makes drawn samples the recorded ones. They keep their requests and prompts; versions move so that the newest is the newest that was drawn under.
func replace(drawn, had []*rl.Sample) {
	now, then := newest(drawn), newest(had)
	for i, s := range had {
		own := *rollouts.Untrained(s)
		own.Request, own.Prompt = drawn[i].Request, drawn[i].Prompt
		own.Versions = moved(s.Versions, now, then.Count())
		*drawn[i] = own
	}
}

// newest returns the newest version of samples.
func newest(all []*rl.Sample) (v rl.Version) {
	for _, s := range all {
		for _, sp := range s.Versions {
			if sp.Version.Count() > v.Count() {
				v = sp.Version
			}
		}
	}
	return v
}

// moved returns spans as old against version v as they were against the count of the newest then. Those that would be older than the first version become one of it.
func moved(spans []rl.Span, v rl.Version, newest int) []rl.Span {
	var s rl.Sample
	for _, sp := range spans {
		count := max(1, v.Count()-newest+sp.Version.Count())
		s.Label(rl.NewVersion(v.Epoch(), count), sp.Tokens)
	}
	return s.Versions
}
