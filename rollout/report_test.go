package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"furlong/dtype"
	"furlong/kernels/ref"
	"furlong/model/dsv4"
	"furlong/rl"
)

// score asks for the logprobs of a prompt's last tokens and nothing else.
func score(id int64, tokens []int32, tail int) rl.Request {
	q := ask(id, tokens, 0)
	q.Report.Tail = tail
	return q
}

func text(seed uint64, n int) []int32 {
	r, out := rand.New(rand.NewPCG(seed, 1)), make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(small().Vocab))
	}
	return out
}

// A response has the logprobs that it was drawn with when it is scored: alone, in company, in chunks, from a warm cache, under page pressure,
// on any number of threads. So has a response at temperature 0, whose logprobs are those of temperature 1.
func TestScoringIsGenerating(t *testing.T) {
	all, m := backends(t), policy(dtype.BF16, 7)
	drawn := func(e *rig) (out []*rl.Sample) {
		reqs := []rl.Request{ask(1, text(1, 30), fewer(50, 20)), ask(2, text(1, 17), fewer(60, 20)), ask(3, text(2, 40), fewer(40, 20))}
		reqs[1].Sampling.Temperature = 0
		got := e.all(reqs)
		return []*rl.Sample{got[1], got[2], got[3]}
	}
	want := drawn(serve(t, settings(), m, all["ref"]))
	ask := func(s *rl.Sample, id int64) rl.Request {
		q := score(id, s.Tokens(), len(s.Response))
		q.Report.Top, q.Report.Among = 3, []int32{s.Response[0], 5}
		return q
	}
	var told [][]rl.Told
	for _, tt := range []struct {
		name    string
		change  func(*Config)
		backend string
		company int
		warm    bool
	}{
		{"alone", func(*Config) {}, "ref", 0, false},
		{"in a batch of eight", func(*Config) {}, "ref", 5, false},
		{"chunks of 7", func(c *Config) { c.PrefillTokens = 7 }, "ref", 0, false},
		{"chunks of 1, in company", func(c *Config) { c.PrefillTokens = 1 }, "ref", 2, false},
		{"warm", func(*Config) {}, "ref", 0, true},
		{"warm, in company, fast kernels", func(*Config) {}, "cpu, 1 threads", 5, true},
		{"two threads", func(*Config) {}, "cpu, 2 threads", 5, false},
		{"few pages, two threads", func(c *Config) { c.TotalTokens, c.PrefillTokens = 120, 9 }, "cpu, 2 threads", 5, true},
		{"no sharing", func(c *Config) { c.NoSharing = true }, "cpu, 1 threads", 5, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.company == 2 {
				t.Skip("slow")
			}
			cfg := settings()
			tt.change(&cfg)
			e := serve(t, cfg, m, all[tt.backend])
			if tt.warm {
				drawn(e)
			}
			var reqs []rl.Request
			for i, s := range want {
				reqs = append(reqs, ask(s, int64(i)))
			}
			for i := range tt.company {
				q := score(int64(100+i), text(uint64(i%2), 50+5*i), 3*i)
				q.Sampling.MaxTokens = 4 * i
				reqs = append(reqs, q)
			}
			got := e.all(reqs)
			for i, s := range want {
				g := got[int64(i)]
				if !slices.EqualFunc(g.PromptLogProbs, s.LogProbs, bits) {
					t.Errorf("sample %d is scored %v, was drawn with %v", i, g.PromptLogProbs, s.LogProbs)
				}
				if g.Stop != rl.StopLength || len(g.Response)+len(g.LogProbs)+len(g.Versions) > 0 {
					t.Errorf("sample %d has %v (%v), want nothing, by length", i, g.Response, g.Stop)
				}
				if told = append(told, g.PromptTold); !slices.EqualFunc(flat(told[i]), flat(g.PromptTold), bits) {
					t.Errorf("sample %d: told is %v, before it was %v", i, g.PromptTold, told[i])
				}
			}
			e.idle()
		})
	}
}

// The prefix cache serves what lies before the row that gives the first score, and not that row.
func TestScoringUsesThePrefix(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	tokens := text(3, 60)
	e.all([]rl.Request{ask(1, tokens, 1)})
	for _, tt := range []struct{ tail, want int }{{0, 59}, {1, 58}, {20, 39}, {58, 1}, {59, 0}} {
		got := e.all([]rl.Request{score(1, tokens, tt.tail)})[1]
		if got.CachedTokens != tt.want || len(got.PromptLogProbs) != tt.tail {
			t.Errorf("last %d scored: %d tokens found, %d logprobs, want %d and %d", tt.tail, got.CachedTokens, len(got.PromptLogProbs), tt.want, tt.tail)
		}
	}
	e.idle()
}

// A sample that loses its pages in the middle of its prompt keeps the scores it has; each token is scored once.
func TestRetractionKeepsScores(t *testing.T) {
	ctx := context.Background()
	cfg := settings()
	cfg.PrefillTokens, cfg.MaxRunning = 5, 1
	m := policy(dtype.F32, 1)
	e := serve(t, cfg, m, ref.New[float32]())
	q := score(1, text(4, 100), 80)
	q.Sampling.MaxTokens, q.Report.Top = 6, 2
	want := e.all([]rl.Request{q})[1]
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	scored := e.Stats().ScoredTokens
	got := e.underway(q)
	for range 3 {
		passes := e.Stats().Passes
		if err := errors.Join(e.PauseWith(ctx, Retract), e.Flush(ctx), e.Resume(ctx)); err != nil {
			t.Fatal(err)
		}
		e.wait(func(s Stats) bool { return s.Passes > passes+3 })
	}
	s := (<-got)[1]
	if err := same(s, want); err != nil {
		t.Error(err)
	}
	if n := e.Stats().ScoredTokens - scored; n != 80 || s.Retractions != 3 {
		t.Errorf("%d tokens were scored after %d retractions, want 80 after 3", n, s.Retractions)
	}
	e.idle()
}

