package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"furlong/api/sglang"
	"furlong/checkpoint/intake"
)

// otherWays is what callers are told whose way is not here.
const otherWays = "weights come by /update_weights_from_disk, /pull_weights, /update_weights_from_stream, or /update_weights_from_tensor with load_format safetensors"

// updateFromDisk makes the server one that was started on another checkpoint. It needs no session.
func (s *Server) updateFromDisk(w http.ResponseWriter, r *http.Request) {
	var u sglang.UpdateDisk
	if !s.read(w, r, &u) {
		return
	}
	paused := 0
	if st := s.engine.Stats(); st.Paused {
		paused = st.Running + st.Queued
	}
	message, err := s.next(r.Context(), func(ctx context.Context) (string, error) { return s.fromDisk(ctx, u) })
	s.outcome(w, r, sglang.Outcome{Success: true, Message: message, Paused: &paused}, err)
}

func (s *Server) fromDisk(ctx context.Context, u sglang.UpdateDisk) (string, error) {
	switch format := or(u.LoadFormat, "auto"); format {
	case "", "auto", "safetensors":
	default:
		return "", fmt.Errorf("load_format is %.50q, want auto or safetensors", format)
	}
	dir, err := s.updates.roots.folder(u.ModelPath)
	if err != nil {
		return "", err
	}
	if f := s.parts.Weights.Fits; f != nil {
		if err := f(dir); err != nil {
			return "", s.servedOn(err)
		}
	}
	x := s.newSession()
	x.add(mannerOf("disk", u.Version, u.AbortAll, u.FlushCache))
	if u.Async || u.KeepPause {
		s.log.Warn("fields without effect", "is_async", u.Async, "keep_pause", u.KeepPause, "path", "/update_weights_from_disk")
	}
	if _, err := x.PutFolder(dir); err != nil {
		return "", s.servedOn(err)
	}
	message, err := s.take(ctx, x)
	if err == nil {
		s.moved(u.ModelPath)
	}
	return message, err
}

// moved notes where the weights came from. Requests call the model by that path if nobody gave it a name.
func (s *Server) moved(path string) {
	if *s.name.Load() == *s.path.Load() {
		s.name.Store(&path)
	}
	s.path.Store(&path)
}

// updateFromTensor takes up a bucket that lies in a file or at an address.
func (s *Server) updateFromTensor(w http.ResponseWriter, r *http.Request) {
	var u sglang.UpdateTensor
	if !s.read(w, r, &u) {
		return
	}
	s.inTurn(w, r, func(ctx context.Context) (string, error) {
		if format := or(u.LoadFormat, ""); format != "safetensors" {
			return "", fmt.Errorf("load_format is %.50q, whose tensors are pickles of memory on a device, which is not read here: %s", format, otherWays)
		}
		if err := selected(u.Selector); err != nil {
			return "", err
		}
		body, err := s.open(ctx, u.URI)
		if err != nil {
			return "", err
		}
		defer body.Close()
		return s.bucket(ctx, mannerOf("tensor", u.Version, u.AbortAll, u.FlushCache), func(x *intake.Session) error { return x.PutStream(u.URI, body) })
	})
}

// updateFromStream takes up a bucket that is the body: a safetensors file. Settings are in the query.
func (s *Server) updateFromStream(w http.ResponseWriter, r *http.Request) {
	body := &slowly{r.Body, http.NewResponseController(w), s.cfg.BodyTime}
	defer func() { _ = body.c.SetReadDeadline(time.Time{}) }()
	s.inTurn(w, r, func(ctx context.Context) (string, error) {
		message, err := s.stream(ctx, r, body)
		if err != nil {
			_, _ = io.CopyN(io.Discard, body, s.cfg.MaxBody) // a client that is still sending reads no answer
		}
		return message, err
	})
}

func (s *Server) stream(ctx context.Context, r *http.Request, body io.Reader) (string, error) {
	q := r.URL.Query()
	if err := selected(q.Get("selector")); err != nil {
		return "", err
	}
	m := manner{from: "stream"}
	if q.Has("weight_version") {
		label := q.Get("weight_version")
		m.label = &label
	}
	for name, set := range map[string]func(bool){"abort_all_requests": func(b bool) { m.abort = b }, "flush_cache": func(b bool) { m.keep = !b }} {
		if !q.Has(name) {
			continue
		}
		b, err := strconv.ParseBool(q.Get(name))
		if err != nil {
			return "", fmt.Errorf("%s is %.50q, want true or false", name, q.Get(name))
		}
		set(b)
	}
	return s.bucket(ctx, m, func(x *intake.Session) error { return x.PutStream("body", body) })
}

// slowly is a body that may take any time as long as it goes on.
type slowly struct {
	io.Reader
	c    *http.ResponseController
	each time.Duration
}

// Read waits for the next bytes, but not for ever.
func (b *slowly) Read(p []byte) (int, error) {
	_ = b.c.SetReadDeadline(time.Now().Add(b.each)) // writers of tests have no deadlines
	n, err := b.Reader.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no byte has come for %v: %w", b.each, err)
	}
	return n, err
}

// updateFromIPC says that handles of a device's memory are of no use here.
func (s *Server) updateFromIPC(w http.ResponseWriter, r *http.Request) {
	var u sglang.UpdateIPC
	if !s.read(w, r, &u) {
		return
	}
	s.inTurn(w, r, func(context.Context) (string, error) {
		return "", errors.New("handles of a device's memory are not read here: " + otherWays)
	})
}
