package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/api/sglang"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tokenizer"
)

const greedy = `"sampling_params":{"temperature":0,"max_new_tokens":%d,"ignore_eos":true}`

// ask returns a body that asks for n greedy tokens, and more.
func ask(prompt string, n int, more string) string {
	return fmt.Sprintf(`{"text":%q,%s%s}`, prompt, fmt.Sprintf(greedy, n), more)
}

func TestGenerateOne(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	a := u.one(ask("hello", 5, `,"return_logprob":true,"rid":"abc","return_prompt_token_ids":true`))
	if a.Meta.ID != "abc" || a.Meta.PromptTokens != 5 || a.Meta.CompletionTokens != 5 || len(a.OutputIDs) != 5 || len(a.Meta.OutputLogProbs) != 5 {
		t.Errorf("got %+v", a)
	}
	if *a.Text != (tokenizer.Bytes{}).Decode(a.OutputIDs) && strings.ToValidUTF8((tokenizer.Bytes{}).Decode(a.OutputIDs), "\uFFFD") != *a.Text {
		t.Errorf("text is %q, ids %v", *a.Text, a.OutputIDs)
	}
	if f := a.Meta.Finish; f.Type != "length" || f.Length != 5 {
		t.Errorf("finish is %+v, want length 5", f)
	}
	if a.Meta.WeightVersion != "default" || !reflect.DeepEqual(a.Meta.WeightVersions, []sglang.Span{{Version: "default", End: 5}}) {
		t.Errorf("versions are %q %v", a.Meta.WeightVersion, a.Meta.WeightVersions)
	}
	if !slices.Equal(a.PromptTokenIDs, tokenizer.Bytes{}.Encode("hello")) || a.Meta.InputLogProbs == nil || len(a.Meta.InputLogProbs) != 0 {
		t.Errorf("prompt ids %v, input logprobs %v", a.PromptTokenIDs, a.Meta.InputLogProbs)
	}
	for i, tr := range a.Meta.OutputLogProbs {
		if tr.Token != a.OutputIDs[i] || !(tr.LogProb <= 0) {
			t.Errorf("triple %d is %+v", i, tr)
		}
	}
}

// The bits on the wire are those of the engine, whoever asks beside.
func TestGenerateTellsTheEnginesBits(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	prompt := tokenizer.Bytes{}.Encode("the same")
	s := rl.DefaultSampling()
	s.MaxTokens, s.Seed = 12, 77
	var want *rl.Sample
	for smp, err := range u.engine.Generate(t.Context(), []rl.Request{{ID: 1 << 40, Prompt: &rl.Prompt{Tokens: prompt}, Sampling: s}}) {
		if err != nil {
			t.Fatal(err)
		}
		want = smp
	}
	done := make(chan sglang.Answer, 8)
	for i := range 8 {
		go func() {
			done <- u.one(fmt.Sprintf(`{"text":"the same","return_logprob":true,"sampling_params":{"max_new_tokens":12,"sampling_seed":77,"ignore_eos":%v}}`, i%2 == 0))
		}()
	}
	for range 8 {
		a := <-done
		for i, tr := range a.Meta.OutputLogProbs {
			if tr.Token != want.Response[i] || math.Float32bits(tr.LogProb) != math.Float32bits(want.LogProbs[i]) {
				t.Fatalf("token %d is %v at %v, want %v at %v", i, tr.Token, tr.LogProb, want.Response[i], want.LogProbs[i])
			}
		}
	}
}

