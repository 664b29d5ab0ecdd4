package server

import (
	"context"
	"errors"
	"net/http"

	"furlong/api/sglang"
	"furlong/checkpoint/pull"
)

// pullWeights brings a folder to a version that a trainer published. No weights that are served are touched, and no other update waits for it.
func (s *Server) pullWeights(w http.ResponseWriter, r *http.Request) {
	var p sglang.PullWeights
	if !s.read(w, r, &p) {
		return
	}
	message, err := s.pulled(r.Context(), p)
	s.outcome(w, r, sglang.Outcome{Success: true, Message: message}, err)
}

func (s *Server) pulled(ctx context.Context, p sglang.PullWeights) (string, error) {
	switch {
	case s.parts.Weights == nil:
		return "", errFixed
	case p.Version == nil:
		return "", errors.New("target_version is missing, want a number")
	}
	local, err := s.updates.roots.resolve(p.Local)
	if err != nil {
		return "", err
	}
	source := ""
	if p.Source != "" || *p.Version > 0 {
		if source, err = s.updates.roots.resolve(p.Source); err != nil {
			return "", err
		}
	}
	res, err := pull.Pull(ctx, pull.Request{Local: local, Base: s.parts.Weights.Base, Source: source, Version: *p.Version})
	if err != nil {
		return "", err
	}
	return res.String(), nil
}
