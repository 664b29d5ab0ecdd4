package rl

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A part is a list that goes with a sample's tokens, and how long it has to be.
type part struct {
	name        string
	have        int
	least, most int
}

// check reports the first part that is too short or too long.
func check(parts []part) error {
	for _, p := range parts {
		switch {
		case p.least == p.most && p.have != p.most:
			return fmt.Errorf("%d %s, want %d", p.have, p.name, p.most)
		case p.have < p.least || p.have > p.most:
			return fmt.Errorf("%d %s, want %d to %d", p.have, p.name, p.least, p.most)
		}
	}
	return nil
}

// unless returns n, or 0 where there is nothing that could be so long.
func unless(none bool, n int) int {
	if none {
		return 0
	}
	return n
}

// Check reports what keeps s from being a sample, whoever holds it and however far it is drawn. Lists over the response have an entry a token; those that may be left
// out have that or none. Versions cover the response, each span ends where the next version begins, and versions do not go back. Choices are of tokens that were run: of all but the last
// at most.
func (s *Sample) Check() error {
	if s.Prompt == nil || len(s.Prompt.Tokens) == 0 {
		return errors.New("its prompt has no tokens, want at least one")
	}
	n, rows := len(s.Response), len(s.Prompt.Tokens)+len(s.Response)-1
	err := check([]part{
		{"logprobs", len(s.LogProbs), n, n},
		{"truncated logprobs", len(s.TruncLogProbs), unless(len(s.TruncLogProbs) == 0, n), n},
		{"marks of tokens that train", len(s.LossMask), unless(s.LossMask == nil, n), n},
		{"positions that are told of", len(s.Told), unless(len(s.Told) == 0, n), n},
		{"logprobs of the prompt", len(s.PromptLogProbs), 0, len(s.Prompt.Tokens) - 1},
		{"positions of the prompt that are told of", len(s.PromptTold), unless(len(s.PromptTold) == 0, len(s.PromptLogProbs)), len(s.PromptLogProbs)},
		{"trainer logprobs", len(s.TrainLogProbs), unless(len(s.TrainLogProbs) == 0, n), n},
		{"reference logprobs", len(s.RefLogProbs), unless(len(s.RefLogProbs) == 0, n), n},
		{"entropies", len(s.Entropy), unless(len(s.Entropy) == 0, n), n},
		{"rows of experts", s.Experts.Len(), 0, rows},
		{"rows of the trainer's experts", s.TrainExperts.Len(), 0, rows},
		{"rows of entries", s.Entries.Len(), 0, rows},
	})
	if err != nil {
		return fmt.Errorf("%d tokens have %w", n, err)
	}
	return errors.Join(s.checkVersions(), s.Experts.whole("its experts"), s.TrainExperts.whole("the trainer's experts"), s.Entries.whole())
}

// checkVersions reports spans that do not say of each token once which version chose it.
func (s *Sample) checkVersions() error {
	labelled := 0
	for i, sp := range s.Versions {
		switch {
		case sp.Tokens < 1:
			return fmt.Errorf("versions are %v, want at least one token in each span", s.Versions)
		case i > 0 && s.Versions[i-1].Version == sp.Version:
			return fmt.Errorf("versions are %v, want spans of one version merged", s.Versions)
		case i > 0 && s.Versions[i-1].Version.Count() > sp.Version.Count():
			return fmt.Errorf("versions are %v, want none before an earlier one", s.Versions)
		}
		labelled += sp.Tokens
	}
	if labelled != len(s.Response) {
		return fmt.Errorf("%d tokens have versions %v, which are of %d", len(s.Response), s.Versions, labelled)
	}
	return nil
}

// whole reports bytes that are no row.
func (r *Routes) whole(what string) error {
	if r == nil || r.Layers*r.Choices == 0 && len(r.Rows) == 0 {
		return nil
	}
	if row := r.Layers * r.RowBytes(); row == 0 || len(r.Rows)%row != 0 {
		return fmt.Errorf("%s have %d bytes, want a multiple of the %d of a token", what, len(r.Rows), row)
	}
	return nil
}

// whole reports layers without rows. What rows hold is looked at where they are read.
func (e *Entries) whole() error {
	if e != nil && len(e.Rows) != len(e.Layers) {
		return fmt.Errorf("its entries have rows of %d layers, want %d", len(e.Rows), len(e.Layers))
	}
	return nil
}

// CheckSample reports what keeps s from being the answer to r: besides what [Sample.Check] says, that it is of this request, goes on from what was begun without a change to it, keeps to the
// budget that it was drawn with, and tells all that was asked for. One that was aborted may tell less of what is computed anyway when it goes on.
func (r Request) CheckSample(s *Sample) error {
	if s.Prompt == nil || s.Index != r.Index || !slices.Equal(s.Prompt.Tokens, r.Prompt.Tokens) {
		return fmt.Errorf("it is sample %d of its prompt, or of another prompt, want sample %d", s.Index, r.Index)
	}
	if err := s.Check(); err != nil {
		return err
	}
	if err := r.goesOn(s); err != nil {
		return err
	}
	n, rows, ended := len(s.Response), len(s.Prompt.Tokens)+len(s.Response)-1, s.Stop != StopAbort
	if s.Stop == Unfinished {
		return fmt.Errorf("it has %d tokens and does not say why it ended", n)
	}
	err := check([]part{
		{"rows of experts", s.Experts.Len(), unless(!r.Report.Experts || !ended, rows), rows},
		{"rows of entries", s.Entries.Len(), unless(!r.Report.Entries || !ended, rows), rows},
		{"positions that are told of", len(s.Told), unless(!r.Report.tells(), n), n},
		{"logprobs of the prompt", len(s.PromptLogProbs), unless(!ended, r.Report.Tail), len(s.Prompt.Tokens)},
	})
	if err != nil {
		return fmt.Errorf("%d tokens have %w", n, err)
	}
	return nil
}

// goesOn reports a response that does not begin with what was begun, or is longer than it may be. What was begun under a larger budget stays.
func (r Request) goesOn(s *Sample) error {
	b, n := r.Begun, len(s.Response)
	if most := max(s.Sampling.MaxTokens, b.Len()); n > most {
		return fmt.Errorf("it has %d tokens, want at most %d", n, most)
	}
	if b.Len() > n {
		return fmt.Errorf("it has %d tokens, want at least the %d that were begun", n, b.Len())
	}
	if b.Len() == 0 {
		return nil
	}
	if got, want := head(s.Versions, b.Len()), head(b.Versions, b.Len()); !slices.Equal(got, want) {
		return fmt.Errorf("its first %d tokens are of versions %v, want %v as they were begun", b.Len(), got, want)
	}
	for i := range b.Len() {
		if s.Response[i] != b.Response[i] || math.Float32bits(s.LogProbs[i]) != math.Float32bits(b.LogProbs[i]) {
			return fmt.Errorf("token %d of %d is %d with logprob %v, want %d with %v as it was begun", i, n, s.Response[i], s.LogProbs[i], b.Response[i], b.LogProbs[i])
		}
	}
	return nil
}

// head returns the spans of the first n tokens, neighbours of one version merged.
func head(spans []Span, n int) []Span {
	var s Sample
	for _, sp := range spans {
		take := min(n, sp.Tokens)
		s.Label(sp.Version, take)
		n -= take
	}
	return s.Versions
}
