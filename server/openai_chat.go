package server

import (
	"net/http"

	"furlong/api/openai"
	"furlong/api/sglang"
	"furlong/chat"
)

// A conversation is a request of the chat endpoint, checked.
type conversation struct {
	*openai.Chat
	*plan
	start chat.Start // where the answer begins
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	raw := s.json(w, r)
	if raw == nil {
		return
	}
	in, err := openai.ReadChat(raw)
	if err != nil {
		s.refuse(w, r, bad("%w", err))
		return
	}
	c, err := s.converse(in)
	switch {
	case err != nil:
		s.refuse(w, r, err)
	case in.Stream:
		s.streamChat(w, r, c)
	default:
		s.replyChat(w, r, c)
	}
}

// converse checks a request and turns it into specs.
func (s *Server) converse(in *openai.Chat) (*conversation, error) {
	prompt, start, err := s.opening(in)
	if err != nil {
		return nil, err
	}
	ps, err := params(in.Sampling, in.Limit())
	if err != nil {
		return nil, err
	}
	g, err := wished(&in.Options, ps)
	if err != nil {
		return nil, err
	}
	if in.TopLogProbs != nil && !in.LogProbs {
		return nil, bad("top_logprobs is %d, want logprobs to be true beside it", *in.TopLogProbs)
	}
	g.InputIDs = sglang.OneIDs(prompt)
	if in.LogProbs {
		g.ReturnLogProb, g.TopLogProbs = sglang.One(true), sglang.One(or(in.TopLogProbs, 0))
	}
	p, err := s.plan(g)
	if err != nil {
		return nil, err
	}
	for i := range p.specs {
		s.answering(&p.specs[i], start)
	}
	return &conversation{in, p, start}, nil
}

// answering makes a spec that of an answer: marks of thoughts and calls are part of its text, and a grammar begins behind the thoughts.
func (s *Server) answering(sp *spec, start chat.Start) {
	if start.Mode == chat.Verbatim {
		return
	}
	sp.special = true
	if start.Mode == chat.Reasoning && sp.grammar != nil {
		sp.grammar = behind(sp.grammar, s.parts.Tokenizer.EncodeSpecial(chat.ThoughtsEnd))
	}
}

// opening returns the ids that the model reads before its answer, and where that begins.
func (s *Server) opening(in *openai.Chat) ([]int32, chat.Start, error) {
	t := s.parts.Template
	if t == nil || s.parts.Tokenizer == nil {
		return nil, chat.Start{}, refusal{http.StatusNotImplemented, "there is no chat template, want /generate or /v1/completions: the server runs without one"}
	}
	if len(in.Messages) == 0 {
		return nil, chat.Start{}, bad("messages is empty, want at least one")
	}
	c, err := conversationOf(t.Defaults(), in)
	if err != nil {
		return nil, chat.Start{}, bad("%w", err)
	}
	if in.InputIDs != nil {
		start, err := t.Begin(c)
		if err != nil {
			return nil, start, bad("%w", err)
		}
		return in.InputIDs, s.joined(in, start), nil
	}
	prompt, err := t.Render(c)
	if err != nil {
		return nil, chat.Start{}, bad("%w", err)
	}
	ids, err := prompt.Encode(s.parts.Tokenizer)
	if err != nil {
		return nil, chat.Start{}, err
	}
	return s.begun(ids), s.joined(in, prompt.Start), nil
}

// joined leaves thoughts in the content where a client asks for that.
func (s *Server) joined(in *openai.Chat, start chat.Start) chat.Start {
	start.Joined = !or(in.SeparateReasoning, true)
	return start
}

// conversationOf returns a request as templates read it. A call can be forced only where the answer begins: then thinking, which would come before, is
// off unless it was asked for.
func conversationOf(o chat.Options, in *openai.Chat) (*chat.Conversation, error) {
	if in.ToolChoice.Mode == chat.Required || in.ToolChoice.Mode == chat.Named {
		o.Thinking = false
	}
	if err := o.Set(in.TemplateArgs); err != nil {
		return nil, err
	}
	if in.ReasoningEffort != nil {
		o.Effort = *in.ReasoningEffort
	}
	o.Continue = in.ContinueFinal
	c := &chat.Conversation{Options: o, Choice: chat.Choice{Mode: in.ToolChoice.Mode, Name: in.ToolChoice.Name}}
	for _, m := range in.Messages {
		turn := chat.Message{Role: m.Role, Content: string(m.Content), Reasoning: or(m.Reasoning, ""), CallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			turn.Calls = append(turn.Calls, chat.Call{ID: or(call.ID, ""), Name: or(call.Function.Name, ""), Arguments: call.Function.Arguments})
		}
		c.Messages = append(c.Messages, turn)
	}
	for _, tool := range in.Tools {
		c.Tools = append(c.Tools, chat.Tool{Name: tool.Function.Name, Schema: tool.Function.Whole})
	}
	return c, nil
}

