package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"furlong/api/sglang"
	"furlong/rollout"
	"furlong/tokenizer"
)

// Whatever is asked, the answer names the process, and another process has another name.
func TestAnswersNameTheProcess(t *testing.T) {
	names := map[string]int{}
	for range 2 {
		e := &script{stats: rollout.Stats{Version: 1, MaxRunning: 1}}
		s, err := New(Default(), e, Parts{Tokenizer: tokenizer.Bytes{}, Model: Model{Vocab: tokenizer.Bytes{}.Size(), Context: 64}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for _, ask := range [][2]string{{http.MethodGet, "/model_info"}, {http.MethodOptions, "/generate"}, {http.MethodGet, "/nowhere"}} {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest(ask[0], ask[1], nil))
			names[w.Header().Get(sglang.ProcessHeader)]++
		}
	}
	if len(names) != 2 || names[""] != 0 {
		t.Errorf("6 answers of two processes have names %v, want two, three times each", names)
	}
}
