package sglang

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	api "furlong/api/sglang"
	"furlong/rl"
)

// dying has a server die at its nth request for a path, and come back as another process after so many looks at it that found nobody.
func dying(f *fake, path string, n, looks int64) *atomic.Int64 {
	var came, looked atomic.Int64
	var born sync.Once
	deaths := &atomic.Int64{}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fate = func(req *http.Request) {
		f.mu.Lock()
		dead := f.dead
		f.mu.Unlock()
		switch {
		case dead && req.URL.Path == "/model_info" || dead && req.URL.Path == "/pause_generation":
			if looked.Add(1) > looks {
				born.Do(f.restart)
			}
		case !dead && deaths.Load() == 0 && req.URL.Path == path && came.Add(1) == n:
			deaths.Add(1)
			_, _ = io.Copy(io.Discard, req.Body)
			f.die()
		}
	}
	return deaths
}

// sameSamples fails the test unless all samples are there, each as wanted.
func sameSamples(t *testing.T, got, want map[int64]*rl.Sample) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d samples, want %d", len(got), len(want))
	}
	for id, w := range want {
		g := got[id]
		if g == nil || !slices.Equal(g.Response, w.Response) || !slices.Equal(g.LogProbs, w.LogProbs) || !slices.Equal(g.Versions, w.Versions) {
			t.Errorf("sample %d is %+v, want %+v", id, g, w)
		}
	}
}

// logged has an engine's log kept.
func logged(e *Engine) *said {
	s := &said{}
	e.log = slog.New(slog.NewTextHandler(s, nil))
	return s
}

type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The only server dies while it generates and comes back as another process, with weights of its own: it is given the right ones, proves them, and the batch is the one of
// a server that lived.
func TestTheOnlyServerIsRestarted(t *testing.T) {
	for _, attests := range []bool{false, true} {
		f := newFake(t, dice)
		f.attests = attests
		e := attach(t, nil, f)
		log := logged(e)
		update(t, e, 3)
		want, err := gather(t, e, batch(40, 20))
		if err != nil {
			t.Fatal(err)
		}
		dying(f, "/generate", 7, 4)
		got, err := gather(t, e, batch(40, 20))
		if err != nil {
			t.Fatal(err)
		}
		sameSamples(t, got, want)
		if s := e.Stats(); s.Stale != 1 || s.Mended != 1 || s.Lost != 1 || s.Back != 1 || s.Away <= 0 {
			t.Errorf("counts are %+v, want one server lost, found to hold other weights, given them again, and back", s)
		}
		for _, line := range []string{"rollout server lost", "who needs one waits", "rollout server holds other weights", "rollout server has the weights again", "rollout server is back"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("the log lacks %q:\n%s", line, log)
			}
		}
		if a := (Attesting{e}).Attestation(); attests && (a.Version != 3 || a.State.String() != f.digest()) {
			t.Errorf("attested is %+v, want version 3 of the server's state", a)
		}
		update(t, e, 4)
		if got, err := gather(t, e, batch(3, 3)); err != nil || got[0].Versions[0].Version != 4 {
			t.Errorf("after the next update: %v, %v, want samples of version 4", got, err)
		}
	}
}

// A restart that nobody saw shows in the first answer, which is used for nothing.
func TestARestartBetweenRequests(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 3)
	want, err := gather(t, e, batch(12, 5))
	if err != nil {
		t.Fatal(err)
	}
	f.restart()
	got, err := gather(t, e, batch(12, 5))
	if err != nil {
		t.Fatal(err)
	}
	sameSamples(t, got, want)
	if len(f.blind) == 0 || e.Stats().Mended != 1 {
		t.Errorf("%d requests under other weights, counts %+v, want some, and weights given once", len(f.blind), e.Stats())
	}
}

// What an earlier request has drawn goes on at the new process.
func TestBegunGoesOnAfterARestart(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 3)
	want, err := gather(t, e, batch(6, 20))
	if err != nil {
		t.Fatal(err)
	}
	reqs := batch(6, 20)
	for i := range reqs {
		w := want[reqs[i].ID]
		n := len(w.Response) / 2
		reqs[i].Begun = &rl.Sample{Prompt: w.Prompt, Response: w.Response[:n:n], LogProbs: w.LogProbs[:n:n]}
		reqs[i].Begun.Label(3, n)
	}
	dying(f, "/generate", 2, 2)
	got, err := gather(t, e, reqs)
	if err != nil {
		t.Fatal(err)
	}
	sameSamples(t, got, want)
}

