package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furlong/api/sglang"
)

func contextOf(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func body(s string) io.Reader { return strings.NewReader(s) }

func containsAll(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// still is an answer without what differs from call to call.
func still(a sglang.Answer) string {
	a.Meta.ID, a.Meta.Latency, a.Meta.CachedTokens, a.Meta.CachedTokensDetails, a.Index = "", nil, 0, nil, nil
	raw, _ := json.Marshal(a)
	return string(raw)
}

func TestStreamIsCumulative(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	more := `,"return_logprob":true,"logprob_start_len":0,"top_logprobs_num":2,"token_ids_logprob":[7,9]`
	whole := u.one(ask("stream", 30, more))
	frames, _ := u.stream(ask("stream", 30, more+`,"stream":true`))
	if len(frames) < 2 {
		t.Fatalf("%d frames, want several", len(frames))
	}
	for i, f := range frames {
		last := i == len(frames)-1
		if (f.Meta.Finish != nil) != last {
			t.Errorf("frame %d of %d: finish is %v", i, len(frames), f.Meta.Finish)
		}
		n := len(f.OutputIDs)
		if n == 0 || !slices.Equal(f.OutputIDs, whole.OutputIDs[:n]) || !strings.HasPrefix(*whole.Text, *f.Text) || len(f.Meta.OutputTop) != n || len(f.Meta.InputLogProbs) != 6 {
			t.Errorf("frame %d: %+v", i, f)
		}
		if i > 0 && (n < len(frames[i-1].OutputIDs) || !strings.HasPrefix(*f.Text, *frames[i-1].Text)) {
			t.Errorf("frame %d goes back", i)
		}
	}
	if a, b := still(frames[len(frames)-1]), still(whole); a != b {
		t.Errorf("last frame is\n%s\nwant\n%s", a, b)
	}
}

func TestStreamOfDeltas(t *testing.T) {
	u := serve(t, engineConfig(), func(c *Config, _ *Parts) { c.Incremental = true })
	more := `,"return_logprob":true,"logprob_start_len":0`
	whole := u.one(ask("stream", 30, more))
	frames, _ := u.stream(ask("stream", 30, more+`,"stream":true`))
	var ids []int32
	var out, in sglang.Triples
	text := ""
	for _, f := range frames {
		ids, out, in = append(ids, f.OutputIDs...), append(out, f.Meta.OutputLogProbs...), append(in, f.Meta.InputLogProbs...)
		text += *f.Text
	}
	if !slices.Equal(ids, whole.OutputIDs) || !reflect.DeepEqual(out, whole.Meta.OutputLogProbs) || text != *whole.Text || len(in) != 6 {
		t.Errorf("end to end: %v %q, want %v %q", ids, text, whole.OutputIDs, *whole.Text)
	}
}

func TestStreamOfABatch(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	frames, _ := u.stream(`{"input_ids":[[1,2],[3]],"stream":true,"sampling_params":{"temperature":1,"max_new_tokens":5,"n":2,"ignore_eos":true,"stream_interval":100}}`)
	over := map[int]int{}
	for _, f := range frames {
		if f.Index == nil {
			t.Fatalf("no index: %+v", f)
		}
		if f.Meta.Finish != nil {
			over[*f.Index]++
		}
	}
	if !reflect.DeepEqual(over, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}) {
		t.Errorf("ends by index: %v, want one each of 0 to 3", over)
	}
}

func TestStreamOfNothing(t *testing.T) {
	u := serve(t, engineConfig(), nil)
	_, raw := u.stream(`{"text":"a","stream":true,"sampling_params":{"temperature":-1}}`)
	want := `{"error":{"message":"temperature is -1, want 0 or more","type":"invalid_request_error","code":400,"retryable":false}}`
	if len(raw) != 1 || raw[0] != want {
		t.Errorf("got %v, want %s", raw, want)
	}
	frames, _ := u.stream(`{"text":"abc","stream":true,"return_logprob":true,"logprob_start_len":0,"sampling_params":{"max_new_tokens":0}}`)
	if len(frames) != 1 || frames[0].Meta.Finish.Type != "length" || len(frames[0].Meta.InputLogProbs) != 3 {
		t.Errorf("scoring: %+v", frames)
	}
	u.refused("/generate", `{"stream":true`, 400, `"code":400`)
}

// A stop text that begins is held back until it is sure that it does not become one.
func TestStreamHoldsBack(t *testing.T) {
	e := newScript(t, "abcabd é end")
	e.gate = make(chan struct{})
	u := serveOn(t, e, 256, nil)
	e.gate <- struct{}{} // the proof's token
	u.eventually("proof", func() bool { return u.health.proved.Load() })
	done := make(chan []sglang.Answer)
	go func() {
		fs, _ := u.stream(`{"text":"x","stream":true,"sampling_params":{"stop":["abd","nd"]}}`)
		done <- fs
	}()
	for range 6 {
		e.gate <- struct{}{}
	}
	frames := <-done
	for i, f := range frames {
		if !strings.HasPrefix("abc", *f.Text) {
			t.Errorf("frame %d: %q, want a beginning of abc", i, *f.Text)
		}
	}
	if last := frames[len(frames)-1]; *last.Text != "abc" || *last.Meta.Finish.Matched != "abd" {
		t.Errorf("last frame: %q %+v", *last.Text, last.Meta.Finish)
	}
}

func TestStreamNeverSplitsACharacter(t *testing.T) {
	u := serveOn(t, newScript(t, strings.Repeat("é😀語", 20)), 256, nil)
	frames, _ := u.stream(`{"text":"x","stream":true,"sampling_params":{"max_new_tokens":250}}`)
	for i, f := range frames {
		if strings.Contains(*f.Text, "\uFFFD") {
			t.Errorf("frame %d: %q has a replacement character", i, *f.Text)
		}
	}
	if last := *frames[len(frames)-1].Text; last != strings.Repeat("é😀語", 20) {
		t.Errorf("last: %q", last)
	}
}

func TestReaderHolds(t *testing.T) {
	u := serveOn(t, newScript(t, ""), 16, nil)
	for _, tt := range []struct {
		stops []string
		text  string
		safe  string
		found string
	}{
		{[]string{"abd"}, "xab", "x", ""},
		{[]string{"abd", "bx"}, "xab", "x", ""},
		{[]string{"bx", "q"}, "xab", "xa", ""},
		{[]string{"abd"}, "xabd", "x", "abd"},
		{[]string{"aa"}, "baa", "b", "aa"},
		{nil, "xab", "xab", ""},
	} {
		r := u.newReader(&spec{stops: tt.stops}, true)
		for _, b := range []byte(tt.text) {
			r.next(int32(b))
		}
		if got := r.safe(true); got != tt.safe || r.matched != tt.found {
			t.Errorf("%v in %q: safe %q, matched %q, want %q, %q", tt.stops, tt.text, got, r.matched, tt.safe, tt.found)
		}
	}
}

func FuzzMeant(f *testing.F) {
	f.Add("a_0", "a")
	f.Add("a_", "a")
	f.Fuzz(func(t *testing.T, rid, by string) {
		if meant(rid, by, false) && !meant(rid, by, true) {
			t.Errorf("%q is meant by %q and does not begin so", rid, by)
		}
		if !meant(rid, rid, false) || !meant(fmt.Sprintf("%s_%d", rid, 12), rid, false) {
			t.Errorf("%q is not meant by itself", rid)
		}
	})
}
