package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"furlong/api/sglang"
	"furlong/tokenizer"
)

// Samples of all lengths, streamed and not, aborted and left, while the engine is paused and flushed: each is answered once, nothing is left behind.
func TestLoad(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("work", func(t *testing.T) {
		c := engineConfig()
		c.TotalTokens = 256 // so that samples take each other's memory
		u := serve(t, c, nil)
		u.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 16
		quit, quiet := make(chan struct{}), make(chan struct{})
		go func() { defer close(quiet); u.disturb(quit) }()
		each := 12
		if testing.Short() {
			each = 5
		}
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() { u.worker(i, each) })
		}
		wg.Wait()
		close(quit)
		<-quiet
		u.ok("/continue_generation", `{}`, nil)
		if n := u.jobs.count(); n != 0 {
			t.Errorf("%d jobs are left, want none", n)
		}
		u.eventually("idle", func() bool { st := u.engine.Stats(); return st.Running+st.Queued == 0 })
		u.ok("/flush_cache", "", nil)
		if st := u.engine.Stats(); st.Lasting.Free != st.Lasting.Total || st.Recent.Free != st.Recent.Total {
			t.Errorf("pages are left: %+v", st)
		}
		u.client.CloseIdleConnections()
	})
	settled(t, before)
}

// worker asks for n samples, one after the other, and checks each.
func (u *site) worker(id, n int) {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	for i := range n {
		budget := 1 + r.IntN(40)
		request := ask(strings.Repeat("p", 1+r.IntN(60)), budget, fmt.Sprintf(`,"rid":"w%d-%d","return_logprob":true`, id, i))
		var a sglang.Answer
		if r.IntN(2) == 0 {
			frames, raw := u.stream(strings.Replace(request, `"text"`, `"stream":true,"text"`, 1))
			if len(frames) == 0 {
				u.Errorf("worker %d: no frames: %v", id, raw)
				continue
			}
			a = frames[len(frames)-1]
		} else {
			_, raw := u.post("/generate", request)
			if err := json.Unmarshal(raw, &a); err != nil {
				u.Errorf("worker %d: %s: %v", id, raw, err)
			}
		}
		whole := a.Meta.Finish != nil && (a.Meta.Finish.Type == "abort" || len(a.OutputIDs) == budget)
		if !whole || a.Meta.ID != fmt.Sprintf("w%d-%d", id, i) || len(a.Meta.OutputLogProbs) != len(a.OutputIDs) {
			u.Errorf("worker %d: asked for %d, got %+v", id, budget, a.Meta)
		}
	}
}

// disturb pauses, aborts, flushes and looks, until told to stop. Between two disturbances some tokens are drawn, else nothing would ever end.
func (u *site) disturb(quit <-chan struct{}) {
	r := rand.New(rand.NewPCG(7, 7))
	for {
		for drawn := u.meter.outputs.Load() + 40; u.meter.outputs.Load() < drawn; time.Sleep(time.Millisecond) {
			select {
			case <-quit:
				return
			default:
			}
		}
		switch r.IntN(6) {
		case 0:
			u.post("/pause_generation", `{"mode":"retract"}`)
			u.post("/flush_cache", "")
			u.post("/continue_generation", "{}")
		case 1:
			u.post("/pause_generation", `{"mode":"in_place"}`)
			u.post("/abort_request", fmt.Sprintf(`{"rid":"w%d","prefix":true}`, r.IntN(16)))
			u.post("/continue_generation", "{}")
		case 2:
			u.post("/abort_request", fmt.Sprintf(`{"rid":"w%d-%d"}`, r.IntN(16), r.IntN(12)))
		default:
			for _, path := range []string{"/metrics", "/server_info", "/v1/loads", "/health"} {
				if code, raw := u.call("GET", path, ""); code != 200 {
					u.Errorf("%s: %d %s", path, code, raw)
				}
			}
		}
	}
}

// FuzzGenerate: whatever comes, the answer is JSON of the dialect, or a stream of it, and never a failure of ours.
func FuzzGenerate(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"text":"a","sampling_params":{"stop":["b",""],"max_new_tokens":3}}`, `{"input_ids":[[1],[2]],"rid":"x","stream":true}`,
		`{"input_ids":[1],"return_logprob":[true],"logprob_start_len":0,"top_logprobs_num":3,"token_ids_logprob":[1]}`,
		`{"input_ids":[[1,2]],"token_ids_logprob":[[3],null],"sampling_params":[{"n":2}]}`, `{"text":"\ud800","sampling_params":{"logit_bias":{"-1":1e300}}}`,
		`{"text":["a","b"],"input_ids":[[1],[2]],"sampling_params":{"n":3,"stop_regex":"a|"}}`, `{"input_ids":[[]],"return_hidden_states":{"a":1}}`,
	} {
		f.Add([]byte(s))
	}
	e := newScript(f, "abc")
	s, err := New(Default(), e, Parts{
		Tokenizer: tokenizer.Bytes{}, StopIDs: []int32{257}, Model: Model{Name: "x", Vocab: 272, Context: 64}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		w := &recorder{header: http.Header{}}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "/generate", strings.NewReader(string(raw)))
		s.Handler().ServeHTTP(w, req)
		out := w.body.String()
		switch {
		case w.code != 200 && w.code != 400:
			t.Fatalf("%q: %d %s", raw, w.code, out)
		case strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream"):
			if !strings.HasSuffix(out, sglang.Done) {
				t.Fatalf("%q: stream ends with %q", raw, out[max(0, len(out)-50):])
			}
		case !json.Valid([]byte(out)):
			t.Fatalf("%q: %s is no JSON", raw, out)
		}
		if n := s.jobs.count(); n != 0 {
			t.Fatalf("%q: %d jobs are left", raw, n)
		}
	})
}
