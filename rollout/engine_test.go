package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kernels/ref"
	"furlong/rl"
	"furlong/tensor"
)

func ask(id int64, prompt []int32, tokens int) rl.Request {
	s := rl.DefaultSampling()
	s.MaxTokens, s.Seed = tokens, uint64(id)
	return rl.Request{ID: id, Prompt: &rl.Prompt{ID: "p", Tokens: prompt}, Sampling: s}
}

func TestRequestsThatCannotRun(t *testing.T) {
	cfg := settings()
	cfg.TotalTokens = 64
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	long := make([]int32, 120)
	biased := ask(1, []int32{1}, 1)
	biased.Sampling.Bias = []rl.Bias{{Token: 3}, {Token: 40}}
	for _, tt := range []struct {
		reqs []rl.Request
		want string
	}{
		{[]rl.Request{ask(1, nil, 5)}, `request 1 (prompt "p", sample 0): the prompt has no tokens, want at least 1`},
		{[]rl.Request{ask(1, long, 5)}, `request 1 (prompt "p", sample 0): the prompt has 120 tokens, want at most 119: --context-length is 120`},
		{[]rl.Request{ask(1, []int32{1, 40}, 5)}, `request 1 (prompt "p", sample 0): token 1 of the prompt is 40, want 0 to 39`},
		{[]rl.Request{ask(1, []int32{-1}, 5)}, `request 1 (prompt "p", sample 0): token 0 of the prompt is -1, want 0 to 39`},
		{[]rl.Request{ask(1, []int32{1}, -1)}, `request 1 (prompt "p", sample 0): max_new_tokens is -1, want at least 1`},
		{[]rl.Request{biased}, `request 1 (prompt "p", sample 0): token 1 of logit_bias is 40, want 0 to 39`},
		{[]rl.Request{ask(1, append(long, 1), 0)}, `request 1 (prompt "p", sample 0): the prompt has 121 tokens, want at most 120: --context-length is 120`},
		{[]rl.Request{ask(1, long[:60], 6)}, `request 1 (prompt "p", sample 0): it can grow to 65 tokens, want at most the 64 that all pages hold (--sglang-max-total-tokens)`},
		{[]rl.Request{ask(1, long[:4], 5), ask(1, long[:4], 5)}, `request 1 (prompt "p", sample 0): its id is already in flight`},
		{[]rl.Request{{ID: 3}}, `request 3 has no prompt`},
	} {
		for s, err := range e.Generate(context.Background(), tt.reqs) {
			if s != nil || err == nil || err.Error() != tt.want {
				t.Errorf("got %v, %v, want %s", s, err, tt.want)
			}
		}
		e.idle()
	}
	if got := e.all([]rl.Request{ask(1, long[:60], 5)})[1]; len(got.Response) != 5 || got.Stop != rl.StopLength {
		t.Errorf("what just fits: %d tokens, %v, want 5, length", len(got.Response), got.Stop)
	}
}

func TestResponseEndsAtTheContext(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	s := e.all([]rl.Request{ask(1, make([]int32, 110), 50)})[1]
	if len(s.Response) != 10 || s.Stop != rl.StopLength {
		t.Errorf("%d tokens, %v, want 10, length", len(s.Response), s.Stop)
	}
}

func TestStopTokenBelongsToTheResponse(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	free := e.all([]rl.Request{ask(1, []int32{1, 2, 3}, 20)})[1]
	q := ask(1, []int32{1, 2, 3}, 20)
	q.Sampling.StopIDs = []int32{-5, free.Response[7]}
	s := e.all([]rl.Request{q})[1]
	n := 1
	for free.Response[n-1] != free.Response[7] {
		n++
	}
	if s.Stop != rl.StopToken || fmt.Sprint(s.Response) != fmt.Sprint(free.Response[:n]) || len(s.LogProbs) != n {
		t.Errorf("response is %v (%v), want %v (stop)", s.Response, s.Stop, free.Response[:n])
	}
}

