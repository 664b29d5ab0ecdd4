package gather

import (
	"slices"
	"time"

	"furlong/rl"
)

// A Group is a prompt that was handed out, and what there is of its samples.
type Group struct {
	Prompt  *rl.Prompt     `json:"prompt"`
	Samples []*rl.Sample   `json:"samples"`          // by index; nil where no token was drawn
	From    rl.Version     `json:"from"`             // served when it was first asked for
	Failed  int            `json:"failed,omitempty"` // calls of the engine that ended in an error
	Masked  map[string]int `json:"masked,omitempty"` // tokens that do not train, by reason, once it is in a batch

	judging bool      // all drawn, on its way through the grader
	cut     bool      // it is to come back as it is
	most    int       // requests that the engine is asked for at once, where it had no room for all; 0 for any number
	aborted bool      // a sample came back unfinished
	t1, t2  time.Time // its last sample, its verdicts
}

// number returns the place of the group's prompt among all that were handed out.
func (g *Group) number() int64 { return g.Prompt.Group }

// over reports whether a sample needs no more tokens.
func over(s *rl.Sample) bool { return s != nil && s.Stop != rl.Unfinished && s.Stop != rl.StopAbort }

// open returns how many samples of g need more tokens.
func (g *Group) open() (n int) {
	for _, s := range g.Samples {
		if !over(s) {
			n++
		}
	}
	return n
}

// tokens returns how many response tokens there are.
func (g *Group) tokens() (n int) {
	for _, s := range g.Samples {
		n += length(s)
	}
	return n
}

// length returns the tokens of a sample that may not be there.
func length(s *rl.Sample) int {
	if s == nil {
		return 0
	}
	return len(s.Response)
}

// oldest returns the count of the oldest version that chose a token of g, and false if it has none.
func (g *Group) oldest() (int, bool) {
	least, any := 0, false
	for _, s := range g.Samples {
		if s == nil {
			continue
		}
		for _, sp := range s.Versions {
			if c := sp.Version.Count(); sp.Tokens > 0 && (!any || c < least) {
				least, any = c, true
			}
		}
	}
	return least, any
}

// again returns a copy of g to be asked for: what g holds stays as it is.
func (g *Group) again() *Group {
	return &Group{Prompt: g.Prompt, Samples: slices.Clone(g.Samples), From: g.From, Failed: g.Failed}
}

// requests asks for the samples of g that need more tokens, from where they are.
func (g *Group) requests(r Run) []rl.Request {
	var reqs []rl.Request
	for j, s := range g.Samples {
		if over(s) {
			continue
		}
		own := r.Sampling
		own.Seed = seed(r.Seed, g.number(), j)
		q := rl.Request{ID: id(g.number(), r.PerPrompt, j), Prompt: g.Prompt, Index: j, Sampling: own, Report: r.Report}
		if length(s) > 0 {
			q.Begun = s
		}
		reqs = append(reqs, q)
	}
	if g.most > 0 {
		reqs = reqs[:min(g.most, len(reqs))]
	}
	return reqs
}

// id returns the request of sample number j of a group of n.
func id(group int64, n, j int) int64 { return group*int64(n) + int64(j) }

// seed returns the seed of sample number index of a group. It begins with a number of its own, so that no evaluation draws with the same.
func seed(run uint64, group int64, index int) uint64 {
	return rl.MixSeed(0x9e3779b97f4a7c15, run, uint64(group), uint64(index))
}