// Logits of scored rows are made in pieces, whose size does not matter.
func TestPieces(t *testing.T) {
	m := policy(dtype.F32, 1)
	o := newOracle(map[rl.Version]*dsv4.Model{1: m})
	for _, rows := range []int{1, 3, 64} {
		e := serve(t, settings(), m, ref.New[float32]())
		if err := e.do(context.Background(), func() { e.lanes.whole.piece = rows }); err != nil {
			t.Fatal(err)
		}
		a, b := score(1, text(5, 50), 49), score(2, text(6, 31), 20)
		a.Report.Top, b.Report.Among = 2, []int32{7}
		for _, s := range e.all(o.remember([]rl.Request{a, b})) {
			if err := o.check(s); err != nil {
				t.Errorf("pieces of %d rows: %v", rows, err)
			}
		}
	}
	l := newLanes(m, ref.New[float32](), serve(t, settings(), m, ref.New[float32]()).pages, false, kept{}, 1).whole
	if got := l.piece * small().Vocab * 4; got > pieceBytes || got < pieceBytes/2 {
		t.Errorf("pieces have %d bytes, want %d at most", got, pieceBytes)
	}
}

// A prompt of one token has nothing to score, and can be as long as the context when nothing is drawn.
func TestPromptAlone(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	got := e.all([]rl.Request{score(1, []int32{3}, 0), score(2, text(1, 120), 119)})
	for id, n := range map[int64]int{1: 0, 2: 119} {
		if s := got[id]; s.Stop != rl.StopLength || len(s.PromptLogProbs) != n || len(s.Response) != 0 || s.Told != nil {
			t.Errorf("request %d: %+v, want %d logprobs of the prompt and no response", id, s, n)
		}
	}
	e.idle()
}

func TestReportsThatCannotBe(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	for _, tt := range []struct {
		report rl.Report
		want   string
	}{
		{rl.Report{Tail: 3}, "3 tokens of the prompt are to be scored, want 0 to 2: all but the first"},
		{rl.Report{Tail: -1}, "-1 tokens of the prompt are to be scored, want 0 to 2: all but the first"},
		{rl.Report{Top: 41}, "the likeliest 41 tokens are asked for, want 0 to 40"},
		{rl.Report{Top: -1}, "the likeliest -1 tokens are asked for, want 0 to 40"},
		{rl.Report{Among: []int32{1, 40}}, "token 1 of those whose logprobs are asked for is 40, want 0 to 39"},
		{rl.Report{Experts: true}, "its experts are asked for, want --enable-return-routed-experts"},
	} {
		q := ask(1, []int32{1, 2, 3}, 1)
		q.Report = tt.report
		for s, err := range e.Generate(context.Background(), []rl.Request{q}) {
			if err == nil || !strings.HasSuffix(err.Error(), ": "+tt.want) {
				t.Errorf("%+v: %v, %v, want %s", tt.report, s, err, tt.want)
			}
		}
	}
	e.idle()
}

func TestScoringBrokenWeights(t *testing.T) {
	e := serve(t, settings(), policy(dtype.F32, 1), ref.New[float32]())
	err := e.do(context.Background(), func() { // an update that brought it would be refused
		head := e.m.Head().Value
		head.F32()[17*head.Dim()] = float32(math.NaN())
		e.k.Prepare(head)
	})
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range e.Generate(context.Background(), []rl.Request{score(9, []int32{1, 2, 3, 4}, 2)}) {
		want := `request 9 (prompt "p", sample 0): weights compute no finite numbers: logprob of prompt token 2 is NaN`
		if s != nil || !errors.Is(err, rl.ErrBroken) || err.Error() != want {
			t.Errorf("got %v, %v, want %s", s, err, want)
		}
	}
	e.idle()
}

// The likeliest tokens come likeliest first, equal ones by id, impossible ones last; all numbers can be asked for.
func TestLikeliest(t *testing.T) {
	never := float32(math.Inf(-1))
	d := distribution{logits: []float32{1, 3, never, 3, 2, 1, never}, scale: 1, most: 3, top: -1}
	for k, want := range []string{"[1]", "[1 3]", "[1 3 4]", "[1 3 4 0]", "[1 3 4 0 5]", "[1 3 4 0 5 2]", "[1 3 4 0 5 2 6]"} {
		var got []int32
		k++
		for _, a := range d.likeliest(k) {
			got = append(got, a.Token)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("the likeliest %d are %v, want %s", k, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		d.logits = d.logits[:0]
		for range 1 + r.IntN(50) {
			d.logits = append(d.logits, float32(r.IntN(8)))
		}
		all := d.likeliest(len(d.logits))
		if !slices.IsSortedFunc(all, compare) {
			t.Fatalf("%v is not sorted", all)
		}
		if k := 1 + r.IntN(len(all)); !slices.Equal(d.likeliest(k), all[:k]) {
			t.Fatalf("the likeliest %d are %v, want %v", k, d.likeliest(k), all[:k])
		}
	}
}

func BenchmarkLikeliest(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	d := distribution{scale: 1, most: 5, top: -2}
	for range 129280 {
		d.logits = append(d.logits, float32(r.NormFloat64()))
	}
	for b.Loop() {
		d.likeliest(20)
	}
}
