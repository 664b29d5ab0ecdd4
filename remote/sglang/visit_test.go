package sglang

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furlong/rl"
)

// visitor returns a visitor of a server.
func visitor(t *testing.T, f *fake) *Visitor {
	t.Helper()
	c := Default()
	c.URLs, c.Wait = []string{f.URL}, time.Minute
	v, err := Visit(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// serving has a fake's engine serve weights that nobody pushed.
func serving(t *testing.T, f *fake, v rl.Version) {
	t.Helper()
	f.mu.Lock()
	f.label = label(v)
	f.mu.Unlock()
	for _, err := range []error{f.engine.Pause(t.Context()), f.engine.Update(t.Context(), tensors(v)), f.engine.Resume(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A visitor draws under the weights that are there, and touches nothing of the server's.
func TestVisit(t *testing.T) {
	f := newFake(t, dice)
	serving(t, f, 5)
	v := visitor(t, f)
	r := batch(1, 6)[0]
	s, err := v.Sample(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Response) == 0 || len(s.LogProbs) != len(s.Response) || s.Versions[0].Version != visited {
		t.Errorf("sample is %+v", s)
	}
	again, err := v.Sample(t.Context(), r) // seeds decide, whoever asks
	if err != nil || !slices.Equal(again.Response, s.Response) {
		t.Errorf("asked again: %v (%v), want %v", again, err, s.Response)
	}
	for _, path := range f.calls {
		if !strings.Contains("/server_info /model_info /health_generate /begin_weight_update /update_weights_from_stream /weights_checker /v1/loads", path) {
			t.Errorf("it called %s", path)
		}
	}
	for _, asked := range f.rids {
		if strings.Count(strings.Join(f.rids, " "), asked) != 1 {
			t.Errorf("name %s was given twice", asked)
		}
	}
}

// Weights that change on the way, a server without room, and experts that nobody can read are told.
func TestVisitRefuses(t *testing.T) {
	f := newFake(t, dice)
	serving(t, f, 5)
	v := visitor(t, f)
	r := batch(1, 4)[0]
	serving(t, f, 7)
	if _, err := v.Sample(t.Context(), r); err == nil || !strings.Contains(err.Error(), `its weights changed on the way, from "5" on`) {
		t.Errorf("error is %v, want that weights changed", err)
	}
	r.Report.Experts = true
	if _, err := v.Sample(t.Context(), r); err == nil || !strings.Contains(err.Error(), "not told of which model") {
		t.Errorf("error is %v, want one of experts", err)
	}
	r.Report.Experts = false
	busy := 0
	f.first(func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/generate" {
			return false
		}
		if busy++; busy > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	serving(t, f, 8)
	v = visitor(t, f)
	busy = 0
	if _, err := v.Sample(t.Context(), r); err != nil || busy != 3 {
		t.Errorf("error is %v after %d requests, want none after 3", err, busy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Sample(ctx, r); err == nil {
		t.Error("a request of a context that has ended is answered")
	}
}

func TestVisitWantsOneServer(t *testing.T) {
	for _, tt := range []struct {
		urls []string
		want string
	}{
		{[]string{"http://a:1", "http://b:1"}, "2 servers are named, want one"},
		{[]string{"ftp://a"}, "want http://host:port"},
		{nil, "0 servers are named"},
	} {
		c := Default()
		c.URLs = tt.urls
		if _, err := Visit(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error is %v, want %q", err, tt.want)
		}
	}
}
