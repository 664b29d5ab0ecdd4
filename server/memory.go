package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"

	"furlong/api/sglang"
)

// memoryTags are what may be released. Nothing is recorded for replay on a processor, so cuda_graph is nothing.
var memoryTags = []string{"kv_cache", "weights", "cuda_graph"}

func (s *Server) releaseMemory(w http.ResponseWriter, r *http.Request) { s.memory(w, r, s.release) }
func (s *Server) resumeMemory(w http.ResponseWriter, r *http.Request)  { s.memory(w, r, s.restore) }

// memory does something to the memory that a body names, all of it if none.
func (s *Server) memory(w http.ResponseWriter, r *http.Request, f func(ctx context.Context, tags []string) error) {
	var m sglang.Memory
	if !s.readAny(w, r, &m) {
		return
	}
	tags := []string(m.Tags)
	if len(tags) == 0 {
		tags = memoryTags
	}
	err := s.wait(r.Context(), func(ctx context.Context) error {
		for _, tag := range tags {
			if !slices.Contains(memoryTags, tag) {
				return fmt.Errorf("tag is %.50q, want one of %v", tag, memoryTags)
			}
		}
		return f(ctx, tags)
	})
	if err != nil {
		s.fail(w, r, bad("%w", err))
		return
	}
	s.log.Info("memory", "path", r.URL.Path, "tags", tags)
	write(w, http.StatusOK, nil)
}

// wait runs f in its turn among updates.
func (s *Server) wait(ctx context.Context, f func(ctx context.Context) error) error {
	select {
	case s.updates.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.updates.turn }()
	return f(ctx)
}

// release gives memory back while nobody needs it. Of weights it is the set that updates are made in: those that are served stay, so that an
// update of a part finds the rest.
func (s *Server) release(ctx context.Context, tags []string) error {
	if err := s.engine.Ping(ctx); err != nil { // then Stats are those after the last answer
		return err
	}
	if n := s.engine.Stats().Running; n > 0 {
		return fmt.Errorf("%d samples hold memory, want none", n)
	}
	if slices.Contains(tags, "kv_cache") {
		if err := s.engine.Release(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(tags, "weights") {
		s.updates.away.Store(true)
		if k, err := s.keeper(); err == nil {
			if err := k.Shed(ctx); err != nil {
				return err
			}
		}
	}
	debug.FreeOSMemory()
	return nil
}

// restore takes memory again. What was not released stays.
func (s *Server) restore(ctx context.Context, tags []string) error {
	if slices.Contains(tags, "weights") {
		s.updates.away.Store(false)
	}
	if slices.Contains(tags, "kv_cache") {
		return s.engine.Restore(ctx)
	}
	return nil
}

// released reports whether anything is.
func (s *Server) released() bool { return s.updates.away.Load() || s.engine.Stats().Released }
