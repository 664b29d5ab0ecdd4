package rl

import (
	"errors"
	"fmt"
	"slices"
)

// CheckBegun reports what keeps Begun from being the beginning of what r asks for. Which tokens there are, and whether truncated logprobs are needed, is the
// engine's to check.
func (r Request) CheckBegun() error {
	b := r.Begun
	if b == nil || len(b.Response) == 0 {
		return nil
	}
	if b.Prompt != nil && r.Prompt != nil && !slices.Equal(b.Prompt.Tokens, r.Prompt.Tokens) {
		return errors.New("what is begun has another prompt")
	}
	n, rows, labelled := len(b.Response), len(r.Prompt.Tokens)+len(b.Response)-1, 0
	for _, span := range b.Versions {
		labelled += span.Tokens
	}
	for _, part := range []struct {
		name  string
		have  int
		fewer bool // there may be: what misses is computed again
		want  int
		asked bool
	}{
		{"logprobs", len(b.LogProbs), false, n, true},
		{"truncated logprobs", len(b.TruncLogProbs), false, n, len(b.TruncLogProbs) > 0},
		{"tokens with a version", labelled, false, n, true},
		{"positions that are told of", len(b.Told), false, n, r.Report.tells()},
		{"logprobs of the prompt", len(b.PromptLogProbs), false, r.Report.Tail, true},
		{"positions of the prompt that are told of", len(b.PromptTold), false, r.Report.Tail, r.Report.tells()},
		{"rows of experts", b.Experts.Len(), true, rows, r.Report.Experts},
		{"rows of entries", b.Entries.Len(), true, rows, r.Report.Entries},
	} {
		if part.asked && (part.have > part.want || part.have < part.want && !part.fewer) {
			return fmt.Errorf("%d tokens are begun with %d %s, want %d", n, part.have, part.name, part.want)
		}
	}
	return nil
}

// tells reports whether r asks for more than logprobs at positions that have one.
func (r Report) tells() bool { return r.Top > 0 || len(r.Among) > 0 }

// Begin returns the sample that r asks for as far as it is begun: an empty one, or a copy of Begun under the request's names with what the report asks for.
// Without a token nothing is taken over but how often it was retracted.
func (r Request) Begin() *Sample {
	s := &Sample{Request: r.ID, Prompt: r.Prompt, Index: r.Index, Sampling: r.Sampling}
	b := r.Begun
	if b == nil {
		return s
	}
	s.Retractions = b.Retractions
	if len(b.Response) == 0 {
		return s
	}
	s.Response, s.LogProbs, s.TruncLogProbs = slices.Clone(b.Response), slices.Clone(b.LogProbs), slices.Clone(b.TruncLogProbs)
	for _, span := range b.Versions {
		s.Label(span.Version, span.Tokens)
	}
	if s.PromptLogProbs = slices.Clone(b.PromptLogProbs); r.Report.tells() {
		s.Told, s.PromptTold = slices.Clone(b.Told), slices.Clone(b.PromptTold)
	}
	if r.Report.Experts {
		s.Experts = b.Experts.Clone()
	}
	if r.Report.Entries {
		s.Entries = b.Entries.Clone()
	}
	return s
}

// Len returns the number of the response's tokens, 0 for no sample at all.
func (s *Sample) Len() int {
	if s == nil {
		return 0
	}
	return len(s.Response)
}

// Label says that a version chose the n tokens that come next in Versions.
func (s *Sample) Label(v Version, n int) {
	switch last := len(s.Versions) - 1; {
	case n == 0:
	case last >= 0 && s.Versions[last].Version == v:
		s.Versions[last].Tokens += n
	default:
		s.Versions = append(s.Versions, Span{Version: v, Tokens: n})
	}
}

// Cut leaves the first n tokens of a response that has more, with what goes with them; it is then unfinished. Rows of entries, which are of different lengths, go altogether: who draws on
// computes them again.
func (s *Sample) Cut(n int) {
	if n = max(n, 0); n >= len(s.Response) {
		return
	}
	s.Response, s.Versions, s.Stop, s.Text = s.Response[:n:n], head(s.Versions, n), Unfinished, ""
	s.LogProbs, s.TruncLogProbs, s.Told, s.LossMask = first(s.LogProbs, n), first(s.TruncLogProbs, n), first(s.Told, n), first(s.LossMask, n)
	s.TrainLogProbs, s.RefLogProbs, s.Entropy = first(s.TrainLogProbs, n), first(s.RefLogProbs, n), first(s.Entropy, n)
	rows := len(s.Prompt.Tokens) + n - 1
	s.Experts, s.TrainExperts, s.Entries = s.Experts.Head(min(rows, s.Experts.Len())), s.TrainExperts.Head(min(rows, s.TrainExperts.Len())), nil
}

// first returns the first n members of a list, or of none none.
func first[T any](list []T, n int) []T {
	n = min(n, len(list))
	return list[:n:n]
}
