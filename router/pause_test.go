package router

import (
	"errors"
	"testing"
	"time"
)

// A worker that gets requests is looked at now and then; one that gets none, each second, whether it never did or does no more.
func TestSickWorkersAreLookedAtSoon(t *testing.T) {
	w, err := newWorker(Spec{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Router{cfg: Config{Every: 10 * time.Second}, reg: &registry{}}
	if got := r.pause(w); got != time.Second {
		t.Errorf("a new one is looked at after %v, want 1 s", got)
	}
	w.passed(2)
	if got := r.pause(w); got != 10*time.Second {
		t.Errorf("a healthy one is looked at after %v, want 10 s", got)
	}
	w.failed(1, errors.New("gone"))
	if got := r.pause(w); got != time.Second {
		t.Errorf("one that was healthy is looked at after %v, want 1 s", got)
	}
	r.cfg.Every = time.Millisecond
	if got := r.pause(w); got != time.Millisecond {
		t.Errorf("with 1 ms between looks it is looked at after %v, want 1 ms", got)
	}
}