func TestGenerateShapes(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	four := `"sampling_params":{"temperature":1,"max_new_tokens":3,"n":%d}`
	for _, tt := range []struct {
		body    string
		prompts []int // tokens, in order
	}{
		{`{"input_ids":[[1,2,3]],` + fmt.Sprintf(greedy, 2) + `}`, []int{3}},
		{`{"input_ids":[[1,2,3],[4],[5,6]],` + fmt.Sprintf(greedy, 2) + `}`, []int{3, 1, 2}},
		{`{"input_ids":[1,2],` + fmt.Sprintf(four, 4) + `}`, []int{2, 2, 2, 2}},
		{`{"input_ids":[[1,2],[3]],` + fmt.Sprintf(four, 3) + `}`, []int{2, 2, 2, 1, 1, 1}},
		{`{"text":["abc","d"],"sampling_params":[{"max_new_tokens":1},{"max_new_tokens":2}]}`, []int{3, 1}},
	} {
		as := u.many(tt.body)
		var got []int
		ids := map[string]bool{}
		for _, a := range as {
			got = append(got, a.Meta.PromptTokens)
			ids[a.Meta.ID] = true
		}
		if !slices.Equal(got, tt.prompts) || len(ids) != len(as) {
			t.Errorf("%s: prompts %v, %d ids, want %v", tt.body, got, len(ids), tt.prompts)
		}
	}
	if as := u.many(`{"input_ids":[[1],[2]],"rid":"abc","sampling_params":{"max_new_tokens":1}}`); as[0].Meta.ID != "abc_0" || as[1].Meta.ID != "abc_1" {
		t.Errorf("rids are %s %s, want abc_0 abc_1", as[0].Meta.ID, as[1].Meta.ID)
	}
	if a := u.one(`{"input_ids":[1],"sampling_params":null,"zzz":1}`); a.Meta.CompletionTokens == 0 {
		t.Errorf("got %+v", a.Meta)
	}
	if code, _ := u.call("PUT", "/generate", `{"input_ids":[1],"sampling_params":{"max_new_tokens":1}}`, "Content-Type", "text/plain"); code != 200 {
		t.Errorf("PUT: %d, want 200", code)
	}
}

func TestGenerateRefuses(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	nested := `{"error":{"message":`
	for _, tt := range []struct{ body, says string }{
		{`{}`, nested},
		{`{"input_ids":[]}`, "no tokens"},
		{`{"input_ids":[[1],[]]}`, "item 1: the prompt has no tokens"},
		{`{"input_ids":[272]}`, "token 0 of the prompt is 272, want 0 to 271"},
		{`{"input_ids":[-1]}`, "want 0 to 271"},
		{`{"text":[]}`, "the batch is empty"},
		{`{"text":"a","input_embeds":[[1]]}`, "input_embeds"},
		{`{"text":"a","image_data":"x"}`, "image_data"},
		{`{"text":"a","lora_path":"x"}`, "lora_path"},
		{`{"text":"a","custom_logit_processor":"x"}`, "custom_logit_processor"},
		{`{"text":"a","return_hidden_states":"last"}`, "return_hidden_states"},
		{`{"text":"a","return_routed_experts":true}`, "--enable-return-routed-experts"},
		{`{"text":"a","data_parallel_rank":1}`, "routed_dp_rank"},
		{`{"text":"a","logprob_start_len":2,"return_logprob":true}`, "logprob_start_len is 2"},
		{`{"text":"a","token_ids_logprob":[999],"return_logprob":true}`, "token_ids_logprob"},
		{`{"text":["a","b"],"rid":["x"]}`, "rid has 1 members, want 2"},
		{`{"text":["a","b"],"rid":["x","x"]}`, `rid \"x\" is there twice`},
		{`{"text":["a","b"],"sampling_params":[{"n":1},{"n":2}]}`, "the same for all"},
		{`{"text":"a","sampling_params":{"temperature":-1}}`, "temperature is -1"},
		{`{"text":"a","sampling_params":{"top_p":0}}`, "top_p is 0"},
		{`{"text":"a","sampling_params":{"top_p":1.5}}`, "top_p is 1.5"},
		{`{"text":"a","sampling_params":{"top_k":0}}`, "top_k is 0"},
		{`{"text":"a","sampling_params":{"min_p":2}}`, "min_p is 2"},
		{`{"text":"a","sampling_params":{"repetition_penalty":0}}`, "repetition_penalty is 0"},
		{`{"text":"a","sampling_params":{"frequency_penalty":3}}`, "frequency_penalty is 3"},
		{`{"text":"a","sampling_params":{"max_new_tokens":-1}}`, "max_new_tokens is -1"},
		{`{"text":"a","sampling_params":{"max_new_tokens":5,"min_new_tokens":6}}`, "min_new_tokens is 6"},
		{`{"text":"a","sampling_params":{"max_new_tokens":256}}`, "together 257, want at most the context length (256)"},
		{`{"text":"a","sampling_params":{"regex":"a","json_schema":"{}"}}`, "regex and json_schema are both there"},
		{`{"text":"a","sampling_params":{"logit_bias":{"999999999":1}}}`, "logit_bias"},
		{`{"text":"a","sampling_params":{"logit_bias":{"7":1,"07":2}}}`, "twice"},
		{`{"text":"a","sampling_params":{"beam_width":2}}`, "beam_width"},
		{`{"text":"a","sampling_params":{"stop_regex":"("}}`, "stop_regex"},
		{`{"text":"a","return_logprob":true,"top_logprobs_num":272,"sampling_params":{"n":4096,"max_new_tokens":200}}`, "4096 samples of up to 200 tokens with 272 alternatives each are more than 33554432"},
		{`{"text":"a","return_logprob":true,"token_ids_logprob":[` + strings.Repeat("1,", 999) + `1],"sampling_params":{"n":1000,"max_new_tokens":200}}`, "1000 samples of up to 200 tokens with 1000 alternatives each"},
	} {
		if raw := u.refused("/generate", tt.body, 400, tt.says); !strings.HasPrefix(string(raw), nested) {
			t.Errorf("%s: %s, want %s", tt.body, raw, nested)
		}
	}
	long := strings.Repeat("1,", 255) + "1"
	u.refused("/generate", `{"input_ids":[`+long+`]}`, 400, "the prompt has 256 tokens, want fewer than the context length (256)")
	for _, body := range []string{`{`, `{"text":5}`, `{"text":"a","sampling_params":{"temprature":1}}`, `{"text":"a","stream":"yes"}`} {
		raw := u.refused("/generate", body, 400, `"type":"Bad Request"`)
		var p sglang.Problem
		if err := json.Unmarshal(raw, &p); err != nil || p.Code != 400 || p.Message == "" || p.Object != "error" {
			t.Errorf("%s: %s", body, raw)
		}
	}
}

