package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/rl"
)

// A train is a constraint that allows one token after another, and is then done.
type train struct {
	tokens []int32
	n      int
	heard  []int32
}

func (s *train) Allow(allowed []bool) { allowed[s.tokens[s.n]] = true }
func (s *train) Accept(token int32)   { s.n++; s.heard = append(s.heard, token) }
func (s *train) Done() bool           { return s.n == len(s.tokens) }

// A watcher sees the sample after each token, the last one too, one token longer each time.
func TestWatchSeesEveryToken(t *testing.T) {
	for _, stop := range []rl.Stop{rl.StopLength, rl.StopToken, rl.StopText, rl.StopAbort} {
		e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
		free := e.all([]rl.Request{ask(1, []int32{1, 2, 3}, 40)})[1]
		q := ask(1, []int32{1, 2, 3}, 40)
		q.Report.Top = 1
		var seen []int
		q.Watch = func(s *rl.Sample) bool {
			n := len(s.Response)
			if len(s.LogProbs) != n || len(s.Told) != n || s.Versions[0].Tokens != n || s.Stop != rl.Unfinished || s.Prompt != q.Prompt {
				t.Errorf("a watcher sees %+v", s)
			}
			seen = append(seen, n)
			return stop == rl.StopText && n == 7
		}
		switch stop {
		case rl.StopToken:
			q.Sampling.StopIDs = []int32{free.Response[30]}
		case rl.StopAbort:
			go func() {
				passes := e.Stats().Passes
				e.wait(func(s Stats) bool { return s.Passes > passes+5 })
				if err := e.AbortAll(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		}
		s := e.all([]rl.Request{q})[1]
		if s.Stop != stop || len(seen) != len(s.Response) || !slices.IsSorted(seen) {
			t.Errorf("a response of %d tokens ended by %v, and its watcher saw %v, want an end by %v", len(s.Response), s.Stop, seen, stop)
		}
		if !slices.Equal(s.Response, free.Response[:len(s.Response)]) {
			t.Errorf("watched, the response is %v, want a beginning of %v", s.Response, free.Response)
		}
		e.idle()
	}
}

// What comes first when a token ends a response for several reasons: the constraint, the stop id, the watcher, the length.
func TestWhyAResponseEnds(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	yes := func(*rl.Sample) bool { return true }
	for _, tt := range []struct {
		constraint rl.Constraint
		ids        []int32
		watch      func(*rl.Sample) bool
		want       rl.Stop
	}{
		{nil, nil, nil, rl.StopLength},
		{nil, nil, yes, rl.StopText},
		{nil, []int32{8}, yes, rl.StopToken},
		{nil, []int32{8}, nil, rl.StopToken},
		{&train{tokens: []int32{8}}, []int32{8}, yes, rl.StopText},
		{&train{tokens: []int32{8, 9}}, []int32{8}, nil, rl.StopToken},
	} {
		q := ask(1, []int32{1, 2}, 1)
		q.Sampling.Bias = []rl.Bias{{Token: 8, Add: 1000}}
		q.Constraint, q.Sampling.StopIDs, q.Watch = tt.constraint, tt.ids, tt.watch
		if s := e.all([]rl.Request{q})[1]; s.Stop != tt.want || fmt.Sprint(s.Response) != "[8]" {
			t.Errorf("%+v: response is %v (%v), want [8] (%v)", tt, s.Response, s.Stop, tt.want)
		}
	}
	e.idle()
}

// A constraint is asked before and told after each token, over retractions too, and ends the response when it is done.
func TestConstraint(t *testing.T) {
	ctx := context.Background()
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	only := &train{tokens: text(8, 60)}
	q := ask(1, []int32{1, 2, 3}, 100)
	q.Constraint = only
	got := e.underway(q)
	if err := errors.Join(e.PauseWith(ctx, Retract), e.Flush(ctx), e.Resume(ctx)); err != nil {
		t.Fatal(err)
	}
	s := (<-got)[1]
	if s.Stop != rl.StopText || !slices.Equal(s.Response, only.tokens) || !slices.Equal(only.heard, only.tokens) || s.Retractions != 1 {
		t.Errorf("response is %v (%v), the constraint heard %v, want %v", s.Response, s.Stop, only.heard, only.tokens)
	}
	for i, lp := range s.LogProbs {
		if lp != 0 {
			t.Errorf("token %d, the only one allowed, has logprob %v, want 0", i, lp)
		}
	}
	e.idle()
}

// Responses that are too short don't end by a stop id.
func TestMinTokens(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	for _, least := range []int{0, 1, 8, 20} {
		q := ask(1, []int32{1, 2}, 20)
		q.Sampling.Bias, q.Sampling.StopIDs, q.Sampling.MinTokens = []rl.Bias{{Token: 8, Add: 1000}}, []int32{8}, least
		s := e.all([]rl.Request{q})[1]
		want, why := min(least+1, 20), rl.StopToken
		if least == 20 {
			why = rl.StopLength
		}
		if len(s.Response) != want || s.Stop != why {
			t.Errorf("at least %d: %d tokens (%v), want %d (%v)", least, len(s.Response), s.Stop, want, why)
		}
	}
	e.idle()
}

// bad is a constraint that does something wrong.
type bad struct{ allow, accept func() }

func (b bad) Allow(allowed []bool) {
	for i := range allowed {
		allowed[i] = true
	}
	b.allow()
}
func (b bad) Accept(int32) { b.accept() }
func (bad) Done() bool     { return false }

// What others bring along may break: that fails their sample and nobody else's.
func TestStrangersThatBreak(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	fine, oops := func() {}, func() { panic("oops") }
	other := ask(2, []int32{4, 5, 6}, 100)
	want := e.all([]rl.Request{other})[2]
	for _, tt := range []struct {
		name   string
		change func(*rl.Request)
		want   string
	}{
		{"allow", func(q *rl.Request) { q.Constraint = bad{oops, fine} }, "response token 0: constraint: oops"},
		{"accept", func(q *rl.Request) { q.Constraint = bad{fine, oops} }, "response token 0: constraint: oops"},
		{"watch", func(q *rl.Request) { q.Watch = func(*rl.Sample) bool { panic("oops") } }, "response token 0: watcher: oops"},
		{"nothing allowed", func(q *rl.Request) { q.Constraint = apart(1) }, "response token 0: no token may follow"},
	} {
		beside := e.underway(other)
		q := ask(1, []int32{1, 2, 3}, 5)
		tt.change(&q)
		for s, err := range e.Generate(context.Background(), []rl.Request{q}) {
			if s != nil || err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, rl.ErrBroken) {
				t.Errorf("%s: %v, %v, want an error with %q", tt.name, s, err, tt.want)
			}
		}
		if err := same((<-beside)[2], want); err != nil {
			t.Errorf("%s: beside: %v", tt.name, err)
		}
	}
	e.idle()
}

// Requests of different spaces share nothing, one after the other or at once; of one space they do.
func TestSpacesShareNothing(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	tokens := text(9, 50)
	in := func(id int64, space string) rl.Request {
		q := ask(id, tokens, 3)
		q.Sampling.Seed, q.Space = 1, space
		return q
	}
	reqs := []rl.Request{in(1, "a"), in(2, "b"), in(3, ""), in(4, "a"), in(5, "b"), in(6, "")}
	got := e.all(reqs)
	for id, want := range map[int64]int{1: 0, 2: 0, 3: 0, 4: 49, 5: 49, 6: 49} {
		if got[id].CachedTokens != want {
			t.Errorf("request %d in %q found %d tokens, want %d", id, reqs[id-1].Space, got[id].CachedTokens, want)
		}
		if fmt.Sprint(got[id].LogProbs) != fmt.Sprint(got[1].LogProbs) {
			t.Errorf("request %d has logprobs %v, want %v", id, got[id].LogProbs, got[1].LogProbs)
		}
	}
	if again := e.all([]rl.Request{in(1, "c")})[1]; again.CachedTokens != 0 {
		t.Errorf("a new space found %d tokens", again.CachedTokens)
	}
	for i := range fewer(300, 60) {
		e.all([]rl.Request{in(1, fmt.Sprint("space", i))})
	}
	if n := e.pages.Cache().Spaces(); n > 40 {
		t.Errorf("%d spaces are remembered, of pages for about twenty", n)
	}
	e.idle()
	if n := e.pages.Cache().Spaces(); n != 0 {
		t.Errorf("%d spaces are remembered after a flush", n)
	}
}

// Nobody waits for one in another space, from whom there is nothing to have.
func TestSpacesDoNotWait(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	var reqs []rl.Request
	for i := range 4 {
		q := ask(int64(i), text(9, 10), 1)
		q.Space = fmt.Sprint(i / 2)
		reqs = append(reqs, q)
	}
	e.all(reqs)
	if s := e.Stats(); s.Passes != 2 || s.CachedTokens != 2*9 {
		t.Errorf("%d passes, %d tokens found, want 2 and 18", s.Passes, s.CachedTokens)
	}
}

// Prompts that begin alike and come together compute the beginning once.
func TestBeginningsAreComputedOnce(t *testing.T) {
	cfg := settings()
	cfg.PrefillTokens = 1000
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	for _, common := range []int{60, 32, 31} {
		base := text(uint64(common), common)
		var reqs []rl.Request
		for i := range 6 {
			reqs = append(reqs, ask(int64(i), append(slices.Clone(base), int32(30+i), 1, 2, 3), 2))
		}
		found := 0
		for _, s := range e.all(reqs) {
			found += s.CachedTokens
		}
		want := 5 * common
		if common < 32 {
			want = 0
		}
		if found != want {
			t.Errorf("%d tokens in common: %d were found, want %d", common, found, want)
		}
		e.idle()
	}
}
