package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"

	"furlong/api/sglang"
	"furlong/rollout"
	"furlong/tokenizer"
)

// A server over an engine that says 42 to everything, asked without a network.
func Example() {
	e := &script{say: tokenizer.Bytes{}.Encode("42"), stats: rollout.Stats{Version: 1, MaxRunning: 1}}
	s, err := New(Default(), e, Parts{
		Tokenizer: tokenizer.Bytes{}, StopIDs: []int32{tokenizer.Bytes{}.EOS()},
		Model: Model{Name: "oracle", Vocab: tokenizer.Bytes{}.Size(), Context: 64},
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/generate", strings.NewReader(`{"text":"12+30="}`)))
	var a sglang.Answer
	err = json.Unmarshal(w.Body.Bytes(), &a)
	fmt.Println(w.Code, *a.Text, a.Meta.Finish.Type, a.Meta.CompletionTokens, err)

	w = httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/generate", strings.NewReader(`{"text":"12+30=","sampling_params":{"temprature":0}}`)))
	var p sglang.Problem
	err = json.Unmarshal(w.Body.Bytes(), &p)
	fmt.Println(w.Code, p.Message, err)
	// Output:
	// 200 42 stop 3 <nil>
	// 400 sampling_params has the key "temprature", which is no sampling parameter; did you mean "temperature" <nil>
}

func ExampleConfig_Validate() {
	c := Default()
	c.StreamEvery, c.MaxBody = 0, 0
	fmt.Println(c.Validate())
	// Output:
	// --max-body-size is 0, want at least 1
	// --stream-interval is 0, want at least 1
}
