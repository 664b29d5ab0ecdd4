package router

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
)

// A Spec is what a worker is registered with.
type Spec struct {
	URL      string            `json:"url"`
	Type     string            `json:"worker_type,omitempty"`
	ModelID  string            `json:"model_id,omitempty"`
	APIKey   string            `json:"api_key,omitempty"`
	Priority int               `json:"priority"`
	Cost     float64           `json:"cost"`
	Labels   map[string]string `json:"labels,omitempty"`

	FailAfter int `json:"health_failure_threshold,omitempty"` // 0: the router's
	PassAfter int `json:"health_success_threshold,omitempty"`
}

// newSpec returns the defaults.
func newSpec() Spec { return Spec{Type: "regular", Priority: 50, Cost: 1} }

// check reports what no worker can be.
func (s Spec) check() error {
	if _, err := parseURL(s.URL); err != nil {
		return err
	}
	if s.Type != "regular" {
		return fmt.Errorf("worker_type is %q, want regular: prefill and decode are not served apart", s.Type)
	}
	if s.FailAfter < 0 || s.PassAfter < 0 {
		return fmt.Errorf("health thresholds are %d and %d, want 0 (the router's) or more", s.FailAfter, s.PassAfter)
	}
	return nil
}

// parseURL reads a worker's address: scheme, host and perhaps a path that goes before all others.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("worker url is %q: %w", s, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("worker url is %q, want http://host:port", s)
	}
	if strings.Contains(u.Path, "@") {
		return nil, fmt.Errorf("worker url is %q, want it without @rank: one worker is one server", s)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// A worker is one server. Its fields are guarded by the registry's lock.
type worker struct {
	id      string
	base    *url.URL
	spec    Spec
	healthy bool
	known   bool // its health has been seen once
	fails   int  // in a row
	passes  int
	last    error // why the last look failed

	requests int   // outstanding
	bytes    int64 // of their bodies
	served   int   // since the start
	meta     facts
	ready    chan struct{} // closed when it is healthy for the first time
	left     chan struct{} // closed when it is removed
	look     chan struct{} // asks for a look before it is time
}

func newWorker(s Spec) (*worker, error) {
	base, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	s.URL = base.String()
	return &worker{id: newID(), base: base, spec: s, ready: make(chan struct{}), left: make(chan struct{}), look: make(chan struct{}, 1)}, nil
}

// newID returns a random UUID of version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// isID reports whether s has the form of an id.
func isID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}

// passed notes a good look. The first one of all makes a worker healthy; after failures it takes several. It reports whether that changed anything.
func (w *worker) passed(after int) bool {
	w.fails, w.last = 0, nil
	w.passes++
	if w.healthy || w.known && w.passes < after {
		return false
	}
	w.healthy = true
	if !w.known {
		w.known = true
		close(w.ready)
	}
	return true
}

// failed notes a bad look, or a request that found nobody.
func (w *worker) failed(after int, why error) bool {
	w.passes, w.last = 0, why
	w.fails++
	if !w.healthy || w.fails < after {
		return false
	}
	w.healthy = false
	return true
}

// gone reports whether the worker was removed.
func (w *worker) gone() bool {
	select {
	case <-w.left:
		return true
	default:
		return false
	}
}

// poke has the worker looked at soon.
func (w *worker) poke() {
	select {
	case w.look <- struct{}{}:
	default:
	}
}
