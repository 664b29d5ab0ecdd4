package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furlong/rl"
)

// How long is waited before something is tried again.
const (
	again   = 20 * time.Millisecond // ending requests that may not have been in flight yet
	patient = 200 * time.Millisecond
)

// draw has the samples of a group drawn, until they are there or the group is given up. The first order may be one that it shares with others: if that fails,
// nobody knows at whom, and the group is asked for alone.
func (g *Gatherer) draw(ctx context.Context, x *Group, shared *order) {
	for {
		o := shared
		if shared == nil {
			o = g.alone(ctx, x)
		}
		err := g.receive(x, o)
		if ctx.Err() != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.changed()
			return
		}
		if shared != nil && err != nil {
			shared = nil
			continue
		}
		shared = nil
		wait, retry := g.landed(ctx, x, err)
		if !retry {
			return
		}
		select {
		case <-wait:
		case <-g.after(patient):
		case <-ctx.Done():
		}
	}
}

// after returns a channel that delivers after a while.
func (g *Gatherer) after(d time.Duration) <-chan time.Time {
	if g.parts.After != nil {
		return g.parts.After(d)
	}
	at := make(chan time.Time)
	close(at)
	return at
}

// came takes in a sample.
func (g *Gatherer) came(x *Group, s *rl.Sample) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.stock.came(x, s)
	x.aborted = x.aborted || s.Stop == rl.StopAbort
	x.t1 = g.parts.Clock()
	g.changed()
	return err
}

// rescue takes in what a call that failed had drawn. Where choices of experts or entries are recorded, the last token is drawn again: the rows of this call are lost, and a response that
// may have ended would come back without any.
func (g *Gatherer) rescue(x *Group, kept keepers) error {
	for _, s := range kept {
		if r := g.run.Report; r.Experts || r.Entries {
			s.Cut(len(s.Response) - 1)
		}
		if len(s.Response) > length(x.Samples[s.Index]) {
			if err := g.came(x, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// landed decides about a group whose call has ended. It reports whether the group is to be asked for again, once the channel is closed or a while has passed.
func (g *Gatherer) landed(ctx context.Context, x *Group, err error) (wait <-chan struct{}, retry bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if errors.Is(err, rl.ErrFull) && !x.cut {
		x.most = max(1, len(x.requests(g.run))/2)
		return g.turn, true // nothing has changed: others that wait for room stay asleep
	}
	defer func() { g.changed(); wait = g.turn }()
	switch {
	case x.open() == 0:
		g.judge(ctx, x)
	case x.cut:
		return nil, g.stock.stopped(x, g.resting)
	case err != nil:
		return nil, g.failed(x, err)
	case !x.aborted:
		return nil, true // there was no room for all of it; the others are asked for soon
	default:
		return nil, g.stock.stopped(x, false)
	}
	return nil, false
}

// failed decides about a group that the engine failed at. The lock is held.
func (g *Gatherer) failed(x *Group, err error) bool {
	if g.stock.failed(x) {
		return true
	}
	g.parts.Advise(fmt.Sprintf("prompt %s is given up after %d attempts (--rollout-group-retries): %v", x.Prompt.ID, x.Failed, err))
	if g.stock.broken >= g.run.Batch {
		g.fail(fmt.Errorf("the rollout engine failed at %d groups in a row: %w", g.stock.broken, err))
	}
	return false
}

// cut ends what is in flight and waits until it is back. What comes back unfinished is kept to be gone on with if keep says so, or the run is told
// to keep it.
func (g *Gatherer) cut(ctx context.Context, keep bool) error {
	g.mu.Lock()
	g.resting = keep
	g.mu.Unlock()
	for {
		ids, turn := g.mark()
		if turn == nil {
			return nil
		}
		if a, ok := g.parts.Engine.(rl.Aborter); ok && len(ids) > 0 {
			if err := a.Abort(ctx, ids...); err != nil {
				return fmt.Errorf("ending requests: %w", err)
			}
		}
		select {
		case <-turn:
		case <-g.after(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// mark marks what is in flight as to come back, and returns its requests; the channel is nil when nothing is.
func (g *Gatherer) mark() (ids []int64, turn <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.stock.flying) == 0 || g.err != nil && !g.resting {
		return nil, nil
	}
	for _, x := range g.stock.flying {
		x.cut = true
		for j, s := range x.Samples {
			if !over(s) && !x.judging {
				ids = append(ids, id(x.number(), g.run.PerPrompt, j))
			}
		}
	}
	slices.Sort(ids)
	return ids, g.turn
}
