package sglang

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"furlong/api/sglang"
	"furlong/rl"
)

// errTold says that a request was told to end.
var errTold = errors.New("told to end")

// A flight is a request on its way.
type flight struct{ end chan struct{} } // closed when it is told to end

func newFlight() *flight { return &flight{make(chan struct{})} }

// told reports whether the request was told to end.
func (f *flight) told() bool {
	select {
	case <-f.end:
		return true
	default:
		return false
	}
}

// Abort has requests end, wherever they are: one that waits for a server at once, one that is at a server when that has answered with what it has.
func (e *Engine) Abort(ctx context.Context, ids ...int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if f := e.flying[id]; f != nil && !f.told() {
			close(f.end)
		}
	}
	e.wake()
	return ctx.Err()
}

// abortAgain is the time between two orders to end a request that goes on: the first may have overtaken the request itself, and then meant nobody.
const abortAgain = 100 * time.Millisecond

// insist has a server end a request once it is told to, until it has. Where the server refuses, the connection is cut, and what it has drawn is lost. The function that
// it returns ends all of this.
func (e *Engine) insist(ctx context.Context, s *server, rid string, f *flight, cut func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var one sync.WaitGroup
	one.Go(func() {
		select {
		case <-f.end:
		case <-ctx.Done():
		}
		for ctx.Err() == nil {
			err := e.wire.post(ctx, s.url, "/abort_request", sglang.Abort{RID: rid}, nil)
			if err != nil && ctx.Err() == nil {
				cut(fmt.Errorf("it does not end a request: %w", err))
			}
			_ = sleep(ctx, abortAgain)
		}
	})
	return func() { cancel(); one.Wait() }
}

// asBegun returns the sample of a request that was told to end, as far as it was begun before it came here.
func asBegun(r rl.Request) *rl.Sample {
	s := r.Begin()
	s.Stop = rl.StopAbort
	return s
}

// lack returns what there is of a request that was told to end and whose server gave no part: what was begun. The first is a line.
func (e *Engine) lack(s *server, r rl.Request, why error) *rl.Sample {
	n := 0
	e.count(func(c *Stats) { c.Lacking++; n = c.Lacking })
	if n == 1 {
		e.log.Warn("a request that was told to end gave no part of its response", "url", s.url, "request", r.ID, "why", why.Error())
	}
	return asBegun(r)
}
