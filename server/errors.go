package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"

	"furlong/api/sglang"
	"furlong/rl"
)

// A refusal is what a client did wrong, or what cannot be done for it now: a status and a sentence.
type refusal struct {
	status int
	text   string
}

// Error returns the sentence.
func (e refusal) Error() string { return e.text }

// bad returns the refusal of a request that is wrong in itself.
func bad(format string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Errorf(format, args...).Error()}
}

// status returns the HTTP status that goes with an error.
func status(err error) int {
	var r refusal
	switch {
	case errors.As(err, &r):
		return r.status
	case errors.Is(err, rl.ErrFull):
		return http.StatusServiceUnavailable
	case errors.Is(err, rl.ErrNoToken):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// gone reports whether an error only says that nobody waits for the answer any more.
func gone(r *http.Request, err error) bool {
	return r.Context().Err() != nil && errors.Is(err, context.Canceled)
}

// write answers with a JSON value.
func write(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil { // a value of ours that cannot be written is a bug
		panic(fmt.Sprintf("server: answer %T: %v", v, err))
	}
	writeRaw(w, code, raw)
}

// writeRaw answers with JSON.
func writeRaw(w http.ResponseWriter, code int, raw []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	_, _ = w.Write(raw) // who has gone does not read
}

// text answers with a line of plain text.
func text(w http.ResponseWriter, code int, format string, args ...any) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintf(w, format+"\n", args...)
}

// fail answers an error as native endpoints do: what a client did wrong nested, the rest flat.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if gone(r, err) {
		return
	}
	if status(err) != http.StatusBadRequest {
		s.problem(w, r, err)
		return
	}
	s.complain(r, err)
	write(w, http.StatusBadRequest, sglang.Failed(err.Error()))
}

// problem answers an error in the flat shape.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	if gone(r, err) {
		return
	}
	s.complain(r, err)
	code := status(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, code, sglang.NewProblem(code, err.Error()))
}

// complain logs an error that a client is told: its own mistakes as warnings, since callers that repeat them stall a run.
func (s *Server) complain(r *http.Request, err error) {
	s.meter.refused.Add(1)
	code := status(err)
	attrs := []any{"path", r.URL.Path, "status", code, "error", err.Error()}
	if rid, ok := r.Context().Value(ridKey{}).(string); ok {
		attrs = append(attrs, "rid", rid)
	}
	if code >= http.StatusInternalServerError && !errors.Is(err, rl.ErrFull) {
		s.log.Error("request failed", attrs...)
		return
	}
	s.log.Warn("request refused", attrs...)
}

// ridKey is where a request's context says what its client calls it.
type ridKey struct{}

// named returns a request whose complaints tell a rid.
func named(r *http.Request, rid string) *http.Request {
	if rid == "" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), ridKey{}, rid))
}

// recovered answers a panic of one request and logs where it was.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		panic(v)
	default:
		s.log.Error("handler panicked", "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		write(w, http.StatusInternalServerError, sglang.NewProblem(http.StatusInternalServerError, "internal error"))
	}
}
