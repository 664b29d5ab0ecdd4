package server

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"furlong/api/sglang"
	"furlong/rollout"
)

func (s *Server) controlRoutes() []route {
	return []route{
		{"POST", "/abort_request", admin, s.abort},
		{"POST", "/pause_generation", admin, s.pause},
		{"POST", "/continue_generation", admin, s.resume},
		{"GET|POST", "/flush_cache", admin, s.flush},
		{"POST|PUT", "/set_internal_state", admin, s.setState},
	}
}

// abort ends the jobs that a body names. The answer is empty: jobs answer for themselves.
func (s *Server) abort(w http.ResponseWriter, r *http.Request) {
	var a sglang.Abort
	if !s.read(w, r, &a) {
		return
	}
	if err := s.abortJobs(context.WithoutCancel(r.Context()), a); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) abortJobs(ctx context.Context, a sglang.Abort) error {
	if a.RID == "" && !a.All {
		return nil
	}
	jobs := s.jobs.find(func(j *job) bool { return a.All || meant(j.rid, a.RID, a.Prefix) })
	ids := make([]int64, len(jobs))
	for i, j := range jobs {
		ids[i] = j.id
		j.stopped.Store(true)
		if a.Message != "" {
			j.message.Store(&a.Message)
		}
	}
	if a.All {
		return s.engine.AbortAll(ctx)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	return s.engine.Abort(ctx, ids...)
}

// pauseModes are the modes by their names on the wire, where none is abort.
var pauseModes = map[string]rollout.Mode{
	"": rollout.Abort, sglang.PauseAbort: rollout.Abort, sglang.PauseRetract: rollout.Retract, sglang.PauseInPlace: rollout.InPlace,
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request) {
	var p sglang.Pause
	if !s.readAny(w, r, &p) {
		return
	}
	mode, ok := pauseModes[p.Mode]
	if !ok {
		s.fail(w, r, bad("mode is %q, want abort, retract or in_place", p.Mode))
		return
	}
	if err := s.engine.PauseWith(r.Context(), mode); err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, sglang.Status{Message: "generation is paused (" + mode.String() + ")", Status: "ok"})
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	var c sglang.Continue
	if !s.readAny(w, r, &c) {
		return
	}
	if err := s.engine.Resume(r.Context()); err != nil {
		s.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, sglang.Status{Message: "generation goes on", Status: "ok"})
}

// flushEvery is how often a flush that may wait tries again.
const flushEvery = 20 * time.Millisecond

// flush empties the prefix cache, at once or within ?timeout seconds.
func (s *Server) flush(w http.ResponseWriter, r *http.Request) {
	patience := 0.0
	if t := r.URL.Query().Get("timeout"); t != "" {
		var err error
		if patience, err = strconv.ParseFloat(t, 64); err != nil || !(patience >= 0 && patience <= 1e6) {
			s.fail(w, r, bad("timeout is %q, want seconds, 0 or more", t))
			return
		}
	}
	ctx, stop := context.WithTimeout(r.Context(), time.Duration(patience*float64(time.Second)))
	defer stop()
	if err := s.flushWithin(r.Context(), ctx); err != nil {
		s.log.Info("cache not flushed", "error", err.Error())
		text(w, http.StatusBadRequest, "cache not flushed: %v", err)
		return
	}
	text(w, http.StatusOK, "cache flushed")
}

// flushWithin tries until it works or patience is over; then it returns what stood in the way.
func (s *Server) flushWithin(ctx, patience context.Context) error {
	for {
		err := s.engine.Flush(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-patience.Done():
			return err
		case <-time.After(flushEvery):
		}
	}
}

// setState changes settings that may change while the server runs; the answer says for each rank whether all were taken.
func (s *Server) setState(w http.ResponseWriter, r *http.Request) {
	var in sglang.SetInternalState
	if !s.read(w, r, &in) {
		return
	}
	ok := true
	for name, raw := range in.ServerArgs {
		v, err := strconv.ParseFloat(string(raw), 64)
		switch {
		case err == nil && name == "stream_interval" && v >= 1 && v <= 1e6:
			s.every.Store(int64(v))
		case err == nil && name == "log_requests":
			s.verbose.Store(v != 0)
		default:
			ok = false
			s.log.Warn("setting not changed", "name", name, "value", string(raw), "settable", "stream_interval log_requests")
		}
	}
	write(w, http.StatusOK, []bool{ok})
}
