package server

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"furlong/api/sglang"
	"furlong/rl"
)

// wanted checks what answers are to tell, and asks the engine to report it.
func (s *Server) wanted(g *sglang.Generate, i int, sp *spec) (want, error) {
	n := len(sp.prompt)
	w := want{
		logProbs: g.ReturnLogProb.At(i), start: or(g.LogProbStart.At(i), -1), top: g.TopLogProbs.At(i), among: g.TokenIDsLogProb.At(i),
		texts: g.ReturnTextInLogProbs, prompt: g.ReturnPromptTokenIDs, experts: g.ReturnRoutedExperts, expertsFrom: g.RoutedExpertsStart,
	}
	switch {
	case w.start < -1 || w.start > n:
		return w, bad("logprob_start_len is %d, want -1 (outputs only) to the prompt's length (%d)", w.start, n)
	case w.top < 0:
		return w, bad("top_logprobs_num is %d, want 0 or more", w.top)
	case w.experts && (w.expertsFrom < 0 || w.expertsFrom > n):
		return w, bad("routed_experts_start_len is %d, want 0 to the prompt's length (%d)", w.expertsFrom, n)
	}
	for _, id := range w.among {
		if id < 0 || int(id) >= s.parts.Model.Vocab {
			return w, bad("token_ids_logprob holds %d, want 0 to %d", id, s.parts.Model.Vocab-1)
		}
	}
	if w.start == -1 {
		w.start = n
	}
	if !w.logProbs {
		w.start, w.top, w.among = n, 0, nil
	}
	if sp.begun > 0 && w.start < n {
		return w, bad("logprob_start_len is %d beside response_start_len, want none: the prompt was scored when the response began", w.start)
	}
	sp.report = rl.Report{Tail: max(0, n-w.start-1), Top: min(w.top, s.parts.Model.Vocab), Among: w.among, Experts: w.experts}
	return w, nil
}

// wire puts an answer into the words of the native dialect.
func (s *Server) wire(a *answer, w *want) sglang.Answer {
	out := sglang.Answer{OutputIDs: a.tokens, Meta: sglang.Meta{
		ID: a.rid, Finish: wireFinish(a), PromptTokens: len(a.prompt), CompletionTokens: len(a.tokens), CachedTokens: a.cached,
		CachedTokensDetails: &sglang.CachedDetails{Device: a.cached}, WeightVersion: a.version, Retractions: a.retractions,
	}}
	if out.OutputIDs == nil {
		out.OutputIDs = []int32{}
	}
	if s.parts.Tokenizer != nil {
		out.Text = &a.text
	}
	for _, sp := range a.spans {
		out.Meta.WeightVersions = append(out.Meta.WeightVersions, sglang.Span{Version: sp.version, Start: sp.start, End: sp.end})
	}
	if a.finish != nil {
		out.Meta.Latency = new(sglang.Seconds(a.took.Seconds()))
	}
	if w.prompt {
		out.PromptTokenIDs = a.prompt
	}
	if w.logProbs {
		s.wireLogProbs(&out.Meta, a, w)
	}
	if w.experts && a.finish != nil {
		out.Meta.RoutedExperts = new(packExperts(a, w.expertsFrom))
	}
	return out
}

func wireFinish(a *answer) *sglang.Finish {
	f := a.finish
	if f == nil {
		return nil
	}
	switch f.why {
	case byToken:
		return &sglang.Finish{Type: sglang.FinishStop, Token: &f.token}
	case byText:
		return &sglang.Finish{Type: sglang.FinishStop, Matched: &f.text}
	case byLength:
		return &sglang.Finish{Type: sglang.FinishLength, Length: a.budget}
	}
	out := &sglang.Finish{Type: sglang.FinishAbort, Message: f.text, Status: f.status}
	if f.status != 0 {
		out.Kind = kindOf(f.status)
	}
	return out
}

// kindOf names the kind of failure that has a status.
func kindOf(status int) string {
	switch status {
	case 400:
		return "BadRequestError"
	case 503:
		return "ServiceUnavailableError"
	}
	return "InternalServerError"
}

// wireLogProbs fills all lists of logprobs.
func (s *Server) wireLogProbs(m *sglang.Meta, a *answer, w *want) {
	m.OutputLogProbs = s.triples(a.tokens, a.logProbs, w.texts)
	m.OutputLogProbsLength = new(len(a.tokens))
	m.InputLogProbs = sglang.Triples{}
	shown := a.prompt[w.start:]
	if len(shown) > 0 {
		nan := float32(math.NaN())
		m.InputLogProbs = s.triples(shown, append([]float32{nan}, a.promptLogProbs...), w.texts)
	}
	if w.top > 0 {
		m.InputTop, m.OutputTop = []sglang.Triples{}, s.tops(a.told, w.texts)
		if len(shown) > 0 {
			m.InputTop = append([]sglang.Triples{nil}, s.tops(a.promptTold, w.texts)...)
		}
	}
	if len(w.among) > 0 {
		m.InputAmong, m.OutputAmong = []sglang.Triples{}, s.amongs(a.told, w)
		if len(shown) > 0 {
			m.InputAmong = append([]sglang.Triples{nil}, s.amongs(a.promptTold, w)...)
		}
	}
}

// triples pairs tokens with logprobs. A logprob that is missing is none: the prompt was not computed when its sample ended.
func (s *Server) triples(tokens []int32, logProbs []float32, texts bool) sglang.Triples {
	out := make(sglang.Triples, len(tokens))
	for i, t := range tokens {
		lp := float32(math.NaN())
		if i < len(logProbs) {
			lp = logProbs[i]
		}
		out[i] = s.triple(t, lp, texts)
	}
	return out
}

func (s *Server) triple(token int32, logProb float32, text bool) sglang.Triple {
	t := sglang.Triple{LogProb: logProb, Token: token}
	if text {
		t.Text = new(s.spell(token))
	}
	return t
}

func (s *Server) tops(told []rl.Told, texts bool) []sglang.Triples {
	out := make([]sglang.Triples, len(told))
	for i, t := range told {
		out[i] = make(sglang.Triples, len(t.Top))
		for k, alt := range t.Top {
			out[i][k] = s.triple(alt.Token, alt.LogProb, texts)
		}
	}
	return out
}

func (s *Server) amongs(told []rl.Told, w *want) []sglang.Triples {
	out := make([]sglang.Triples, len(told))
	for i, t := range told {
		out[i] = s.triples(w.among, t.Among, w.texts)
	}
	return out
}

// packExperts returns the rows of all tokens but the last from one on, in base64.
func packExperts(a *answer, from int) string {
	kept := a.experts.From(min(from, a.experts.Len()))
	raw := make([]byte, 0, 4*len(kept))
	for _, e := range kept {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(e))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
