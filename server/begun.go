package server

import (
	"slices"

	"furlong/api/sglang"
	"furlong/rl"
	"furlong/rollout/sample"
)

// Who goes on with a response that was begun sends its tokens behind the prompt's, as to any server of the dialect, and gets the tokens that follow. Only
// response_start_len says where the response began, so that seeds, penalties and lengths count from there, and the whole is the one drawn at once.

// begins takes up where a response began.
func begins(g *sglang.Generate, p sglang.Params, sp *spec) error {
	if g.ResponseStart == nil {
		return nil
	}
	start, n := *g.ResponseStart, len(sp.prompt)
	switch {
	case g.InputIDs.IsZero():
		return bad("response_start_len is %d and there are no input_ids, want them", start)
	case start < 1 || start > n:
		return bad("response_start_len is %d, want 1 to the length of input_ids (%d)", start, n)
	case len(sp.stops)+len(sp.regexes) > 0 || sp.grammar != nil:
		return bad("response_start_len is there beside a stop text or a grammar, want none: what was begun is not read as text")
	case start < n && slices.Contains(sp.sampling.StopIDs, sp.prompt[n-1]):
		return bad("input_ids end with %d, which is a stop id, want a response that has not ended", sp.prompt[n-1])
	}
	sp.begun = n - start
	return nil
}

// resume has a request go on with what was begun. Of that the server knows no more than the tokens: what else a sample says of them is made up, and told nobody.
func (j *job) resume(r *rl.Request) {
	if j.begun == 0 {
		return
	}
	r.Sampling.MaxTokens += j.begun
	if r.Sampling.MinTokens > 0 {
		r.Sampling.MinTokens += j.begun
	}
	b := &rl.Sample{Response: j.prompt[len(j.prompt)-j.begun:], LogProbs: make([]float32, j.begun), Told: make([]rl.Told, j.begun)}
	if sample.Truncates(r.Sampling) {
		b.TruncLogProbs = b.LogProbs
	}
	b.Label(j.s.engine.Version(), j.begun)
	r.Begun = b
}

// rest returns of a sample what came after the tokens that were begun.
func (j *job) rest(s *rl.Sample) *rl.Sample {
	if j.begun == 0 {
		return s
	}
	r, n := *s, j.begun
	r.Response, r.LogProbs, r.Versions = s.Response[n:], s.LogProbs[n:], nil
	if s.Told != nil {
		r.Told = s.Told[n:]
	}
	for _, span := range s.Versions {
		skip := min(n, span.Tokens)
		r.Label(span.Version, span.Tokens-skip)
		n -= skip
	}
	return &r
}
