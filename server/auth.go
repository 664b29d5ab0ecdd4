package server

import (
	"net/http"

	"furlong/door"
)

// allowed reports whether a request bears a key that opens a gate.
func (s *Server) allowed(r *http.Request, g gate) bool {
	return g == open || door.Keys{User: s.cfg.APIKey, Admin: s.cfg.AdminKey}.Allow(r, g == admin)
}

func (s *Server) unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	write(w, http.StatusUnauthorized, struct {
		Error string `json:"error"`
	}{"Unauthorized"})
}