// rendered returns the ids of a conversation as the chat endpoint makes them.
func (s *Server) rendered(in *sglang.Tokenize) (sglang.IDs, error) {
	var c openai.Chat
	for _, f := range []struct {
		name string
		raw  []byte
		to   any
	}{{"messages", in.Messages, &c.Messages}, {"tools", in.Tools, &c.Tools}, {"chat_template_kwargs", in.ChatTemplateKwargs, &c.TemplateArgs}} {
		if err := sglang.Value(f.raw, f.to); err != nil {
			return sglang.IDs{}, bad("%s %w", f.name, err)
		}
	}
	ids, _, err := s.opening(&c)
	return sglang.OneIDs(ids), err
}

func (s *Server) replyChat(w http.ResponseWriter, r *http.Request, c *conversation) {
	answers, err := s.all(r.Context(), c.specs)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	choices := make([]openai.ChatChoice, len(answers))
	for i, a := range answers {
		choices[i] = s.choice(c, i, a)
	}
	out := s.envelope(openai.ObjectChat, &c.Options, answers[0].rid)
	out.Choices = choices
	s.closing(&out, c.plan, answers, len(answers))
	s.soon(w)
	write(w, http.StatusOK, out)
}

// choice returns a whole answer.
func (s *Server) choice(c *conversation, i int, a *answer) openai.ChatChoice {
	said, err := chat.Parse(a.text, c.start)
	if err != nil { // the client has it as content
		s.log.Info("answer has calls that can't be read", "rid", a.rid, "error", err.Error())
	}
	out := openai.ChatChoice{Index: i, Message: openai.AnswerMessage{Role: "assistant", Content: said.Content, ToolCalls: toolCalls(said.Calls, 0)}}
	if said.Reasoning != "" {
		out.Message.Reasoning = &said.Reasoning
	}
	out.FinishReason, out.MatchedStop = endedChat(a, len(said.Calls))
	if c.LogProbs {
		out.LogProbs = s.chatLogProbs(a, 0)
	}
	if c.ReturnPromptIDs {
		out.PromptTokenIDs = a.prompt
	}
	if c.ReturnTokenIDs {
		out.TokenIDs = a.tokens
	}
	if c.ReturnMeta {
		out.Meta = new(s.wire(a, &c.wants[i]).Meta)
	}
	return out
}

// endedChat is ended, but an answer that ends by itself after calls of tools ends for them.
func endedChat(a *answer, calls int) (reason *string, matched any) {
	reason, matched = ended(a)
	if calls > 0 && reason != nil && *reason == "stop" {
		reason = new("tool_calls")
	}
	return reason, matched
}

// toolCalls returns calls with ids that nobody else has; before says how many came earlier. nil for none.
func toolCalls(calls []chat.Call, before int) (out []openai.ToolCall) {
	for i, c := range calls {
		out = append(out, openai.ToolCall{
			ID: new("call_" + newRID()[:24]), Index: before + i, Type: "function", Function: openai.CallText{Name: &c.Name, Arguments: c.Arguments},
		})
	}
	return out
}

// chatLogProbs returns the logprobs of an answer from a token on.
func (s *Server) chatLogProbs(a *answer, from int) *openai.ChatLogProbs {
	out := &openai.ChatLogProbs{Content: []openai.TokenLogProb{}}
	for k := from; k < len(a.tokens); k++ {
		text, raw := s.spelled(a.tokens[k])
		t := openai.TokenLogProb{Token: text, Bytes: raw, LogProb: openai.Float(a.logProbs[k]), Top: []openai.TopLogProb{}}
		if k < len(a.told) {
			for _, alt := range a.told[k].Top {
				text, raw := s.spelled(alt.Token)
				t.Top = append(t.Top, openai.TopLogProb{Token: text, Bytes: raw, LogProb: openai.Float(alt.LogProb)})
			}
		}
		out.Content = append(out.Content, t)
	}
	return out
}

// spelled returns a token as text, which may lose a part of a character, and as bytes, which does not.
func (s *Server) spelled(token int32) (string, []int) {
	text := s.spell(token)
	raw := make([]int, len(text))
	for i := range len(text) {
		raw[i] = int(text[i])
	}
	return text, raw
}
