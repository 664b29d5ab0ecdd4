package gather

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"furlong/rl"
)

// A piecer is an engine that draws as many tokens as it is told to and then ends as it is told to. What it draws says by whom and where it was drawn, so that whoever finds a token
// knows whether it is in its place.
type piecer struct {
	version rl.Version
	tokens  int    // of each request of the next call
	end     ending // of the next call
	tool    int    // one in so many tokens of what it draws is another's; 0: none
	spoil   func(*rl.Sample)
	asked   []rl.Request // the last call's
}

// An ending is how a call of a piecer ends.
type ending int

const (
	whole  ending = iota // samples go on to their ends, by a stop id
	text                 // samples go on to their ends, where whoever watches them says
	cutOff               // they are aborted after some tokens
	struck               // the call breaks after some tokens
	absent               // the call breaks before the first
)

// The shape of the model that a piecer plays: two layers of 300 experts, an indexer in one that reads two of the windows of three tokens.
var (
	routesOf  = rl.NewRoutes(2, 2, 300)
	entriesOf = rl.NewEntries([]int{1}, 3, 2)
)

const stopID = 7

// tokenAt is the token at a place of a response: it says the version that drew it, the sample, and the place.
func tokenAt(v rl.Version, index, place int) int32 {
	return int32(v.Count()<<16 | index<<12 | place + 16)
}

func logProbAt(token int32) float32 { return -float32(token%4096)/64 - 0.25 }

// expertsAt and entriesAt are the choices of the token at a place of prompt and response.
func expertsAt(pos int) []int32 {
	return []int32{int32(pos % 300), int32((pos + 1) % 300), int32((pos * 7) % 300), int32((pos*7 + 3) % 300)}
}

func entriesAt(pos int) []int32 {
	n := int32(pos+1) / int32(entriesOf.Rate)
	if n <= int32(entriesOf.Most) {
		return slices.Collect(func(yield func(int32) bool) {
			for i := range n {
				if !yield(i) {
					return
				}
			}
		})
	}
	return []int32{int32(pos) % (n - 1), n - 1}
}

func (p *piecer) Version() rl.Version                      { return p.version }
func (p *piecer) Pause(context.Context) error              { return nil }
func (p *piecer) Resume(context.Context) error             { return nil }
func (p *piecer) Update(context.Context, rl.Weights) error { return nil }

