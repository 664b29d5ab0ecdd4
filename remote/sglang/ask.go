package sglang

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"furlong/api/sglang"
	"furlong/rl"
)

// ask returns what a server is sent for a request. Seeds travel with their bits as a signed number, since the dialect's are signed. What was begun is sent behind
// the prompt; starts says whether the server may be told where it began.
func ask(r rl.Request, rid, salt string, starts bool) *sglang.Generate {
	n := r.Begun.Len()
	left := r.Sampling
	left.MaxTokens, left.MinTokens = left.MaxTokens-n, max(0, left.MinTokens-n)
	ids := r.Prompt.Tokens
	if n > 0 {
		ids = slices.Concat(ids, r.Begun.Response)
	}
	g := &sglang.Generate{
		InputIDs: sglang.OneIDs(ids), RID: sglang.One(rid), Params: sglang.One(params(left)),
		ReturnLogProb: sglang.One(true), ReturnRoutedExperts: r.Report.Experts,
	}
	if n > 0 && starts {
		g.ResponseStart = new(len(r.Prompt.Tokens))
	}
	if r.Report.Tail > 0 && n == 0 {
		g.LogProbStart = sglang.One(new(len(r.Prompt.Tokens) - r.Report.Tail - 1)) // the first of the list has no logprob
	}
	if r.Report.Top > 0 {
		g.TopLogProbs = sglang.One(r.Report.Top)
	}
	if len(r.Report.Among) > 0 {
		g.TokenIDsLogProb = sglang.OneIDs(r.Report.Among)
	}
	if key := r.Space + salt; key != "" {
		g.ExtraKey = sglang.One(key)
	}
	return g
}

// params spells how tokens are drawn. Everything is said, so that no default of a server counts. Without stop ids the server's own are off too.
func params(p rl.Sampling) sglang.Params {
	topK := p.TopK
	if topK == 0 {
		topK = -1
	}
	w := sglang.Params{
		MaxNewTokens: sglang.AtMost(p.MaxTokens), Temperature: new(p.Temperature), TopP: new(p.TopP), TopK: &topK, MinP: new(p.MinP),
		StopTokenIDs: p.StopIDs, SkipSpecialTokens: new(false), SpacesBetween: new(false), NoStopTrim: new(true), IgnoreEOS: new(len(p.StopIDs) == 0),
		SamplingSeed: new(int64(p.Seed)), N: new(1),
	}
	if p.MinTokens > 0 {
		w.MinNewTokens = new(p.MinTokens)
	}
	if p.RepetitionPenalty != 0 {
		w.RepetitionPenalty = new(p.RepetitionPenalty)
	}
	if p.FrequencyPenalty != 0 {
		w.FrequencyPenalty = new(p.FrequencyPenalty)
	}
	if p.PresencePenalty != 0 {
		w.PresencePenalty = new(p.PresencePenalty)
	}
	for _, b := range p.Bias {
		if w.LogitBias == nil {
			w.LogitBias = map[string]float64{}
		}
		w.LogitBias[strconv.Itoa(int(b.Token))] = float64(b.Add)
	}
	return w
}

// check reports what no server can be asked for, or what needs no server to be called wrong.
func (e *Engine) check(r rl.Request) error {
	switch {
	case r.Report.Entries:
		return errors.New("is to tell which entries it reads, which no server does")
	case r.Report.Experts && e.opt.Routes == nil:
		return errors.New("is to tell its experts, and this engine was not told of which model")
	case r.Prompt == nil || len(r.Prompt.Tokens) == 0:
		return errors.New("has no prompt")
	case r.Constraint != nil:
		return errors.New("has a constraint, which a server can't be sent")
	case r.Watch != nil:
		return errors.New("is watched, and a server calls nobody after each token")
	case r.Sampling.MaxTokens < 0 || r.Sampling.MaxTokens == 0 && r.Report.Tail == 0:
		return fmt.Errorf("most tokens are %d, want at least 1", r.Sampling.MaxTokens)
	case r.Report.Tail < 0 || r.Report.Tail >= len(r.Prompt.Tokens):
		return fmt.Errorf("the last %d of %d tokens of the prompt are to be scored, want at most all but the first", r.Report.Tail, len(r.Prompt.Tokens))
	}
	if err := r.CheckBegun(); err != nil {
		return err
	}
	return e.resumable(r)
}

// resumable reports what keeps servers from going on with what was begun. One that is not told where the response began counts penalties from there on.
func (e *Engine) resumable(r rl.Request) error {
	p := r.Sampling
	if r.Begun.Len() == 0 || p.FrequencyPenalty == 0 && p.PresencePenalty == 0 && (p.RepetitionPenalty == 0 || p.RepetitionPenalty == 1) {
		return nil
	}
	for _, s := range e.servers {
		if !s.found.Starts {
			return fmt.Errorf("goes on after %d tokens with penalties, and %s cannot be told which tokens they are of: want none", r.Begun.Len(), s.url)
		}
	}
	return nil
}

// over returns the sample of a request of which nothing is left to draw; nil if there is something.
func over(r rl.Request) *rl.Sample {
	n := r.Begun.Len()
	if n == 0 {
		return nil
	}
	s := r.Begin()
	switch {
	case slices.Contains(r.Sampling.StopIDs, s.Response[n-1]):
		s.Stop = rl.StopToken
	case n >= r.Sampling.MaxTokens:
		s.Stop = rl.StopLength
	default:
		return nil
	}
	return s
}
