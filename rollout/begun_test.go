package rollout

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/rl"
)

// A ladder is a constraint with a memory: a token may not be less than three before the one before it, and after some tokens nothing may follow.
type ladder struct {
	last  int32
	n     int
	tired int
}

func (l *ladder) Allow(allowed []bool) {
	for t := range allowed {
		allowed[t] = int32(t) >= l.last-3
	}
}
func (l *ladder) Accept(token int32) { l.last, l.n = token, l.n+1 }
func (l *ladder) Done() bool         { return l.n == l.tired }

// inPieces draws requests some tokens at a time: each piece begins with what the one before it has left, as an abort would leave it. It counts the pieces.
func (r *rig) inPieces(random *rand.Rand, reqs []rl.Request) (map[int64]*rl.Sample, int) {
	r.t.Helper()
	done, pieces := map[int64]*rl.Sample{}, 0
	for len(reqs) > 0 {
		now, cut := slices.Clone(reqs), map[int64]bool{}
		for i := range now {
			until, watch := 1+random.IntN(12), now[i].Watch
			if b := now[i].Begun; b != nil {
				until += len(b.Response)
			}
			if c, ok := now[i].Constraint.(*ladder); ok {
				now[i].Constraint = &ladder{tired: c.tired}
			}
			now[i].Watch = func(s *rl.Sample) bool {
				if watch != nil && watch(s) {
					return true
				}
				cut[s.Request] = len(s.Response) == until && !slices.Contains(s.Sampling.StopIDs, s.Response[until-1])
				return cut[s.Request]
			}
		}
		var next []rl.Request
		for id, s := range r.all(now) {
			pieces++
			q := reqs[slices.IndexFunc(reqs, func(q rl.Request) bool { return q.ID == id })]
			if err := q.CheckBegun(); err != nil {
				r.t.Errorf("request %d changed what was begun: %v", id, err)
			}
			if c, ok := q.Constraint.(*ladder); !cut[id] || ok && c.tired == len(s.Response) {
				done[id] = s
				continue
			}
			q.Begun = fromFile(r.t, s)
			next = append(next, q)
		}
		slices.SortFunc(next, func(a, b rl.Request) int { return int(a.ID - b.ID) })
		reqs = next
	}
	return done, pieces
}

// fromFile returns a sample as it comes out of a file.
func fromFile(t testing.TB, s *rl.Sample) *rl.Sample {
	t.Helper()
	var file bytes.Buffer
	again := &rl.Sample{}
	if err := errors.Join(gob.NewEncoder(&file).Encode(s), gob.NewDecoder(&file).Decode(again)); err != nil {
		t.Fatal(err)
	}
	return again
}

// A response that is drawn in pieces is the one drawn at once, with all that is told of it, wherever its rows come from.
func TestPiecesAreTheWhole(t *testing.T) {
	all, m := backends(t), policy(dtype.BF16, 3)
	for _, tt := range []struct {
		name    string
		change  func(*Config)
		backend string
	}{
		{"plain", func(*Config) {}, "ref"},
		{"chunks of 3, fast kernels", func(c *Config) { c.PrefillTokens = 3 }, "cpu, 1 threads"},
		{"few pages", func(c *Config) { c.TotalTokens = 100 }, "cpu, 2 threads"},
		{"no sharing, one at a time", func(c *Config) { c.NoSharing, c.MaxRunning = true, 1 }, "cpu, 2 threads"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOracle(map[rl.Version]*dsv4.Model{1: m})
			cfg := settings()
			cfg.Experts, cfg.Entries = true, true
			whole := serve(t, cfg, m, all[tt.backend])
			tt.change(&cfg)
			e := serve(t, cfg, m, all[tt.backend])
			reqs := routed(6)
			for i := range reqs {
				if reqs[i].Sampling.MaxTokens > 0 {
					reqs[i].Sampling.MaxTokens += 15
				}
				if i%5 == 0 {
					reqs[i].Constraint = &ladder{tired: 10 + i}
				}
			}
			got, pieces := e.inPieces(rand.New(rand.NewPCG(6, 1)), reqs)
			for i := range reqs {
				if c, ok := reqs[i].Constraint.(*ladder); ok {
					reqs[i].Constraint = &ladder{tired: c.tired}
				}
			}
			for id, want := range whole.all(o.remember(reqs)) {
				if err := same(got[id], want); err != nil {
					t.Error(err)
				}
				if len(want.Versions) > 1 || len(got[id].Versions) > 1 {
					t.Errorf("request %d has the versions %v and %v, want one", id, got[id].Versions, want.Versions)
				}
				if _, ok := o.asked[id].Constraint.(*ladder); !ok && tt.name == "plain" {
					if err := o.check(got[id]); err != nil {
						t.Error(err)
					}
				}
			}
			if st := e.Stats(); pieces < 2*len(reqs) || cfg.TotalTokens > 0 && st.Retracted+st.Evicted == 0 || cfg.NoSharing != (st.CachedTokens == 0) {
				t.Errorf("%d pieces of %d requests, %+v: this tests nothing", pieces, len(reqs), st)
			}
			e.idle()
		})
	}
}

