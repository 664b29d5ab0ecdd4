package server

import (
	"math"
	"net/http"

	"furlong/api/openai"
	"furlong/api/sglang"
	"furlong/rl"
)

// completionTokens is how long completions may be that say nothing of it.
const completionTokens = 16

// completions answers POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	raw := s.json(w, r)
	if raw == nil {
		return
	}
	c, err := openai.ReadCompletion(raw)
	if err != nil {
		s.refuse(w, r, bad("%w", err))
		return
	}
	p, err := s.planCompletion(c)
	switch {
	case err != nil:
		s.refuse(w, r, err)
	case c.Stream:
		s.streamCompletion(w, r, c, p)
	default:
		s.replyCompletion(w, r, c, p)
	}
}

// planCompletion checks a request and turns it into specs.
func (s *Server) planCompletion(c *openai.Completion) (*plan, error) {
	limit := or(c.MaxTokens, completionTokens)
	if limit < 1 {
		return nil, bad("max_tokens is %d, want at least 1", limit)
	}
	ps, err := params(c.Sampling, &limit)
	if err != nil {
		return nil, err
	}
	g, err := wished(&c.Options, ps)
	if err != nil {
		return nil, err
	}
	if c.Prompt.Len() == 0 {
		return nil, bad("prompt is missing, want a text, ids, or a list of either")
	}
	if c.Prompt.IDs != nil {
		g.InputIDs = sglang.IDs{Lists: c.Prompt.IDs, Many: c.Prompt.Many}
	} else {
		g.Text = sglang.Each[string]{Values: c.Prompt.Texts, Many: c.Prompt.Many}
	}
	if c.LogProbs != nil {
		g.ReturnLogProb, g.TopLogProbs = sglang.One(true), sglang.One(*c.LogProbs)
		if c.Echo {
			g.LogProbStart = sglang.One(new(0))
		}
	}
	return s.plan(g)
}

func (s *Server) replyCompletion(w http.ResponseWriter, r *http.Request, c *openai.Completion, p *plan) {
	answers, err := s.all(r.Context(), p.specs)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	choices := make([]openai.CompletionChoice, len(answers))
	for i, a := range answers {
		choices[i] = s.completion(c, p, i, a, &delta{})
	}
	out := s.envelope(openai.ObjectCompletion, &c.Options, answers[0].rid)
	out.Choices = choices
	s.closing(&out, p, answers, or(c.N, 1))
	s.soon(w)
	write(w, http.StatusOK, out)
}

func (s *Server) streamCompletion(w http.ResponseWriter, r *http.Request, c *openai.Completion, p *plan) {
	t := &talk{s: s, w: w, r: r, base: s.envelope(openai.ObjectCompletion, &c.Options, p.specs[0].rid), usage: &openai.StreamOptions{}}
	if c.StreamOptions != nil {
		t.usage = c.StreamOptions
	}
	sent := make([]delta, len(p.specs))
	t.run(r.Context(), p, or(c.N, 1), func(i int, a *answer) error { return t.send(s.completion(c, p, i, a, &sent[i])) })
}

// completion returns what an answer has beyond what was sent of it.
func (s *Server) completion(c *openai.Completion, p *plan, i int, a *answer, sent *delta) openai.CompletionChoice {
	out := openai.CompletionChoice{Index: i, Text: sent.more(a.text)}
	out.FinishReason, out.MatchedStop = ended(a)
	first := !sent.prompt
	if c.Echo && first {
		out.Text = s.echo(c, i, a) + out.Text
	}
	if c.LogProbs != nil {
		out.LogProbs = s.completionLogProbs(a, sent.tokens, c.Echo && first)
	}
	if c.ReturnTokenIDs {
		out.TokenIDs = a.tokens[sent.tokens:]
	}
	if first && (c.ReturnPromptIDs || c.ReturnTokenIDs) {
		out.PromptTokenIDs = a.prompt
	}
	if c.ReturnMeta {
		out.Meta = new(s.wire(a, &p.wants[i]).Meta)
	}
	sent.tokens, sent.prompt = len(a.tokens), true
	return out
}

// more returns what text has beyond what was sent. A stop that was found late may have shortened it: then nothing.
func (d *delta) more(text string) string {
	from := min(d.text, len(text))
	d.text = max(d.text, len(text))
	return text[from:]
}

// echo returns the text of a prompt: as it came, or of its ids.
func (s *Server) echo(c *openai.Completion, i int, a *answer) string {
	if c.Prompt.IDs != nil {
		return s.decode(a.prompt, true)
	}
	return c.Prompt.Texts[i/or(c.N, 1)]
}

// completionLogProbs returns the lists of logprobs from a token on, those of the prompt before them where it is echoed.
func (s *Server) completionLogProbs(a *answer, from int, echo bool) *openai.CompletionLogProbs {
	out := &openai.CompletionLogProbs{Tokens: []string{}, TokenLogProbs: []openai.LogProb{}, TopLogProbs: []map[string]openai.Float{}, TextOffset: []int{}}
	if echo {
		nan := float32(math.NaN())
		s.addLogProbs(out, a.prompt, append([]float32{nan}, a.promptLogProbs...), append([]rl.Told{{}}, a.promptTold...))
	}
	var told []rl.Told
	if a.told != nil {
		told = a.told[from:]
	}
	s.addLogProbs(out, a.tokens[from:], a.logProbs[from:], told)
	return out
}

func (s *Server) addLogProbs(out *openai.CompletionLogProbs, tokens []int32, logProbs []float32, told []rl.Told) {
	for k, t := range tokens {
		lp := openai.LogProb(math.NaN())
		if k < len(logProbs) { // a prompt that was not computed has none
			lp = openai.LogProb(logProbs[k])
		}
		var top map[string]openai.Float
		if k < len(told) && len(told[k].Top) > 0 {
			top = map[string]openai.Float{}
			for _, alt := range told[k].Top {
				top[s.spell(alt.Token)] = openai.Float(alt.LogProb)
			}
		}
		out.Tokens, out.TokenLogProbs = append(out.Tokens, s.spell(t)), append(out.TokenLogProbs, lp)
		out.TopLogProbs, out.TextOffset = append(out.TopLogProbs, top), append(out.TextOffset, -1)
	}
}
