package rollout

import (
	"furlong/kv"
	"furlong/rl"
)

// Stats is the state of an engine at the end of its last pass. Counts are since the start.
type Stats struct {
	Version  rl.Version
	Paused   bool
	Released bool // attention state has no memory
	Running  int  // samples that hold pages
	Queued   int  // samples that wait
	Lost     int  // of those that wait, samples that held pages before

	MaxRunning      int      // samples that may hold pages at a time
	PageTokens      int      // tokens of a page
	Recent, Lasting kv.Count // pages: those of Lasting times PageTokens are what all samples together can be long
	HeldTokens      int      // whose attention state running samples hold

	Passes        int
	Requests      int // samples that were asked for
	PromptTokens  int // of these samples
	PrefillTokens int // computed in pieces of prompts, retracted samples' included
	DecodeTokens  int // computed one at a time
	CachedTokens  int // found and not computed
	DrawnTokens   int // of responses
	ScoredTokens  int // of prompts
	Finished      int // samples that ended by themselves
	Aborted       int // samples that were told to end
	Failed        int // samples that ended in an error
	Evicted       int // pages taken back from the prefix cache
	Updates       int
	Refused       int // updates

	Retracted               int // times a sample lost its pages: to older samples or to an update
	RetractedPromptTokens   int // that these samples had, each time
	RetractedResponseTokens int
}

// Stats returns the state at the end of the last pass. It may be called at any time; a sample that Generate has yielded is counted.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shown
	s.Refused = int(e.refused.Load())
	return s
}

// show makes the loop's state visible, and only then delivers what has ended: who gets a sample finds it in the counts.
func (e *Engine) show() {
	s := &e.stats
	s.Version, s.Paused, s.Released = e.version, e.paused, e.released
	s.Running, s.Queued = e.sched.Running(), e.sched.Queued()
	s.HeldTokens = e.sched.Held()
	s.Recent, s.Lasting = e.pages.Count()
	if c := e.pages.Cache(); c != nil {
		s.Evicted = c.Stats().Evicted
	}
	e.mu.Lock()
	e.shown = *s
	e.mu.Unlock()
	for _, r := range e.ended {
		r.to.out <- r.result
	}
	clear(e.ended)
	e.ended = e.ended[:0]
}
