package sglang

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"furlong/api/sglang"
	"furlong/rl"
)

// errBad says that an answer is not one to what was asked.
var errBad = errors.New("bad answer")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errBad}, args...)...)
}

// A reading turns an answer into a sample, holding it to the request.
type reading struct {
	r     rl.Request
	rid   string
	a     *sglang.Answer
	sent  rl.Version            // served when the request was sent
	given map[string]rl.Version // versions that servers were given, by label
	stray bool                  // it ended at a token that was no stop id
	shape *rl.Routes            // of no tokens: which model's experts are told
	had   int                   // tokens that were begun; the answer has those behind them
}

// sample returns the sample that an answer is.
func (x *reading) sample() (*rl.Sample, error) {
	m, s := &x.a.Meta, x.r.Begin()
	x.had = len(s.Response)
	s.CachedTokens, s.Retractions = m.CachedTokens, s.Retractions+m.Retractions
	if x.had > 0 {
		s.CachedTokens = min(s.CachedTokens, len(s.Prompt.Tokens))
	}
	for _, step := range []func(*rl.Sample) error{x.whose, x.tokens, x.ending, x.versions, x.prompt, x.told, x.experts} {
		if err := step(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// whose checks that the answer belongs to the request.
func (x *reading) whose(*rl.Sample) error {
	m := &x.a.Meta
	if m.ID != x.rid {
		return bad("id is %q, want %q", m.ID, x.rid)
	}
	if n := len(x.r.Prompt.Tokens) + x.r.Begun.Len(); m.PromptTokens != 0 && m.PromptTokens != n { // 0: an answer out of the queue does not say
		return bad("prompt_tokens is %d, want %d", m.PromptTokens, n)
	}
	if m.Finish == nil {
		return bad("it has no finish_reason")
	}
	return nil
}

// tokens reads ids and logprobs, which come together.
func (x *reading) tokens(s *rl.Sample) error {
	m := &x.a.Meta
	n := len(m.OutputLogProbs)
	if m.CompletionTokens != n || n > x.r.Sampling.MaxTokens-x.had {
		return bad("%d tokens with %d logprobs, want as many and at most %d", m.CompletionTokens, n, x.r.Sampling.MaxTokens-x.had)
	}
	for i, t := range m.OutputLogProbs {
		if err := plausible(t); err != nil {
			return bad("token %d: %w", i, err)
		}
		s.Response, s.LogProbs = append(s.Response, t.Token), append(s.LogProbs, t.LogProb)
	}
	if x.a.OutputIDs != nil && !slices.Equal(x.a.OutputIDs, s.Response[x.had:]) && n+len(x.a.OutputIDs) > 0 {
		return bad("output_ids differ from the tokens of output_token_logprobs")
	}
	return nil
}

// most is what rounding may leave the logprob of the likeliest token above 0.
const most = 1e-4

func plausible(t sglang.Triple) error {
	if t.Token < 0 || !(t.LogProb <= most) || math.IsInf(float64(t.LogProb), 0) {
		return fmt.Errorf("token is %d with logprob %v, want an id and a finite logprob of at most 0", t.Token, t.LogProb)
	}
	return nil
}

// nanHappened is what SGLang says of weights that compute no numbers, as if a stop had been hit.
const nanHappened = "NaN happened"

// ending reads why the response ended. A stop id on the last slot is "length" on the wire.
func (x *reading) ending(s *rl.Sample) error {
	f, n := x.a.Meta.Finish, len(s.Response)
	hit := n > x.had && slices.Contains(x.r.Sampling.StopIDs, s.Response[n-1])
	switch {
	case f.Type == sglang.FinishStop && f.Matched != nil && *f.Matched == nanHappened:
		return fmt.Errorf("%w: the server says %q", rl.ErrBroken, nanHappened)
	case f.Type == sglang.FinishAbort && f.Status >= 400:
		return &statusError{"/generate", f.Status, f.Message}
	case f.Type == sglang.FinishAbort:
		s.Stop = rl.StopAbort
	case f.Type == sglang.FinishStop:
		return x.stopped(s, hit)
	case f.Type == sglang.FinishLength && hit:
		s.Stop = rl.StopToken
	case f.Type == sglang.FinishLength && n == x.r.Sampling.MaxTokens:
		s.Stop = rl.StopLength
	case f.Type == sglang.FinishLength:
		return &statusError{"/generate", 400, fmt.Sprintf("the server has room for %d tokens of a response, want %d: its context or memory is too small", n, x.r.Sampling.MaxTokens)}
	default:
		return bad("finish_reason is %q, want stop, length or abort", f.Type)
	}
	return nil
}

// stopped reads a stop: at a token, which should be one of the request's, or at text.
func (x *reading) stopped(s *rl.Sample, hit bool) error {
	f, n := x.a.Meta.Finish, len(s.Response)
	switch {
	case n == x.had:
		return bad("it stopped before the first token")
	case f.Token != nil && *f.Token != s.Response[n-1]:
		return bad("it stopped at token %d, and the last is %d", *f.Token, s.Response[n-1])
	case hit:
		s.Stop = rl.StopToken
	case f.Token != nil:
		s.Stop, x.stray = rl.StopToken, true
	default:
		s.Stop = rl.StopText
	}
	return nil
}

// versions reads which weights chose the tokens. A server that labels the answer as a whole has used one version, or nobody can tell.
func (x *reading) versions(s *rl.Sample) error {
	m, at, n := &x.a.Meta, 0, len(s.Response)-x.had
	spans := m.WeightVersions
	if spans == nil {
		if v, ok := x.given[m.WeightVersion]; ok && v != x.sent {
			return bad("it began under version %v and ended under %v, and does not say which tokens are whose", x.sent, v)
		}
		spans = []sglang.Span{{Version: m.WeightVersion, Start: 0, End: n}}
	}
	for _, sp := range spans {
		v, ok := x.given[sp.Version]
		switch {
		case !ok:
			return fmt.Errorf("%w: weight_version is %q, which this engine never gave it", errStale, sp.Version)
		case sp.Start != at || sp.End < sp.Start || sp.End > n:
			return bad("weight_versions are %v, want spans without gaps up to %d", spans, n)
		}
		at = sp.End
		s.Label(v, sp.End-sp.Start)
	}
	if at != n {
		return bad("weight_versions are %v, want spans without gaps up to %d", spans, n)
	}
	return nil
}

// prompt reads the logprobs of the prompt's last tokens. The list begins one before, without a logprob.
func (x *reading) prompt(s *rl.Sample) error {
	n := x.r.Report.Tail
	if n == 0 || s.Stop == rl.StopAbort || x.had > 0 {
		return nil
	}
	list, tail := x.a.Meta.InputLogProbs, x.r.Prompt.Tokens[len(x.r.Prompt.Tokens)-n:]
	if len(list) != n+1 {
		return bad("%d logprobs of the prompt, want %d", len(list), n+1)
	}
	for i, t := range list[1:] {
		if t.Token != tail[i] {
			return bad("token %d of the scored ones is %d, want %d", i, t.Token, tail[i])
		}
		if err := plausible(t); err != nil {
			return bad("prompt: token %d: %w", i, err)
		}
		s.PromptLogProbs = append(s.PromptLogProbs, t.LogProb)
	}
	return nil
}

// told reads what else is told at each position.
func (x *reading) told(s *rl.Sample) (err error) {
	if x.r.Report.Top == 0 && len(x.r.Report.Among) == 0 {
		return nil
	}
	m := &x.a.Meta
	told, err := x.positions(m.OutputTop, m.OutputAmong, len(s.Response)-x.had)
	if err != nil {
		return err
	}
	if s.Told = append(s.Told, told...); s.Told == nil {
		s.Told = told
	}
	if s.PromptLogProbs == nil || x.had > 0 {
		return nil
	}
	s.PromptTold, err = x.positions(after(m.InputTop), after(m.InputAmong), len(s.PromptLogProbs))
	return err
}

// after returns a list without its first member.
func after(list []sglang.Triples) []sglang.Triples { return list[min(1, len(list)):] }

func (x *reading) positions(top, among []sglang.Triples, n int) ([]rl.Told, error) {
	out := make([]rl.Told, n)
	if x.r.Report.Top > 0 && len(top) != n || len(x.r.Report.Among) > 0 && len(among) != n {
		return nil, bad("alternatives of %d and %d positions, want %d", len(top), len(among), n)
	}
	for i := range out {
		if x.r.Report.Top > 0 {
			for _, t := range top[i] {
				out[i].Top = append(out[i].Top, rl.Alternative{Token: t.Token, LogProb: t.LogProb})
			}
		}
		for _, want := range x.r.Report.Among {
			k := slices.IndexFunc(among[i], func(t sglang.Triple) bool { return t.Token == want })
			if k < 0 {
				return nil, bad("position %d does not tell token %d", i, want)
			}
			out[i].Among = append(out[i].Among, among[i][k].LogProb)
		}
	}
	return out, nil
}

// experts reads which experts tokens went to: all tokens but the last, whose turn never came.
func (x *reading) experts(s *rl.Sample) error {
	if !x.r.Report.Experts || s.Stop == rl.StopAbort && x.a.Meta.RoutedExperts == nil {
		return nil
	}
	if x.a.Meta.RoutedExperts == nil {
		return &statusError{"/generate", 400, "it does not tell experts: start it with --enable-return-routed-experts"}
	}
	raw, err := base64.StdEncoding.DecodeString(*x.a.Meta.RoutedExperts)
	rows, row := len(s.Prompt.Tokens)+len(s.Response)-1, x.shape.Layers*x.shape.Choices
	if err != nil || len(raw) != 4*rows*row && s.Stop != rl.StopAbort || len(raw)%(4*row) != 0 {
		return bad("routed_experts have %d bytes for %d tokens, want %d a token: %d experts in each of %d layers (%v)", len(raw), rows, 4*row, x.shape.Choices, x.shape.Layers, err)
	}
	experts := make([]int32, min(len(raw)/4, rows*row)) // an aborted one's last token may have been run
	for i := range experts {
		if experts[i] = int32(binary.LittleEndian.Uint32(raw[4*i:])); experts[i] < 0 || int(experts[i]) >= x.shape.Experts {
			return bad("routed_experts: token %d goes to expert %d, want less than %d", i/row, experts[i], x.shape.Experts)
		}
	}
	if s.Experts == nil {
		s.Experts = x.shape.Like()
	}
	if known := s.Experts.Len() * row; known < len(experts) { // what was begun keeps the rows of its own passes
		s.Experts.Add(experts[known:])
	}
	return nil
}