func TestNoWeightsNoSamples(t *testing.T) {
	e := begin(t, settings(), dtype.F32, ref.New[float32]())
	for _, err := range e.Generate(context.Background(), []rl.Request{ask(1, []int32{1}, 1)}) {
		if want := "rollout: there are no weights yet, want an update first"; err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	if e.Version() != 0 {
		t.Errorf("version is %v, want 0", e.Version())
	}
}

func TestCancelFreesEverything(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	r := rand.New(rand.NewPCG(1, 1))
	reqs := requests(r, prompts(r, 10, 40), 60)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	got := 0
	for s, err := range e.Generate(ctx, reqs) {
		if err != nil {
			if !errors.Is(err, why) {
				t.Errorf("error is %v, want %v", err, why)
			}
			break
		}
		if s.Stop == rl.Unfinished {
			t.Errorf("request %d was yielded unfinished", s.Request)
		}
		if got++; got == 3 {
			cancel(why)
		}
	}
	e.idle()
	if s := e.Stats(); s.Aborted == 0 || s.Aborted+s.Finished != len(reqs) {
		t.Errorf("%d aborted and %d finished of %d", s.Aborted, s.Finished, len(reqs))
	}
}

func TestBreakFreesEverything(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	r := rand.New(rand.NewPCG(1, 1))
	for range e.Generate(context.Background(), requests(r, prompts(r, 10, 40), 60)) {
		break
	}
	e.idle()
}

// wait returns once ok says so about the engine's state.
func (r *rig) wait(ok func(Stats) bool) {
	r.t.Helper()
	for range 100000 {
		if ok(r.Stats()) {
			return
		}
		if err := r.do(context.Background(), func() {}); err != nil { // one pass at most
			r.t.Fatal(err)
		}
	}
	r.t.Fatalf("never came to be: %+v", r.Stats())
}

func TestAbortKeepsWhatThereIs(t *testing.T) {
	m := policy(dtype.F32, 1)
	e := serve(t, settings(), m, ref.New[float32]())
	whole := e.all([]rl.Request{ask(1, []int32{1, 2, 3}, 100)})[1]
	passes := e.Stats().Passes
	go func() {
		e.wait(func(s Stats) bool { return s.Passes >= passes+12 })
		if err := e.Abort(context.Background(), 1, 77); err != nil {
			t.Error(err)
		}
	}()
	s := e.all([]rl.Request{ask(1, []int32{1, 2, 3}, 100), ask(2, []int32{4, 5}, 30)})
	n := len(s[1].Response)
	if s[1].Stop != rl.StopAbort || n < 10 || n == 100 || fmt.Sprint(s[1].Response) != fmt.Sprint(whole.Response[:n]) {
		t.Errorf("aborted sample has %v (%v), want a beginning of %v", s[1].Response, s[1].Stop, whole.Response)
	}
	if s[2].Stop != rl.StopLength {
		t.Errorf("the other sample stopped by %v, want length", s[2].Stop)
	}
	e.idle()
}

func TestPauseHoldsEverything(t *testing.T) {
	ctx := context.Background()
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	want := e.all([]rl.Request{ask(1, []int32{1, 2, 3}, 60)})[1]
	got := make(chan *rl.Sample)
	send := func(id int64) {
		go func() {
			for s, err := range e.Generate(ctx, []rl.Request{ask(id, []int32{1, 2, 3}, 60)}) {
				if err != nil {
					t.Error(err)
				}
				got <- s
			}
		}()
	}
	passes := e.Stats().Passes
	send(1)
	e.wait(func(s Stats) bool { return s.Passes > passes+5 })
	for range 2 { // twice is the same as once
		if err := e.Pause(ctx); err != nil {
			t.Fatal(err)
		}
	}
	send(2)
	e.wait(func(s Stats) bool { return s.Queued == 1 })
	passes = e.Stats().Passes
	for range 50 {
		if err := e.do(ctx, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if s := e.Stats(); s.Passes != passes || !s.Paused || s.Running != 1 {
		t.Errorf("while paused: %d passes and %d running, want 0 and 1", s.Passes-passes, s.Running)
	}
	for range 2 {
		if err := e.Resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if s := <-got; s.Request == 1 {
			if err := same(s, want); err != nil {
				t.Error(err)
			}
		}
	}
	e.idle()
}

func TestAbortWhilePaused(t *testing.T) {
	ctx := context.Background()
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	if err := e.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	go func() {
		e.wait(func(s Stats) bool { return s.Queued == 2 })
		if err := e.AbortAll(ctx); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range e.all([]rl.Request{ask(1, []int32{1}, 5), ask(2, []int32{1}, 5)}) {
		if s.Stop != rl.StopAbort || len(s.Response) != 0 {
			t.Errorf("sample has %d tokens and stopped by %v, want 0 and abort", len(s.Response), s.Stop)
		}
	}
	e.idle()
}

func TestStopEndsEveryCall(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	go func() {
		e.wait(func(s Stats) bool { return s.Running == 1 })
		e.stop()
	}()
	var last error
	for _, err := range e.Generate(context.Background(), []rl.Request{ask(1, []int32{1}, 119)}) {
		last = err
	}
	if !errors.Is(last, errStopped) {
		t.Errorf("the call ended with %v, want %v", last, errStopped)
	}
	e.stop()
	for _, err := range e.Generate(context.Background(), []rl.Request{ask(1, []int32{1}, 1)}) {
		if !errors.Is(err, errStopped) {
			t.Errorf("a call after the end got %v, want %v", err, errStopped)
		}
	}
	if err := e.Pause(context.Background()); !errors.Is(err, errStopped) {
		t.Errorf("Pause after the end: %v, want %v", err, errStopped)
	}
}

// A faulty backend breaks in the n-th call of a kernel.
type faulty struct {
	kernels.Backend
	left *int
}

func (f faulty) Attend(o, lse, q, sink *tensor.Tensor, heads int, views ...kernels.View) {
	if *f.left--; *f.left == 0 {
		panic("attend: q is [3, 16], want [3, 32]")
	}
	f.Backend.Attend(o, lse, q, sink, heads, views...)
}

func TestPanicFailsWhatIsInFlightAndNothingElse(t *testing.T) {
	left := 0
	m := policy(dtype.F32, 1)
	e := serve(t, settings(), m, faulty{ref.New[float32](), &left})
	reqs := []rl.Request{ask(1, []int32{1, 2, 3}, 20), ask(2, []int32{4, 5}, 20)}
	want := e.all(reqs)
	if err := e.do(context.Background(), func() { left = 5*7 + 4 }); err != nil { // the 8th pass, layer 3
		t.Fatal(err)
	}
	var errs []string
	for _, err := range e.Generate(context.Background(), reqs) {
		if err != nil {
			errs = append(errs, err.Error())
		}
	}
	if len(errs) != 1 || !strings.Contains(errs[0], `(prompt "p", sample 0): layer 3: attend: q is [3, 16], want [3, 32]`) || !strings.Contains(errs[0], "faulty.Attend") {
		t.Errorf("errors are %q, want one that names request, layer, kernel and stack", errs)
	}
	e.idle()
	if s := e.Stats(); s.Failed != 2 {
		t.Errorf("%d failed, want 2", s.Failed)
	}
	for id, s := range e.all(reqs) {
		if err := same(s, want[id]); err != nil {
			t.Error(err)
		}
	}
}

func TestNaNIsAnErrorAndNoToken(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	err := e.do(context.Background(), func() { // an update that brought it would be refused
		head := e.m.Head().Value
		head.F32()[17*head.Dim()] = float32(math.NaN())
		e.k.Prepare(head)
	})
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range e.Generate(context.Background(), []rl.Request{ask(9, []int32{1, 2}, 4)}) {
		want := `request 9 (prompt "p", sample 0): response token 0: weights compute no finite numbers: logit of token 17 is NaN`
		if s != nil || err == nil || err.Error() != want || !errors.Is(err, rl.ErrBroken) {
			t.Errorf("got %v, %v, want %s", s, err, want)
		}
	}
	e.idle()
}

// Many callers at once, some of whom lose interest.
func TestCallersAtOnce(t *testing.T) {
	m := policy(dtype.F32, 1)
	e := serve(t, settings(), m, ref.New[float32]())
	r := rand.New(rand.NewPCG(8, 8))
	reqs := requests(r, prompts(r, 16, 30), 20)
	want := e.all(reqs)
	done := make(chan error)
	callers := 0
	for i := 0; i < len(reqs); i += 4 {
		callers++
		go func() {
			n := 0
			for s, err := range e.Generate(context.Background(), reqs[i:min(i+4, len(reqs))]) {
				if err == nil {
					err = same(s, want[s.Request])
				}
				if n++; err != nil || n > i%3 {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	e.wait(func(s Stats) bool { return s.Running+s.Queued == 0 })
	e.idle()
}
