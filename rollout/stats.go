package rollout

import (
	"furlong/kv"
	"furlong/rl"
)

// Stats is the state of an engine at the end of its last pass. Counts are since the start.
type Stats struct {
	Version rl.Version
	Paused  bool
	Running int // samples that hold pages
	Queued  int // samples that wait

	PageTokens      int      // tokens of a page
	Recent, Lasting kv.Count // pages

	Passes        int
	PrefillTokens int // computed in pieces of prompts, retracted samples' included
	DecodeTokens  int // computed one at a time
	CachedTokens  int // found and not computed
	Finished      int // samples that ended by themselves
	Aborted       int // samples that were told to end
	Failed        int // samples that ended in an error
	Retracted     int // times a sample lost its pages: to older samples or to an update
	Evicted       int // pages taken back from the prefix cache
	Updates       int
	Refused       int // updates
}

// Stats returns the state at the end of the last pass. It may be called at any time.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shown
	s.Refused = int(e.refused.Load())
	return s
}

// show makes the loop's state visible.
func (e *Engine) show() {
	s := &e.stats
	s.Version, s.Paused = e.version, e.paused
	s.Running, s.Queued = e.sched.Running(), e.sched.Queued()
	s.Recent, s.Lasting = e.pages.Count()
	if c := e.pages.Cache(); c != nil {
		s.Evicted = c.Stats().Evicted
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = *s
}
