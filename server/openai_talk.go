package server

import (
	"net/http"

	"furlong/api/openai"
	"furlong/chat"
	"furlong/rl"
)

// A speaker streams one answer.
type speaker struct {
	s      *Server
	t      *talk
	c      *conversation
	index  int
	parser *chat.Parser
	sent   delta
	calls  int
}

func (s *Server) streamChat(w http.ResponseWriter, r *http.Request, c *conversation) {
	t := &talk{s: s, w: w, r: r, base: s.envelope(openai.ObjectChunk, &c.Options, c.specs[0].rid), usage: &openai.StreamOptions{}}
	if c.StreamOptions != nil {
		t.usage = c.StreamOptions
	}
	speakers := make([]*speaker, len(c.specs))
	for i := range speakers {
		speakers[i] = &speaker{s: s, t: t, c: c, index: i, parser: chat.NewParser(c.start)}
	}
	t.run(r.Context(), c.plan, len(speakers), func(i int, a *answer) error { return speakers[i].tell(a) })
}

// tell sends what an answer has beyond what was sent of it: the role at first, then what has become certain, and why it ended at last.
func (p *speaker) tell(a *answer) error {
	if !p.sent.prompt {
		p.sent.prompt = true
		if err := p.send(openai.Delta{Role: "assistant", Content: new("")}, nil); err != nil {
			return err
		}
	}
	if err := p.deltas(a); err != nil || a.finish == nil {
		return err
	}
	out := openai.ChunkChoice{Index: p.index}
	out.FinishReason, out.MatchedStop = endedChat(a, p.calls)
	return p.t.send(out)
}

// deltas sends thoughts, content and calls, each in a frame of its own; the first of them has the logprobs of all tokens that are new.
func (p *speaker) deltas(a *answer) error {
	d := p.parser.Next(p.sent.more(a.text))
	if a.finish != nil {
		last, err := p.parser.End()
		if err != nil { // the client has it as content
			p.s.log.Info("answer has calls that can't be read", "rid", a.rid, "error", err.Error())
		}
		d = chat.Delta{Reasoning: d.Reasoning + last.Reasoning, Content: d.Content + last.Content, Calls: append(d.Calls, last.Calls...)}
	}
	var lp *openai.ChatLogProbs
	if p.c.LogProbs && len(a.tokens) > p.sent.tokens {
		lp = p.s.chatLogProbs(a, p.sent.tokens)
	}
	p.sent.tokens = len(a.tokens)
	for _, part := range p.parts(d, lp != nil) {
		if err := p.send(part, lp); err != nil {
			return err
		}
		lp = nil
	}
	return nil
}

// parts returns the frames that say d. With bearer there is one in any case, for what goes with it.
func (p *speaker) parts(d chat.Delta, bearer bool) (out []openai.Delta) {
	if d.Reasoning != "" {
		out = append(out, openai.Delta{Reasoning: &d.Reasoning})
	}
	if d.Content != "" {
		out = append(out, openai.Delta{Content: &d.Content})
	}
	if len(d.Calls) > 0 {
		out = append(out, openai.Delta{ToolCalls: toolCalls(d.Calls, p.calls)})
		p.calls += len(d.Calls)
	}
	if len(out) == 0 && bearer {
		out = append(out, openai.Delta{Content: new("")})
	}
	return out
}

func (p *speaker) send(d openai.Delta, lp *openai.ChatLogProbs) error {
	return p.t.send(openai.ChunkChoice{Index: p.index, Delta: d, LogProbs: lp})
}

// A latent is a constraint that begins behind a token: an answer's thoughts are free.
type latent struct {
	rl.Constraint
	end   int32
	begun bool
}

// behind returns a grammar that begins behind a token, given by its only id.
func behind(grammar func() (rl.Constraint, error), end []int32) func() (rl.Constraint, error) {
	return func() (rl.Constraint, error) {
		c, err := grammar()
		if err != nil || len(end) != 1 {
			return c, err
		}
		return &latent{Constraint: c, end: end[0]}, nil
	}
}

// Allow allows everything before the token.
func (l *latent) Allow(allowed []bool) {
	if l.begun {
		l.Constraint.Allow(allowed)
		return
	}
	for i := range allowed {
		allowed[i] = true
	}
}

// Accept takes a token.
func (l *latent) Accept(token int32) {
	if l.begun {
		l.Constraint.Accept(token)
		return
	}
	l.begun = token == l.end
}

// Done reports whether nothing may follow.
func (l *latent) Done() bool { return l.begun && l.Constraint.Done() }
