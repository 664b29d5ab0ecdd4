package sglang

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"furlong/api/sglang"
)

// each does something with servers at once and returns their errors in the servers' order.
func each(servers []*server, do func(*server) error) []error {
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errs
}

// letGo has servers go on that were paused for an update and did not take it: they have what they had, and may serve others. Those of which that is not known stay paused.
func (e *Engine) letGo(ctx context.Context) {
	e.mu.Lock()
	var held []*server
	for _, s := range e.servers {
		if s.held && s.down != nil && !s.doubt {
			held = append(held, s)
		}
		s.held = false
	}
	e.mu.Unlock()
	short, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	for i, err := range each(held, func(s *server) error {
		return e.wire.post(short, s.url, "/continue_generation", sglang.Continue{}, nil)
	}) {
		if err != nil {
			e.log.Warn("a server that is not used stays paused", "url", held[i].url, "why", err.Error())
		}
	}
}

// inUse returns the servers that get work.
func (e *Engine) inUse() (all []*server) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.servers {
		if s.down == nil {
			all = append(all, s)
		}
	}
	return all
}

// errNobody says that no server is in use.
var errNobody = errors.New("all are lost")

// away says why no server is in use.
func (e *Engine) away() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	errs := []error{errNobody}
	for _, s := range e.servers {
		if s.down != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.url, s.down))
		}
	}
	return errors.Join(errs...)
}

// Pause has all servers stop choosing tokens; requests that come meanwhile wait here. A server that does not is lost. When all are, it waits for one to be
// there again, which need not hold the weights of before: an update follows.
func (e *Engine) Pause(ctx context.Context) error {
	e.stopLooks()
	err := e.order(ctx, "/pause_generation", sglang.Pause{Mode: e.mode()})
	end, pause := time.Now().Add(e.cfg.Wait), firstDelay
	for err != nil && ctx.Err() == nil && (errors.Is(err, errNobody) || !refused(err)) && time.Now().Before(end) {
		if err = e.recall(ctx); err != nil {
			_ = sleep(ctx, min(pause, time.Until(end)))
			pause = min(2*pause, time.Second)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.servers {
		s.held = s.down == nil
	}
	return err
}

// stopLooks has no request begin from now on, and ends the looks at servers that are under way: what they would tell a server now would cross the update.
func (e *Engine) stopLooks() {
	e.mu.Lock()
	e.paused = true
	for _, s := range e.servers {
		if s.halt != nil {
			s.halt()
		}
	}
	e.mu.Unlock()
	e.visits.Wait()
}

// goOnLooking has requests begin again, and servers looked after.
func (e *Engine) goOnLooking() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paused = false
	e.wake()
}

// recall has servers pause that are lost, all of them. It is an error if none does.
func (e *Engine) recall(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	errs := each(e.servers, func(s *server) error {
		if err := e.wire.post(short, s.url, "/pause_generation", sglang.Pause{Mode: e.mode()}, nil); err != nil {
			return fmt.Errorf("%s: %w", s.url, err)
		}
		return nil
	})
	if slices.Contains(errs, nil) {
		return nil
	}
	e.mu.Lock()
	e.sayAway(e.servers[0], errs[0])
	e.mu.Unlock()
	return fmt.Errorf("no rollout server obeys (--rollout-wait %v): %w", e.cfg.Wait, errors.Join(errs...))
}

// Resume has all servers go on. If none is there any more it is no error: requests wait for one, as long as servers may be away.
func (e *Engine) Resume(ctx context.Context) error {
	err := e.order(ctx, "/continue_generation", sglang.Continue{})
	if err != nil && ctx.Err() == nil && e.mayReturn() {
		err = nil
	}
	e.letGo(ctx)
	e.goOnLooking()
	return err
}

// mayReturn reports whether servers that are all lost can come back without another update.
func (e *Engine) mayReturn() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.servers, func(s *server) bool { return s.down == nil || passing(s.down) && !e.givenUp(s) })
}

// order sends all servers in use the same. It is an error if none obeys.
func (e *Engine) order(ctx context.Context, path string, body any) error {
	servers := e.inUse()
	if len(servers) == 0 {
		return fmt.Errorf("no rollout server obeys: %w", e.away())
	}
	errs := each(servers, func(s *server) error { return e.wire.post(ctx, s.url, path, body, nil) })
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			if ctx.Err() == nil {
				e.lose(servers[i], err, false, 0)
			}
		}
	}
	if failed == len(servers) {
		return fmt.Errorf("no rollout server obeys: %w", errors.Join(append(errs, ctx.Err())...))
	}
	return nil
}

// flushEvery is how often a server is asked again that could not empty its cache.
const flushEvery = time.Second

// flush empties a server's cache of prefixes, which were computed by the old weights. A server that can't while it is paused gets requests of the new
// version in a space of their own.
func (e *Engine) flush(ctx context.Context, s *server, version string) error {
	if e.mode() == sglang.PauseInPlace {
		return nil
	}
	for end := time.Now().Add(e.flushes); ; {
		err := e.wire.get(ctx, s.url, "/flush_cache", nil)
		if status(err) != http.StatusBadRequest {
			e.salt(s, "", nil)
			return err
		}
		if time.Now().After(end) {
			e.salt(s, version, err)
			return nil
		}
		if err := sleep(ctx, flushEvery); err != nil {
			return err
		}
	}
}

// salt keeps requests of a version apart from what a server has cached; no version ends that.
func (e *Engine) salt(s *server, version string, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.salt = ""; version == "" {
		return
	}
	s.salt = "@" + version
	e.stats.Flushes++
	e.log.Warn("a server's cache can't be emptied: its requests get a space of their own", "url", s.url, "weight_version", version, "why", why.Error())
}
