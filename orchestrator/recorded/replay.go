package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"furlong/metrics/rollouts"
	"furlong/rl"
)

// Config says what is replayed, and what it must fit.
type Config struct {
	Path      rollouts.Path
	Share     float64 // of the groups of each cycle, from the first on; 1 for all
	Cycles    int     // of the run, from 1
	Groups    int     // that a cycle trains on
	PerPrompt int     // samples of a group
	Limits
}

// Limits are those of the policy that is trained.
type Limits struct {
	Vocab   int             // tokens that it knows
	Context int             // longest prompt with its response
	Origin  rollouts.Origin // of the run that trains
}

// Own reports rollouts of a run that began with another policy.
func (l Limits) Own(r *rollouts.Rollouts) error {
	what := l.Origin.Differs(r.Origin)
	if what == "" {
		return nil
	}
	model := r.Model
	if model == "" {
		model = "another model"
	}
	return fmt.Errorf("was recorded by a run that began with a policy of %s (%s; shape %s, weights %s), want shape %s, weights %s: give that run's --hf-checkpoint",
		what, model, r.Origin.Shape, r.Origin.Weights, l.Origin.Shape, l.Origin.Weights)
}

// A Replay is an rl.PromptSource and an rl.RolloutEngine over recorded rollouts. Its methods may be called from several goroutines at once.
type Replay struct {
	c Config

	mu      sync.Mutex
	at      place
	cycles  map[int]*cycle // that were read last
	shift   int            // the first file's cycle in its own run, less 1
	version rl.Version
}

// place is where the source stands: so many groups of a cycle are handed out.
type place struct {
	Cycle int `json:"cycle"`
	Done  int `json:"done"`
}

// cycle is what is recorded of one.
type cycle struct {
	prompts []*rl.Prompt
	samples map[key]*rl.Sample
	newest  int // publication among the versions of its tokens
}

// keep is how many cycles are kept: loops look one ahead, and resumed ones back.
const keep = 3

// key names a sample.
type key struct {
	group int64
	index int
}

// Open checks that there is a whole file for every cycle, and that the first holds what a cycle of the run is made of.
func Open(c Config) (*Replay, error) {
	if err := c.Path.Check(); err != nil {
		return nil, err
	}
	r := &Replay{c: c, at: place{Cycle: 1}, cycles: map[int]*cycle{}}
	if c.Cycles > 0 {
		if _, err := r.cycle(1); err != nil {
			return nil, err
		}
	}
	for n := 2; n <= c.Cycles && c.Path.Names(); n++ {
		if err := rollouts.Probe(c.Path.Of(n)); err != nil {
			return nil, fmt.Errorf("recorded rollouts of cycle %d of %d: %w", n, c.Cycles, err)
		}
	}
	return r, nil
}

// Kept returns how many of n groups a share of them is: at least one.
func Kept(n int, share float64) int { return max(1, int(float64(n)*share)) }

