package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"furlong/api/sglang"
)

// ask starts n long samples and returns where their answers come.
func (u *site) long(n int, rid string) <-chan sglang.Answer {
	u.Helper()
	out := make(chan sglang.Answer, n)
	for i := range n {
		body := ask("long", 200, fmt.Sprintf(`,"return_logprob":true,"rid":"%s%d"`, rid, i))
		go func() {
			_, raw := u.post("/generate", body)
			var a sglang.Answer
			if err := json.Unmarshal(raw, &a); err != nil {
				u.Errorf("%s: %v", raw, err)
			}
			out <- a
		}()
	}
	return out
}

func TestAbort(t *testing.T) {
	c := engineConfig()
	c.MaxRunning = 3
	u := serve(t, c, nil)
	whole := u.one(ask("long", 200, "")).OutputIDs
	for range 3 {
		out := u.long(6, "a")
		u.eventually("3 run, 3 wait", func() bool { st := u.engine.Stats(); return st.Running == 3 && st.Queued == 3 && st.HeldTokens > 20 })
		if code, raw := u.post("/abort_request", `{"abort_all":true,"prefix":false,"zzz":1}`); code != 200 || len(raw) != 0 {
			t.Fatalf("abort: %d %s, want 200 and nothing", code, raw)
		}
		empty := 0
		for range 6 {
			a := <-out
			n := len(a.OutputIDs)
			if a.Meta.Finish.Type != "abort" || len(a.Meta.OutputLogProbs) != n || a.Meta.CompletionTokens != n || !slices.Equal(a.OutputIDs, whole[:n]) {
				t.Errorf("got %+v", a.Meta)
			}
			if n == 0 {
				empty++
				if *a.Text != "" || a.Meta.Finish.Message != abortedQueued {
					t.Errorf("queued: %q %+v", *a.Text, a.Meta.Finish)
				}
			}
		}
		if empty != 3 {
			t.Errorf("%d samples have no token, want the 3 that waited", empty)
		}
	}
	if a := u.one(ask("long", 5, "")); a.Meta.CompletionTokens != 5 {
		t.Errorf("after the abort: %+v", a.Meta)
	}
}

func TestAbortByRID(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	batch := make(chan []sglang.Answer, 1)
	go func() {
		batch <- u.many(`{"input_ids":[[1],[2]],"rid":"b","sampling_params":{"temperature":0,"max_new_tokens":200,"ignore_eos":true}}`)
	}()
	others := u.long(2, "bb")
	u.eventually("4 run", func() bool { return u.engine.Stats().Running == 4 })
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	for _, body := range []string{`{"rid":"nope"}`, `{"rid":""}`, `{}`, `{"rid":"b_"}`} {
		if code, raw := u.post("/abort_request", body); code != 200 || len(raw) != 0 {
			t.Errorf("%s: %d %s, want 200 and nothing", body, code, raw)
		}
	}
	if n := u.jobs.count(); n != 4 {
		t.Errorf("%d jobs left, want 4: nobody was meant", n)
	}
	u.ok("/abort_request", `{"rid":"b","abort_message":"enough"}`, nil)
	for _, a := range <-batch { // while paused
		if a.Meta.Finish.Type != "abort" || a.Meta.Finish.Message != "enough" {
			t.Errorf("got %+v, want an abort", a.Meta.Finish)
		}
	}
	u.ok("/abort_request", `{"rid":"bb1","prefix":true}`, nil)
	if a := <-others; a.Meta.ID != "bb1" || a.Meta.Finish.Type != "abort" {
		t.Errorf("got %+v, want an abort of bb1", a.Meta)
	}
	u.ok("/continue_generation", `{"torch_empty_cache":true}`, nil)
	if a := <-others; a.Meta.CompletionTokens != 200 {
		t.Errorf("the other got %d tokens, want 200", a.Meta.CompletionTokens)
	}
}

