package gather

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"furlong/rl"
)

// Parts are what a gatherer works with.
type Parts struct {
	Engine  rl.RolloutEngine // where it is an rl.Aborter, what is not needed is ended; else it is waited for
	Prompts rl.PromptSource  // the gatherer alone uses it
	Grade   func(context.Context, []*rl.Sample) error
	Decode  func([]int32) string
	Clock   func() time.Time
	After   func(time.Duration) <-chan time.Time // time.After; nil: what is tried again is tried at once
	Advise  func(string)                         // is told what an operator may want to act on
	Watches bool                                 // the engine honours rl.Request.Watch: a failed call loses no token
}

// A Gatherer fetches batches. Begin, Await, Open, Take, Park, Trained, State and Close are called by one goroutine, the loop's. All that it starts has ended when
// Close returns.
type Gatherer struct {
	run   Run
	parts Parts
	wg    sync.WaitGroup

	mu      sync.Mutex
	stock   *stock
	batches map[int]*Batch // not trained yet, by cycle
	turn    chan struct{}  // closed when something has changed, and made anew
	err     error          // ends the run
	resting bool           // what comes back unfinished is kept
	opened  func()         // ends the production of the fully asynchronous loop; nil: there is none
	toJudge []*Group
	judges  bool // a goroutine grades
	busy    busy
	edge    time.Time // when the last batch was taken, or production opened
}

// New returns a gatherer that has handed out nothing. The run must be valid.
func New(r Run, p Parts) *Gatherer {
	if p.Advise == nil {
		p.Advise = func(string) {}
	}
	return &Gatherer{run: r, parts: p, stock: newStock(r), batches: map[int]*Batch{}, turn: make(chan struct{})}
}

// A Batch is what a cycle trains on.
type Batch struct {
	Cycle   int
	Version rl.Version // served when it was begun; of the oldest group where samples are drawn without end
	Groups  []*Group
	Stats   rl.Stats // what was seen on the way
	Account Account  // when the batch was waited for, with it among what waits

	T0 time.Time // its first request; the zero time for a batch that came with a checkpoint
	T1 time.Time // its last sample
	T2 time.Time // its last verdict

	before *State        // what there was before it was begun; nil for one that was taken, or came with a checkpoint
	drawn  []int         // tokens of its groups, as they were drawn
	full   bool          // its groups are in no stock any more
	done   chan struct{} // closed when it is there, or err is
	err    error
}

// Samples returns the samples, whole groups in the order of their prompts.
func (b *Batch) Samples() (all []*rl.Sample) {
	for _, g := range b.Groups {
		all = append(all, g.Samples...)
	}
	return all
}

// ready reports whether the batch is there.
func (b *Batch) ready() bool {
	select {
	case <-b.done:
		return b.err == nil
	default:
		return false
	}
}

// Begin begins the batch of a cycle, unless it came with a checkpoint.
func (g *Gatherer) Begin(ctx context.Context, cycle int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batches[cycle] != nil {
		return nil
	}
	before, err := g.state()
	if err != nil {
		return err
	}
	v := g.parts.Engine.Version()
	g.stock.renew()
	g.stock.sweep(v.Count() + g.run.Lag)
	g.stock.renewRow()
	b := &Batch{Cycle: cycle, Version: v, before: before, done: make(chan struct{}), T0: g.parts.Clock()}
	g.batches[cycle] = b
	g.wg.Go(func() {
		defer close(b.done)
		b.err = g.collect(ctx, b)
	})
	return nil
}

