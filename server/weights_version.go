package server

import (
	"context"
	"fmt"
	"net/http"

	"furlong/api/sglang"
)

// updateVersion gives a label: to what is served, or in a session to what it brings.
func (s *Server) updateVersion(w http.ResponseWriter, r *http.Request) {
	var u sglang.UpdateVersion
	if !s.read(w, r, &u) {
		return
	}
	message, err := s.next(r.Context(), func(ctx context.Context) (string, error) { return s.label(ctx, u) })
	s.outcome(w, r, sglang.Outcome{Success: true, Message: message, Version: u.Version}, err)
}

// label comes before the abort, so that what is aborted has it.
func (s *Server) label(ctx context.Context, u sglang.UpdateVersion) (string, error) {
	if u.Version == "" {
		return "", fmt.Errorf("new_version is missing, want a text")
	}
	message := fmt.Sprintf("weights %q are served", u.Version)
	if x := s.updates.session; x != nil {
		x.label = &u.Version
		message = fmt.Sprintf("the weights of the open session will be %q once they are served", u.Version)
	} else {
		s.relabel(u.Version)
	}
	if u.AbortAll == nil || *u.AbortAll {
		return message, s.abortJobs(context.WithoutCancel(ctx), sglang.Abort{All: true})
	}
	return message, nil
}
