package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"furlong/api/openai"
	"furlong/chat"
	"furlong/rl"
	"furlong/tokenizer"
)

// chatBack is an answer, or a frame of one.
type chatBack struct {
	openai.Reply
	Choices []struct {
		openai.ChatChoice
		Delta openai.Delta `json:"delta"`
	} `json:"choices"`
}

func plainChat(_ *Config, p *Parts) { p.Template = chat.Plain{} }

// converse asks for an answer.
func (u *site) converse(body string) (out chatBack) {
	u.Helper()
	code, raw := u.call("POST", "/v1/chat/completions", body, asJSON...)
	if code != http.StatusOK {
		u.Fatalf("%s: %d %s", body, code, raw)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		u.Fatalf("%s: %v", raw, err)
	}
	return out
}

// An answer of a conversation is what /generate says to its rendering, bit for bit.
func TestChatIsGenerate(t *testing.T) {
	u := serve(t, engineConfig(), plainChat)
	native := u.one(ask("user: hi\nassistant: ", 6, `,"return_logprob":true`))
	got := u.converse(`{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":6,"temperature":0,"ignore_eos":true,"logprobs":true,"top_logprobs":2,
		"return_prompt_token_ids":true,"return_token_ids":true,"return_meta_info":true}`)
	c := got.Choices[0]
	if c.Message.Role != "assistant" || c.Message.Content != *native.Text || *c.FinishReason != "length" || !slices.Equal(c.TokenIDs, native.OutputIDs) {
		t.Errorf("got %+v, want %q", c, *native.Text)
	}
	if want := (tokenizer.Bytes{}).Encode("user: hi\nassistant: "); !slices.Equal(c.PromptTokenIDs, want) {
		t.Errorf("prompt is %v, want %v", c.PromptTokenIDs, want)
	}
	for i, tr := range native.Meta.OutputLogProbs {
		lp, meta := c.LogProbs.Content[i], c.Meta.OutputLogProbs[i]
		if float32(lp.LogProb) != tr.LogProb || meta.LogProb != tr.LogProb || meta.Text == nil || len(lp.Top) != 2 || len(lp.Bytes) != 1 {
			t.Errorf("token %d: %+v and %+v, want %v", i, lp, meta, tr)
		}
	}
	if got.Usage.TotalTokens != 26 || got.Object != "chat.completion" || got.ID == "" || got.Created == 0 {
		t.Errorf("got %+v", got.Reply)
	}
	ids := u.converse(`{"messages":[{"role":"user","content":"?"}],"input_ids":[97,98],"max_tokens":2,"return_prompt_token_ids":true}`)
	if !slices.Equal(ids.Choices[0].PromptTokenIDs, []int32{97, 98}) {
		t.Errorf("ids given are not used: %v", ids.Choices[0].PromptTokenIDs)
	}
}

func TestChatRefusals(t *testing.T) {
	u := serve(t, engineConfig(), plainChat)
	hi := `"messages":[{"role":"user","content":"hi"}]`
	for body, says := range map[string]string{
		`{"messages":[]}`: "messages is empty",
		`{"messages":[{"role":"boss","content":"x"}]}`:              `role is "boss"`,
		`{` + hi + `,"tool_choice":"required"}`:                     "there are no tools",
		`{` + hi + `,"stream":true,"return_meta_info":true}`:        "return_meta_info",
		`{` + hi + `,"top_logprobs":2}`:                             "logprobs",
		`{` + hi + `,"temperature":-1}`:                             "temperature is -1",
		`{` + hi + `,"max_completion_tokens":-2}`:                   "max_new_tokens is -2",
		`{` + hi + `,"chat_template_kwargs":{"enable_thinking":1}}`: "enable_thinking",
		`{` + hi + `,"response_format":{"type":"yaml"}}`:            `"yaml"`,
	} {
		code, raw := u.call("POST", "/v1/chat/completions", body, asJSON...)
		if code != 400 || !strings.Contains(string(raw), strings.ReplaceAll(says, `"`, `\"`)) || !strings.Contains(string(raw), "BadRequestError") {
			t.Errorf("%s: %d %s, want 400 that says %q", body, code, raw, says)
		}
	}
	none := serve(t, engineConfig(), nil)
	if code, raw := none.call("POST", "/v1/chat/completions", `{`+hi+`}`, asJSON...); code != 501 || !strings.Contains(string(raw), "no chat template") {
		t.Errorf("%d %s, want 501", code, raw)
	}
}

// openAt is a template whose prompts are the last message and whose answers begin where it says.
type openAt struct {
	chat.Plain
	start chat.Start
}

func (o openAt) Begin(*chat.Conversation) (chat.Start, error) { return o.start, nil }

func (o openAt) Render(c *chat.Conversation) (chat.Prompt, error) {
	return chat.Prompt{Pieces: []chat.Piece{{Text: c.Messages[len(c.Messages)-1].Content}}, Start: o.start}, nil
}

const callText = "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"

