package door

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// A Door is where requests come in. It is open from the start, so that a taken port shows before a model is read; until there is something to show it
// answers 503.
type Door struct {
	at     net.Listener
	scheme string
	web    *http.Server
	shown  atomic.Pointer[http.Handler]
	ended  chan struct{}
	err    error // why nothing more comes in, once ended is closed
}

// Open listens at an address, with TLS if there is a certificate with its key.
func Open(address, cert, key string, log *slog.Logger) (*Door, error) {
	at, scheme, err := Listen(address, cert, key)
	if err != nil {
		return nil, err
	}
	d := &Door{at: at, scheme: scheme, ended: make(chan struct{})}
	d.web = HTTP(http.HandlerFunc(d.answer), log)
	go func() {
		defer close(d.ended)
		if err := d.web.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			d.err = err
		}
	}()
	return d, nil
}

// answer hands a request to what is shown.
func (d *Door) answer(w http.ResponseWriter, r *http.Request) {
	if h := d.shown.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "model is being loaded\n") // who has gone does not read
}

// Show has h answer from now on.
func (d *Door) Show(h http.Handler) { d.shown.Store(&h) }

// Addr returns where the door is.
func (d *Door) Addr() *net.TCPAddr { return d.at.Addr().(*net.TCPAddr) }

// Address returns what clients put before a path.
func (d *Door) Address() string { return d.scheme + "://" + d.at.Addr().String() }

// Ended is closed when nothing more comes in.
func (d *Door) Ended() <-chan struct{} { return d.ended }

// Shut lets answers that are being written end, for a moment, and closes the door. It returns why nothing came in any more, if it was not this.
func (d *Door) Shut(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if d.web.Shutdown(ctx) != nil {
		_ = d.web.Close() // somebody does not read
	}
	<-d.ended
	return d.err
}

// Close ends everything at the door at once.
func (d *Door) Close() {
	_ = d.web.Close() // what was shut is closed
	<-d.ended
}
