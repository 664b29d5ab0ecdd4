package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"furlong/api/sglang"
	"furlong/chat"
	"furlong/rl"
	"furlong/rollout"
	"furlong/tokenizer"
)

// An Engine is what a server serves: a rollout engine that can be watched and steered. *rollout.Engine is one. Methods may be called at any time from any
// goroutine; Stats never waits.
type Engine interface {
	rl.RolloutEngine
	rl.Attester
	Stats() rollout.Stats
	Abort(ctx context.Context, ids ...int64) error
	AbortAll(ctx context.Context) error
	PauseWith(ctx context.Context, mode rollout.Mode) error
	Flush(ctx context.Context) error
	Release(ctx context.Context) error
	Restore(ctx context.Context) error
	Ping(ctx context.Context) error
	UpdateWith(ctx context.Context, w rl.Weights, o rollout.UpdateOptions) error
}

var _ Engine = (*rollout.Engine)(nil)

// Parts are what a server needs besides settings. Tokenizer may be nil: then prompts are ids and answers have no text.
type Parts struct {
	Tokenizer tokenizer.Tokenizer
	Begin     bool    // texts of prompts begin with the tokenizer's BOS
	StopIDs   []int32 // end a response unless it is told to ignore them
	Model     Model

	// Template renders conversations and reads their answers. nil: there are no chat endpoints.
	Template chat.Template

	Weights *Weights // nil: the weights stay as they are

	Log   *slog.Logger
	Clock func() time.Time // nil is time.Now
}

// Model says what is served.
type Model struct {
	Path, Name    string // where it came from, and what requests call it
	TokenizerPath string
	Type          string // model_type of config.json
	Architectures []string
	Vocab         int
	Context       int  // prompt plus response, in tokens
	Experts       bool // the engine keeps which experts tokens went to
	LoadFormat    string

	// Launch are the settings that /server_info tells, by their names; they take the place of what the server would say itself.
	Launch map[string]any
}

// Server answers requests about one engine.
type Server struct {
	cfg       Config
	engine    Engine
	parts     Parts
	preferred sglang.Params
	log       *slog.Logger
	now       func() time.Time
	started   time.Time
	process   string // names this process, and no other

	jobs     registry
	updates  updates
	labels   labels
	health   health
	meter    meter
	series   *series
	profile  profiler
	grammars *grammars
	every    atomic.Int64 // tokens between frames
	verbose  atomic.Bool  // log requests
	seeds    atomic.Uint64
	name     atomic.Pointer[string] // what requests call the model
	path     atomic.Pointer[string] // where its weights came from
	handler  http.Handler
	longest  func() int // bytes of the longest token
}

// New returns a server over an engine that has weights, or will have them soon.
func New(cfg Config, e Engine, parts Parts) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	preferred, err := cfg.preferred()
	if err != nil {
		return nil, err
	}
	if parts.Log == nil {
		return nil, errors.New("server: there is no logger, want one")
	}
	if parts.Clock == nil {
		parts.Clock = time.Now
	}
	s := &Server{cfg: cfg, engine: e, parts: parts, preferred: preferred, log: parts.Log, now: parts.Clock, started: parts.Clock(), process: rand.Text()}
	s.every.Store(int64(cfg.StreamEvery))
	s.verbose.Store(cfg.LogRequests)
	s.name.Store(&parts.Model.Name)
	s.path.Store(&parts.Model.Path)
	s.profile.dir = cfg.ProfileDir
	if err := s.profile.usable(); err != nil {
		return nil, err
	}
	s.series = newSeries(s)
	s.longest = sync.OnceValue(func() int { return longestToken(parts.Tokenizer) })
	s.grammars = newGrammars(parts.Tokenizer, parts.Model.Vocab, parts.StopIDs)
	if err := s.updates.begin(parts.Weights); err != nil {
		return nil, err
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// longestToken returns the bytes of the longest spelling of a token, at least 1.
func longestToken(t tokenizer.Tokenizer) int {
	most := 1
	var text []byte
	for id := range t.Size() {
		text = t.AppendSpecial(text[:0], int32(id))
		most = max(most, len(text))
	}
	return most
}

// preferred returns the parameters that requests get where they have none of their own.
func (c Config) preferred() (p sglang.Params, err error) {
	if c.Preferred == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(c.Preferred), &p); err != nil {
		return p, fmt.Errorf("%.100q: %w", c.Preferred, err)
	}
	return p, nil
}

// Handler returns what answers requests. It may be called by many goroutines at once, before Run and during it.
func (s *Server) Handler() http.Handler { return s.handler }

// Run proves that the engine works by drawing a token, then keeps the heartbeat and takes figures, until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	defer func() {
		if name, err := s.profile.stop(); err != nil {
			s.log.Error("profile is not whole", "path", name, "error", err.Error())
		}
	}()
	beat := make(chan struct{})
	go func() { defer close(beat); s.heartbeat(ctx) }()
	defer func() { <-beat }()
	s.prove(ctx)
	s.sample(ctx)
	return context.Cause(ctx)
}

// Drain makes /health say no from now on, so that nobody sends more. Requests are still answered.
func (s *Server) Drain() { s.health.draining.Store(true) }

// Abort ends all requests in flight; they are answered with what they have.
func (s *Server) Abort(ctx context.Context) error { return s.engine.AbortAll(ctx) }

// InFlight returns how many samples are.
func (s *Server) InFlight() int { return s.jobs.count() }

// version returns which build this is.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.0.0"
}
