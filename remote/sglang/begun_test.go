package sglang

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	api "furlong/api/sglang"
	"furlong/rl"
	"furlong/rl/rltest"
)

// The suite of what was begun and of aborts. The fakes tell nothing but tokens and logprobs.
func TestBegun(t *testing.T) {
	rltest.RunBegun(t, func(t *testing.T) rltest.Rig {
		if strings.HasSuffix(t.Name(), "what_is_told_of_a_response_in_pieces") {
			t.Skip("the fakes don't tell")
		}
		return rltest.Rig{Engine: attach(t, nil, newFake(t, dice), newFake(t, dice)), Prompts: prompts(), Weights: tensors, Long: 4000}
	})
}

// placed is a policy of which the draw of a token depends on its place in prompt and response together, as it does at SGLang.
func placed(v rl.Version, r rl.Request, soFar []int32) (int32, float32) {
	r.Prompt = &rl.Prompt{Tokens: slices.Concat(r.Prompt.Tokens, soFar)}
	return dice(v, r, nil)
}

// A server that knows nothing of responses that were begun is sent the same ids, and goes on as if they were the prompt's.
func TestBegunAtAPlainServer(t *testing.T) {
	f := newFake(t, placed)
	f.plain = true
	e := attach(t, nil, f)
	update(t, e, 1)
	r := batch(1, 20)[0]
	whole, err := gather(t, e, []rl.Request{r})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{6, 7, 20} {
		r.Sampling.MaxTokens, r.Sampling.MinTokens = most, min(most, 8)
		got, err := gather(t, e, []rl.Request{r})
		if err != nil {
			t.Fatal(err)
		}
		r.Begun = got[r.ID]
	}
	if w := whole[r.ID]; !slices.Equal(r.Begun.Response, w.Response) || !slices.Equal(r.Begun.LogProbs, w.LogProbs) || !slices.Equal(r.Begun.Versions, w.Versions) {
		t.Errorf("in pieces it is %v, want %v", r.Begun, w)
	}
	last := f.asked[len(f.asked)-1]
	p := last.Params.At(0)
	if last.ResponseStart != nil || len(last.InputIDs.At(0)) != 2+7 || p.MaxNewTokens.N != 13 || *p.MinNewTokens != 1 {
		t.Errorf("sent %+v, want 9 ids, at most 13 tokens more and at least 1", last)
	}
	r.Begun.Response, r.Begun.LogProbs, r.Begun.Versions = r.Begun.Response[:5], r.Begun.LogProbs[:5], []rl.Span{{Version: 1, Tokens: 5}}
	r.Sampling.PresencePenalty = 1
	if _, err := gather(t, e, []rl.Request{r}); err == nil || !strings.Contains(err.Error(), "goes on after 5 tokens with penalties, and "+f.URL+" cannot be told") {
		t.Errorf("penalties at a plain server: %v", err)
	}
}

// What a server that failed was drawing is drawn from what was begun, elsewhere.
func TestBegunIsDrawnAnew(t *testing.T) {
	f := newFake(t, dice)
	e := attach(t, nil, f)
	update(t, e, 1)
	r := batch(1, 9)[0]
	first, err := gather(t, e, []rl.Request{r})
	if err != nil {
		t.Fatal(err)
	}
	r.Begun, r.Sampling.MaxTokens = first[r.ID], 15
	h, failed := once("/generate", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no", http.StatusInternalServerError) })
	f.first(h)
	got, err := gather(t, e, []rl.Request{r})
	if err != nil || failed.Load() == 0 || len(got[r.ID].Response) != 15 || !slices.Equal(got[r.ID].Response[:9], r.Begun.Response) {
		t.Errorf("got %+v, %v after %d failures, want 15 tokens that go on", got[r.ID], err, failed.Load())
	}
}

// A server that doesn't end a request, or dies with it, leaves what was begun.
func TestAbortsThatFail(t *testing.T) {
	for name, abort := range map[string]func(f *fake, rw http.ResponseWriter){
		"refused": func(_ *fake, rw http.ResponseWriter) { rw.WriteHeader(http.StatusUnauthorized) },
		"dead":    func(f *fake, _ http.ResponseWriter) { f.kill() },
	} {
		f := newFake(t, dice)
		e := attach(t, nil, f)
		update(t, e, 1)
		r := batch(1, 3)[0]
		first, err := gather(t, e, []rl.Request{r})
		if err != nil {
			t.Fatal(err)
		}
		r.Begun, r.Sampling.MaxTokens = first[r.ID], 8
		arrived := make(chan struct{})
		f.first(func(rw http.ResponseWriter, req *http.Request) bool {
			switch req.URL.Path {
			case "/generate":
				_, _ = io.Copy(io.Discard, req.Body)
				close(arrived)
				<-req.Context().Done()
				return true
			case "/abort_request":
				abort(f, rw)
				return true
			}
			return false
		})
		told := make(chan error, 1)
		go func() { <-arrived; told <- e.Abort(t.Context(), r.ID) }()
		got, err := gather(t, e, []rl.Request{r})
		if err := errors.Join(err, <-told); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s := got[r.ID]; s.Stop != rl.StopAbort || !slices.Equal(s.Response, r.Begun.Response) || e.Stats().Lacking != 1 {
			t.Errorf("%s: got %+v, want what was begun; %+v", name, s, e.Stats())
		}
	}
}

// An answer to what was begun is read as its end: experts that were recorded before are kept.
func TestReadingWhatGoesOn(t *testing.T) {
	x, want := whole()
	m := &x.a.Meta
	b := *want
	b.Response, b.LogProbs, b.Versions, b.Told, b.Experts, b.Retractions = b.Response[:1], b.LogProbs[:1], b.Versions[:1], b.Told[:1], b.Experts.Head(4), 2
	x.r.Begun, x.a.OutputIDs = &b, []int32{9}
	m.PromptTokens, m.CompletionTokens, m.OutputLogProbs, m.OutputTop, m.OutputAmong = 5, 1, m.OutputLogProbs[1:], m.OutputTop[1:], m.OutputAmong[1:]
	m.WeightVersions, m.InputLogProbs, m.InputTop, m.InputAmong = []api.Span{{Version: "2", Start: 0, End: 1}}, api.Triples{}, nil, nil
	b.Experts = b.Experts.Clone()
	b.Experts.Set(1, 0, []int32{0})
	want.Experts.Set(1, 0, []int32{0})
	want.Retractions = 3
	got, err := x.sample()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v (%v)\nwant %+v", got, err, want)
	}
	b.Experts = nil
	want.Experts.Set(1, 0, []int32{2})
	if got, err := x.sample(); err != nil || !reflect.DeepEqual(got.Experts, want.Experts) {
		t.Errorf("without experts of its own it has %v (%v), want the answer's, %v", got.Experts, err, want.Experts)
	}
}
