package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"furlong/door"
)

// A Router spreads requests over workers.
type Router struct {
	cfg      Config
	log      *slog.Logger
	reg      *registry
	net      http.RoundTripper
	counts   counts
	draining chan struct{} // closed when no more requests are taken
}

// New returns a router with the workers that cfg names. Nobody looks at their health before Run.
func New(cfg Config, l *slog.Logger) (*Router, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Router{
		cfg: cfg, log: l, reg: newRegistry(cfg.FailAfter, cfg.PassAfter), net: transport(), draining: make(chan struct{}),
	}
	for _, u := range cfg.Workers {
		s := newSpec()
		s.URL = u
		if _, err := r.reg.add(s); err != nil {
			return nil, fmt.Errorf("--worker-urls: %w", err)
		}
	}
	return r, nil
}

// transport returns what carries requests to workers. An answer may take hours to begin. Idle connections are left before SGLang's servers leave them, after 5 s.
func transport() http.RoundTripper {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		DialContext: d.DialContext, MaxIdleConns: 0, MaxIdleConnsPerHost: 4096, IdleConnTimeout: 4 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true,
	}
}

// Serve answers on ln until ctx ends; then it lets requests finish, and returns when all have and nobody looks at workers.
func (r *Router) Serve(ctx context.Context, ln net.Listener) error {
	looking, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { r.Run(looking); close(done) }()
	defer func() { stop(); <-done }()

	srv := door.HTTP(r.Handler(), r.log)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	close(r.draining)
	err := srv.Shutdown(context.WithoutCancel(ctx))
	if gone := <-ended; !errors.Is(gone, http.ErrServerClosed) {
		err = errors.Join(err, gone)
	}
	return err
}

// Handler returns the surface.
func (r *Router) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, h := range map[string]http.HandlerFunc{
		"GET /liveness": ok, "GET /health": r.health, "GET /readiness": r.health, "GET /health_generate": r.forward, "GET /metrics": r.metrics,
	} {
		mux.HandleFunc(path, h)
	}
	r.manage(mux)
	r.fans(mux)
	mux.Handle("/", r.user(r.forward))
	return mux
}

func ok(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusOK) }

// health says whether requests are served.
func (r *Router) health(rw http.ResponseWriter, _ *http.Request) {
	select {
	case <-r.draining:
		writeError(rw, http.StatusServiceUnavailable, "the router is shutting down")
		return
	default:
	}
	if len(r.reg.all(true)) == 0 {
		writeError(rw, http.StatusServiceUnavailable, errNone.Error())
		return
	}
	rw.WriteHeader(http.StatusOK)
}
