package dash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"furlong/dash/api"
	"furlong/dash/page"
	"furlong/dash/store"
	"furlong/door"
)

// Options are what a server is told.
type Options struct {
	Shelf *store.Shelf
	Log   *slog.Logger
	Hosts []string // names besides those of loopback that requests may be for
	Token string   // that requests must bear; empty for none
}

// A Server answers for runs. Requests may come at once.
type Server struct {
	o       Options
	mux     *http.ServeMux
	streams chan struct{} // one element for each open stream
	look    time.Duration // how often streams look at files
	conns   int           // how many connections are open at most
}

// maxStreams is how many event streams are open at most.
const maxStreams = 64

// New returns a server.
func New(o Options) *Server {
	s := &Server{o: o, mux: http.NewServeMux(), streams: make(chan struct{}, maxStreams), look: 250 * time.Millisecond, conns: conns()}
	s.routes()
	return s
}

// answerLimit is how long a reader may take over an answer. Streams have a limit for each piece.
const answerLimit = time.Minute

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer s.recover(w, r)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerLimit)) // a writer without deadlines is one of a test
	headers(w)
	if status := s.refuses(r); status != 0 {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, HEAD")
		}
		w.WriteHeader(status)
		return
	}
	if r.URL.Path == tokenPath {
		s.enter(w, r)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/") && !s.bears(r) {
		write(w, http.StatusForbidden, api.Error{Error: "token", Hint: "open the address that the server printed, with its token"})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// recover turns a panic into an answer and a line.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if err, _ := p.(error); p == nil || errors.Is(err, http.ErrAbortHandler) {
		return
	}
	s.o.Log.Error("page failed", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	write(w, http.StatusInternalServerError, api.Error{Error: "the server failed in this answer; its log says where"})
}

// headers sets what every answer says.
func headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// write answers v as JSON.
func write(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer is not JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // who has gone does not read
}

// fail answers why there is no answer.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var a *store.Asked
	if !errors.As(err, &a) {
		s.o.Log.Error("page failed", "path", r.URL.Path, "error", err)
		a = &store.Asked{Status: store.Broken, Reply: api.Error{Error: "the server failed in this answer; its log says why"}}
	}
	write(w, int(a.Status), a.Reply)
}

// index answers the page itself.
func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Index)
}

// asset answers a file of the page. It is asked for again each time and mostly answered by its unchanged tag.
func asset(w http.ResponseWriter, r *http.Request) {
	name := path.Clean(r.PathValue("name"))
	b, err := fs.ReadFile(page.FS, name)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	kind := mime.TypeByExtension(path.Ext(name))
	switch path.Ext(name) { // not every machine knows these
	case ".js", ".mjs":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case "", ".LICENSE":
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b)
}

// Run serves at a listener until ctx ends, and then lets answers end for a moment; streams end at once.
func (s *Server) Run(ctx context.Context, at net.Listener) error {
	web := door.HTTP(s, s.o.Log)
	web.BaseContext = func(net.Listener) context.Context { return ctx }
	done := make(chan error, 1)
	go func() { done <- web.Serve(bound(at, s.conns)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if web.Shutdown(last) != nil {
		_ = web.Close() // somebody does not read
	}
	<-done
	return nil
}