// Thoughts, content and calls are told apart, in one piece and in a stream.
func TestChatTakesAnswersApart(t *testing.T) {
	for _, tt := range []struct {
		say, reasoning, content, call, finish string
	}{
		{"I add.</think>Here you are.", "I add.", "Here you are.", "", "stop"},
		{"Hm.</think>Calling" + callText, "Hm.", "Calling", `add {"a":1}`, "tool_calls"},
		{"never ends", "never ends", "", "", "stop"},
	} {
		e := newScript(t, tt.say)
		u := serveOn(t, e, 4096, func(_ *Config, p *Parts) { p.Template = openAt{start: chat.Start{Mode: chat.Reasoning}} })
		body := `{"messages":[{"role":"user","content":"1+1?"}],"logprobs":true%s}`
		c := u.converse(fmt.Sprintf(body, "")).Choices[0]
		if got := said(c.Message.Reasoning, c.Message.Content, c.Message.ToolCalls); got != tt.reasoning+"|"+tt.content+"|"+strings.ReplaceAll(tt.call, ": ", ":") || *c.FinishReason != tt.finish {
			t.Errorf("%q: %s, %s", tt.say, got, *c.FinishReason)
		}
		var content, reasoning, finish string
		var calls []openai.ToolCall
		tokens := 0
		frames := u.talk("/v1/chat/completions", fmt.Sprintf(body, `,"stream":true,"stream_options":{"include_usage":true}`))
		for i, raw := range frames[:len(frames)-1] {
			var f chatBack
			if err := json.Unmarshal([]byte(raw), &f); err != nil || len(f.Choices) != 1 {
				t.Fatalf("%s: %v", raw, err)
			}
			c := f.Choices[0]
			if (c.Delta.Role == "assistant") != (i == 0) {
				t.Errorf("frame %d: %s, want the role in the first alone", i, raw)
			}
			content, reasoning, calls = content+or(c.Delta.Content, ""), reasoning+or(c.Delta.Reasoning, ""), append(calls, c.Delta.ToolCalls...)
			if c.LogProbs != nil {
				tokens += len(c.LogProbs.Content)
			}
			finish += or(c.FinishReason, "")
		}
		if got := said(&reasoning, content, calls); got != said(c.Message.Reasoning, c.Message.Content, c.Message.ToolCalls) || finish != tt.finish {
			t.Errorf("%q: streamed %s, %s", tt.say, got, finish)
		}
		if want := len(tt.say) + 1; tokens != want {
			t.Errorf("%q: %d tokens have logprobs in the stream, want %d", tt.say, tokens, want)
		}
		if last := frames[len(frames)-1]; !strings.Contains(last, `"choices":[]`) || !strings.Contains(last, `"total_tokens"`) {
			t.Errorf("last frame is %s, want the usage", last)
		}
	}
}

func said(reasoning *string, content string, calls []openai.ToolCall) string {
	out := or(reasoning, "") + "|" + content + "|"
	for _, c := range calls {
		out += *c.Function.Name + " " + strings.ReplaceAll(c.Function.Arguments, ": ", ":")
	}
	return out
}

// A failure of the engine in a stream that has begun is told in the stream.
func TestChatStreamThatBreaks(t *testing.T) {
	e := newScript(t, "abc")
	e.gate = make(chan struct{})
	u := serveOn(t, e, 4096, plainChat)
	e.gate <- struct{}{} // the proof's token
	u.eventually("ready", func() bool { return u.ailment() == nil })
	frames := make(chan string, 100)
	go func() {
		defer close(frames) // also where talk ends the test
		u.talkTo(frames, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"rid":"r","stream":true}`)
	}()
	e.gate <- struct{}{}
	got := []string{<-frames} // before the first frame is out, a failure would be the answer's status
	if got[0] == "" {
		t.Fatal("the stream did not begin")
	}
	e.torn.Store(true)
	e.gate <- struct{}{}
	for f := range frames {
		got = append(got, f)
	}
	if last := got[len(got)-1]; !strings.Contains(last, `{"error":{"object":"error"`) || !strings.Contains(last, rl.ErrBroken.Error()) {
		t.Errorf("frames are %q, want the error last", got)
	}
}

func TestLatentConstraint(t *testing.T) {
	calls := ""
	c, err := behind(func() (rl.Constraint, error) { return &noted{&calls}, nil }, []int32{7})()
	if err != nil {
		t.Fatal(err)
	}
	allowed := make([]bool, 2)
	c.Allow(allowed)
	for _, token := range []int32{1, 7, 5} {
		c.Accept(token)
		if c.Done() != (token != 1) {
			t.Errorf("done after %d: %v", token, c.Done())
		}
	}
	c.Allow(allowed)
	if !slices.Equal(allowed, []bool{true, true}) || calls != "accept 5, allow, " {
		t.Errorf("allowed %v, calls %s", allowed, calls)
	}
}

type noted struct{ calls *string }

func (n *noted) Allow([]bool)       { *n.calls += "allow, " }
func (n *noted) Accept(token int32) { *n.calls += fmt.Sprintf("accept %d, ", token) }
func (n *noted) Done() bool         { return true }
