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
	sums     weightsync.Sums // of what is served, as it came

	// What follows belongs to the loop.
	pages    *kv.Pages
	kept     kept // choices of tokens that pages keep
	lanes    *lanes
	sched    *sched.Scheduler
	flight   map[int64]*request
	ended    []ending // since the state was last shown
	version  rl.Version
	paused   bool
	released bool // attention state has no memory
	stats    Stats
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
	layers, keep, err := cfg.streams(m)
	if err != nil {
		return nil, err
	}
	layout := kv.NewLayout(layers, cfg.PageTokens)
	recents, lastings, err := cfg.pages(layout)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, m: m, k: k, mail: make(chan func()), done: make(chan struct{}), updating: make(chan struct{}, 1),
		pages:  kv.NewPages(k, layout, dtype.F32, recents, lastings, !cfg.NoSharing),
		flight: map[int64]*request{}, kept: keep,
	}
	e.lanes = newLanes(m, k, e.pages, cfg.KV == kv.FP8Format, keep, runtime.GOMAXPROCS(0))
	e.sched = sched.New(sched.Config{MaxRunning: cfg.MaxRunning, MaxPrefill: cfg.PrefillTokens}, memory{e})
	e.stats.PageTokens, e.stats.MaxRunning = layout.Page, cfg.MaxRunning
	e.show()
	return e, nil
}

// Run is the loop. It returns when ctx is done; what is in flight then ends with an error. It may be called once.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.done)
	defer func() { e.fail(errStopped); e.show() }()
	for {
		if !e.orders(ctx, !e.busy()) {
			return context.Cause(ctx)
		}
		if e.busy() {
			e.step()
		}
		e.show()
	}
}

// busy reports whether there is a pass to run.
func (e *Engine) busy() bool { return e.serving() && e.sched.Running()+e.sched.Queued() > 0 }

// serving reports whether passes may run.
func (e *Engine) serving() bool { return !e.paused && !e.released }

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

// Version returns the version of the weights, 0 before the first Update.
func (e *Engine) Version() rl.Version { return e.Stats().Version }

var (
	_ rl.RolloutEngine = (*Engine)(nil)
	_ rl.Aborter       = (*Engine)(nil)
)
