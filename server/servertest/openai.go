package servertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

func openAI() []Test {
	return []Test{
		{84, "chat", "a chat completion: usage sums, id is set, content is a string", "", plain, chat},
		{85, "chat_logprobs", "logprobs with top_logprobs 2: token, bytes, logprob and two alternatives each", "", plain, chatLogprobs},
		{86, "chat_ids", "chat over input_ids with return_meta_info: the native meta_info; with stream: 400", "", plain, chatIDs},
		{87, "chat_is_generate", "chat is /generate over the ids of the template: text and logprobs", "the same bits", plain, chatIsGenerate},
		{88, "chat_prompt_ids", "return_prompt_token_ids: the ids of the template", "", plain, chatPromptIDs},
		{89, "chat_stream", "a stream with include_usage ends in a chunk without choices, with usage", "", plain, chatStream},
		{90, "completions", "max_tokens 0: 400; a prompt of ids; two prompts with n 2: four choices", "", plain, completions},
		{91, "echo", "echo with logprobs: the prompt comes first, its first logprob is null", "", plain, echo},
		{92, "unknown_model", "any model name is served and echoed", "", plain, unknownModel},
		{93, "models", "/v1/models lists the served name with max_model_len; another: 404 model_not_found", "", plain, models},
	}
}

// turns is a conversation of one message.
func turns(text string, more ...m) m {
	return with(append([]m{{"model": "any", "messages": []m{{"role": "user", "content": text}}, "temperature": 0, "max_tokens": 12}}, more...)...)
}

// A choice is one of a completion's choices, with the completion.
type choice struct{ whole, m m }

// choices returns n choices of an answer, which stand in their order.
func (a answer) choices(n int) (out []choice) {
	a.c.Helper()
	o := a.must(200).object()
	l, _ := o["choices"].([]any)
	if len(l) != n {
		a.c.Fatalf("%v: %d choices, want %d", a, len(l), n)
	}
	for i, v := range l {
		one, _ := v.(m)
		if got := a.c.integer(one["index"], "index"); got != i {
			a.c.Errorf("index of choice %d is %d", i, got)
		}
		out = append(out, choice{o, one})
	}
	a.c.usage(o["usage"])
	if id, _ := o["id"].(string); id == "" {
		a.c.Errorf("id is %v, want a name", o["id"])
	}
	a.c.integer(o["created"], "created")
	return out
}

// usage holds counts to their sum.
func (c *check) usage(v any) m {
	c.Helper()
	u, ok := v.(m)
	if !ok {
		c.Fatalf("usage is %v, want an object", v)
	}
	p, n, sum := c.integer(u["prompt_tokens"], "prompt_tokens"), c.integer(u["completion_tokens"], "completion_tokens"), c.integer(u["total_tokens"], "total_tokens")
	if p < 1 || p+n != sum {
		c.Errorf("usage is %v, want a prompt and its sum with the completion", u)
	}
	return u
}

func (c *check) chat(body m) choice {
	c.Helper()
	return c.post("/v1/chat/completions", body).choices(1)[0]
}

// content returns the message's text.
func (c *check) content(ch choice) string {
	c.Helper()
	msg, _ := ch.m["message"].(m)
	s, ok := msg["content"].(string)
	if !ok || msg["role"] != "assistant" {
		c.Fatalf("message is %v, want one of the assistant with content", msg)
	}
	return s
}

func chat(c *check) {
	ch := c.chat(turns("What is 2+2?"))
	c.content(ch)
	c.equal("object", ch.whole["object"], "chat.completion")
	c.equal("model", ch.whole["model"], "any")
	switch ch.m["finish_reason"] {
	case "stop", "length":
	default:
		c.Errorf("finish_reason is %v, want stop or length", ch.m["finish_reason"])
	}
	meta, _ := ch.whole["metadata"].(m)
	if v, _ := meta["weight_version"].(string); v == "" {
		c.Errorf("metadata is %v, want weight_version in it", ch.whole["metadata"])
	}
	c.content(c.chat(turns("What is 2+2?", m{"ignore_eos": true, "max_completion_tokens": 3, "max_tokens": 9})))
	c.content(c.chat(turns("x", m{"stop": []string{"\n"}, "n": 1, "user": "somebody"})))
	for _, bad := range []m{turns("x", m{"messages": []m{}}), turns("x", m{"tool_choice": "required"}), turns("x", m{"temperature": -1})} {
		c.post("/v1/chat/completions", bad).must(400).flat()
	}
}

