package servertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func core() []Test {
	return []Test{
		{15, "single", "one prompt of ids: one object with text, output_ids, meta_info.id", "", plain, single},
		{16, "batch", "three prompts: an array in their order, with different ids", "", plain, batch},
		{17, "batch_of_one", "[[...]] is answered by an array of one", "", plain, batchOfOne},
		{18, "n_of_one_prompt", "one prompt with n 4: an array of four, which share the prompt's state", "", plain, fourOfOne},
		{19, "batch_with_n", "two prompts with n 3: six answers, prompt by prompt", "", plain, batchWithN},
		{20, "unequal_n", "sampling parameters with different n: 400", "", plain, unequalN},
		{21, "rid", "a rid is echoed; on a batch it becomes rid_0, rid_1", "", plain, ridEcho},
		{22, "rid_list", "rids too few, or twice the same: 400", "", plain, ridList},
		{23, "live_rid", "the rid of a request in flight is refused, the first goes on", "", plain, liveRid},
		{24, "text_prompt", "a text prompt is the ids that /tokenize gives", "", plain, textPrompt},
		{25, "empty_prompt", "no tokens: 400, alone and in a batch", "", plain, emptyPrompt},
		{26, "counts", "completion_tokens counts output_ids and their logprobs, however the answer ends", "", plain, counts},
		{27, "triples", "triples have three members; return_text_in_logprobs fills the third", "", plain, tripleShape},
		{28, "ids_of_triples", "ids of triples are output_ids", "", plain, idsOfTriples},
		{29, "length", "max_new_tokens 5 with ignore_eos: five tokens, length 5", "", plain, lengthFive},
		{30, "stop_token", "a stop token ends the answer, is matched, and is the last id", "", plain, stopToken},
		{31, "stop_string", "a stop string is matched and cut off the text, or kept with no_stop_trim", "", plain, stopString},
		{32, "stop_nulls", "stop null and null among stop_token_ids are accepted", "", plain, stopNulls},
		{33, "min_new_tokens", "min_new_tokens keeps an answer from ending early", "", plain, minNewTokens},
		{34, "special_tokens", "skip_special_tokens decides whether the end token is text", "", plain, specialTokens},
		{35, "json_schema", "json_schema makes text that parses", "", plain, jsonSchema},
		{36, "logit_bias", "logit_bias +100 makes a token certain", "", plain, logitBias},
		{37, "prompt_token_ids", "return_prompt_token_ids returns the prompt", "", plain, promptTokenIDs},
	}
}

func single(c *check) {
	r := c.generate(m{"input_ids": prompt(15, 20), "sampling_params": greedy(4)})
	r.text()
	if r.id() == c.generate(m{"input_ids": prompt(15, 20), "sampling_params": greedy(4)}).id() {
		c.Errorf("two requests have the id %s", r.id())
	}
	for _, key := range []string{"prompt_tokens", "cached_tokens", "completion_tokens"} {
		if r.int(key) < 0 {
			c.Errorf("%s is %d", key, r.int(key))
		}
	}
	c.equal("prompt_tokens", r.int("prompt_tokens"), 20)
}

func batch(c *check) {
	prompts := []ids{prompt(1, 11), prompt(2, 22), prompt(3, 33)}
	seen := map[string]bool{}
	for i, r := range c.generateAll(3, ask(prompts, full(6))) {
		c.equal(fmt.Sprintf("prompt_tokens of answer %d", i), r.int("prompt_tokens"), 11*(i+1))
		c.same(fmt.Sprintf("answer %d", i), r, c.generate(ask(prompts[i], full(6))))
		seen[r.id()] = true
	}
	c.equal("number of ids", len(seen), 3)
}

func batchOfOne(c *check) { c.generateAll(1, ask([]ids{prompt(17, 9)}, greedy(2))) }

func fourOfOne(c *check) {
	p := prompt(18, 200)
	c.flush()
	cold := 0
	for _, r := range c.generateAll(4, ask(p, m{"temperature": 1, "n": 4, "max_new_tokens": 4})) {
		c.equal("prompt_tokens", r.int("prompt_tokens"), len(p))
		if r.int("cached_tokens") == 0 {
			cold++
		}
	}
	if cold > 1 {
		c.Errorf("%d of 4 samples computed the prompt, want at most one", cold)
	}
}

