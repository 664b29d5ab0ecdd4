package sglang

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"furlong/rl"
)

// Options are what an engine needs besides its settings.
type Options struct {
	Mode       string // what becomes of samples in flight when weights change: retract, abort or in_place
	ConfigJSON []byte // of checkpoints that are written to a folder
	Experts    int    // routed experts of a layer, for the same
	Context    int    // tokens of the longest prompt with its response
	Formats    Formats
	Routes     *rl.Routes // of no tokens: the model whose experts servers must be able to tell; nil where nobody asks for them
	Log        *slog.Logger
}

// An Engine draws samples from servers.
type Engine struct {
	cfg     Config
	opt     Options
	log     *slog.Logger
	wire    *wire
	name    string // begins the ids of its requests
	folders []string
	look    time.Duration // how often a server that has work must show life
	flushes time.Duration // how long a server may refuse to empty its cache
	again   time.Duration // until a server is given weights again that it refused once; longer each time

	end     context.CancelFunc // ends the nurse; nil before there is one
	nursing sync.Once
	nurses  sync.WaitGroup
	visits  sync.WaitGroup // looks at servers that are under way; none begins while the engine is paused

	mu      sync.Mutex
	servers []*server
	paused  bool
	version rl.Version
	state   rl.Digest             // of that version
	kept    *parcel               // that version, to be given again to a server that was started anew; nil if it is not here
	given   map[string]rl.Version // every version that servers were given, by its label
	flying  map[int64]*flight
	tries   int           // requests sent; makes their names different
	changed chan struct{} // closed, and made anew, whenever a waiting request should look again
	since   time.Time     // when the last server was lost; zero while there is one
	said    time.Time     // when that was said last
	stats   Stats
	told    rl.Attestation
}

// Stats are counts since the start.
type Stats struct {
	Requests int // samples asked for
	Samples  int // given to consumers
	Again    int // drawn anew: the server had failed
	Busy     int // sent elsewhere: the server had no room
	Lost     int // times a server was lost
	Back     int // times one came back
	Stale    int // times one was found to hold other weights
	Mended   int // times one was given the weights again, and attested or said them
	Aborts   int // requests ended at a server because nobody wants them any more
	Lacking  int // samples that were told to end, and whose servers gave no part of them
	Strays   int // responses that ended at a token which was no stop id of the request
	Updates  int
	Refused  int // updates
	Flushes  int // caches that could not be emptied in time

	Away time.Duration // in which there was no server
}

