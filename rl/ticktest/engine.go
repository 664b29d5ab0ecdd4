package ticktest

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"furlong/rl"
)

// Tick is what a token of every request in flight takes, on the clock of the test's bubble.
const Tick = time.Millisecond

// An Engine is a rollout engine whose requests get a token a Tick each. Tokens follow from prompt, sample, version and place alone.
type Engine struct {
	version atomic.Uint32
	paused  atomic.Bool
	Updates []int                            // requests in flight at each update
	Lengths func(group int64, index int) int // of whole responses

	mu      sync.Mutex
	ends    map[int64]chan struct{} // of requests in flight
	Most    int                     // requests in flight at once
	Drawn   int                     // tokens
	Calls   int
	Begun   []rl.Request                                    // that came with a beginning
	Fault   func(call, flying int, reqs []rl.Request) error // before anything is drawn
	Strike  func(call, tick int) error                      // while it is drawn
	Stray   func(call, tick int, r rl.Request) bool         // ends a request though nobody asked
	Latency func(call int) time.Duration                    // before the first token
}

// New returns an engine that serves version 1 and gives responses of these lengths.
func New(lengths func(int64, int) int) *Engine {
	e := &Engine{Lengths: lengths, ends: map[int64]chan struct{}{}}
	e.version.Store(uint32(rl.NewVersion(0, 1)))
	return e
}

// Version returns the version served.
func (e *Engine) Version() rl.Version { return rl.Version(e.version.Load()) }

// Pause has no request get a token until Resume.
func (e *Engine) Pause(context.Context) error { e.paused.Store(true); return nil }

// Resume lets requests go on.
func (e *Engine) Resume(context.Context) error { e.paused.Store(false); return nil }

// Update takes up a version, and remembers how many requests it found in flight.
func (e *Engine) Update(_ context.Context, w rl.Weights) error {
	e.Updates = append(e.Updates, e.InFlight())
	e.version.Store(uint32(w.Version()))
	return nil
}

// InFlight returns how many requests are in flight.
func (e *Engine) InFlight() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ends)
}

// Serve changes the version served.
func (e *Engine) Serve(n int) { e.version.Store(uint32(rl.NewVersion(0, n))) }

// Abort ends requests by their ids.
func (e *Engine) Abort(_ context.Context, ids ...int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if end := e.ends[id]; end != nil {
			close(end)
			e.ends[id] = nil
		}
	}
	return nil
}

// admit takes requests into flight.
func (e *Engine) admit(reqs []rl.Request) (call int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Calls++
	call = e.Calls
	if e.Fault != nil {
		if err := e.Fault(call, len(e.ends), reqs); err != nil {
			return call, err
		}
	}
	for _, r := range reqs {
		if _, there := e.ends[r.ID]; there {
			return call, fmt.Errorf("request %d is in flight already", r.ID)
		}
		if err := r.CheckBegun(); err != nil {
			return call, err
		}
		if r.Begun != nil {
			e.Begun = append(e.Begun, r)
		}
	}
	for _, r := range reqs {
		e.ends[r.ID] = make(chan struct{})
	}
	e.Most = max(e.Most, len(e.ends))
	return call, nil
}

func (e *Engine) forget(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ends, id)
}

// Generate yields samples as they finish. It must run in a bubble.
func (e *Engine) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		call, err := e.admit(reqs)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() {
			for _, r := range reqs {
				e.forget(r.ID)
			}
		}()
		if e.Latency != nil {
			time.Sleep(e.Latency(call))
		}
		live := make([]*rl.Sample, len(reqs))
		for i, r := range reqs {
			live[i] = r.Begin()
		}
		for n := 0; ; n++ {
			open := 0
			for i, s := range live {
				if s == nil {
					continue
				}
				if e.over(call, n, reqs[i], s) {
					e.forget(reqs[i].ID)
					live[i] = nil
					if !yield(s, nil) {
						return
					}
					continue
				}
				open++
			}
			if open == 0 {
				return
			}
			select {
			case <-time.After(Tick):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			if e.Strike != nil {
				if err := e.Strike(call, n); err != nil {
					yield(nil, err)
					return
				}
			}
			for i, s := range live {
				if s != nil && !e.paused.Load() {
					e.grow(reqs[i], s)
				}
			}
		}
	}
}

// over reports whether a sample is finished, or was ended.
func (e *Engine) over(call, n int, r rl.Request, s *rl.Sample) bool {
	want := e.Lengths(r.Prompt.Group, r.Index)
	switch {
	case len(s.Response) >= r.Sampling.MaxTokens:
		s.Stop = rl.StopLength
	case len(s.Response) >= want:
		s.Stop = rl.StopToken
	case e.ended(r.ID), e.Stray != nil && e.Stray(call, n, r):
		s.Stop = rl.StopAbort
	}
	return s.Stop != rl.Unfinished
}

func (e *Engine) ended(id int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	end, there := e.ends[id]
	return there && end == nil
}

func (e *Engine) grow(r rl.Request, s *rl.Sample) {
	v := e.Version()
	token := TokenOf(v, r.Prompt.Group, r.Index, len(s.Response))
	s.Response, s.LogProbs = append(s.Response, token), append(s.LogProbs, -float32(token)/100)
	s.Label(v, 1)
	e.mu.Lock()
	e.Drawn++
	e.mu.Unlock()
	if r.Watch != nil {
		r.Watch(s)
	}
}

// TokenOf returns the token that a version chooses.
func TokenOf(v rl.Version, group int64, index, i int) int32 {
	return int32(rl.MixSeed(0, uint64(v.Count()), uint64(group), uint64(index), uint64(i)) % 97)
}
