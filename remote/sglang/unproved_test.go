package sglang

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	api "furlong/api/sglang"
	"furlong/rl"
	"furlong/rl/rltest"
)

// A server of which nobody knows what it holds generates no more: it is not told to go on, whatever looks at it, until it has proved an update. Who was being served there is served elsewhere, or told.
// One that refused weights has what it had, and goes on.
func TestUnprovedServersStayPaused(t *testing.T) {
	for name, tt := range map[string]struct {
		path  string
		wrong func(f *fake, rw http.ResponseWriter, req *http.Request)
		goes  bool
	}{
		"other bytes": {"/model_info", func(f *fake, rw http.ResponseWriter, req *http.Request) {
			f.say(api.ModelInfo{WeightVersion: "3", Attested: &api.Attested{State: rl.Digest{8}.String(), Effective: rl.Digest{}.String()}})(rw, req)
		}, false},
		"broke at the end": {"/end_weight_update", func(_ *fake, rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }, false},
		"refuses": {"/end_weight_update", func(f *fake, rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusBadRequest)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.open = false
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newFake(t, dice), newFake(t, dice)
			a.attests, b.attests = true, true
			e := attach(t, nil, a, b)
			e.again = time.Millisecond
			update(t, e, 3)
			a.restart()
			pushed := func() bool {
				a.mu.Lock()
				defer a.mu.Unlock()
				return slices.Contains(a.calls, "/end_weight_update")
			}
			a.mu.Lock()
			a.calls = nil
			a.mu.Unlock()
			a.first(func(rw http.ResponseWriter, req *http.Request) bool {
				if req.URL.Path != tt.path || !pushed() {
					return false
				}
				tt.wrong(a, rw, req)
				return true
			})
			got, err := gather(t, e, batch(40, 5))
			if err != nil || len(got) != 40 {
				t.Fatalf("%d samples, %v, want 40 of the other server's", len(got), err)
			}
			until(t, "a proof", pushed)
			if tt.goes {
				until(t, "the server to be let go", func() bool { return a.told("/continue_generation") > 0 })
			} else {
				until(t, "more looks at it", func() bool { return a.told("/model_info") > 4 })
				if n := a.told("/continue_generation"); n > 0 {
					t.Errorf("it was told %d times to go on, want never", n)
				}
			}
			a.first(nil)
			update(t, e, 4)
			if a.told("/continue_generation") == 0 || a.label != "4" {
				t.Errorf("after the next update it serves %q and is paused, want 4, generating", a.label)
			}
		})
	}
}

// told returns how often a server was sent something.
func (f *fake) told(path string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == path {
			n++
		}
	}
	return n
}

// A server that stays paused has no request wait there for ever: what is there when it fails its proof is drawn elsewhere, or fails.
func TestRequestsAtAnUnprovedServerEnd(t *testing.T) {
	f := newFake(t, dice)
	f.attests = true
	e := attach(t, nil, f)
	e.again = time.Millisecond
	update(t, e, 3)
	f.restart()
	stuck := make(chan struct{})
	var asked atomic.Int64
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		f.mu.Lock()
		pushed := f.label == "3"
		f.mu.Unlock()
		switch {
		case req.URL.Path == "/generate" && asked.Add(1) == 1:
			_, _ = io.Copy(io.Discard, req.Body)
			close(stuck)
			<-req.Context().Done()
			return true
		case req.URL.Path == "/model_info" && pushed:
			f.say(api.ModelInfo{WeightVersion: "3", Attested: &api.Attested{State: rl.Digest{8}.String(), Effective: rl.Digest{}.String()}})(rw, req)
			return true
		}
		return false
	})
	first := make(chan error, 1)
	go func() {
		_, err := gather(t, e, batch(1, 3))
		first <- err
	}()
	<-stuck
	_, err := gather(t, e, batch(2, 3)[1:]) // its answer shows the restart
	for _, err := range []error{err, <-first} {
		if err == nil || !strings.Contains(err.Error(), "it attests state 08") {
			t.Errorf("%v, want an error that tells the state", err)
		}
	}
}

// An update that a server takes and does not prove leaves it paused, while the others go on.
func TestAnUnprovedUpdate(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	a.attests, b.attests = true, true
	e := attach(t, nil, a, b)
	update(t, e, 3)
	went := a.told("/continue_generation")
	a.first(func(rw http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/model_info" {
			a.say(api.ModelInfo{WeightVersion: "4", Attested: &api.Attested{State: rl.Digest{8}.String(), Effective: rl.Digest{}.String()}})(rw, req)
		}
		return req.URL.Path == "/model_info"
	})
	update(t, e, 4)
	if got, err := gather(t, e, batch(20, 3)); err != nil || len(got) != 20 {
		t.Errorf("%d samples, %v, want 20", len(got), err)
	}
	if n := a.told("/continue_generation"); n != went {
		t.Errorf("it was told %d times more to go on, want never", n-went)
	}
}

// A server that is started anew under the label of the weights that are served, but with others, shows by the name of its process: nothing of it is used before it was given the weights again.
func TestARestartUnderTheSameLabel(t *testing.T) {
	f := newFake(t, dice)
	f.attests, f.process = true, "one"
	e := attach(t, nil, f)
	update(t, e, 3)
	want, err := gather(t, e, batch(12, 5))
	if err != nil {
		t.Fatal(err)
	}
	var given atomic.Bool
	f.first(func(_ http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path == "/end_weight_update" {
			given.Store(true)
		}
		return false
	})
	f.mu.Lock()
	f.engine = rltest.Serving(rl.NewVersion(0, 3), func(v rl.Version, r rl.Request, soFar []int32) (int32, float32) {
		if !given.Load() {
			return 1, -1
		}
		return dice(v, r, soFar)
	})
	f.label, f.came, f.process = "3", nil, "two"
	f.mu.Unlock()
	got, err := gather(t, e, batch(12, 5))
	if err != nil {
		t.Fatal(err)
	}
	sameSamples(t, got, want)
	if s := e.Stats(); s.Mended != 1 || s.Stale != 1 {
		t.Errorf("counts are %+v, want one server found and given the weights again", s)
	}
	// A restart after which the server holds what it should is none: it is met again, and goes on.
	f.mu.Lock()
	f.process = "three"
	f.mu.Unlock()
	if got, err := gather(t, e, batch(4, 5)); err != nil || len(got) != 4 || e.Stats().Mended != 1 || e.Found()[0].Process != "three" {
		t.Errorf("%d samples, %v, counts %+v of process %s, want no weights given", len(got), err, e.Stats(), e.Found()[0].Process)
	}
}
