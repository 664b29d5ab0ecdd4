package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"furlong/metrics/samples"
	"furlong/parity"
)

// bodyExt ends the name of a run's file of samples.
const bodyExt = ".fls"

// A chosenSample is one answer of a file of samples, or all answers to a problem.
type chosenSample struct {
	group uint32
	slot  int // -1: all
}

// parseChosen reads PROBLEM or PROBLEM/SAMPLE.
func parseChosen(s string) (c chosenSample, err error) {
	group, slot, one := strings.Cut(s, "/")
	g, err := strconv.ParseUint(group, 10, 32)
	n := int64(-1)
	if err == nil && one {
		n, err = strconv.ParseInt(slot, 10, 32)
	}
	if err != nil || one && n < 0 {
		return c, fmt.Errorf("--samples is %q, want a problem as 1193, or one of its samples as 1193/5", s)
	}
	return chosenSample{uint32(g), int(n)}, nil
}

// checkSamples reports what is wrong with --samples.
func (f tokenFlags) checkSamples() error {
	var errs []error
	for _, s := range f.Samples {
		_, err := parseChosen(s)
		errs = append(errs, err)
	}
	if len(f.Samples) > 0 && filepath.Ext(f.Sequences) != bodyExt {
		errs = append(errs, fmt.Errorf("--samples chooses in a run's file of samples, want --sequences RUN/samples/c000037%s or another of them", bodyExt))
	}
	return errors.Join(errs...)
}

// readSamples reads tokens of a run's file of samples: those that --samples names, or all.
func readSamples(path string, names []string) ([]parity.Sequence, error) {
	b, err := samples.OpenBody(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var chosen []chosenSample
	for _, n := range names {
		c, err := parseChosen(n)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, c)
	}
	var out []parity.Sequence
	found := make([]bool, len(chosen))
	for i, row := range b.Rows {
		wanted := len(chosen) == 0
		for k, c := range chosen {
			if row.Group == c.group && (c.slot < 0 || int(row.Slot) == c.slot) {
				wanted, found[k] = true, true
			}
		}
		if !wanted {
			continue
		}
		s, err := b.Sample(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(s.Response) > 0 {
			out = append(out, parity.Sequence{ID: fmt.Sprintf("%d/%d/%d", b.Cycle, row.Group, row.Slot), Prompt: s.Prompt.Tokens, Response: s.Response})
		}
	}
	for k, ok := range found {
		if !ok {
			return nil, fmt.Errorf("%s holds no sample %s", path, names[k])
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no sample that was asked for has a response", path)
	}
	return out, nil
}
