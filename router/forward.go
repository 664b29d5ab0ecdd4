package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An errand is one request on its way to a worker, and perhaps to another one. It is the transport of the request's proxy, which takes care of headers and of the
// answer's way back.
type errand struct {
	r    *Router
	body []byte
	key  string // where it wants to go; "" anywhere
	safe bool   // doing it twice changes nothing
	rid  bool   // it has a name, under which only one may live on a worker
}

// forward sends a request to a worker of the router's choice.
func (r *Router) forward(rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, req.Body, r.cfg.MaxBody))
	if err != nil {
		writeUnread(rw, err)
		return
	}
	r.counts.add(requests)
	e := &errand{r: r, body: body, key: req.Header.Get("X-SMG-Routing-Key"), safe: safe(req), rid: bytes.Contains(body, []byte(`"rid"`))}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetXForwarded() }, Transport: e, FlushInterval: -1,
		ErrorHandler: e.fail, BufferPool: &buffers, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(rw, req)
}

// repeatable are calls that produce an answer and change nothing besides.
var repeatable = []string{"/generate", "/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize", "/v1/tokenize", "/v1/detokenize", "/encode", "/classify", "/v1/embeddings", "/v1/score", "/v1/rerank"}

func safe(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodHead || slices.Contains(repeatable, req.URL.Path)
}

// RoundTrip gives the request to workers until one has answered it or all that may be tried were. The answer's body gives the worker's place back when it is closed.
func (e *errand) RoundTrip(req *http.Request) (*http.Response, error) {
	var tried []*worker
	var last *http.Response // a refusal, kept in case that nobody does better
	var lost error          // how the last connection ended
	for attempt := 0; ; attempt++ {
		w, err := e.r.reg.take(e.key, int64(len(e.body)), tried, lost != nil)
		switch {
		case err != nil && last != nil:
			return last, nil
		case err != nil:
			return nil, errors.Join(err, lost)
		}
		if last != nil {
			_ = last.Body.Close() // somebody else is asked now
		}
		tried = append(tried, w)
		last, lost = e.send(req, w)
		switch {
		case lost == nil && !e.refused(last.StatusCode):
			return last, nil
		case attempt >= e.r.cfg.Retries || lost != nil && !e.again(req.Context(), lost):
			return last, lost
		}
		e.note(w, last, lost)
		if err := rest(req.Context(), attempt, lost != nil && attempt > 0); err != nil {
			return nil, err
		}
	}
}

// send gives the request to a worker.
func (e *errand) send(req *http.Request, w *worker) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = w.base.Scheme, w.base.Host, ""
	out.URL.Path, out.URL.RawPath = w.base.Path+req.URL.Path, w.base.EscapedPath()+req.URL.EscapedPath()
	out.Body, out.ContentLength = http.NoBody, int64(len(e.body))
	if len(e.body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	e.r.authorize(out.Header, w)
	done := sync.OnceFunc(func() { e.r.reg.done(w, int64(len(e.body))) })
	resp, err := e.r.net.RoundTrip(out)
	if err != nil {
		done()
		if req.Context().Err() == nil {
			e.missed(w, err)
		}
		return nil, fmt.Errorf("worker %s: %w", w.base, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		done()
		return resp, nil
	}
	resp.Body = &answer{resp.Body, done}
	return resp, nil
}

// missed has a worker looked at that broke a connection. Nobody listening counts as a failed look.
func (e *errand) missed(w *worker, err error) {
	if neverSent(err) {
		e.r.bad(w, err)
	}
	w.poke()
}

// An answer tells when its body has been closed.
type answer struct {
	io.ReadCloser
	done func()
}

// Close closes the body.
func (a *answer) Close() error {
	a.done()
	return a.ReadCloser.Close()
}

// refused reports whether a status says that another worker may do better.
func (e *errand) refused(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return e.safe
	}
	return false
}

// again reports whether a request whose connection broke before an answer may be sent once more: if it never left, or if it changes nothing. One with a rid must also be
// known to have ended: the worker itself has closed the connection, so it has ended or is about to abort the request.
func (e *errand) again(ctx context.Context, err error) bool {
	switch {
	case ctx.Err() != nil:
		return false
	case neverSent(err):
		return true
	case e.rid:
		return e.safe && closed(err)
	}
	return e.safe
}

// neverSent reports whether no worker was reached.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// closed reports whether the other side ended a connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection") // net/http has no name for it
}

// note counts and logs that a request goes to somebody else.
func (e *errand) note(w *worker, resp *http.Response, err error) {
	if err != nil {
		e.r.counts.add(retried)
		e.r.log.Warn("request is sent again", "worker", w.base.String(), "why", err.Error())
		return
	}
	e.r.counts.add(spilled)
	e.r.log.Info("request is passed on", "worker", w.base.String(), "status", resp.StatusCode)
}

// rest waits a little before a worker is tried that has failed before.
func rest(ctx context.Context, attempt int, wanted bool) error {
	if !wanted {
		return nil
	}
	t := time.NewTimer(min(10*time.Millisecond<<attempt, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail answers for a request that nobody answered.
func (e *errand) fail(rw http.ResponseWriter, req *http.Request, err error) {
	switch {
	case req.Context().Err() != nil:
		e.r.counts.add(left)
		rw.WriteHeader(499) // the client does not see it
	case errors.Is(err, errNone):
		e.r.counts.add(unserved)
		e.r.log.Error("request has no worker", "path", req.URL.Path, "why", err.Error())
		writeError(rw, http.StatusServiceUnavailable, err.Error())
	default:
		e.r.counts.add(broken)
		e.r.log.Error("request was lost by its worker", "path", req.URL.Path, "why", err.Error())
		writeError(rw, http.StatusBadGateway, err.Error())
	}
}

// A pool lends buffers for copying answers.
type pool struct{ sync.Pool }

const bufferBytes = 32 << 10

var buffers = pool{sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}}

// Get returns a buffer.
func (p *pool) Get() []byte { return *p.Pool.Get().(*[]byte) }

// Put takes it back.
func (p *pool) Put(b []byte) { p.Pool.Put(&b) }