// What a later version goes on with keeps the tokens of the version before it, which are computed again.
func TestAnotherVersionGoesOn(t *testing.T) {
	models := map[rl.Version]*dsv4.Model{1: policy(dtype.F32, 3), 2: policy(dtype.F32, 4)}
	o := newOracle(models)
	e := serve(t, settings(), models[1], ref.New[float32]())
	q := ask(1, text(1, 20), 60)
	q.Sampling.FrequencyPenalty, q.Sampling.TopK, q.Report.Top = 0.5, 12, 2
	q.Watch = func(s *rl.Sample) bool { return len(s.Response) == 25 }
	q.Begun = fromFile(t, e.all([]rl.Request{q})[1])
	q.Begun.Retractions = 4
	before := fromFile(t, q.Begun)
	q.Watch = nil
	e.update(snapshot{version: 2, m: models[2]})
	s := e.all(o.remember([]rl.Request{q}))[1]
	if err := o.check(s); err != nil {
		t.Error(err)
	}
	if want := []rl.Span{{Version: 1, Tokens: 25}, {Version: 2, Tokens: 35}}; !slices.Equal(s.Versions, want) || s.Retractions != 4 {
		t.Errorf("versions are %v after %d retractions, want %v and 4", s.Versions, s.Retractions, want)
	}
	if err := same(q.Begun, before); err != nil || !slices.Equal(q.Begun.Versions, before.Versions) {
		t.Errorf("what was begun changed: %v, %v", err, q.Begun.Versions)
	}
	e.idle()
}

