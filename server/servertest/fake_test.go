package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A fake answers /generate well, but for one mistake.
type fake struct{ mistake string }

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
	case "/flush_cache":
	case "/server_info":
		fmt.Fprint(w, `{"context_length":512}`)
	case "/generate":
		f.generate(w, r)
	default:
		http.NotFound(w, r)
	}
}

// A fakeRequest is what the fake understands.
type fakeRequest struct {
	IDs      json.RawMessage `json:"input_ids"`
	Logprob  bool            `json:"return_logprob"`
	Start    *int            `json:"logprob_start_len"`
	Top      int             `json:"top_logprobs_num"`
	Sampling struct {
		Max    *int   `json:"max_new_tokens"`
		N      int    `json:"n"`
		Regex  string `json:"regex"`
		Stop   any    `json:"stop"`
		NoTrim bool   `json:"no_stop_trim"`
		Tokens ids    `json:"stop_token_ids"`
	} `json:"sampling_params"`
}

func (f fake) generate(w http.ResponseWriter, r *http.Request) {
	var q fakeRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var one ids
	var many []ids
	single := json.Unmarshal(q.IDs, &one) == nil
	if many = []ids{one}; !single && json.Unmarshal(q.IDs, &many) != nil {
		http.Error(w, "input_ids", http.StatusBadRequest)
		return
	}
	var out []m
	for i, p := range many {
		for j := range max(q.Sampling.N, 1) {
			out = append(out, f.answer(q, p, fmt.Sprintf("%s-%d-%d-%d", r.RemoteAddr, i, j, len(many))))
		}
	}
	if f.mistake == "order" {
		slices.Reverse(out)
	}
	plain := single && q.Sampling.N <= 1
	if f.mistake == "object" {
		plain = len(out) == 1
	}
	var body any = out
	if plain {
		body = out[0]
	}
	json.NewEncoder(w).Encode(body)
}

// next is the fake's model.
func next(p ids) int {
	h := 7
	for _, id := range p {
		h = (h*31 + id) % 1009
	}
	return 97 + h%26
}

// tokensOf returns an answer's tokens: what a regular expression dictates, or the model's.
func (q fakeRequest) tokensOf(p ids) (out ids, stopped any) {
	dictated := strings.ReplaceAll(q.Sampling.Regex, `\`, "")
	for range *q.Sampling.Max {
		id := next(slices.Concat(p, out))
		if dictated != "" {
			if len(out) == len(dictated) {
				return out, 0
			}
			id = int(dictated[len(out)])
		}
		if out = append(out, id); slices.Contains(q.Sampling.Tokens, id) {
			return out, id
		}
		for _, stop := range stops(q.Sampling.Stop) {
			if strings.HasSuffix(text(out), stop) {
				return out, stop
			}
		}
	}
	return out, nil
}

func stops(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, s := range v {
			out = append(out, s.(string))
		}
	}
	return out
}

func text(p ids) string {
	var b []byte
	for _, id := range p {
		b = append(b, byte(id))
	}
	return string(b)
}

func (f fake) answer(q fakeRequest, p ids, id string) m {
	out, stopped := q.tokensOf(p)
	said := text(out)
	finish := m{"type": "length", "length": len(out)}
	if stopped != nil {
		finish = m{"type": "stop", "matched": stopped}
		if s, ok := stopped.(string); ok && !q.Sampling.NoTrim && f.mistake != "trim" {
			said = strings.TrimSuffix(said, s)
		}
	}
	meta := m{
		"id": fmt.Sprintf("%s-%p", id, &out), "finish_reason": finish, "prompt_tokens": len(p), "completion_tokens": len(out), "cached_tokens": 0, "weight_version": "default",
	}
	if q.Logprob {
		f.logprobs(meta, q, p, out)
	}
	return m{"text": said, "output_ids": out, "meta_info": meta}
}

func (f fake) logprobs(meta m, q fakeRequest, p, out ids) {
	list := func(tokens ids) []any {
		l := []any{}
		for _, id := range tokens {
			l = append(l, []any{-1 / float64(id), id, nil})
		}
		return l
	}
	output := list(out)
	if f.mistake == "length" && len(output) > 0 {
		output = output[1:]
	}
	input := []any{}
	if q.Start != nil && *q.Start >= 0 {
		if input = list(p[*q.Start:]); f.mistake != "first" && len(input) > 0 {
			input[0].([]any)[0] = nil
		}
	}
	meta["output_token_logprobs"], meta["input_token_logprobs"], meta["output_token_logprobs_length"] = output, input, len(output)
	if f.mistake == "triple" && len(output) > 0 {
		output[0] = output[0].([]any)[:2]
	}
}

// TestChecksCanFail: a server without mistakes passes, and each mistake is seen by the checks that look for it.
func TestChecksCanFail(t *testing.T) {
	able := []int{15, 16, 17, 19, 28, 29, 30, 31, 39, 40, 41}
	for _, tt := range []struct {
		mistake string
		seen    []int
	}{
		{"", nil},
		{"length", able[1:]}, // the first asks for no logprobs
		{"order", []int{16, 19}},
		{"trim", []int{31}},
		{"object", []int{17}},
		{"first", []int{40, 41}},
		{"triple", able[1:]},
	} {
		t.Run(tt.mistake, func(t *testing.T) {
			srv := httptest.NewServer(fake{tt.mistake})
			defer srv.Close()
			for _, test := range Tests() {
				if slices.Contains(able, test.Number) {
					said := judged(t, &Target{URL: srv.URL}, test)
					if want := slices.Contains(tt.seen, test.Number); (len(said) > 0) != want {
						t.Errorf("%s with the mistake %q says %q, want complaints: %v", test.Title(), tt.mistake, said, want)
					}
				}
			}
		})
	}
}

// judged runs a check against a server and returns its complaints.
func judged(t *testing.T, g *Target, test Test) []string {
	q := &quiet{TB: t}
	q.run(func() { test.do(begin(q, g)) })
	if q.skipped {
		t.Errorf("%s was skipped", test.Title())
	}
	return q.said
}