// cycle returns what is recorded of a cycle, and forgets cycles that are long past.
func (r *Replay) cycle(n int) (*cycle, error) {
	if c := r.cycles[n]; c != nil {
		return c, nil
	}
	path := r.c.Path.Of(n)
	all, err := rollouts.Read(path)
	if err != nil {
		return nil, err
	}
	err = r.c.Own(all)
	var c *cycle
	if err == nil {
		c, err = r.c.cycleOf(all)
	}
	if err == nil {
		err = r.inOrder(n, all.Cycle)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !r.c.Path.Names() {
		c.renumber(int64(n-1) * int64(len(c.prompts)))
	}
	delete(r.cycles, n-keep)
	r.cycles[n] = c
	return c, nil
}

// inOrder reports files that are not one cycle after the other, from whichever on. A file that names no cycle has 0.
func (r *Replay) inOrder(n, recorded int) error {
	if n == 1 && recorded > 0 {
		r.shift = recorded - 1
	}
	if want := n + r.shift; r.c.Path.Names() && recorded > 0 && recorded != want {
		return fmt.Errorf("holds cycle %d of its run, want %d: the file of the first cycle holds %d, and each later one the next", recorded, want, r.shift+1)
	}
	return nil
}

// cycleOf sorts what a file holds, and checks it.
func (c Config) cycleOf(all *rollouts.Rollouts) (*cycle, error) {
	out := &cycle{samples: map[key]*rl.Sample{}}
	for _, s := range all.Samples {
		if n := len(out.prompts); n == 0 || out.prompts[n-1].Group != s.Prompt.Group {
			out.prompts = append(out.prompts, s.Prompt)
		}
	}
	if had := len(out.prompts); c.Share < 1 {
		out.prompts = out.prompts[:min(Kept(had, c.Share), had)]
	}
	if len(out.prompts) != c.Groups {
		return nil, fmt.Errorf("holds %d groups, want --rollout-batch-size (%d) of them", len(out.prompts), c.Groups)
	}
	kept := map[int64]bool{}
	for _, p := range out.prompts {
		kept[p.Group] = true
	}
	for _, s := range all.Samples {
		if !kept[s.Prompt.Group] {
			continue
		}
		if err := c.check(s); err != nil {
			return nil, fmt.Errorf("group %d, sample %d: %w", s.Prompt.Group, s.Index, err)
		}
		out.samples[key{s.Prompt.Group, s.Index}] = rollouts.Untrained(s)
		for _, v := range s.Versions {
			out.newest = max(out.newest, v.Version.Count())
		}
	}
	if want := c.Groups * c.PerPrompt; len(out.samples) != want {
		return nil, fmt.Errorf("holds %d samples in %d groups, want --n-samples-per-prompt (%d) in each", len(out.samples), c.Groups, c.PerPrompt)
	}
	return out, nil
}

// check reports a sample that the run could not have drawn.
func (c Config) check(s *rl.Sample) error {
	if s.Index < 0 || s.Index >= c.PerPrompt {
		return fmt.Errorf("index is %d, want 0 to %d (--n-samples-per-prompt)", s.Index, c.PerPrompt-1)
	}
	return c.Limits.Check(s)
}

// Check reports a sample that the policy cannot compute.
func (c Limits) Check(s *rl.Sample) error {
	if n := len(s.Prompt.Tokens) + len(s.Response); n > c.Context {
		return fmt.Errorf("has %d tokens, want at most --context-length (%d)", n, c.Context)
	}
	for _, id := range s.Tokens() {
		if int(id) >= c.Vocab {
			return fmt.Errorf("has token %d, the model knows %d", id, c.Vocab)
		}
	}
	return nil
}

// renumber moves the numbers of all groups to those from first on. Files that serve several cycles would repeat them.
func (c *cycle) renumber(first int64) {
	samples := map[key]*rl.Sample{}
	for i, old := range c.prompts {
		p := *old
		p.Group, c.prompts[i] = first+int64(i), &p
		for k, s := range c.samples {
			if k.group == old.Group {
				s.Prompt = &p
				samples[key{p.Group, k.index}] = s
			}
		}
	}
	c.samples = samples
}

// Next returns the next n recorded prompts.
func (r *Replay) Next(n int) ([]*rl.Prompt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*rl.Prompt
	for len(out) < n {
		c, err := r.cycle(r.at.Cycle)
		if err != nil {
			return nil, err
		}
		take := c.prompts[r.at.Done:]
		take = take[:min(len(take), n-len(out))]
		out = append(out, take...)
		if r.at.Done += len(take); r.at.Done == len(c.prompts) {
			r.at = place{Cycle: r.at.Cycle + 1}
		}
	}
	return out, nil
}

// State returns the place.
func (r *Replay) State() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return json.Marshal(r.at)
}

// Restore goes on at a place.
func (r *Replay) Restore(state []byte) error {
	var at place
	if err := json.Unmarshal(state, &at); err != nil || at.Cycle < 1 || at.Done < 0 || at.Done > r.c.Groups {
		return fmt.Errorf("place in recorded rollouts is %.80q, want a cycle from 1 on and up to %d groups of it: the checkpoint is of a run without --debug-train-only (%w)", state, r.c.Groups, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = at
	return nil
}

// Generate yields the recorded samples of the requests.
func (r *Replay) Generate(ctx context.Context, reqs []rl.Request) iter.Seq2[*rl.Sample, error] {
	return func(yield func(*rl.Sample, error) bool) {
		for _, req := range reqs {
			s, err := r.answer(req)
			if err = errors.Join(ctx.Err(), err); !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// answer returns the recorded sample of a request. A resumed run asks for prompts that were handed out before: those of the cycle at hand and the last ones.
func (r *Replay) answer(req rl.Request) (*rl.Sample, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{req.Prompt.Group, req.Index}
	for _, c := range r.cycles {
		if s := c.samples[k]; s != nil {
			return c.sampleFor(req, s, r.version), nil
		}
	}
	for n := r.at.Cycle; n > max(0, r.at.Cycle-keep); n-- {
		if n == r.at.Cycle && r.at.Done == 0 {
			continue // nothing of it was handed out, and there may be none
		}
		c, err := r.cycle(n)
		if err != nil {
			return nil, err
		}
		if s := c.samples[k]; s != nil {
			return c.sampleFor(req, s, r.version), nil
		}
	}
	return nil, fmt.Errorf("%s: sample %d of group %d is not recorded", r.c.Path, req.Index, req.Prompt.Group)
}

// sampleFor returns a copy of a recorded sample as the answer to a request under version v.
func (c *cycle) sampleFor(req rl.Request, s *rl.Sample, v rl.Version) *rl.Sample {
	own := *s
	own.Request, own.Prompt = req.ID, req.Prompt
	own.Versions = moved(s.Versions, v, c.newest)
	return &own
}

// Pause does nothing: no sample is ever in flight.
func (r *Replay) Pause(ctx context.Context) error { return ctx.Err() }

// Resume does nothing.
func (r *Replay) Resume(ctx context.Context) error { return ctx.Err() }

// Update takes note of the version. What the weights are does not matter.
func (r *Replay) Update(ctx context.Context, w rl.Weights) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = w.Version()
	return ctx.Err()
}

// Version returns that of the last Update.
func (r *Replay) Version() rl.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.version
}
