package rltest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"furlong/rl"
	"furlong/weightsync"
)

// A Policy chooses the next token of a response and gives its logprob. It must depend on its arguments alone, and with
// temperature 0 not on the seed. It is called by one goroutine at a time.
type Policy func(v rl.Version, r rl.Request, soFar []int32) (token int32, logprob float32)

// Answers returns the policy that answers each request with all the tokens that answer returns, at logprob -0.5 each. They
// must contain a stop id of the request or reach its token limit.
func Answers(answer func(r rl.Request) []int32) Policy {
	return func(_ rl.Version, r rl.Request, soFar []int32) (int32, float32) {
		all := answer(r)
		if len(soFar) >= len(all) {
			panic(fmt.Sprintf("rltest: answer to %s has %d tokens, want a stop id of %v or %d tokens", r.Prompt.ID, len(all), r.Sampling.StopIDs, r.Sampling.MaxTokens))
		}
		return all[len(soFar)], -0.5
	}
}

// Fake is a rollout engine without a model. It starts no goroutine: whoever ranges over Generate drives it, one token for
// each of its unfinished requests in turn, so that samples come in an order that depends on their lengths alone. Requests
// made while it is paused wait.
type Fake struct {
	policy Policy

	mu      sync.Mutex
	version rl.Version
	told    rl.Attestation
	resumed chan struct{}  // closed by Resume; nil while not paused
	flying  map[int64]bool // the value is whether it is to end
	stirred chan struct{}  // closed, and made anew, when some of them are
}

// NewFake returns a fake without weights: before its first Update it refuses requests.
func NewFake(p Policy) *Fake {
	return &Fake{policy: p, flying: map[int64]bool{}, stirred: make(chan struct{})}
}

// Serving returns a fake that has version v already.
func Serving(v rl.Version, p Policy) *Fake {
	f := NewFake(p)
	f.version = v
	return f
}

// Version returns the version served.
func (f *Fake) Version() rl.Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// Pause stops the choice of tokens until Resume.
func (f *Fake) Pause(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resumed == nil {
		f.resumed = make(chan struct{})
	}
	return ctx.Err()
}

// Resume lets requests go on.
func (f *Fake) Resume(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resumed != nil {
		close(f.resumed)
		f.resumed = nil
	}
	return ctx.Err()
}

// mostBytes is how much a fake reads of a version.
const mostBytes = 1 << 30

// Update takes up the version of w once all of it has been read and found whole. The fake must be paused.
func (f *Fake) Update(ctx context.Context, w rl.Weights) error {
	list, err := weightsync.Collect(ctx, w, mostBytes)
	if err != nil {
		return fmt.Errorf("version %v: %w", w.Version(), err)
	}
	at, err := attest(ctx, w.Version(), list)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.resumed == nil {
		return fmt.Errorf("version %v: engine is running, want it paused", w.Version())
	}
	f.version, f.told = w.Version(), at
	return nil
}

// attest returns what a fake says of what it has read. It derives nothing, so the effective state is the state.
func attest(ctx context.Context, v rl.Version, list []rl.Tensor) (rl.Attestation, error) {
	raw, err := weightsync.Plain(v, list).Manifest(ctx)
	if err != nil {
		return rl.Attestation{}, err
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		return rl.Attestation{}, err
	}
	return rl.Attestation{Version: v, State: m.State, Effective: m.State, Tensors: len(m.Tensors), Bytes: m.Bytes()}, nil
}

// Attestation says what the last Update brought.
func (f *Fake) Attestation() rl.Attestation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.told
}

// Generate yields the samples in the order in which they finish.
func (f *Fake) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		if err := f.admit(reqs); err != nil {
			yield(nil, err)
			return
		}
		defer f.release(reqs)
		live := begin(reqs)
		for begun := true; len(live) > 0; begun = false {
			if !begun {
				if err := f.step(ctx, live); err != nil {
					yield(nil, err)
					return
				}
			}
			for _, d := range live {
				if d.sample.Stop != rl.Unfinished && !yield(d.sample, nil) {
					return
				}
			}
			live = slices.DeleteFunc(live, func(d draft) bool { return d.sample.Stop != rl.Unfinished })
		}
	}
}

// A draft is a sample that grows, and what was asked for.
type draft struct {
	request rl.Request
	sample  *rl.Sample
}