func batchWithN(c *check) {
	prompts := []ids{prompt(1, 12), prompt(2, 24)}
	for i, r := range c.generateAll(6, ask(prompts, m{"temperature": 1, "n": 3, "max_new_tokens": 3})) {
		c.equal(fmt.Sprintf("prompt_tokens of answer %d", i), r.int("prompt_tokens"), len(prompts[i/3]))
	}
}

func unequalN(c *check) {
	prompts := []ids{prompt(1, 5), prompt(2, 5)}
	c.post("/generate", ask(prompts, []m{greedy(2, m{"n": 1}), greedy(2, m{"n": 2})})).must(400)
	c.post("/generate", ask(prompts, []m{greedy(2)})).must(400) // one for two
}

func ridEcho(c *check) {
	c.equal("id", c.generate(ask(prompt(21, 5), greedy(1), m{"rid": "abc"})).id(), "abc")
	for i, r := range c.generateAll(2, ask([]ids{prompt(1, 5), prompt(2, 5)}, greedy(1), m{"rid": "abc"})) {
		c.equal("id", r.id(), fmt.Sprintf("abc_%d", i))
	}
	for i, r := range c.generateAll(2, ask([]ids{prompt(1, 5), prompt(2, 5)}, greedy(1), m{"rid": []string{"x", "y"}})) {
		c.equal("id", r.id(), []string{"x", "y"}[i])
	}
}

func ridList(c *check) {
	three := []ids{prompt(1, 5), prompt(2, 5), prompt(3, 5)}
	c.post("/generate", ask(three, greedy(1), m{"rid": []string{"a", "b"}})).must(400)
	c.post("/generate", ask(three, greedy(1), m{"rid": []string{"a", "b", "a"}})).must(400)
}

func liveRid(c *check) {
	body := ask(prompt(23, 10), full(c.long()), m{"rid": "once"})
	first := c.later("/generate", body)
	c.untilRunning(1)
	c.post("/generate", ask(prompt(23, 10), greedy(1), m{"rid": "once"})).must(400).nested()
	if !first.quiet(0) {
		c.Skip("the first request was over before the second came: needs a longer context")
	}
	c.post("/abort_request", m{"rid": "once"}).must(200)
	first.wait(c).reply().ends("abort", nil)
	c.generate(ask(prompt(23, 10), greedy(1), m{"rid": "once"})) // free again
}

func textPrompt(c *check) {
	const text = "The answer is 12. What was the question?"
	o := c.post("/tokenize", m{"prompt": text}).must(200).object()
	p := c.ints(o["tokens"])
	c.equal("count", c.integer(o["count"], "count"), len(p))
	if n := c.integer(o["max_model_len"], "max_model_len"); n < 1 {
		c.Errorf("max_model_len is %d", n)
	}
	byText := c.generate(m{"text": text, "sampling_params": full(8), "return_logprob": true})
	byIDs := c.generate(ask(p, full(8)))
	c.same("by text", byText, byIDs)
	c.equal("prompt_tokens", byText.int("prompt_tokens"), len(p))
	two := c.generateAll(2, m{"text": []string{text, text}, "sampling_params": full(8), "return_logprob": true})
	c.same("by text in a batch", two[1], byIDs)
	back := c.post("/detokenize", m{"tokens": p}).must(200).object()
	c.equal("detokenised text", back["text"], text)
}

func emptyPrompt(c *check) {
	c.post("/generate", ask(ids{}, greedy(1))).must(400)
	c.post("/generate", ask([]ids{prompt(1, 3), {}}, greedy(1))).must(400)
	c.post("/generate", m{"text": nil, "input_ids": nil}).must(400).nested()
}