// collect makes batch b, and brings to rest what it leaves in flight.
func (g *Gatherer) collect(ctx context.Context, b *Batch) error {
	for {
		turn, done, err := g.advance(ctx)
		if err != nil {
			return err
		}
		if done {
			break
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	g.mu.Lock()
	b.Groups = g.stock.pick(b.Cycle)
	err := g.finish(b, b.Version.Count()+g.run.Lag)
	g.mu.Unlock()
	if err := errors.Join(err, g.cut(ctx, false)); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b.Stats = g.stock.seen.stats(b.Stats)
	return nil
}

// advance asks for as many groups as there is a use for. It returns what is closed when there may be more to do, and whether a batch is there.
func (g *Gatherer) advance(ctx context.Context) (turn <-chan struct{}, done bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.err != nil:
		return nil, false, g.err
	case g.stock.complete() && !g.run.Async:
		return nil, true, nil
	case g.stock.starved():
		return nil, false, g.stock.hung()
	}
	var asked []*Group
	for range g.stock.want() {
		x, err := g.stock.ask(g.next, g.parts.Engine.Version())
		if err != nil {
			g.drawAll(ctx, asked)
			return nil, false, err
		}
		asked = append(asked, x)
	}
	g.drawAll(ctx, asked)
	return g.turn, false, nil
}

// drawAll has groups drawn. Where a failed call loses no token, one call asks for all of them: they reach the engine at once and in order, so that what it finds in its
// cache depends on nothing but them. The lock is held.
func (g *Gatherer) drawAll(ctx context.Context, groups []*Group) {
	first := make([]*order, len(groups))
	if g.parts.Watches && len(groups) > 1 {
		for i, x := range groups {
			first[i] = g.order(x)
		}
		g.share(ctx, first)
	}
	for i, x := range groups {
		g.busy.up(g.parts.Clock())
		g.wg.Go(func() { g.draw(ctx, x, first[i]) })
	}
}

// next takes a prompt from the source.
func (g *Gatherer) next() (*rl.Prompt, error) {
	p, err := g.parts.Prompts.Next(1)
	if err != nil {
		return nil, err
	}
	if len(p) != 1 {
		return nil, fmt.Errorf("prompts: %d came, want 1", len(p))
	}
	return p[0], nil
}

// changed wakes all who wait. The lock is held.
func (g *Gatherer) changed() {
	close(g.turn)
	g.turn = make(chan struct{})
	if len(g.stock.flying) == 0 {
		g.busy.down(g.parts.Clock())
	}
}

// fail ends the run. The lock is held.
func (g *Gatherer) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// finish masks and measures a batch whose groups are there, and reports samples of it that cannot be. The lock is held.
func (g *Gatherer) finish(b *Batch, served int) error {
	g.stock.veil(b.Groups, served, b.Version.Count())
	b.full = true
	b.measure()
	for _, x := range b.Groups {
		b.T1, b.T2 = later(b.T1, x.t1), later(b.T2, x.t2)
	}
	b.T1 = later(b.T0, b.T1)
	b.T2 = later(b.T1, b.T2)
	g.advise()
	return b.check()
}

// measure notes how much was drawn: whoever trains may put other samples in the place of these.
func (b *Batch) measure() {
	b.drawn = nil
	for _, x := range b.Groups {
		b.drawn = append(b.drawn, x.tokens())
	}
}

// check reports a sample that cannot train as it is: what was drawn, kept, saved, restored and masked must still be of one length.
func (b *Batch) check() error {
	for _, s := range b.Samples() {
		if err := s.Check(); err != nil {
			return fmt.Errorf("batch of cycle %d: prompt %s, sample %d: %w", b.Cycle, s.Prompt.ID, s.Index, err)
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// advise warns of a filter that keeps next to nothing.
func (g *Gatherer) advise() {
	if s := g.stock.seen; s.graded >= 20 && 20*s.kept < s.graded {
		g.parts.Advise(fmt.Sprintf("--dynamic-sampling-filter-path %s kept %d of %d groups for this batch: most of what is drawn does not train", g.run.Filter, s.kept, s.graded))
	}
}

// Await waits for the batch of a cycle.
func (g *Gatherer) Await(ctx context.Context, cycle int) (*Batch, error) {
	g.mu.Lock()
	b := g.batches[cycle]
	g.mu.Unlock()
	if b == nil {
		return nil, fmt.Errorf("no batch of cycle %d was begun", cycle)
	}
	select {
	case <-b.done:
		g.mu.Lock()
		defer g.mu.Unlock()
		b.Account = g.account()
		return b, b.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Settle waits until no batch is being made.
func (g *Gatherer) Settle() {
	g.mu.Lock()
	all := make([]*Batch, 0, len(g.batches))
	for _, b := range g.batches {
		all = append(all, b)
	}
	g.mu.Unlock()
	for _, b := range all {
		<-b.done
	}
}

// Open lets samples be drawn until Park or the end of ctx.
func (g *Gatherer) Open(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return
	}
	g.resting = false
	own, end := context.WithCancel(ctx)
	stopped := make(chan struct{})
	g.opened = func() { end(); <-stopped }
	g.edge = g.parts.Clock()
	g.wg.Go(func() {
		defer close(stopped)
		g.produce(own, ctx)
	})
}

// produce asks for groups until ctx ends; they are drawn under a context that goes on.
func (g *Gatherer) produce(ctx, beyond context.Context) {
	for ctx.Err() == nil {
		turn, _, err := g.advance(beyond)
		if err != nil {
			g.mu.Lock()
			g.fail(err)
			g.changed()
			g.mu.Unlock()
			return
		}
		select {
		case <-turn:
		case <-ctx.Done():
		}
	}
}

// Take returns the next batch of groups that are fresh enough, once there are so many. Samples are drawn all the while.
func (g *Gatherer) Take(ctx context.Context, cycle int) (*Batch, error) {
	for {
		b, turn, err := g.take(cycle)
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take is one attempt of Take.
func (g *Gatherer) take(cycle int) (*Batch, <-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.batches[cycle]; b != nil { // it came with the checkpoint
		b.Account = g.account()
		return b, nil, nil
	}
	served := g.parts.Engine.Version()
	before := len(g.stock.ready)
	g.stock.sweep(served.Count())
	if len(g.stock.ready) < before {
		g.changed() // there is room again
	}
	if !g.stock.complete() {
		if g.err == nil && g.opened == nil {
			return nil, nil, errors.New("a batch is asked for while nothing is drawn")
		}
		return nil, g.turn, g.err
	}
	b := &Batch{Cycle: cycle, done: make(chan struct{}), T0: g.edge}
	queue := len(g.stock.ready)
	for _, x := range g.stock.ready {
		g.stock.seen.look(age(x, served))
	}
	b.Groups = g.stock.pick(cycle)
	b.Version = oldest(b.Groups)
	if err := g.finish(b, served.Count()); err != nil {
		return nil, nil, err
	}
	b.Stats = g.stock.asyncStats(queue, served)
	b.Stats = g.stock.seen.stats(b.Stats)
	close(b.done)
	g.batches[cycle], g.edge = b, g.parts.Clock()
	b.Account = g.account()
	g.stock.renew()
	g.changed()
	return b, nil, nil
}

// oldest returns the version of those that the groups were first asked for under that was published first.
func oldest(groups []*Group) rl.Version {
	v := groups[0].From
	for _, x := range groups {
		if x.From.Count() < v.Count() {
			v = x.From
		}
	}
	return v
}

// Park brings all that is in flight to rest: samples are kept as far as they were drawn, and Open goes on with them.
func (g *Gatherer) Park(ctx context.Context) error {
	g.mu.Lock()
	end := g.opened
	g.opened = nil
	g.mu.Unlock()
	if end != nil {
		end()
	}
	return g.cut(ctx, true)
}

// Trained says that the trainer was given a batch, and whether it took a step with it. It returns the account as it was when the batch was there, with
// what became of it since; and an error if the account, as it is now, does not add up.
func (g *Gatherer) Trained(cycle int, stepped bool) (Account, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.batches[cycle]
	then := b.Account.Clone()
	for i, x := range b.Groups {
		x.remask()
		then.leave(x, b.drawn[i])
		for _, a := range []*Account{&then, &g.stock.account} {
			a.replace(x, b.drawn[i])
			a.train(x, stepped)
		}
	}
	delete(g.batches, cycle)
	for _, o := range g.batches {
		if o.before != nil { // it was begun when this one had not trained
			o.before.book(b, stepped)
		}
	}
	return then, errors.Join(then.Check(), g.account().Check())
}

// account returns the account as it is now. The lock is held.
func (g *Gatherer) account() Account {
	var waiting [][]*Group
	for _, b := range g.batches {
		if b.full {
			waiting = append(waiting, b.Groups)
		}
	}
	return g.stock.waiting(waiting...)
}

// Account returns the account as it is now.
func (g *Gatherer) Account() Account {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.account()
}

// Close waits until all that was started has ended. The contexts that it was started under must have ended.
func (g *Gatherer) Close() {
	g.mu.Lock()
	end := g.opened
	g.opened = nil
	g.mu.Unlock()
	if end != nil {
		end()
	}
	g.wg.Wait()
}
