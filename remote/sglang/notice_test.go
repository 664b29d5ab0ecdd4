package sglang

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A server that is away is spoken of after some seconds, and then now and again.
func TestNotice(t *testing.T) {
	n, began, said := notice{first: 3 * time.Second, every: 30 * time.Second}, time.Unix(1000, 0), time.Time{}
	var got []int
	for s := range 100 {
		if now := began.Add(time.Duration(s) * time.Second); n.due(began, said, now) {
			said = now
			got = append(got, s)
		}
	}
	if len(got) != 4 || got[0] != 3 || got[1] != 33 || got[3] != 93 {
		t.Errorf("it is said after %v seconds, want 3, 33, 63, 93", got)
	}
}

// What is waited for is said with the reason and the time that is left; a server that is there at once is not spoken of.
func TestWhoIsWaitedFor(t *testing.T) {
	f := newFake(t, dice)
	w, err := newWire(Default())
	if err != nil {
		t.Fatal(err)
	}
	defer w.http.CloseIdleConnections()
	var told []string
	n := notice{every: time.Hour, say: func(why error, left time.Duration) {
		if left <= 0 || left > time.Minute {
			t.Errorf("%v is left of a minute", left)
		}
		told = append(told, why.Error())
	}}
	if _, err := w.await(t.Context(), f.URL, time.Minute, n); err != nil || len(told) > 0 {
		t.Errorf("%v, told %q, want neither", err, told)
	}
	var looks atomic.Int64
	f.first(func(rw http.ResponseWriter, _ *http.Request) bool {
		away := looks.Add(1) < 3
		if away {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		return away
	})
	if _, err := w.await(t.Context(), f.URL, time.Minute, n); err != nil || len(told) != 1 || !strings.Contains(told[0], "/server_info answers 503") {
		t.Errorf("%v, told %q, want one line of the refusal", err, told)
	}
}

// The line of a run names the server, the reason and the flag.
func TestNoticeOfAnEngine(t *testing.T) {
	e := &Engine{cfg: Default()}
	log := logged(e)
	e.notice("http://a:1").say(errSilent, 597*time.Second)
	for _, want := range []string{"level=WARN", "it is waited for", "url=http://a:1", "it does not answer", "left=9m57s", "10m0s (--rollout-wait)"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the line is %s, want %q in it", log, want)
		}
	}
}
