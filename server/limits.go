package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"furlong/api/sglang"
)

// body returns a request's body, all of it. It is refused when it is longer, or takes longer, than may be.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.cfg.MaxBody {
		w.Header().Set("Connection", "close")
		return nil, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("body has %d bytes, want at most %d", r.ContentLength, s.cfg.MaxBody)}
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(s.cfg.BodyTime)) // writers of tests have no deadlines; connections do
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	if err == nil {
		_ = c.SetReadDeadline(time.Time{}) // a sample may take any time; the connection is watched for its end meanwhile
		return raw, nil
	}
	w.Header().Set("Connection", "close") // nobody waits for the rest
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("body has more than %d bytes", s.cfg.MaxBody)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refusal{http.StatusRequestTimeout, fmt.Sprintf("body has not come within %v", s.cfg.BodyTime)}
	}
	return nil, bad("body broke off: %v", err)
}

// read decodes a request's body, or answers what is wrong with it and returns false.
func (s *Server) read(w http.ResponseWriter, r *http.Request, to any) bool {
	raw, err := s.body(w, r)
	if err == nil {
		if err = sglang.Decode(raw, to); err == nil {
			return true
		}
		err = refusal{http.StatusBadRequest, err.Error()}
	}
	s.problem(w, r, err)
	return false
}

// readAny is read for endpoints that may be asked without a body.
func (s *Server) readAny(w http.ResponseWriter, r *http.Request, to any) bool {
	raw, err := s.body(w, r)
	if err == nil && len(raw) > 0 && string(raw) != "null" {
		if err = sglang.Decode(raw, to); err != nil {
			err = refusal{http.StatusBadRequest, err.Error()}
		}
	}
	if err != nil {
		s.problem(w, r, err)
	}
	return err == nil
}

// soon gives a client from now on the time it may take to read what is there.
func (s *Server) soon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.WriteTime)) // as above
}