// Of two servers one is restarted: the other does the work, and the first has a part in it again.
func TestOneOfTwoIsRestarted(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	e := attach(t, nil, a, b)
	update(t, e, 3)
	want, err := gather(t, e, batch(40, 20))
	if err != nil {
		t.Fatal(err)
	}
	dying(a, "/generate", 3, 1)
	got, err := gather(t, e, batch(40, 20))
	if err != nil {
		t.Fatal(err)
	}
	sameSamples(t, got, want)
	until(t, "the server to be back", func() bool { return e.Stats().Back == 1 })
	served := len(a.rids)
	if _, err := gather(t, e, batch(40, 20)); err != nil || len(a.rids) == served {
		t.Errorf("%v: the server that is back got %d requests, want some", err, len(a.rids)-served)
	}
}

// until waits for something that another goroutine does.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A server that calls other bytes by the right name is not believed, and one that refuses the weights thrice is given up: the batch ends with the reason.
func TestWeightsThatAreNotProved(t *testing.T) {
	for name, tt := range map[string]struct {
		wrong func(rw http.ResponseWriter, req *http.Request, f *fake) bool
		want  string
	}{
		"other bytes": {func(rw http.ResponseWriter, req *http.Request, f *fake) bool {
			if req.URL.Path == "/model_info" {
				f.say(api.ModelInfo{WeightVersion: "3", Attested: &api.Attested{State: rl.Digest{8}.String(), Effective: rl.Digest{}.String()}})(rw, req)
			}
			return req.URL.Path == "/model_info"
		}, "it attests state 08"},
		"attests no more": {func(rw http.ResponseWriter, req *http.Request, f *fake) bool {
			if req.URL.Path == "/model_info" {
				f.say(api.ModelInfo{WeightVersion: "3"})(rw, req)
			}
			return req.URL.Path == "/model_info"
		}, "it attested its weights before and does not now"},
		"refuses": {func(rw http.ResponseWriter, req *http.Request, f *fake) bool {
			if req.URL.Path == "/end_weight_update" {
				rw.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(rw, `{"success":false,"message":"another model"}`)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.open = false
			}
			return req.URL.Path == "/end_weight_update"
		}, "another model"},
		"shorter context": {func(rw http.ResponseWriter, req *http.Request, f *fake) bool {
			if req.URL.Path == "/server_info" {
				f.say(map[string]any{"context_length": 3, "enable_deterministic_inference": true, "response_start_len": true})(rw, req)
			}
			return req.URL.Path == "/server_info"
		}, "its context has 3 tokens, want at least --context-length (10)"},
		"seeds mean nothing": {func(rw http.ResponseWriter, req *http.Request, f *fake) bool {
			if req.URL.Path == "/server_info" {
				f.say(map[string]any{"context_length": 1000, "response_start_len": true})(rw, req)
			}
			return req.URL.Path == "/server_info"
		}, "seeds decided what it draws before and don't now"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, dice)
			f.attests = true
			e := attach(t, nil, f)
			e.opt.Context, e.again = 10, time.Millisecond
			update(t, e, 3)
			f.restart()
			f.first(func(rw http.ResponseWriter, req *http.Request) bool { return tt.wrong(rw, req, f) })
			got, err := gather(t, e, batch(2, 3))
			if err == nil || len(got) != 0 || !strings.Contains(err.Error(), "no rollout server can be used") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d samples, %v, want none, and an error with %q", len(got), err, tt.want)
			}
			if s := e.Stats(); s.Back != 0 || s.Mended != 0 {
				t.Errorf("counts are %+v, want no server back", s)
			}
			f.first(nil)
			update(t, e, 4) // what it refused before says nothing of the next version
			if got, err := gather(t, e, batch(2, 3)); err != nil || len(got) != 2 {
				t.Errorf("after the next update: %d samples, %v", len(got), err)
			}
		})
	}
}