// admit notes the requests as in flight, or refuses them all.
func (f *Fake) admit(reqs []rl.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version == 0 {
		return errors.New("engine has no weights, want an update first")
	}
	given := map[int64]bool{}
	for _, r := range reqs {
		switch {
		case given[r.ID] || f.knows(r.ID):
			return fmt.Errorf("request %d is in flight already", r.ID)
		case r.Prompt == nil || len(r.Prompt.Tokens) == 0:
			return fmt.Errorf("request %d has no prompt", r.ID)
		case r.Sampling.MaxTokens < 0:
			return fmt.Errorf("request %d: most tokens are %d, want at least 0", r.ID, r.Sampling.MaxTokens)
		case r.Report.Tail < 0 || r.Report.Tail >= len(r.Prompt.Tokens):
			return fmt.Errorf("request %d: %d of %d tokens of the prompt are to be scored, want all but the first at most", r.ID, r.Report.Tail, len(r.Prompt.Tokens))
		case r.Report.Experts:
			return fmt.Errorf("request %d: its experts are asked for, but a fake has none", r.ID)
		case r.Report.Entries:
			return fmt.Errorf("request %d: the entries that it reads are asked for, but a fake has none", r.ID)
		}
		if err := r.CheckBegun(); err != nil {
			return fmt.Errorf("request %d: %w", r.ID, err)
		}
		given[r.ID] = true
	}
	for id := range given {
		f.flying[id] = false
	}
	return nil
}

// knows reports whether a request is in flight. The lock is held.
func (f *Fake) knows(id int64) bool {
	_, known := f.flying[id]
	return known
}

// release forgets the requests.
func (f *Fake) release(reqs []rl.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range reqs {
		delete(f.flying, r.ID)
	}
}

// begin returns the samples of requests as far as they are begun.
func begin(reqs []rl.Request) []draft {
	live := make([]draft, len(reqs))
	for i, r := range reqs {
		live[i] = draft{r, r.Begin()}
		resume(live[i].sample, r)
	}
	return live
}

// resume tells the constraint what was begun, and notes whether that is all.
func resume(s *rl.Sample, r rl.Request) {
	n, done := len(s.Response), false
	if n == 0 {
		return
	}
	if c := r.Constraint; c != nil {
		for _, token := range s.Response {
			c.Accept(token)
		}
		done = c.Done()
	}
	switch {
	case done:
		s.Stop = rl.StopText
	case slices.Contains(r.Sampling.StopIDs, s.Response[n-1]):
		s.Stop = rl.StopToken
	case n >= r.Sampling.MaxTokens:
		s.Stop = rl.StopLength
	}
}

// Abort has requests end with what they have.
func (f *Fake) Abort(ctx context.Context, ids ...int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if f.knows(id) {
			f.flying[id] = true
		}
	}
	close(f.stirred)
	f.stirred = make(chan struct{})
	return ctx.Err()
}

// end ends the live samples that somebody aborted, and reports whether there were some. The lock is held.
func (f *Fake) end(live []draft) (some bool) {
	for _, d := range live {
		if f.flying[d.request.ID] {
			d.sample.Stop, some = rl.StopAbort, true
		}
	}
	return some
}

// step waits while the fake is paused, then adds one token to every live sample. Samples that were aborted end instead, before any grows.
func (f *Fake) step(ctx context.Context, live []draft) error {
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", rl.ErrAborted, ctx.Err())
		}
		f.mu.Lock()
		wait, stirred := f.resumed, f.stirred
		if f.end(live) {
			f.mu.Unlock()
			return nil
		}
		if wait == nil {
			for _, d := range live {
				f.grow(d.sample, d.request)
			}
			f.mu.Unlock()
			return nil
		}
		f.mu.Unlock()
		select {
		case <-wait:
		case <-stirred:
		case <-ctx.Done():
		}
	}
}

// grow adds a token to s, once the prompt is scored.
func (f *Fake) grow(s *rl.Sample, r rl.Request) {
	f.score(s, r)
	if r.Sampling.MaxTokens == 0 {
		s.Stop = rl.StopLength
		return
	}
	token, logprob := f.choose(s, r)
	s.Response = append(s.Response, token)
	s.LogProbs = append(s.LogProbs, logprob)
	if p := r.Sampling; p.TopK > 0 || p.TopP < 1 || p.MinP > 0 {
		s.TruncLogProbs = append(s.TruncLogProbs, logprob)
	}
	if tells(r) {
		s.Told = append(s.Told, tell(r.Report, token, logprob))
	}
	s.Label(f.version, 1)
	s.Stop = stop(s, r)
}