// Generate draws one request after the other.
func (p *piecer) Generate(_ context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	p.asked = reqs
	return func(yield func(*rl.Sample, error) bool) {
		if p.end == absent {
			yield(nil, errBroken)
			return
		}
		for i, r := range reqs {
			if err := r.CheckBegun(); err != nil {
				yield(nil, err)
				return
			}
			s := p.draw(r)
			if p.end == struck && i == len(reqs)-1 {
				yield(nil, errBroken)
				return
			}
			if p.spoil != nil {
				p.spoil(s)
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// draw draws what is asked for, as far as this call goes.
func (p *piecer) draw(r rl.Request) *rl.Sample {
	s := r.Begin()
	done := func() bool {
		n := len(s.Response)
		switch {
		case n > 0 && slices.Contains(r.Sampling.StopIDs, s.Response[n-1]):
			s.Stop = rl.StopToken
		case n >= r.Sampling.MaxTokens:
			s.Stop = rl.StopLength
		}
		return s.Stop != rl.Unfinished
	}
	if done() {
		return s // at once, whatever rows it has
	}
	for n := 0; n < p.tokens && !done(); n++ {
		p.grow(r, s)
	}
	done()
	switch {
	case s.Stop != rl.Unfinished:
	case p.end == whole:
		p.add(r, s, stopID)
		s.Stop = rl.StopToken
	case p.end == text && len(s.Response) > 0:
		s.Stop = rl.StopText
	case p.end == text:
		p.grow(r, s)
		s.Stop = rl.StopText
	default:
		s.Stop = rl.StopAbort
	}
	p.rows(r, s)
	return s
}

// grow draws the next token, or has a tool say it.
func (p *piecer) grow(r rl.Request, s *rl.Sample) {
	p.add(r, s, tokenAt(p.version, r.Index, len(s.Response)))
}

// add adds a token with all that is told of it.
func (p *piecer) add(r rl.Request, s *rl.Sample, token int32) {
	s.Response, s.LogProbs = append(s.Response, token), append(s.LogProbs, logProbAt(token))
	if r.Sampling.TopK > 0 {
		s.TruncLogProbs = append(s.TruncLogProbs, logProbAt(token)/2)
	}
	if r.Report.Top > 0 {
		s.Told = append(s.Told, rl.Told{Top: []rl.Alternative{{Token: token, LogProb: logProbAt(token)}}})
	}
	for len(s.PromptLogProbs) < r.Report.Tail {
		s.PromptLogProbs = append(s.PromptLogProbs, -1)
		if r.Report.Top > 0 {
			s.PromptTold = append(s.PromptTold, rl.Told{Top: []rl.Alternative{{Token: 1, LogProb: -1}}})
		}
	}
	s.Label(p.version, 1)
	if r.Watch != nil {
		r.Watch(s)
	}
}

// rows adds the rows of all tokens that were run and have none yet. Of a sample that was aborted the last run may be missing.
func (p *piecer) rows(r rl.Request, s *rl.Sample) {
	end := len(s.Prompt.Tokens) + len(s.Response) - 1
	if s.Stop == rl.StopAbort {
		end = max(0, end-1)
	}
	if r.Report.Experts {
		if s.Experts == nil {
			s.Experts = routesOf.Like()
		}
		for pos := s.Experts.Len(); pos < end; pos++ {
			s.Experts.Add(expertsAt(pos))
		}
	}
	if r.Report.Entries {
		if s.Entries == nil {
			s.Entries = entriesOf.Like()
		}
		for pos := s.Entries.Len(); pos < end; pos++ {
			s.Entries.Add(s.Entries.Pack(nil, pos, entriesAt(pos)))
		}
	}
}

// sound holds a sample against what a piecer draws, without a look at what the product checks.
func sound(s *rl.Sample, r Run) error {
	n, rows := len(s.Response), len(s.Prompt.Tokens)+len(s.Response)-1
	if len(s.LogProbs) != n || n > r.Sampling.MaxTokens || s.LossMask != nil && len(s.LossMask) != n {
		return fmt.Errorf("%d tokens of at most %d, %d logprobs, mask of %d", n, r.Sampling.MaxTokens, len(s.LogProbs), len(s.LossMask))
	}
	if r.Sampling.TopK > 0 != (len(s.TruncLogProbs) == n) && n > 0 || r.Report.Top > 0 != (len(s.Told) == n) && n > 0 || n > 0 && len(s.PromptLogProbs) != r.Report.Tail {
		return fmt.Errorf("%d tokens, %d truncated logprobs, %d told of, %d of the prompt", n, len(s.TruncLogProbs), len(s.Told), len(s.PromptLogProbs))
	}
	place := 0
	for i, sp := range s.Versions {
		if sp.Tokens < 1 || i > 0 && s.Versions[i-1].Version.Count() >= sp.Version.Count() {
			return fmt.Errorf("versions are %v", s.Versions)
		}
		for range sp.Tokens {
			if place >= n {
				return fmt.Errorf("%d tokens of versions %v", n, s.Versions)
			}
			want := tokenAt(sp.Version, s.Index, place)
			if place == n-1 && s.Stop == rl.StopToken {
				want = stopID
			}
			if got := s.Response[place]; got != want || s.LogProbs[place] != logProbAt(want) {
				return fmt.Errorf("token %d is %#x with %v, want %#x of version %v", place, got, s.LogProbs[place], want, sp.Version)
			}
			place++
		}
	}
	if place != n {
		return fmt.Errorf("%d tokens of versions %v", n, s.Versions)
	}
	return errors.Join(soundRoutes(s, r.Report.Experts, rows), soundEntries(s, r.Report.Entries, rows))
}

func soundRoutes(s *rl.Sample, asked bool, rows int) error {
	if got := s.Experts.Len(); got > rows || over(s) && asked && got != rows || !asked && s.Experts != nil {
		return fmt.Errorf("experts of %d tokens, want %d", got, rows)
	}
	for pos := range s.Experts.Len() {
		if got, want := append(s.Experts.At(nil, pos, 0), s.Experts.At(nil, pos, 1)...), expertsAt(pos); !slices.Equal(got, want) {
			return fmt.Errorf("the token at %d went to %v, want %v", pos, got, want)
		}
	}
	return nil
}

func soundEntries(s *rl.Sample, asked bool, rows int) error {
	if got := s.Entries.Len(); got > rows || over(s) && asked && got != rows || !asked && s.Entries != nil {
		return fmt.Errorf("entries of %d tokens, want %d", got, rows)
	}
	if s.Entries == nil {
		return nil
	}
	if err := s.Entries.Check([]int{1}, 3, 2); err != nil {
		return err
	}
	left := s.Entries.Rows[0]
	for pos := range s.Entries.Tokens {
		var got []int32
		var err error
		if got, left, err = s.Entries.Unpack(nil, pos, left); err != nil || !slices.Equal(got, entriesAt(pos)) {
			return fmt.Errorf("the token at %d reads %v, want %v (%w)", pos, got, entriesAt(pos), err)
		}
	}
	return nil
}

// A piecer's draws are what sound wants, and the latter finds what is wrong.
func TestPiecer(t *testing.T) {
	r := Run{Sampling: rl.DefaultSampling(), Report: rl.Report{Experts: true, Entries: true, Top: 1, Tail: 1}}
	r.Sampling.MaxTokens = 30
	req := rl.Request{Prompt: &rl.Prompt{Tokens: []int32{1, 2, 3}}, Sampling: r.Sampling, Report: r.Report}
	for name, spoil := range map[string]func(s *rl.Sample){
		"": func(*rl.Sample) {}, "token": func(s *rl.Sample) { s.Response[2]++ }, "twice": func(s *rl.Sample) { s.Response[3] = s.Response[2] },
		"logprob": func(s *rl.Sample) { s.LogProbs[0]++ }, "version": func(s *rl.Sample) { s.Versions[0].Version++ }, "experts": func(s *rl.Sample) { s.Experts.Rows[9]++ },
		"entries": func(s *rl.Sample) { s.Entries.Rows[0][len(s.Entries.Rows[0])-1] ^= 1 }, "rows": func(s *rl.Sample) { s.Experts = s.Experts.Head(4) },
		"told": func(s *rl.Sample) { s.Told = s.Told[1:] }, "mask": func(s *rl.Sample) { s.LossMask = make([]bool, 2) },
	} {
		p := &piecer{version: 1, tokens: 20}
		s := p.draw(req)
		spoil(s)
		if err := sound(s, r); (err == nil) != (name == "") {
			t.Errorf("spoilt in %q: %v", name, err)
		}
	}
}
