package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"furlong/api/openai"
	"furlong/api/sglang"
)

// talkBack is an answer as clients of this dialect read it.
type talkBack struct {
	openai.Reply
	Choices []openai.CompletionChoice `json:"choices"`
}

var asJSON = []string{"Content-Type", "application/json"}

// complete asks for completions.
func (u *site) complete(body string) (out talkBack) {
	u.Helper()
	code, raw := u.call("POST", "/v1/completions", body, asJSON...)
	if code != http.StatusOK {
		u.Fatalf("%s: %d %s", body, code, raw)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		u.Fatalf("%s: %v", raw, err)
	}
	return out
}

func TestCompletions(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	native := u.one(ask("once", 6, `,"return_logprob":true`))
	got := u.complete(`{"model":"m","prompt":"once","max_tokens":6,"temperature":0,"ignore_eos":true,"logprobs":2,"rid":"r1"}`)
	c := got.Choices[0]
	if got.ID != "r1" || got.Model != "m" || got.Object != "text_completion" || c.Text != *native.Text || *c.FinishReason != "length" {
		t.Errorf("got %+v, want the text %q", got, *native.Text)
	}
	if u := got.Usage; u.PromptTokens != 4 || u.CompletionTokens != 6 || u.TotalTokens != 10 {
		t.Errorf("usage is %+v", u)
	}
	if got.Metadata.WeightVersion != "default" {
		t.Errorf("metadata is %+v", got.Metadata)
	}
	for i, tr := range native.Meta.OutputLogProbs {
		lp := c.LogProbs
		if float32(lp.TokenLogProbs[i]) != tr.LogProb || len(lp.TopLogProbs[i]) == 0 || lp.TextOffset[i] != -1 {
			t.Errorf("token %d has logprobs %+v, want %v", i, lp, tr)
		}
	}
}

func TestCompletionsOfSeveral(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	got := u.complete(`{"prompt":["ab","cde"],"n":2,"max_tokens":3,"ignore_eos":true,"return_token_ids":true}`)
	if len(got.Choices) != 4 || got.Usage.PromptTokens != 5 || got.Usage.CompletionTokens != 12 {
		t.Fatalf("got %+v", got)
	}
	for i, c := range got.Choices {
		if c.Index != i || len(c.TokenIDs) != 3 || len(c.PromptTokenIDs) != []int{2, 2, 3, 3}[i] {
			t.Errorf("choice %d is %+v", i, c)
		}
	}
	if got := u.complete(`{"prompt":[97,98],"max_tokens":1,"echo":true}`); !strings.HasPrefix(got.Choices[0].Text, "ab") {
		t.Errorf("ids are echoed as %q", got.Choices[0].Text)
	}
}

func TestCompletionEchoesLogProbs(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	native := u.one(ask("once", 2, `,"return_logprob":true,"logprob_start_len":0`))
	got := u.complete(`{"prompt":"once","max_tokens":2,"temperature":0,"ignore_eos":true,"logprobs":1,"echo":true}`)
	lp := got.Choices[0].LogProbs
	if !strings.HasPrefix(got.Choices[0].Text, "once") || len(lp.Tokens) != 6 || lp.Tokens[0] != "o" || lp.TopLogProbs[0] != nil {
		t.Fatalf("got %+v %+v", got.Choices[0], lp)
	}
	if v := float32(lp.TokenLogProbs[0]); v == v {
		t.Errorf("the first token has logprob %v, want none", v)
	}
	for i, tr := range native.Meta.InputLogProbs[1:] {
		if float32(lp.TokenLogProbs[i+1]) != tr.LogProb || len(lp.TopLogProbs[i+1]) != 1 {
			t.Errorf("prompt token %d: %v %v, want %v", i+1, lp.TokenLogProbs[i+1], lp.TopLogProbs[i+1], tr.LogProb)
		}
	}
}

func TestCompletionRefusals(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	for body, says := range map[string]string{
		`{`:                                    "no JSON",
		`{}`:                                   "prompt is missing",
		`{"prompt":"a","max_tokens":0}`:        "max_tokens is 0",
		`{"prompt":"a","temperature":-1}`:      "temperature is -1",
		`{"prompt":[]}`:                        "no tokens",
		`{"prompt":"a","stream":true,"n":0}`:   "n is 0",
		`{"prompt":"a","top_p":"x"}`:           "top_p is a string",
		`{"prompt":[999]}`:                     "999",
		`{"prompt":"a","lora_path":"x"}`:       "lora_path",
		`{"prompt":"a","response_format":{}}`:  "response_format",
		`{"prompt":"a","max_tokens":99999999}`: "context length",
	} {
		code, raw := u.call("POST", "/v1/completions", body, asJSON...)
		var p sglang.Problem
		if err := json.Unmarshal(raw, &p); err != nil || code != 400 || p.Type != "BadRequestError" || p.Code != 400 || !strings.Contains(p.Message, says) {
			t.Errorf("%s: %d %s, want 400 that says %q", body, code, raw, says)
		}
	}
	if code, raw := u.call("POST", "/v1/completions", `{"prompt":"a"}`, "Content-Type", "text/plain"); code != 400 {
		t.Errorf("text/plain: %d %s, want 400", code, raw)
	}
}