// counts leaves the checking to reply.whole, and sees to it that answers end in every way.
func counts(c *check) {
	r := c.generate(ask(prompt(26, 10), full(7)))
	r.ends("length", 7)
	stop := r.ids()[3]
	c.generate(ask(prompt(26, 10), greedy(7, m{"stop_token_ids": ids{stop}}))).ends("stop", nil)
	p := c.later("/generate", ask(prompt(26, 10), full(c.long()), m{"rid": "cut"}))
	c.untilRunning(1)
	c.post("/abort_request", m{"rid": "cut"}).must(200)
	p.wait(c).reply().ends("abort", nil)
}

func tripleShape(c *check) {
	body := ask(prompt(27, 10), full(6), m{"logprob_start_len": 0})
	r := c.generate(body)
	for _, t := range slices.Concat(r.triples("input_token_logprobs"), r.triples("output_token_logprobs")) {
		if t.text != nil {
			c.Errorf("text of token %d is %v, want null", t.id, t.text)
		}
	}
	r = c.generate(with(body, m{"return_text_in_logprobs": true}))
	var joined strings.Builder
	for _, t := range r.triples("output_token_logprobs") {
		s, ok := t.text.(string)
		if !ok {
			c.Errorf("text of token %d is %v, want a string", t.id, t.text)
		}
		joined.WriteString(s)
	}
	if text := r.text(); !strings.Contains(text, "\ufffd") && !strings.Contains(joined.String(), "\ufffd") && joined.String() != text {
		c.Errorf("texts of triples are %q, want %q", joined.String(), text)
	}
}

func idsOfTriples(c *check) {
	for _, n := range []int{1, 17} {
		r := c.generate(ask(prompt(28, 10), full(n)))
		c.equal("ids of triples", tokens(r.triples("output_token_logprobs")), r.ids())
	}
}

func lengthFive(c *check) {
	r := c.generate(ask(prompt(29, 10), full(5)))
	r.ends("length", 5)
	c.equal("completion_tokens", r.int("completion_tokens"), 5)
}

func stopToken(c *check) {
	var endless m // no end token comes first
	if c.facts.EOS > 0 {
		endless = m{"logit_bias": m{strconv.Itoa(c.facts.EOS): -100}}
	}
	free := c.generate(ask(prompt(30, 10), full(12, endless))).ids()
	stop := free[6]
	want := free[:slices.Index(free, stop)+1]
	r := c.generate(ask(prompt(30, 10), greedy(12, endless, m{"stop_token_ids": ids{stop}})))
	r.ends("stop", stop)
	c.equal("output_ids", r.ids(), want)
}

