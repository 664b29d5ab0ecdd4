package server

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"furlong/api/openai"
	"furlong/api/sglang"
)

func (s *Server) openaiRoutes() []route {
	return []route{
		{"GET", "/v1/models", user, s.models},
		{"GET", "/v1/models/{id...}", user, s.model},
		{"POST", "/v1/completions", user, s.completions},
		{"POST", "/v1/chat/completions", user, s.chat},
	}
}

// json returns the body of a request in this dialect, or answers what is wrong with it and returns nil.
func (s *Server) json(w http.ResponseWriter, r *http.Request) []byte {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		s.refuse(w, r, bad("Content-Type is %q, want application/json", r.Header.Get("Content-Type")))
		return nil
	}
	raw, err := s.body(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return nil
	}
	return raw
}

// refuse answers an error as this dialect does: flat, a mistake of the client with its own type.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if status(err) != http.StatusBadRequest {
		s.problem(w, r, err)
		return
	}
	s.complain(r, err)
	write(w, http.StatusBadRequest, openai.BadRequest(err.Error()))
}

// wished checks what both endpoints know beside sampling, and begins the native request that they become.
func wished(o *openai.Options, p sglang.Params) (*sglang.Generate, error) {
	if o.Stream && (o.ReturnMeta || o.ReturnPromptIDs) {
		return nil, bad("stream is true, want it without return_meta_info and return_prompt_token_ids")
	}
	g := &sglang.Generate{
		Params: sglang.One(p), ReturnRoutedExperts: o.ReturnRoutedExperts, RoutedExpertsStart: o.RoutedExpertsStart,
		ReturnIndexerTopK: o.ReturnIndexerTopK, ReturnTextInLogProbs: o.ReturnMeta, ReturnLogProb: sglang.One(o.ReturnMeta),
	}
	if o.ReturnHiddenStates != nil && string(*o.ReturnHiddenStates) != "false" {
		g.ReturnHiddenStates = string(*o.ReturnHiddenStates)
	}
	if lora := strings.Trim(string(o.LoraPath), `"`); lora != "" {
		g.LoraPath = sglang.One(&lora)
	}
	if o.ExtraKey != nil {
		g.ExtraKey = sglang.One(*o.ExtraKey)
	}
	if o.CacheSalt != nil {
		g.CacheSalt = sglang.One(*o.CacheSalt)
	}
	switch len(o.RID) {
	case 0:
	case 1:
		g.RID = sglang.One(o.RID[0])
	default:
		g.RID = sglang.Many(o.RID...)
	}
	return g, nil
}

// params returns the native parameters of a request.
func params(from openai.Sampling, limit *int) (sglang.Params, error) {
	p, err := from.Params(limit)
	if err != nil {
		return p, bad("%w", err)
	}
	return p, nil
}

// envelope begins the answer to a request.
func (s *Server) envelope(object string, o *openai.Options, id string) openai.Reply {
	name := o.Model
	if name == "" {
		name = *s.name.Load()
	}
	return openai.Reply{ID: id, Object: object, Created: s.now().Unix(), Model: name}
}

// closing adds to a reply what is told of all answers: tokens, weights, experts. perPrompt answers belong to one prompt.
func (s *Server) closing(out *openai.Reply, p *plan, answers []*answer, perPrompt int) {
	out.Usage = s.usage(answers, perPrompt)
	last := answers[len(answers)-1].version
	out.Metadata, out.Ext = &openai.Metadata{WeightVersion: last}, &openai.Ext{WeightVersion: last}
	if p.wants[0].experts {
		out.Ext.RoutedExperts = new(packExperts(answers[0], p.wants[0].expertsFrom))
	}
}

// usage counts tokens. A prompt counts once, however many samples it has.
func (s *Server) usage(answers []*answer, perPrompt int) *openai.Usage {
	var u openai.Usage
	cached := 0
	for i, a := range answers {
		u.CompletionTokens += len(a.tokens)
		if i%perPrompt == 0 {
			u.PromptTokens += len(a.prompt)
			cached += a.cached
		}
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	if s.cfg.CacheReport {
		u.PromptDetails = &openai.PromptDetails{CachedTokens: cached}
	}
	return &u
}

// ended says in this dialect why an answer ended, and what was matched; nil before.
func ended(a *answer) (reason *string, matched any) {
	switch f := a.finish; {
	case f == nil:
		return nil, nil
	case f.why == byToken:
		return new("stop"), f.token
	case f.why == byText:
		return new("stop"), f.text
	case f.why == byLength:
		return new("length"), nil
	}
	return new("abort"), nil
}

// A talk is a stream in this dialect. It begins with its first frame, so that what is wrong before has a status of its own.
type talk struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	out    *frames
	base   openai.Reply // what all frames begin with
	usage  *openai.StreamOptions
	latest []*answer // of each job
}

// send writes a frame with one choice.
func (t *talk) send(choice any) error {
	f := t.base
	f.Choices = []any{choice}
	if t.usage.ContinuousUsage {
		f.Usage = t.s.usage(t.known(), 1)
	}
	return t.frame(f)
}

func (t *talk) frame(v any) error {
	if t.out == nil {
		t.out = t.s.frames(t.w)
	}
	return t.out.send(v)
}

// note takes up the newest snapshot of a job. A failure of the engine is told at once, and ends the stream.
func (t *talk) note(i int, a *answer) error {
	t.latest[i] = a
	if f := a.finish; f != nil && f.why == byAbort && f.status != 0 {
		return refusal{f.status, f.text}
	}
	return nil
}

// known returns the snapshots that there are.
func (t *talk) known() (out []*answer) {
	for _, a := range t.latest {
		if a != nil {
			out = append(out, a)
		}
	}
	return out
}

// run streams a plan, a call of tell for each snapshot, and closes.
func (t *talk) run(ctx context.Context, p *plan, perPrompt int, tell func(i int, a *answer) error) {
	t.latest = make([]*answer, len(p.specs))
	err := t.s.each(ctx, p.specs, p.every, func(i int, a *answer) error {
		if err := t.note(i, a); err != nil {
			return err
		}
		return tell(i, a)
	})
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && t.out == nil:
		t.s.refuse(t.w, t.r, err)
		return
	case err != nil:
		t.s.complain(t.r, err)
		if t.frame(openai.InStream{Error: sglang.NewProblem(status(err), err.Error())}) != nil {
			return
		}
	case t.close(p, perPrompt) != nil:
		return
	}
	_ = t.out.done() // whoever has gone needs no end
}

// close writes what is told once, behind the choices.
func (t *talk) close(p *plan, perPrompt int) error {
	f := t.base
	t.s.closing(&f, p, t.latest, perPrompt)
	f.Choices = []any{}
	if !t.usage.IncludeUsage {
		f.Usage = nil
	}
	if f.Usage == nil && !p.wants[0].experts {
		return nil
	}
	return t.frame(f)
}
