package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"furlong/server"
)

// A door is where requests come in. It is open from the start, so that a taken port shows before a model is read; until there is something to show
// it answers 503.
type door struct {
	at     net.Listener
	scheme string
	web    *http.Server
	shown  atomic.Pointer[http.Handler]
	ended  chan error // gets why nothing more comes in
}

// openDoor listens where w says.
func openDoor(w whereFlags, log *slog.Logger) (*door, error) {
	d := &door{scheme: "http", ended: make(chan error, 1)}
	var config *tls.Config
	if w.Cert != "" {
		pair, err := tls.LoadX509KeyPair(w.Cert, w.Key)
		if err != nil {
			return nil, fmt.Errorf("--ssl-certfile: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		d.scheme = "https"
	}
	at, err := net.Listen("tcp", net.JoinHostPort(w.Host, strconv.Itoa(w.Port)))
	if err != nil {
		return nil, fmt.Errorf("--host %s --port %d: %w", w.Host, w.Port, err)
	}
	if d.at = at; config != nil {
		at = tls.NewListener(at, config)
	}
	d.web = server.HTTP(http.HandlerFunc(d.answer), log)
	go func() {
		err := d.web.Serve(at)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		d.ended <- err
	}()
	return d, nil
}

// answer hands a request to what is shown.
func (d *door) answer(w http.ResponseWriter, r *http.Request) {
	if h := d.shown.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "model is being loaded\n") // who has gone does not read
}

// show has h answer from now on.
func (d *door) show(h http.Handler) { d.shown.Store(&h) }

// tcp returns where the door is.
func (d *door) tcp() *net.TCPAddr { return d.at.Addr().(*net.TCPAddr) }

// address returns what clients put before a path.
func (d *door) address() string { return d.scheme + "://" + d.at.Addr().String() }

// shut lets answers that are being written end, for a moment, and closes the door.
func (d *door) shut(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if err := d.web.Shutdown(ctx); err != nil {
		return d.web.Close() // somebody does not read
	}
	return nil
}

// close ends everything at the door at once, and waits until its goroutine has.
func (d *door) close() {
	_ = d.web.Close() // what was shut is closed
	for range d.ended {
		return
	}
}