// talk streams from an endpoint and returns the frames. The last must be [DONE].
func (u *site) talk(path, body string) (out []string) {
	u.Helper()
	frames := make(chan string, 10_000)
	u.talkTo(frames, path, body)
	for close(frames); len(frames) > 0; {
		out = append(out, <-frames)
	}
	return out
}

// talkTo sends the frames of a stream as they come.
func (u *site) talkTo(frames chan<- string, path, body string) {
	u.Helper()
	req, _ := http.NewRequestWithContext(u.Context(), "POST", u.url+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	resp, err := u.client.Do(req)
	if err != nil {
		u.Fatal(err)
	}
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || !strings.HasPrefix(ct, "text/event-stream") {
		u.Fatalf("%s: %d %s", body, resp.StatusCode, ct)
	}
	f := sglang.NewFrames(resp.Body, 1<<20)
	for {
		value, err := f.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			u.Fatal(err)
		}
		frames <- string(value)
	}
}

func TestCompletionStream(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	body := `{"prompt":["ab","cd"],"max_tokens":9,"temperature":0,"ignore_eos":true,"logprobs":0,"return_token_ids":true%s}`
	whole := u.complete(fmt.Sprintf(body, ""))
	frames := u.talk("/v1/completions", fmt.Sprintf(body, `,"stream":true,"stream_options":{"include_usage":true}`))
	texts, ids, lps, ends := make([]string, 2), make([][]int32, 2), make([]int, 2), make([]int, 2)
	for i, raw := range frames {
		var f talkBack
		if err := json.Unmarshal([]byte(raw), &f); err != nil {
			t.Fatal(err)
		}
		if i == len(frames)-1 {
			if len(f.Choices) != 0 || f.Choices == nil || f.Usage.CompletionTokens != 18 || f.Usage.PromptTokens != 4 {
				t.Errorf("last frame is %s, want the usage alone", raw)
			}
			continue
		}
		c := f.Choices[0]
		texts[c.Index] += c.Text
		ids[c.Index] = append(ids[c.Index], c.TokenIDs...)
		lps[c.Index] += len(c.LogProbs.Tokens)
		if f.Usage != nil || f.ID != frames0(t, frames).ID {
			t.Errorf("frame %s has another id, or a usage", raw)
		}
		if c.FinishReason != nil {
			ends[c.Index]++
		}
	}
	for i, c := range whole.Choices {
		if texts[i] != c.Text || !slices.Equal(ids[i], c.TokenIDs) || lps[i] != 9 || ends[i] != 1 {
			t.Errorf("choice %d streamed %q %v with %d logprobs and %d ends, want %q %v", i, texts[i], ids[i], lps[i], ends[i], c.Text, c.TokenIDs)
		}
	}
}

func frames0(t *testing.T, frames []string) (f talkBack) {
	t.Helper()
	if err := json.Unmarshal([]byte(frames[0]), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// What is wrong before the first token is an error with a status, in streams too.
func TestStreamOfARidInFlight(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	first := make(chan talkBack)
	go func() { first <- u.complete(`{"prompt":"ab","max_tokens":2,"rid":"same"}`) }()
	u.eventually("the first is in flight", func() bool { return u.jobs.count() == 1 })
	code, raw := u.call("POST", "/v1/completions", `{"prompt":"ab","rid":"same","stream":true}`, asJSON...)
	if code != 400 || !strings.Contains(string(raw), "in flight already") {
		t.Errorf("%d %s, want 400", code, raw)
	}
	u.ok("/continue_generation", `{}`, nil)
	if got := <-first; got.ID != "same" {
		t.Errorf("the first got %+v", got)
	}
}

func TestModels(t *testing.T) {
	u := serve(t, engineConfig(), func(_ *Config, p *Parts) { p.Model.Name = "org/tiny" })
	_, raw := u.call("GET", "/v1/models", "")
	var list openai.Models
	if err := json.Unmarshal(raw, &list); err != nil || len(list.Data) != 1 || list.Data[0].ID != "org/tiny" || list.Data[0].MaxModelLen != 256 {
		t.Errorf("models are %s", raw)
	}
	if code, raw := u.call("GET", "/v1/models/org/tiny", ""); code != 200 || !strings.Contains(string(raw), `"id":"org/tiny"`) {
		t.Errorf("%d %s", code, raw)
	}
	if code, raw := u.call("GET", "/v1/models/nothing", ""); code != 404 || !strings.Contains(string(raw), "model_not_found") {
		t.Errorf("%d %s, want 404", code, raw)
	}
}