// What a request may be told is bounded, all samples taken together, and not before the bound.
func TestAlternativesAreBounded(t *testing.T) {
	one := spec{report: rl.Report{Tail: 24, Top: 1000, Among: []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}}, sampling: rl.Sampling{MaxTokens: 1000}}
	p := plan{specs: slices.Repeat([]spec{one}, mostAlternatives>>20)} // each is told of 2^20
	if err := p.alternatives(); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	p.specs = append(p.specs, one)
	if err := p.alternatives(); status(err) != 400 {
		t.Errorf("beyond the bound: %v, want 400", err)
	}
	p.specs = slices.Repeat([]spec{{sampling: rl.Sampling{MaxTokens: 1 << 20}}}, 1<<16)
	if err := p.alternatives(); err != nil {
		t.Errorf("without alternatives: %v", err)
	}
}

func TestGenerateEnds(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	free := u.one(ask("count", 20, ""))
	ids := free.OutputIDs
	// A stop id is the last token, and has no text.
	stop := ids[7]
	first := slices.Index(ids, stop)
	a := u.one(fmt.Sprintf(`{"text":"count","sampling_params":{"temperature":0,"max_new_tokens":20,"stop_token_ids":[%d,null]}}`, stop))
	if n := first + 1; len(a.OutputIDs) != n || a.Meta.Finish.Type != "stop" || *a.Meta.Finish.Token != stop || *a.Text != utf8(ids[:first]) {
		t.Errorf("stop id %d: %v %q %+v, want %d tokens", stop, a.OutputIDs, *a.Text, a.Meta.Finish, n)
	}
	a = u.one(fmt.Sprintf(`{"text":"count","sampling_params":{"temperature":0,"max_new_tokens":20,"stop_token_ids":[%d],"no_stop_trim":true}}`, stop))
	if *a.Text != utf8(ids[:first+1]) {
		t.Errorf("kept: %q, want %q", *a.Text, utf8(ids[:first+1]))
	}
	// On the last slot it is the length that ended it.
	a = u.one(fmt.Sprintf(`{"text":"count","sampling_params":{"temperature":0,"max_new_tokens":%d,"stop_token_ids":[%d]}}`, first+1, stop))
	if a.Meta.Finish.Type != "length" {
		t.Errorf("stop id on the last slot: %+v, want length", a.Meta.Finish)
	}
	// ignore_eos passes over stop ids.
	a = u.one(fmt.Sprintf(`{"text":"count","sampling_params":{"temperature":0,"max_new_tokens":20,"ignore_eos":true,"stop_token_ids":[%d]}}`, stop))
	if !slices.Equal(a.OutputIDs, ids) {
		t.Errorf("ignore_eos: %v, want %v", a.OutputIDs, ids)
	}
}