func TestPauses(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	whole := u.one(ask("long", 200, "")).OutputIDs
	u.refused("/pause_generation", `{"mode":"bogus"}`, 400, "want abort, retract or in_place")
	for _, mode := range []string{"retract", "in_place"} {
		out := u.long(4, mode)
		u.eventually("4 run", func() bool { st := u.engine.Stats(); return st.Running == 4 && st.HeldTokens > 30 })
		var st sglang.Status
		for range 2 {
			if u.ok("/pause_generation", `{"mode":"`+mode+`"}`, &st); st.Status != "ok" {
				t.Errorf("%s: %+v", mode, st)
			}
		}
		code, _ := u.call("GET", "/flush_cache", "")
		if want := map[string]int{"retract": 200, "in_place": 400}[mode]; code != want {
			t.Errorf("flush in %s: %d, want %d", mode, code, want)
		}
		if code, _ := u.call("GET", "/health", ""); code != 200 {
			t.Errorf("health in a pause: %d, want 200", code)
		}
		if code, _ := u.call("GET", "/health_generate", ""); code != 200 {
			t.Errorf("health_generate in a pause: %d, want 200", code)
		}
		late := make(chan sglang.Answer, 1)
		go func() { late <- u.one(ask("late", 2, "")) }()
		u.eventually("the late one waits", func() bool { return u.jobs.count() == 5 })
		for range 2 {
			u.ok("/continue_generation", `{}`, nil)
		}
		for range 4 {
			a := <-out
			if !slices.Equal(a.OutputIDs, whole) || a.Meta.Retractions != map[string]int{"retract": 1}[mode] {
				t.Errorf("%s: %d tokens, %d retractions, want the same tokens", mode, len(a.OutputIDs), a.Meta.Retractions)
			}
		}
		if a := <-late; a.Meta.CompletionTokens != 2 {
			t.Errorf("late: %+v", a.Meta)
		}
	}
	out := u.long(2, "x")
	u.eventually("2 run", func() bool { st := u.engine.Stats(); return st.Running == 2 && st.HeldTokens > 10 })
	u.ok("/pause_generation", "", nil)
	if n := u.jobs.count() + len(out); n > 2 {
		t.Errorf("%d jobs, want 2 at most", n)
	}
	for range 2 {
		if a := <-out; a.Meta.Finish.Type != "abort" {
			t.Errorf("abort mode: %+v", a.Meta.Finish)
		}
	}
	u.ok("/continue_generation", `{}`, nil)
}

func TestFlush(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	prompt := "a prompt of several pages"
	u.one(ask(prompt, 2, ""))
	if a := u.one(ask(prompt, 2, "")); a.Meta.CachedTokens == 0 {
		t.Errorf("second: %d cached, want some", a.Meta.CachedTokens)
	}
	for _, method := range []string{"GET", "POST"} {
		if code, raw := u.call(method, "/flush_cache", ""); code != 200 {
			t.Errorf("%s: %d %s", method, code, raw)
		}
		if a := u.one(ask(prompt, 2, "")); a.Meta.CachedTokens != 0 {
			t.Errorf("after a flush: %d cached, want none", a.Meta.CachedTokens)
		}
	}
	out := u.long(1, "f")
	u.eventually("1 runs", func() bool { return u.engine.Stats().Running == 1 })
	if code, _ := u.call("GET", "/flush_cache?timeout=30", ""); code != 200 {
		t.Errorf("flush that waits: %d, want 200", code)
	}
	<-out
	if code, _ := u.call("GET", "/flush_cache?timeout=x", ""); code != 400 {
		t.Errorf("timeout=x: %d, want 400", code)
	}
	for key, want := range map[string]bool{"a": false, "b": false} {
		if a := u.one(ask(prompt, 2, `,"extra_key":"`+key+`"`)); (a.Meta.CachedTokens > 0) != want {
			t.Errorf("extra_key %s: %d cached", key, a.Meta.CachedTokens)
		}
	}
}

// Who goes away takes the sample along.
func TestDisconnect(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	for _, stream := range []string{"false", "true"} {
		ctx, cancel := contextOf(t)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			req, _ := http.NewRequestWithContext(ctx, "POST", u.url+"/generate", body(ask("long", 200, `,"stream":`+stream)))
			if resp, err := u.client.Do(req); err == nil {
				_, _ = resp.Body.Read(make([]byte, 1))
				resp.Body.Close()
			}
		}()
		u.eventually("it waits", func() bool { return u.engine.Stats().Queued == 1 })
		cancel()
		<-gone
		u.eventually("nobody waits", func() bool { return u.engine.Stats().Queued == 0 && u.jobs.count() == 0 })
	}
}

func TestTimeouts(t *testing.T) {
	u := serve(t, engineConfig(), func(c *Config, _ *Parts) { c.WaitTime = 50_000_000 })
	u.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	u.refused("/generate", ask("a", 3, ""), 503, "--waiting-timeout")
	v := serve(t, engineConfig(), func(c *Config, _ *Parts) { c.RunTime = 50_000_000 })
	v.ok("/pause_generation", `{"mode":"in_place"}`, nil)
	if a := v.one(ask("a", 3, "")); a.Meta.Finish.Type != "abort" {
		t.Errorf("got %+v, want an abort", a.Meta.Finish)
	}
}

func TestInternalState(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	for body, want := range map[string]bool{
		`{"server_args":{"stream_interval":7}}`: true, `{"server_args":{"nothing":1}}`: false, `{"server_args":{"stream_interval":0}}`: false, `{}`: true,
	} {
		var got []bool
		if u.ok("/set_internal_state", body, &got); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want [%v]", body, got, want)
		}
	}
	if n := u.every.Load(); n != 7 {
		t.Errorf("stream_interval is %d, want 7", n)
	}
	u.ok("/configure_logging", `{"log_requests":true}`, nil)
	u.one(ask("a", 2, `,"rid":"logged"`))
	u.eventually("a line", func() bool {
		return containsAll(u.log.String(), "request over", "rid=logged", "finish=length")
	})
	u.ok("/slow_down", `{"forward_sleep_time":null}`, nil)
	u.refused("/slow_down", `{"forward_sleep_time":0.5}`, 400, "forward_sleep_time is 0.5")
	u.ok("/freeze_gc", "", nil)
}