func chatLogprobs(c *check) {
	ch := c.chat(turns("What is 2+2?", m{"logprobs": true, "top_logprobs": 2, "ignore_eos": true}))
	o, _ := ch.m["logprobs"].(m)
	l, _ := o["content"].([]any)
	c.equal("entries", len(l), 12)
	for _, v := range l {
		e, _ := v.(m)
		c.logprobEntry(e)
		top, _ := e["top_logprobs"].([]any)
		c.equal("alternatives", len(top), 2)
		for _, a := range top {
			o, _ := a.(m)
			c.logprobEntry(o)
		}
	}
	if v := c.chat(turns("What is 2+2?")).m["logprobs"]; v != nil {
		c.Errorf("logprobs is %v though nobody asked", v)
	}
}

// logprobEntry holds one token of logprobs.content to its form.
func (c *check) logprobEntry(e m) {
	c.Helper()
	if _, ok := e["token"].(string); !ok {
		c.Errorf("token is %v, want text", e["token"])
	}
	if _, ok := e["logprob"].(json.Number); !ok {
		c.Errorf("logprob is %v, want a number", e["logprob"])
	}
	for _, b := range c.ints(e["bytes"]) {
		if b < 0 || b > 255 {
			c.Errorf("a byte is %d", b)
		}
	}
}

func chatIDs(c *check) {
	p := prompt(86, 30)
	ch := c.chat(turns("ignored", m{"input_ids": p, "return_meta_info": true, "logprobs": true, "ignore_eos": true}))
	meta, ok := ch.m["meta_info"].(m)
	if !ok {
		c.Fatalf("meta_info is %v, want the native object", ch.m["meta_info"])
	}
	r := reply{c, m{"meta_info": meta}}
	ts := r.triples("output_token_logprobs")
	c.equal("completion_tokens", r.int("completion_tokens"), len(ts))
	c.equal("prompt_tokens", r.int("prompt_tokens"), len(p))
	native := c.generate(ask(p, full(12)))
	c.equal("ids", tokens(ts), native.ids())
	c.near("logprobs", lps(ts), native.logprobs())
	c.post("/v1/chat/completions", turns("x", m{"return_meta_info": true, "stream": true})).must(400)
}

// templated returns the ids of a conversation.
func (c *check) templated(body m) ids {
	c.Helper()
	return c.ints(c.post("/tokenize", m{"messages": body["messages"]}).must(200).object()["tokens"])
}

func chatIsGenerate(c *check) {
	body := turns("What is 2+2?", m{"logprobs": true, "return_meta_info": true, "separate_reasoning": false})
	p := c.templated(body)
	ch := c.chat(body)
	native := c.generate(ask(p, greedy(12)))
	c.equal("content", c.content(ch), native.text())
	meta, _ := ch.m["meta_info"].(m)
	c.near("logprobs", lps(reply{c, m{"meta_info": meta}}.triples("output_token_logprobs")), native.logprobs())
}

func chatPromptIDs(c *check) {
	body := turns("What is 2+2?", m{"return_prompt_token_ids": true})
	c.equal("prompt_token_ids", c.ints(c.chat(body).m["prompt_token_ids"]), c.templated(body))
	c.post("/v1/chat/completions", with(body, m{"stream": true})).must(400)
}