// utf8 returns the text of ids as JSON carries it.
func utf8(ids []int32) string {
	raw, _ := json.Marshal(tokenizer.Bytes{}.Decode(ids))
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// say returns a body that has the engine say a text by force, then EOS.
func TestStopTexts(t *testing.T) {
	u := serveOn(t, newScript(t, "one two three"), 256, nil)
	for _, tt := range []struct {
		params, text string
		tokens       int
		matched      string // "" is an EOS
	}{
		{`{}`, "one two three", 14, ""},
		{`{"stop":"two"}`, "one ", 7, "two"},
		{`{"stop":["xyz","wo",null]}`, "one t", 7, "wo"},
		{`{"stop":"two","no_stop_trim":true}`, "one two", 7, "two"},
		{`{"stop":["e ","ne t"]}`, "on", 4, "e "},
		{`{"stop":"zero"}`, "one two three", 14, ""},
		{`{"stop_regex":"t[a-z]o"}`, "one ", 7, "two"},
		{`{"stop":""}`, "one two three", 14, ""},
	} {
		a := u.one(`{"text":"x","sampling_params":` + tt.params + `}`)
		if *a.Text != tt.text || len(a.OutputIDs) != tt.tokens {
			t.Errorf("%s: %q, %d tokens, want %q, %d", tt.params, *a.Text, len(a.OutputIDs), tt.text, tt.tokens)
		}
		f := a.Meta.Finish
		if f.Type != "stop" || tt.matched != "" && (f.Matched == nil || *f.Matched != tt.matched) || tt.matched == "" && (f.Token == nil || *f.Token != 257) {
			t.Errorf("%s: finish is %+v, want %q matched", tt.params, f, tt.matched)
		}
	}
	a := u.one(`{"text":"x","sampling_params":{"stop":"two","max_new_tokens":7}}`)
	if a.Meta.Finish.Type != "length" || *a.Text != "one two" {
		t.Errorf("stop on the last slot: %q %+v, want length", *a.Text, a.Meta.Finish)
	}
}

func TestDuplicateRID(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	first := make(chan sglang.Answer)
	go func() { first <- u.one(ask("a", 3, `,"rid":"twice"`)) }()
	u.eventually("one job", func() bool { return u.jobs.count() == 1 })
	u.refused("/generate", ask("b", 3, `,"rid":"twice"`), 400, "in flight already")
	u.refused("/generate", `{"text":["b","c"],"rid":["new","twice"]}`, 400, "in flight already")
	if n := u.jobs.count(); n != 1 {
		t.Errorf("%d jobs after refusals, want 1", n)
	}
	u.ok("/continue_generation", `{}`, nil)
	if a := <-first; a.Meta.CompletionTokens != 3 {
		t.Errorf("the first got %d tokens, want 3", a.Meta.CompletionTokens)
	}
	u.one(ask("b", 3, `,"rid":"twice"`))
}

func TestQueueIsFull(t *testing.T) {
	c := engineConfig()
	c.MaxRunning, c.MaxQueued = 1, 2
	u := serve(t, c, nil)
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	done := make(chan int, 2)
	for range 2 {
		go func() { code, _ := u.post("/generate", ask("a", 3, "")); done <- code }()
	}
	u.eventually("two wait", func() bool { return u.engine.Stats().Queued == 2 })
	u.refused("/generate", ask("b", 3, ""), 503, `"code":503`)
	frames, raw := u.stream(ask("b", 3, `,"stream":true`))
	if len(frames) != 1 || frames[0].Meta.Finish == nil || frames[0].Meta.Finish.Status != 503 || frames[0].Meta.Finish.Type != "abort" {
		t.Errorf("stream: %s, want one frame with an abort of 503", raw)
	}
	u.ok("/continue_generation", "", nil)
	for range 2 {
		if code := <-done; code != 200 {
			t.Errorf("who waited got %d, want 200", code)
		}
	}
	u.one(ask("b", 3, ""))
}

func TestReplyToNobody(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.refused("/nothing", "", http.StatusNotFound, `"code":404`)
	u.refused("/v1/embeddings", "{}", http.StatusNotImplemented, "the model generates")
	u.refused("/health", "", http.StatusMethodNotAllowed, "want GET")
	if _, err := New(Default(), nil, Parts{}); err == nil {
		t.Error("a server without a logger was made, want an error")
	}
	if _, err := rollout.ParseMode("abort"); err != nil {
		t.Fatal(err)
	}
}