// What has reached its end comes back at once, also while the engine is paused.
func TestBegunToTheEnd(t *testing.T) {
	ctx := context.Background()
	cfg := settings()
	cfg.TotalTokens = 64
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	q := ask(1, text(1, 20), 45)
	q.Begun = fromFile(t, e.all([]rl.Request{q})[1])
	if err := e.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	drawn := e.Stats().DrawnTokens
	short, stops, done := q, q, q
	short.Sampling.MaxTokens = 7
	stops.Sampling.StopIDs, stops.Sampling.MaxTokens = []int32{q.Begun.Response[44]}, 60
	done.Constraint, done.Sampling.MaxTokens = &ladder{tired: 45}, 60
	for _, tt := range []struct {
		name string
		q    rl.Request
		want rl.Stop
	}{
		{"as many tokens as it may have", q, rl.StopLength}, {"more of them", short, rl.StopLength}, {"a stop id", stops, rl.StopToken},
	} {
		s := e.all([]rl.Request{tt.q})[1]
		if err := same(s, &rl.Sample{Response: q.Begun.Response, LogProbs: q.Begun.LogProbs, Stop: tt.want}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := e.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	done.Prompt = &rl.Prompt{ID: "short", Tokens: []int32{1}}
	done.Begun.Prompt, done.Sampling.MaxTokens = done.Prompt, 50
	if s := e.all([]rl.Request{done})[1]; s.Stop != rl.StopText || len(s.Response) != 45 {
		t.Errorf("a constraint that is done: %d tokens, %v, want 45 and %v", len(s.Response), s.Stop, rl.StopText)
	}
	if s := e.Stats(); s.DrawnTokens != drawn {
		t.Errorf("%d tokens were drawn, want none", s.DrawnTokens-drawn)
	}
	e.idle()
}

// A constraint that panics at what was begun ends its own request alone.
func TestBegunForAnAngryConstraint(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	q := ask(1, []int32{1, 2}, 20)
	q.Begun = e.all([]rl.Request{ask(1, []int32{1, 2}, 5)})[1]
	q.Constraint = angry{}
	for s, err := range e.Generate(context.Background(), []rl.Request{q}) {
		if err == nil || !strings.Contains(err.Error(), "response token 0, which was begun: constraint: ") {
			t.Errorf("got %v, %v, want what the constraint said", s, err)
		}
	}
	e.idle()
}

type angry struct{}

func (angry) Allow([]bool) {}
func (angry) Accept(int32) { panic("no") }
func (angry) Done() bool   { return false }

func TestBegunThatDoesNotFit(t *testing.T) {
	cfg := settings()
	cfg.Experts = true
	e := serve(t, cfg, policy(dtype.F32, 1), ref.New[float32]())
	q := ask(1, []int32{1, 2, 3}, 20)
	q.Report = rl.Report{Experts: true, Top: 1, Tail: 1}
	q.Sampling.TopK = 5
	q.Sampling.MaxTokens = 8
	whole := e.all([]rl.Request{q})[1]
	q.Sampling.MaxTokens = 20
	for _, tt := range []struct {
		spoil func(b *rl.Sample)
		want  string
	}{
		{func(b *rl.Sample) { b.Prompt = &rl.Prompt{Tokens: []int32{1, 2}} }, "what is begun has another prompt"},
		{func(b *rl.Sample) { b.LogProbs = b.LogProbs[1:] }, "8 tokens are begun with 7 logprobs, want 8"},
		{func(b *rl.Sample) { b.Versions = nil }, "8 tokens are begun with 0 tokens with a version, want 8"},
		{func(b *rl.Sample) { b.TruncLogProbs = nil }, "8 tokens are begun with 0 truncated logprobs, want 8"},
		{func(b *rl.Sample) { b.Told = b.Told[:3] }, "8 tokens are begun with 3 positions that are told of, want 8"},
		{func(b *rl.Sample) { b.PromptLogProbs = nil }, "8 tokens are begun with 0 logprobs of the prompt, want 1"},
		{func(b *rl.Sample) { b.PromptTold = nil }, "8 tokens are begun with 0 positions of the prompt that are told of, want 1"},
		{func(b *rl.Sample) { b.Experts.Rows = append(b.Experts.Rows, b.Experts.Rows...) }, "8 tokens are begun with 20 rows of experts, want 10"},
		{func(b *rl.Sample) { b.Experts.Rows[7] = 4 }, "goes to expert 4 in layer 3, want less than 4"},
		{func(b *rl.Sample) { b.Experts.Layers++ }, "routes are 2 of 4 experts in 6 layers, want 2 of 4 in 5"},
		{func(b *rl.Sample) { b.Response[2] = 40 }, "token 2 of what is begun is 40, want 0 to 39"},
	} {
		bad := q
		bad.Begun = fromFile(t, whole)
		tt.spoil(bad.Begun)
		for s, err := range e.Generate(context.Background(), []rl.Request{bad}) {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want an error with %q", s, err, tt.want)
			}
		}
		e.idle()
	}
	fewer := q
	fewer.Begun = fromFile(t, whole)
	fewer.Begun.Experts = nil // then all are of the pass that goes on
	whole = e.all([]rl.Request{q})[1]
	if err := same(e.all([]rl.Request{fewer})[1], whole); err != nil {
		t.Error(err)
	}
}