func chatStream(c *check) {
	r := c.streamOf("/v1/chat/completions", turns("What is 2+2?", m{"ignore_eos": true, "stream_options": m{"include_usage": true}})).all()
	var text strings.Builder
	finished := 0
	for i, f := range r {
		c.equal("object", f.raw["object"], "chat.completion.chunk")
		l, _ := f.raw["choices"].([]any)
		if last := i == len(r)-1; last != (len(l) == 0) {
			c.Errorf("chunk %d of %d has %d choices", i, len(r), len(l))
		}
		for _, v := range l {
			o, _ := v.(m)
			delta, _ := o["delta"].(m)
			if s, ok := delta["content"].(string); ok {
				text.WriteString(s)
			}
			if i == 0 {
				c.equal("role of the first chunk", delta["role"], "assistant")
			}
			if o["finish_reason"] != nil {
				finished++
			}
		}
	}
	c.equal("chunks with finish_reason", finished, 1)
	u := c.usage(r.last().raw["usage"])
	c.equal("completion_tokens", c.integer(u["completion_tokens"], "completion_tokens"), 12)
	c.equal("text of all chunks", text.String(), c.content(c.chat(turns("What is 2+2?", m{"ignore_eos": true}))))
}

func completions(c *check) {
	body := m{"model": "any", "prompt": "1+1=", "max_tokens": 4, "temperature": 0}
	c.post("/v1/completions", with(body, m{"max_tokens": 0})).must(400).flat()
	c.post("/v1/completions", body).choices(1)
	p := prompt(90, 10)
	ch := c.post("/v1/completions", with(body, m{"prompt": p, "ignore_eos": true})).choices(1)[0]
	c.equal("object", ch.whole["object"], "text_completion")
	c.equal("text", ch.m["text"], c.generate(ask(p, full(4))).text())
	c.equal("finish_reason", ch.m["finish_reason"], "length")
	four := c.post("/v1/completions", with(body, m{"prompt": []string{"1+1=", "2+2="}, "n": 2, "temperature": 1})).choices(4)
	c.equal("choices", len(four), 4)
	c.post("/v1/completions", with(body, m{"prompt": []ids{p, p}})).choices(2)
	if n := c.integer(c.usage(c.post("/v1/completions", with(body, m{"prompt": p, "n": 2})).choices(2)[0].whole["usage"])["prompt_tokens"], "prompt_tokens"); n != len(p) {
		c.Errorf("prompt_tokens with n 2 is %d, want %d: the prompt counts once", n, len(p))
	}
	c.equal("object of a stream", c.streamOf("/v1/completions", body).all()[0].raw["object"], "text_completion")
}

func echo(c *check) {
	const text = "one plus one is"
	ch := c.post("/v1/completions", m{"model": "any", "prompt": text, "max_tokens": 3, "temperature": 0, "echo": true, "logprobs": 1, "ignore_eos": true}).choices(1)[0]
	if s, _ := ch.m["text"].(string); !strings.HasPrefix(s, text) {
		c.Errorf("text is %q, want the prompt first", s)
	}
	o, _ := ch.m["logprobs"].(m)
	l, _ := o["token_logprobs"].([]any)
	if len(l) < 4 || l[0] != nil || l[1] == nil {
		c.Errorf("token_logprobs is %v, want null and then numbers", l)
	}
	for _, key := range []string{"tokens", "top_logprobs", "text_offset"} {
		if other, _ := o[key].([]any); len(other) != len(l) {
			c.Errorf("%s has %d entries, token_logprobs %d", key, len(other), len(l))
		}
	}
}

func unknownModel(c *check) {
	for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
		o := c.post(path, turns("x", m{"model": "nobody/has-this", "prompt": "x"})).must(200).object()
		c.equal(path+": model", o["model"], "nobody/has-this")
	}
}

func models(c *check) {
	o := c.get("/v1/models").must(200).object()
	c.equal("object", o["object"], "list")
	l, _ := o["data"].([]any)
	if len(l) == 0 {
		c.Fatalf("data is %v, want the served model", o["data"])
	}
	first, _ := l[0].(m)
	name, _ := first["id"].(string)
	c.equal("id", name, c.told["served_model_name"])
	if n := c.integer(first["max_model_len"], "max_model_len"); n < 1 {
		c.Errorf("max_model_len is %d", n)
	}
	c.integer(first["created"], "created")
	if !strings.Contains(name, "/") {
		c.equal("the model alone", c.get("/v1/models/" + name).must(200).object()["id"], name)
	}
	e, _ := c.get("/v1/models/nobody-has-this").must(404).object()["error"].(m)
	c.equal("code", fmt.Sprint(e["code"]), "model_not_found")
}
