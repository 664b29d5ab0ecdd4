package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"furlong/api/sglang"
)

// What is gone on with is what would have come at once, in all that is told of it, also in a stream.
func TestResponsesThatWereBegun(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	prompt := []int32{104, 101, 108, 108, 111}
	body := func(ids []int32, n int, params, more string) string {
		raw, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"input_ids":%s,"return_logprob":true,"top_logprobs_num":2,"token_ids_logprob":[7,9],"sampling_params":{"max_new_tokens":%d,"ignore_eos":true,"sampling_seed":5%s}%s}`, raw, n, params, more)
	}
	for name, params := range map[string]string{
		"plain": "", "top-k": `,"top_k":20`, "penalties": `,"frequency_penalty":1.5,"presence_penalty":0.5,"repetition_penalty":1.2`, "greedy": `,"temperature":0`,
	} {
		whole := u.one(body(prompt, 12, params, ""))
		begun := slices.Concat(prompt, whole.OutputIDs[:5])
		rest := body(begun, 7, params, `,"response_start_len":5`)
		frames, _ := u.stream(rest[:len(rest)-1] + `,"stream":true}`)
		for way, got := range map[string]sglang.Answer{"at once": u.one(rest), "in a stream": frames[len(frames)-1]} {
			m, w := got.Meta, whole.Meta
			if !slices.Equal(got.OutputIDs, whole.OutputIDs[5:]) || !reflect.DeepEqual(m.OutputLogProbs, w.OutputLogProbs[5:]) ||
				!reflect.DeepEqual(m.OutputTop, w.OutputTop[5:]) || !reflect.DeepEqual(m.OutputAmong, w.OutputAmong[5:]) {
				t.Errorf("%s, %s: goes on with %v %v, want %v %v", name, way, got.OutputIDs, m.OutputLogProbs, whole.OutputIDs[5:], w.OutputLogProbs[5:])
			}
			if want := []sglang.Span{{Version: "default", End: 7}}; m.PromptTokens != 10 || m.CompletionTokens != 7 || !reflect.DeepEqual(m.WeightVersions, want) || m.Finish.Length != 7 {
				t.Errorf("%s, %s: %+v, want 10 and 7 tokens, %v, and an end by length", name, way, m, want)
			}
		}
	}
	a := u.one(body(prompt, 0, "", `,"response_start_len":3`))
	if len(a.OutputIDs) != 0 || a.Meta.Finish.Type != "length" {
		t.Errorf("of no tokens more %v come (%+v), want none by length", a.OutputIDs, a.Meta.Finish)
	}
}

func TestBegunIsRefused(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	for more, says := range map[string]string{
		`"text":"abc","response_start_len":1`:                                                  "response_start_len is 1 and there are no input_ids, want them",
		`"input_ids":[1,2],"response_start_len":3`:                                             "response_start_len is 3, want 1 to the length of input_ids (2)",
		`"input_ids":[1,2],"response_start_len":0`:                                             "response_start_len is 0, want 1 to",
		`"input_ids":[1,2],"response_start_len":1,"return_logprob":true,"logprob_start_len":0`: "logprob_start_len is 0 beside response_start_len, want none",
		`"input_ids":[1,2],"response_start_len":1,"sampling_params":{"stop":"x"}`:              "beside a stop text or a grammar, want none",
		`"input_ids":[1,2],"response_start_len":1,"sampling_params":{"regex":"x"}`:             "beside a stop text or a grammar, want none",
		`"input_ids":[1,2],"response_start_len":1,"sampling_params":{"stop_token_ids":[2]}`:    "input_ids end with 2, which is a stop id, want a response that has not ended",
		`"input_ids":[[1,2],[1,2,3,4]],"response_start_len":3`:                                 "response_start_len is 3, want 1 to the length of input_ids (2)",
	} {
		u.refused("/generate", "{"+more+"}", 400, says)
	}
}
