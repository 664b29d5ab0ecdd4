package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"time"

	"furlong/door"
)

// open returns the bytes behind a URI: a file below a root, or an answer of this machine or of one that the settings name.
func (s *Server) open(ctx context.Context, uri string) (io.ReadCloser, error) {
	u, err := url.Parse(uri)
	if err != nil || uri == "" {
		return nil, fmt.Errorf("uri is %.200q, want one of file:///PATH or http://HOST/PATH", uri)
	}
	switch {
	case u.Scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		return s.updates.roots.file(u.Path)
	case u.Scheme == "http" || u.Scheme == "https":
		return s.fetch(ctx, u)
	}
	return nil, fmt.Errorf("uri is %.200q, want one of file:///PATH or http://HOST/PATH", uri)
}

// fetch asks for bytes. No other host is asked than those that may be, redirections included, and no proxy.
func (s *Server) fetch(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	if err := s.mayAsk(u); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: 10 * time.Second, ControlContext: s.mayDial}
	c := http.Client{
		Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: s.cfg.BodyTime},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("it goes from address to address")
			}
			return s.mayAsk(r.URL)
		},
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, askedKey{}, s.listed(u)))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	a, err := c.Do(r)
	if err == nil && a.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("%s: answers %s", u.Redacted(), a.Status), a.Body.Close())
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return newPatient(a.Body, s.cfg.BodyTime, cancel), nil
}

// askedKey is where a dial's context says whether its host was named in the settings.
type askedKey struct{}

// listed reports whether the settings name a host, with its port or without.
func (s *Server) listed(u *url.URL) bool {
	return slices.Contains(s.cfg.WeightsHosts, u.Host) || slices.Contains(s.cfg.WeightsHosts, u.Hostname())
}

// mayAsk refuses hosts that are neither this machine nor named in the settings.
func (s *Server) mayAsk(u *url.URL) error {
	if s.listed(u) || door.Loopback(u.Hostname()) {
		return nil
	}
	return refusal{http.StatusForbidden, fmt.Sprintf("uri is of host %.100q, which may not be asked (--weights-host)", u.Host)}
}

// mayDial refuses to connect to another machine in the name of this one.
func (s *Server) mayDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	listed, _ := ctx.Value(askedKey{}).(bool)
	if !listed && !door.Loopback(host) {
		return fmt.Errorf("%s is not this machine", address)
	}
	return nil
}

// patient is an answer that may take any time as long as it goes on.
type patient struct {
	io.ReadCloser
	each   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func newPatient(body io.ReadCloser, each time.Duration, cancel context.CancelCauseFunc) *patient {
	late := func() { cancel(fmt.Errorf("no byte has come for %v", each)) }
	return &patient{body, each, time.AfterFunc(each, late), cancel}
}

// Read waits for the next bytes, but not for ever.
func (p *patient) Read(b []byte) (int, error) {
	p.timer.Reset(p.each)
	return p.ReadCloser.Read(b)
}

// Close ends the request.
func (p *patient) Close() error {
	p.timer.Stop()
	p.cancel(nil)
	return p.ReadCloser.Close()
}
