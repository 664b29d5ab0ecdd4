package server

import (
	"fmt"
	"strings"
	"testing"
)

func TestStopsThatCostTooMuch(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.one(`{"text":"a","sampling_params":{"max_new_tokens":2,"stop_regex":["[0-9]+\\.","(end|END){1,9}"]}}`)
	many := strings.TrimSuffix(strings.Repeat(`"a{0,90}b",`, 20), ",")
	for _, tt := range []struct{ params, says string }{
		{`{"stop_regex":"(a{0,900}|b{0,900})z"}`, "more than 1024 steps"},
		{`{"stop_regex":[` + many + `]}`, "more than 1024 steps"},
		{`{"stop":["` + strings.Repeat("a", mostStopBytes) + `","b"]}`, "stop has 1048577 bytes"},
		{`{"stop_regex":"a{1,9"}`, ""},
	} {
		body := `{"text":"a","sampling_params":` + tt.params + `}`
		if tt.says != "" {
			u.refused("/generate", body, 400, tt.says)
		} else {
			u.one(body)
		}
	}
}

// A request that leaves no token is the caller's mistake: what is 500 is sent again.
func TestNoTokenToDraw(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	all := make([]string, u.parts.Model.Vocab)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	u.refused("/generate", `{"text":"a","sampling_params":{"min_new_tokens":2,"stop_token_ids":[`+strings.Join(all, ",")+`]}}`, 400, "forbid all")
	u.refused("/generate", `{"text":"aaa","sampling_params":{"repetition_penalty":1e-300,"max_new_tokens":3}}`, 400, "past all numbers")
	if code := u.get("/health", nil); code != 200 {
		t.Errorf("health is %d, want 200", code)
	}
}
