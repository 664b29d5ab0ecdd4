package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"furlong/api/sglang"
)

func ids(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint((i*37 + 11) % 250)
	}
	return strings.Join(out, ",")
}

func null(f float32) bool { return math.IsNaN(float64(f)) }

func TestInputLogProbs(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	const p = 12
	for _, tt := range []struct {
		start string
		want  int // triples
	}{
		{"", 0},
		{`,"logprob_start_len":-1`, 0},
		{`,"logprob_start_len":0`, p},
		{fmt.Sprintf(`,"logprob_start_len":%d`, p-3), 3},
		{fmt.Sprintf(`,"logprob_start_len":%d`, p-1), 1},
		{fmt.Sprintf(`,"logprob_start_len":%d`, p), 0},
		{`,"logprob_start_len":null`, 0},
	} {
		for _, budget := range []int{0, 1} {
			a := u.one(fmt.Sprintf(`{"input_ids":[%s],"return_logprob":true,"top_logprobs_num":2,"token_ids_logprob":[7,9],"sampling_params":{"temperature":0,"max_new_tokens":%d}%s}`, ids(p), budget, tt.start))
			m := a.Meta
			if len(m.InputLogProbs) != tt.want || len(m.InputTop) != tt.want || len(m.InputAmong) != tt.want || m.InputLogProbs == nil {
				t.Errorf("%q, %d new: %d, %d and %d, want %d each", tt.start, budget, len(m.InputLogProbs), len(m.InputTop), len(m.InputAmong), tt.want)
				continue
			}
			for i, tr := range m.InputLogProbs {
				if null(tr.LogProb) != (i == 0) || (m.InputTop[i] == nil) != (i == 0) || (m.InputAmong[i] == nil) != (i == 0) {
					t.Errorf("%q: triple %d is %v %v %v", tt.start, i, tr, m.InputTop[i], m.InputAmong[i])
				}
			}
			if m.CompletionTokens != budget || len(m.OutputLogProbs) != budget || len(a.OutputIDs) != budget || m.Finish.Type != "length" || m.Finish.Length != budget {
				t.Errorf("%d new: %+v", budget, m)
			}
		}
	}
}

// What decoding told of a response, scoring the response as a prompt tells again, bit for bit, cold and from a warm cache.
func TestScoringIsDecoding(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	const p, n = 12, 10
	r := u.one(fmt.Sprintf(`{"input_ids":[%s],"return_logprob":true,"sampling_params":{"temperature":1,"max_new_tokens":%d,"ignore_eos":true}}`, ids(p), n))
	all := ids(p)
	for _, id := range r.OutputIDs {
		all += fmt.Sprintf(",%d", id)
	}
	body := fmt.Sprintf(`{"input_ids":[%s],"return_logprob":true,"logprob_start_len":%d,"sampling_params":{"temperature":0,"max_new_tokens":0,"skip_special_tokens":false}}`, all, p-1)
	for _, flush := range []bool{true, false} {
		if flush {
			u.ok("/flush_cache", "{}", nil)
		}
		a := u.one(body)
		tail := a.Meta.InputLogProbs[len(a.Meta.InputLogProbs)-n:]
		for i, tr := range tail {
			if w := r.Meta.OutputLogProbs[i]; tr.Token != w.Token || math.Float32bits(tr.LogProb) != math.Float32bits(w.LogProb) {
				t.Errorf("flush %v: token %d is %v, want %v", flush, i, tr, w)
			}
		}
		if *a.Text != "" {
			t.Errorf("text is %q, want none", *a.Text)
		}
	}
	batch := u.many(fmt.Sprintf(`{"input_ids":[[%s],[%s]],"return_logprob":true,"logprob_start_len":%d,"sampling_params":{"max_new_tokens":0}}`, all, all, p-1))
	if len(batch) != 2 || fmt.Sprint(batch[0].Meta.InputLogProbs) != fmt.Sprint(batch[1].Meta.InputLogProbs) {
		t.Errorf("batch: %+v", batch)
	}
}

