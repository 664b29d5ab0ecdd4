package rltest

import (
	"slices"

	"furlong/rl"
)

// fakeVocab is how many tokens a fake knows of. A policy may say others.
const fakeVocab = 512

// unlikelier is by how much any other token is less likely than the one that a policy says, in nats.
const unlikelier = 1

// choose returns what the policy says, or the next token that may follow, as unlikely as it is.
func (f *Fake) choose(s *rl.Sample, r rl.Request) (int32, float32) {
	token, logprob := f.policy(f.version, r, s.Response)
	if r.Constraint == nil && r.Sampling.MinTokens == 0 {
		return token, logprob
	}
	may := allowed(s, r, token)
	for n := int32(len(may)); n > 0 && !may[token]; n-- {
		if token = (token + 1) % int32(len(may)); may[token] {
			logprob -= unlikelier
		}
	}
	return token, logprob
}

// allowed says which tokens may follow.
func allowed(s *rl.Sample, r rl.Request, token int32) []bool {
	may := make([]bool, max(fakeVocab, int(token)+1))
	if r.Constraint != nil {
		r.Constraint.Allow(may)
	} else {
		for i := range may {
			may[i] = true
		}
	}
	for _, id := range r.Sampling.StopIDs {
		if len(s.Response) < r.Sampling.MinTokens && id >= 0 && int(id) < len(may) {
			may[id] = false
		}
	}
	return may
}

// stop tells everybody who wants to know of the last token, and returns why the response ends with it, if it does.
func stop(s *rl.Sample, r rl.Request) rl.Stop {
	token, done, end := s.Response[len(s.Response)-1], false, false
	if c := r.Constraint; c != nil {
		c.Accept(token)
		done = c.Done()
	}
	if r.Watch != nil {
		end = r.Watch(s)
	}
	switch {
	case done:
		return rl.StopText
	case slices.Contains(r.Sampling.StopIDs, token):
		return rl.StopToken
	case end:
		return rl.StopText
	case len(s.Response) == r.Sampling.MaxTokens:
		return rl.StopLength
	}
	return rl.Unfinished
}

// score scores the last tokens of the prompt: each as what the policy says after those before it, or as another token.
func (f *Fake) score(s *rl.Sample, r rl.Request) {
	tokens := r.Prompt.Tokens
	for pos := len(tokens) - r.Report.Tail + len(s.PromptLogProbs); pos < len(tokens); pos++ {
		before := r
		before.Prompt = &rl.Prompt{ID: r.Prompt.ID, Tokens: tokens[:pos]}
		before.Sampling.Temperature = 0
		said, logprob := f.policy(f.version, before, nil)
		s.PromptLogProbs = append(s.PromptLogProbs, of(tokens[pos], said, logprob))
		if tells(r) {
			s.PromptTold = append(s.PromptTold, tell(r.Report, said, logprob))
		}
	}
}

// of returns a token's logprob where the policy says another one.
func of(token, said int32, logprob float32) float32 {
	if token != said {
		logprob -= unlikelier
	}
	return logprob
}

func tells(r rl.Request) bool { return r.Report.Top > 0 || len(r.Report.Among) > 0 }

// tell returns what a report asks for where the policy says a token.
func tell(r rl.Report, said int32, logprob float32) (t rl.Told) {
	for id := int32(0); len(t.Top) < r.Top; id++ {
		if len(t.Top) == 0 {
			t.Top = append(t.Top, rl.Alternative{Token: said, LogProb: logprob})
		}
		if id != said && len(t.Top) < r.Top {
			t.Top = append(t.Top, rl.Alternative{Token: id, LogProb: of(id, said, logprob)})
		}
	}
	for _, id := range r.Among {
		t.Among = append(t.Among, of(id, said, logprob))
	}
	return t
}