// dictated makes the model say text: a regular expression leaves no choice.
func dictated(text string) m {
	for _, special := range `\.+*?()|[]{}^$` {
		text = strings.ReplaceAll(text, string(special), `\`+string(special))
	}
	return m{"regex": text}
}

func stopString(c *check) {
	const whole = "ten is ten. nine is nine. end"
	say := func(more m) reply {
		return c.generate(ask(prompt(31, 10), greedy(64, dictated(whole), more)))
	}
	c.equal("text without stop", say(nil).text(), whole)
	r := say(m{"stop": "."})
	r.ends("stop", ".")
	c.equal("text", r.text(), "ten is ten")
	kept := say(m{"stop": ".", "no_stop_trim": true})
	kept.ends("stop", ".")
	c.equal("text with no_stop_trim", kept.text(), "ten is ten.")
	c.equal("output_ids", kept.ids(), r.ids())
	long := say(m{"stop": []string{"zzz", " is nine. e", "nine is nine. end!"}})
	long.ends("stop", " is nine. e")
	c.equal("text", long.text(), "ten is ten. nine")
}

func stopNulls(c *check) {
	c.generate(ask(prompt(32, 10), greedy(2, m{"stop": nil, "stop_token_ids": nil})))
	c.generate(ask(prompt(32, 10), greedy(2, m{"stop": []string{}, "stop_token_ids": []any{nil}})))
	c.generate(ask(prompt(32, 10), greedy(2, m{"stop": []string{"zz"}, "stop_token_ids": []any{nil, 5, nil}})))
}

func minNewTokens(c *check) {
	eos := c.eos()
	r := c.generate(ask(prompt(33, 10), greedy(20, bias(eos), m{"min_new_tokens": 8})))
	if n := r.int("completion_tokens"); n < 8 {
		c.Errorf("got %d tokens, want at least 8", n)
	}
	c.equal("completion_tokens", r.int("completion_tokens"), 9) // eight and the end token
	r.ends("stop", eos)
}

func specialTokens(c *check) {
	eos := c.eos()
	spelling := c.post("/detokenize", m{"tokens": ids{eos}, "skip_special_tokens": false}).must(200).object()["text"]
	if spelling == "" {
		c.Skip("needs a tokenizer whose end token has a text")
	}
	say := func(more m) string { return c.generate(ask(prompt(34, 10), greedy(4, bias(eos), more))).text() }
	c.equal("with skip_special_tokens false and no_stop_trim, text", say(m{"skip_special_tokens": false, "no_stop_trim": true}), spelling)
	c.equal("with both flags off, text", say(nil), "")
	c.equal("with no_stop_trim alone, text", say(m{"no_stop_trim": true, "skip_special_tokens": true}), "")
}

func jsonSchema(c *check) {
	schema := `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99}},"required":["a"],"additionalProperties":false}`
	r := c.generate(ask(prompt(35, 10), greedy(64, m{"json_schema": schema})))
	v, err := decode([]byte(r.text()))
	o, _ := v.(m)
	if err != nil || o == nil {
		c.Fatalf("text is %q, want an object: %v", r.text(), err)
	}
	c.integer(o["a"], "a")
	r.ends("stop", nil)
	r = c.generate(ask(prompt(35, 10), greedy(200, m{"json_schema": `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`})))
	if kind, _ := r.finish(); kind == "stop" { // a model may write digits without end
		if _, err := decode([]byte(r.text())); err != nil {
			c.Errorf("text is %q, want JSON: %v", r.text(), err)
		}
	}
	c.post("/generate", ask(prompt(35, 10), greedy(4, m{"json_schema": "{"}))).must(400)
}

func logitBias(c *check) {
	for _, token := range (ids{40, 77}) {
		r := c.generate(ask(prompt(36, 10), full(5, bias(token))))
		c.equal("output_ids", r.ids(), slices.Repeat(ids{token}, 5))
		for _, lp := range r.logprobs() {
			if lp < -1e-3 {
				c.Errorf("logprob of token %d is %v, want about 0", token, lp)
			}
		}
	}
}

func promptTokenIDs(c *check) {
	p := prompt(37, 30)
	r := c.generate(ask(p, greedy(2), m{"return_prompt_token_ids": true}))
	c.equal("prompt_token_ids", c.ints(r.raw["prompt_token_ids"]), p)
	if v, ok := c.generate(ask(p, greedy(2))).raw["prompt_token_ids"]; ok && v != nil {
		c.Errorf("prompt_token_ids is %v though nobody asked", v)
	}
}

// untilRunning waits until n requests run.
func (c *check) untilRunning(n int) {
	c.until(fmt.Sprintf("%d requests run", n), func(l load) bool { return l.running == n })
}

// A load is what /v1/loads says.
type load struct{ running, waiting int }

func (c *check) load() load {
	c.Helper()
	l, _ := c.get("/v1/loads?include=core").must(200).object()["loads"].([]any)
	if len(l) == 0 {
		c.Fatalf("/v1/loads has no loads")
	}
	var out load
	for _, v := range l {
		o, _ := v.(m)
		out.running += c.integer(o["num_running_reqs"], "num_running_reqs")
		out.waiting += c.integer(o["num_waiting_reqs"], "num_waiting_reqs")
	}
	return out
}

// until polls the load until it is as wanted.
func (c *check) until(what string, ok func(load) bool) {
	c.Helper()
	var l load
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if l = c.load(); ok(l) {
			return
		}
	}
	c.Fatalf("after %v the load is %+v, want that %s", patience, l, what)
}

// untilIdle waits until nothing runs or waits.
func (c *check) untilIdle() { c.until("nothing runs", func(l load) bool { return l == load{} }) }

// flush empties the prefix cache, as soon as nobody is in the way.
func (c *check) flush() {
	c.Helper()
	var a answer
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if a = c.get("/flush_cache"); a.err == nil && a.status == 200 {
			return
		}
	}
	a.must(200)
}