func TestTopLogProbs(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	a := u.one(ask("top", 4, `,"return_logprob":true,"top_logprobs_num":5,"token_ids_logprob":[7,9],"return_text_in_logprobs":true`))
	for i, top := range a.Meta.OutputTop {
		if len(top) != 5 || top[0].Token != a.OutputIDs[i] || top[0].LogProb != a.Meta.OutputLogProbs[i].LogProb {
			t.Errorf("position %d: %v, drew %d", i, top, a.OutputIDs[i])
		}
		if !slices.IsSortedFunc(top, func(a, b sglang.Triple) int { return -int(math.Copysign(1, float64(a.LogProb-b.LogProb))) }) {
			t.Errorf("position %d: %v is not sorted", i, top)
		}
		among := a.Meta.OutputAmong[i]
		if len(among) != 2 || among[0].Token != 7 || among[1].Token != 9 || among[0].Text == nil {
			t.Errorf("position %d: %v, want 7 and 9", i, among)
		}
	}
	all := u.one(ask("top", 1, `,"return_logprob":true,"top_logprobs_num":100000`))
	sum := 0.0
	for _, tr := range all.Meta.OutputTop[0] {
		sum += math.Exp(float64(tr.LogProb))
	}
	if len(all.Meta.OutputTop[0]) != 272 || math.Abs(sum-1) > 1e-4 { // 272 roundings of float32
		t.Errorf("%d probabilities sum to %v, want 272 and 1", len(all.Meta.OutputTop[0]), sum)
	}
	_, raw := u.post("/generate", ask("top", 2, ""))
	if strings.Contains(string(raw), "logprobs") {
		t.Errorf("nobody asked for logprobs: %s", raw)
	}
	_, raw = u.post("/generate", ask("top", 2, `,"return_logprob":true`))
	var a2 map[string]map[string]any
	_ = json.Unmarshal(raw, &a2)
	if triple := a2["meta_info"]["output_token_logprobs"].([]any)[0].([]any); len(triple) != 3 || triple[2] != nil {
		t.Errorf("triple is %v", triple)
	}
}

func TestBiasAndMinimum(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	a := u.one(`{"text":"x","sampling_params":{"temperature":0,"max_new_tokens":4,"logit_bias":{"65":100}}}`)
	if *a.Text != "AAAA" {
		t.Errorf("bias: %q, want AAAA", *a.Text)
	}
	for budget, want := range map[int]string{1: "length", 2: "stop"} {
		a := u.one(fmt.Sprintf(`{"text":"x","sampling_params":{"temperature":0,"max_new_tokens":%d,"logit_bias":{"257":100}}}`, budget))
		if a.Meta.Finish.Type != want || len(a.OutputIDs) != 1 || a.OutputIDs[0] != 257 {
			t.Errorf("EOS by force, %d tokens: %+v %v, want %s", budget, a.Meta.Finish, a.OutputIDs, want)
		}
	}
	a = u.one(`{"text":"x","sampling_params":{"temperature":0,"max_new_tokens":20,"min_new_tokens":8,"logit_bias":{"257":100}}}`)
	if len(a.OutputIDs) != 9 || *a.Meta.Finish.Token != 257 {
		t.Errorf("8 at least: %v %+v, want 9 tokens", a.OutputIDs, a.Meta.Finish)
	}
}

func TestSeeds(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	with := func(seed string) string {
		return fmt.Sprint(u.one(`{"text":"x","sampling_params":{"max_new_tokens":20,"ignore_eos":true` + seed + `}}`).OutputIDs)
	}
	if a, b := with(`,"sampling_seed":5`), with(`,"sampling_seed":5`); a != b {
		t.Errorf("the same seed: %s and %s", a, b)
	}
	if a, b := with(`,"sampling_seed":5`), with(`,"sampling_seed":6`); a == b {
		t.Errorf("seeds 5 and 6 both drew %s", a)
	}
	if a, b := with(``), with(``); a == b {
		t.Errorf("no seed twice drew %s", a)
	}
	four := u.many(`{"text":"x","sampling_params":{"max_new_tokens":20,"ignore_eos":true,"sampling_seed":5,"n":4}}`)
	if fmt.Sprint(four[0].OutputIDs) != with(`,"sampling_seed":5`) || fmt.Sprint(four[1].OutputIDs) != with(`,"sampling_seed":6`) {
		t.Errorf("samples of one seed: %v", four)
	}
}

func TestRoutedExperts(t *testing.T) {
	c := engineConfig()
	c.Experts = true
	u := serve(t, c, func(_ *Config, p *Parts) { p.Model.Experts = true })
	const p, n, layers, choices = 9, 5, 3, 2
	get := func(more string) []byte {
		a := u.one(fmt.Sprintf(`{"input_ids":[%s],%s,"return_routed_experts":true%s}`, ids(p), fmt.Sprintf(greedy, n), more))
		raw, err := base64.StdEncoding.DecodeString(*a.Meta.RoutedExperts)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	whole := get("")
	if want := (p + n - 1) * layers * choices * 4; len(whole) != want {
		t.Fatalf("%d bytes, want %d", len(whole), want)
	}
	if again := get(""); string(again) != string(whole) {
		t.Error("rows differ when the prefix is cached")
	}
	if part := get(`,"routed_experts_start_len":4`); string(part) != string(whole[4*layers*choices*4:]) {
		t.Error("rows from 4 on are not the rest of all")
	}
	u.refused("/generate", fmt.Sprintf(`{"input_ids":[%s],"return_routed_experts":true,"routed_experts_start_len":%d}`, ids(p), p+1), 400, "routed_experts_start_len")
}
