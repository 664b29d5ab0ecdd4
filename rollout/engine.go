package rollout

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"furlong/dtype"
	"furlong/kernels"
	"furlong/kv"
	"furlong/model"
	"furlong/rl"
	"furlong/rollout/sched"
	"furlong/tensor"
	"furlong/weightsync"
)

var errStopped = errors.New("rollout: the engine has stopped")

// Engine draws samples from one model. It implements rl.RolloutEngine. All methods but Run may be called at any time from any
// goroutine; they wait until Run is at work.
type Engine struct {
	cfg  Config
	m    model.Model
	k    kernels.Backend
	mail chan func() // orders for the loop, carried out between two passes
	done chan struct{}

	mu       sync.Mutex
	shown    Stats
	attested rl.Attestation
	refused  atomic.Int64 // updates

	updating chan struct{}   // holds one token: who has it may write staged and held, and read the weights outside of the loop
	staged   []*tensor.Param // like the model's, with values and layouts of their own: an update's until it flips, the last version's after
	held     weightsync.Held // what is served, as the sender of a delta names it

	// What follows belongs to the loop.
	pages   *kv.Pages
	lanes   *lanes
	sched   *sched.Scheduler
	flight  map[int64]*request
	version rl.Version
	paused  bool
	stats   Stats
}

// New returns an engine over a model that is its own: nobody else may write the model's weights. They take the format that cfg says. It serves after its first Update.
func New(cfg Config, m model.Model, k kernels.Backend) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	recipe, err := cfg.recipe()
	if err != nil {
		return nil, err
	}
	if err := recipe.Apply(m.Params()); err != nil {
		return nil, fmt.Errorf("--rollout-format %s: %w", cfg.Format, err)
	}
	layout := kv.NewLayout(m.Layers(), cfg.PageTokens)
	recents, lastings, err := cfg.pages(layout)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, m: m, k: k, mail: make(chan func()), done: make(chan struct{}), updating: make(chan struct{}, 1),
		pages:  kv.NewPages(k, layout, dtype.F32, recents, lastings, !cfg.NoSharing),
		flight: map[int64]*request{},
	}
	e.lanes = newLanes(m, k, e.pages, cfg.KV == kv.FP8Format, runtime.GOMAXPROCS(0))
	e.sched = sched.New(sched.Config{MaxRunning: cfg.MaxRunning, MaxPrefill: cfg.PrefillTokens}, memory{e})
	e.stats.PageTokens = layout.Page
	e.show()
	return e, nil
}

// Run is the loop. It returns when ctx is done; what is in flight then ends with an error. It may be called once.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.done)
	defer func() { e.fail(errStopped); e.show() }()
	for {
		idle := e.paused || e.sched.Running()+e.sched.Queued() == 0
		if !e.orders(ctx, idle) {
			return context.Cause(ctx)
		}
		if !e.paused && e.sched.Running()+e.sched.Queued() > 0 {
			e.step()
		}
		e.show()
	}
}

// orders carries out what is in the mail; when idle it waits for something. It reports false when ctx is done.
func (e *Engine) orders(ctx context.Context, idle bool) bool {
	if idle {
		select {
		case <-ctx.Done():
			return false
		case f := <-e.mail:
			f()
		}
	}
	for ctx.Err() == nil {
		select {
		case f := <-e.mail:
			f()
		default:
			return true
		}
	}
	return false
}

// do lets the loop carry out f between two passes, and returns when that has happened.
func (e *Engine) do(ctx context.Context, f func()) error {
	ready := make(chan struct{})
	select {
	case e.mail <- func() { defer close(ready); f(); e.show() }:
		<-ready
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.done:
		return errStopped
	}
}

// Pause lets the pass that runs end and begins no other. Requests may still be made; they wait.
func (e *Engine) Pause(ctx context.Context) error {
	return e.do(ctx, func() { e.paused = true })
}

// Resume ends a pause.
func (e *Engine) Resume(ctx context.Context) error {
	return e.do(ctx, func() { e.paused = false })
}

// Version returns the version of the weights, 0 before the first Update.
func (e *Engine) Version() rl.Version { return e.Stats().Version }

// Flush empties the prefix cache. It is refused while samples hold pages; a paused engine's do until an update.
func (e *Engine) Flush(ctx context.Context) (err error) {
	refused := e.do(ctx, func() {
		if n := e.sched.Running(); n > 0 {
			err = fmt.Errorf("rollout: flush while %d samples hold pages, want none", n)
		} else if c := e.pages.Cache(); c != nil {
			c.Flush()
		}
	})
	return errors.Join(refused, err)
}

// Retract takes the pages of all samples in flight; they are computed again when the engine goes on.
func (e *Engine) Retract(ctx context.Context) error {
	return e.do(ctx, func() { e.stats.Retracted += len(e.sched.Retract()) })
}

var _ rl.RolloutEngine = (*Engine)(nil)
