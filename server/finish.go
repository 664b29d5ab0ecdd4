package server

import (
	"slices"

	"furlong/rl"
)

// What an abort says of itself when nobody gave another message.
const (
	aborted       = "Aborted"
	abortedQueued = "Abort in waiting queue"
)

// close ends a job with its sample and returns the answer.
func (j *job) close(smp *rl.Sample) *answer {
	smp = j.rest(smp)
	now := j.s.now()
	a := &answer{
		rid: j.rid, prompt: j.prompt, tokens: smp.Response, logProbs: smp.LogProbs, told: smp.Told,
		promptLogProbs: smp.PromptLogProbs, promptTold: smp.PromptTold, experts: smp.Experts,
		cached: smp.CachedTokens, retractions: smp.Retractions, budget: j.sampling.MaxTokens,
		took: now.Sub(j.arrived),
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.first.IsZero() {
		a.first = j.first.Sub(j.arrived)
	}
	j.label(a, smp.Versions)
	a.finish = j.reason(smp)
	a.text = j.final(smp, a.finish)
	j.seen.tokens = smp.Response
	j.ended = a
	if j.bell != nil {
		ring(j.bell)
	}
	j.s.series.over(j, a)
	return a
}

// reason says why a sample ended, with the order of checks that the wire knows: aborted, out of budget, nothing can follow, a stop id, a stop text.
func (j *job) reason(smp *rl.Sample) *finish {
	n := len(smp.Response)
	switch {
	case smp.Stop == rl.StopAbort:
		return j.abort(n)
	case n >= j.sampling.MaxTokens || smp.Stop == rl.StopLength:
		return &finish{why: byLength}
	case smp.Stop == rl.StopText && j.reader != nil && j.reader.found:
		return &finish{why: byText, text: j.reader.matched}
	case smp.Stop == rl.StopText && j.stopped.Load():
		return j.abort(n)
	}
	last := smp.Response[n-1]
	return &finish{why: byToken, token: last, grammar: !slices.Contains(j.sampling.StopIDs, last)}
}

func (j *job) abort(tokens int) *finish {
	f := &finish{why: byAbort, text: aborted, status: int(j.fault.Load())}
	if tokens == 0 {
		f.text = abortedQueued
	}
	if m := j.message.Load(); m != nil {
		f.text = *m
	}
	return f
}

// final returns the text of a whole sample: its tokens', without what ended it unless that is kept.
func (j *job) final(smp *rl.Sample, f *finish) string {
	tokens := smp.Response
	switch {
	case j.keep:
	case f.why == byToken && !f.grammar:
		tokens = tokens[:len(tokens)-1]
	case f.why == byText:
		return j.s.decode(tokens, j.special)[:j.reader.cut]
	}
	return j.s.decode(tokens, j.special)
}

// broken ends a job that has no sample: with an abort that carries a status.
func (j *job) broken(err error) *answer {
	j.fault.Store(int32(status(err)))
	text := err.Error()
	j.message.Store(&text)
	a := j.snapshot()
	if a.finish != nil {
		return a
	}
	b := *a
	b.finish = j.abort(len(a.tokens))
	return &b
}