// Attach returns an engine over the servers of cfg, once each has answered and generated a token.
func Attach(ctx context.Context, cfg Config, opt Options) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Servers()) == 0 {
		return nil, errors.New("--rollout-url names no server")
	}
	e := &Engine{
		cfg: cfg, opt: opt, log: opt.Log, name: nonce(), given: map[string]rl.Version{}, flying: map[int64]*flight{}, changed: make(chan struct{}),
		look: 15 * time.Second, flushes: time.Minute, again: 2 * time.Second,
	}
	var err error
	if e.wire, err = newWire(cfg); err != nil {
		return nil, err
	}
	if err := e.meet(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// nonce returns letters that no other engine has.
func nonce() string { return rand.Text()[:8] }

// meet gets to know the servers, all at once, and says what it found.
func (e *Engine) meet(ctx context.Context) error {
	urls := e.cfg.Servers()
	e.servers = make([]*server, len(urls))
	errs := make([]error, len(urls))
	var all sync.WaitGroup
	for i, u := range urls {
		all.Go(func() {
			f, err := e.wire.await(ctx, u, e.cfg.Wait, e.notice(u))
			if err == nil {
				err = e.usable(f)
			}
			e.servers[i], errs[i] = newServer(f), err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range e.servers {
		f := s.found
		e.log.Info("rollout server", "url", f.URL, "version", f.Version, "model", f.Model, "weight_version", f.Label, "context_length", f.Context,
			"max_running", f.Running, "sessions", f.Session, "attests", f.Attests, "weights_by", e.transport(s), "seeds", f.Seeds, "experts", f.Experts, "loads", f.Loads)
	}
	return nil
}

// notice says that a server is waited for at the beginning of a run, for how long yet, and which flag says so.
func (e *Engine) notice(url string) notice {
	return notice{first: 3 * time.Second, every: sayEvery, say: func(why error, left time.Duration) {
		e.log.Warn("a server is not ready yet: it is waited for", "url", url, "why", why.Error(), "left", left.Round(time.Second).String(), "at_most", e.cfg.Wait.String()+" (--rollout-wait)")
	}}
}

// usable reports what keeps a server from serving this engine.
func (e *Engine) usable(f Found) error {
	able := f.Stream && f.Session
	want := e.opt.Formats
	switch {
	case f.Context != 0 && f.Context < e.opt.Context:
		return fmt.Errorf("%s: its context has %d tokens, want at least --context-length (%d)", f.URL, f.Context, e.opt.Context)
	case f.Formats.Weights != "" && want.Weights != "" && f.Formats.Weights != want.Weights:
		return fmt.Errorf("%s: it holds weights as %s, and --rollout-format is %s", f.URL, f.Formats.Weights, want.Weights)
	case f.Formats.Weights != "" && want.State != "" && f.Formats.State != want.State:
		return fmt.Errorf("%s: it holds attention state as %s, and --rollout-kv-format is %s", f.URL, f.Formats.State, want.State)
	case e.opt.Routes != nil && !f.Experts:
		return fmt.Errorf("%s: it does not tell which experts tokens went to, which --use-rollout-routing-replay needs: start it with --enable-return-routed-experts", f.URL)
	case e.cfg.Transport == stream && !able:
		return fmt.Errorf("%s: --update-weight-transport is stream, and it has no /update_weights_from_stream", f.URL)
	case e.cfg.Transport == auto && !able && e.cfg.Dir == "":
		return fmt.Errorf("%s: it has no /update_weights_from_stream; give --update-weight-dir, a folder that it can read", f.URL)
	}
	return nil
}

// transport says how a server gets weights.
func (e *Engine) transport(s *server) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.transportOf(s)
}

// transportOf is transport. The lock is held.
func (e *Engine) transportOf(s *server) string {
	switch {
	case e.cfg.Transport != auto:
		return e.cfg.Transport
	case s.found.Stream && s.found.Session:
		return stream
	}
	return disk
}

// attests says whether a server attests what it serves.
func (e *Engine) attests(s *server) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.found.Attests
}

// Found returns what the servers have told of themselves.
func (e *Engine) Found() (all []Found) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.servers {
		all = append(all, s.found)
	}
	return all
}

// LogTo has what happens from now on logged elsewhere. It is for the time before the first update.
func (e *Engine) LogTo(l *slog.Logger) { e.log = l }

// Close ends the looks at servers and leaves their connections. Nothing may be under way.
func (e *Engine) Close() {
	if e.end != nil {
		e.end()
	}
	e.nurses.Wait()
	e.visits.Wait()
	e.wire.http.CloseIdleConnections()
}

// Version returns the version that the servers were given last.
func (e *Engine) Version() rl.Version {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.version
}

// Stats returns the counts.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// count changes the counts.
func (e *Engine) count(f func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.stats)
}

// label is what servers call a version: callers of the dialect read a decimal number there.
func label(v rl.Version) string { return strconv.FormatUint(uint64(v), 10) }

// lookAfter has servers looked after from now on, until the engine is closed.
func (e *Engine) lookAfter(ctx context.Context) {
	e.nursing.Do(func() {
		ctx, end := context.WithCancel(context.WithoutCancel(ctx))
		e.end = end
		e.nurses.Go(func() { e.nurse(ctx) })
	})
}

// wake has waiting requests look again. The lock is held.
func (e *Engine) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// mode returns what becomes of samples in flight.
func (e *Engine) mode() string { return cmp.Or(e.opt.Mode, "retract") }

var (
	_ rl.RolloutEngine = (*Engine)(nil)
	_ rl.Aborter       = (*Engine)(nil)
)
