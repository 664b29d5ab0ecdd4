package sglang

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeGenerate(t *testing.T) {
	temperature, ten := 0.5, 10
	for _, tt := range []struct {
		name, body string
		want       Generate
	}{
		{"one prompt", `{"input_ids":[1,2]}`, Generate{InputIDs: OneIDs([]int32{1, 2})}},
		{"a list of prompts", `{"input_ids":[[1],[2,3]]}`, Generate{InputIDs: ManyIDs([]int32{1}, []int32{2, 3})}},
		{"no ids", `{"input_ids":[]}`, Generate{InputIDs: OneIDs([]int32{})}},
		{"null is absent", `{"input_ids":null,"text":"a","stream":null,"rid":null}`, Generate{Text: One("a")}},
		{"unknown keys", `{"text":"a","zzz":1,"prefix":{"b":[]}}`, Generate{Text: One("a")}},
		{"keys are exact", `{"Text":"b","text":"a","TEXT":1}`, Generate{Text: One("a")}},
		{"the last of equal keys", `{"text":"b","text":"a"}`, Generate{Text: One("a")}},
		{"lists of texts", `{"text":["a","b"],"rid":["x","y"]}`, Generate{Text: Many("a", "b"), RID: Many("x", "y")}},
		{"one or many numbers", `{"text":"a","logprob_start_len":[10],"top_logprobs_num":3}`, Generate{Text: One("a"), LogProbStart: Many(&ten), TopLogProbs: One(3)}},
		{
			"parameters", `{"text":"a","sampling_params":{"temperature":0.5,"stop":".","stop_token_ids":[null,7],"max_new_tokens":null}}`,
			Generate{Text: One("a"), Params: One(Params{Temperature: &temperature, Stop: Strings{"."}, StopTokenIDs: Tokens{7}, MaxNewTokens: Limit{None: true}})},
		},
		{
			"parameters of each", `{"text":["a"],"sampling_params":[{"max_new_tokens":10},null]}`,
			Generate{Text: Many("a"), Params: Many(Params{MaxNewTokens: AtMost(10)}, Params{})},
		},
		{"stops with null", `{"text":"a","sampling_params":{"stop":["x",null]}}`, Generate{Text: One("a"), Params: One(Params{Stop: Strings{"x"}})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got Generate
			if err := Decode([]byte(tt.body), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestDecodeComplains(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{`, "body is no JSON"},
		{`null`, "body is null"},
		{`[]`, "body is a array, want an object"},
		{`{"text":5}`, "text is a number, want a string"},
		{`{"input_ids":"abc"}`, "input_ids is a string, want a list"},
		{`{"input_ids":[1.5]}`, "input_ids is a number 1.5, want an integer of 32 bits"},
		{`{"input_ids":[99999999999999999999]}`, "want an integer of 32 bits"},
		{`{"stream":1}`, "stream is a number, want true or false"},
		{`{"text":"a"} x`, "body is no JSON"},
		{`{"logprob_start_len":NaN}`, "body is no JSON"},
		{`{"sampling_params":5}`, "sampling_params is 5, want an object"},
		{`{"sampling_params":{"temprature":1}}`, `sampling_params has the key "temprature", which is no sampling parameter; did you mean "temperature"`},
		{`{"sampling_params":{"max_tokens":1}}`, `did you mean "max_new_tokens"`},
		{`{"sampling_params":{"qqqqqq":null}}`, `has the key "qqqqqq"`},
		{`{"sampling_params":{"temperature":"1"}}`, "sampling_params temperature is a string, want a number"},
		{`{"sampling_params":{"max_new_tokens":1e400}}`, "max_new_tokens"},
	} {
		var g Generate
		err := Decode([]byte(tt.body), &g)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Decode(%s) = %v, want %q in it", tt.body, err, tt.want)
		}
	}
}

func TestOverKeepsBothSides(t *testing.T) {
	low, high, k := 0.1, 0.9, 5
	preferred := Params{Temperature: &low, TopK: &k}
	got, err := (Params{Temperature: &high, MaxNewTokens: Limit{None: true}}).Over(preferred)
	if err != nil {
		t.Fatal(err)
	}
	if *got.Temperature != high || *got.TopK != k || !got.MaxNewTokens.None {
		t.Errorf("got %+v", got)
	}
	if *preferred.Temperature != low {
		t.Errorf("preferred temperature became %v, want %v", *preferred.Temperature, low)
	}
}

// FuzzDecodeGenerate: whatever is read is written and read again as the same.
func FuzzDecodeGenerate(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"text":"a"}`, `{"text":["a","b"],"rid":"x"}`, `{"input_ids":[[1,2],[3]],"logprob_start_len":[0,null]}`, `{"input_ids":[]}`, `{"input_ids":[null]}`,
		`{"input_ids":[1],"sampling_params":{"n":2,"stop":["a",null],"logit_bias":{"5":-1e2},"max_new_tokens":null,"custom_params":{"a":[1]}}}`,
		`{"sampling_params":[{"temprature":1}]}`, `{"lora_path":[null,"a"]}`, `{"return_hidden_states":"last"}`, `{"image_data":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var g, again Generate
		if Decode(body, &g) != nil {
			return
		}
		raw, err := json.Marshal(g)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if err := Decode(raw, &again); err != nil {
			t.Fatalf("%s became %s: %v", body, raw, err)
		}
		if twice, _ := json.Marshal(again); string(raw) != string(twice) {
			t.Fatalf("%s became %s and then %s", body, raw, twice)
		}
	})
}