// The only server dies in the middle of an update, or as it is to go on: the update is given to the process that follows, or that one gets the weights when it is needed.
func TestARestartDuringAnUpdate(t *testing.T) {
	for _, path := range []string{"/flush_cache", "/begin_weight_update", "/update_weights_from_stream", "/end_weight_update", "/model_info", "/continue_generation"} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			f := newFake(t, dice)
			e := attach(t, nil, f)
			update(t, e, 3)
			deaths := dying(f, path, 1, 1)
			update(t, e, 4)
			got, err := gather(t, e, batch(6, 3))
			if err != nil || len(got) != 6 || got[0].Versions[0].Version != 4 || deaths.Load() != 1 {
				t.Errorf("%d samples, %v, %d deaths, want 6 of version 4", len(got), err, deaths.Load())
			}
		})
	}
}

// An update that comes while a server is given the weights again takes its place.
func TestAnUpdateOvertakesAHeal(t *testing.T) {
	a, b := newFake(t, dice), newFake(t, dice)
	e := attach(t, nil, a, b)
	update(t, e, 3)
	a.restart()
	reached := make(chan struct{})
	var once sync.Once
	a.first(func(_ http.ResponseWriter, req *http.Request) bool {
		if req.URL.Path != "/end_weight_update" {
			return false
		}
		stuck := false
		once.Do(func() { stuck = true })
		if stuck {
			_, _ = io.Copy(io.Discard, req.Body)
			close(reached)
			<-req.Context().Done()
		}
		return stuck
	})
	if got, err := gather(t, e, batch(20, 3)); err != nil || len(got) != 20 {
		t.Fatalf("%d samples, %v", len(got), err)
	}
	<-reached
	update(t, e, 4)
	if s := e.Stats(); s.Back != 1 || s.Mended != 0 || s.Updates != 2 {
		t.Errorf("counts are %+v, want the server back by the update alone", s)
	}
	if a.label != "4" || a.open {
		t.Errorf("it serves %q, session open %v, want 4", a.label, a.open)
	}
	if got, err := gather(t, e, batch(20, 3)); err != nil || got[0].Versions[0].Version != 4 {
		t.Errorf("%v, %v", got, err)
	}
}

// What waits ends when servers were away for too long, and says for how long it waited.
func TestARestartThatNeverComes(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 3)
	e.cfg.Wait = 200 * time.Millisecond // from here on: until then it may be slow
	f.die()
	if _, err := gather(t, e, batch(2, 3)); err == nil || !strings.Contains(err.Error(), "for more than 200ms (--rollout-wait)") {
		t.Errorf("%v, want an error that names --rollout-wait", err)
	}
}

// A request that reaches a restarted server between its weights and the look at them gets an answer of weights that are not proved, whatever version the server calls them, if the server
// does not keep to its pause.
func TestAnswersBetweenWeightsAndProof(t *testing.T) {
	f := newFake(t, dice)
	f.attests = true
	e := attach(t, nil, f)
	e.again = time.Millisecond
	update(t, e, 3)
	f.restart()
	var asked atomic.Int64
	var once sync.Once
	both, given, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	f.first(func(rw http.ResponseWriter, req *http.Request) bool {
		f.mu.Lock()
		pushed := f.label == "3"
		f.mu.Unlock()
		switch {
		case req.URL.Path == "/generate" && asked.Add(1) == 1:
			<-both
		case req.URL.Path == "/generate":
			close(both)
			<-given
			_ = f.mind().Resume(req.Context())
			f.generate(rw, req)
			close(answered)
			return true
		case req.URL.Path == "/model_info" && pushed:
			once.Do(func() { close(given) })
			f.say(api.ModelInfo{WeightVersion: "3", Attested: &api.Attested{State: rl.Digest{8}.String(), Effective: rl.Digest{}.String()}})(rw, req)
			return true
		case req.URL.Path == "/pause_generation" && pushed:
			<-answered // the server went on under what it was given; it is given it anew after that
		}
		return false
	})
	got, err := gather(t, e, batch(2, 3))
	if err == nil || len(got) != 0 || !strings.Contains(err.Error(), "it attests state 08") {
		t.Errorf("%d samples, %v, want none, and an error that tells the state", len(got), err)
	}
}
