package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// allowed reports whether a request bears a key that opens a gate. Without keys everything is open, whatever a request bears.
func (s *Server) allowed(r *http.Request, g gate) bool {
	var keys []string
	switch {
	case g == open:
		return true
	case g == admin && s.cfg.AdminKey != "":
		keys = []string{s.cfg.AdminKey}
	case s.cfg.APIKey == "":
		return true
	default:
		keys = []string{s.cfg.APIKey, s.cfg.AdminKey}
	}
	given, ok := bearer(r)
	found := false
	for _, k := range keys {
		if k != "" && sameKey(given, k) {
			found = true
		}
	}
	return ok && found
}

// bearer returns the key that a request bears.
func bearer(r *http.Request) (string, bool) {
	scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(key), ok && strings.EqualFold(scheme, "bearer")
}

// sameKey compares in a time that tells nothing of either, lengths included.
func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (s *Server) unauthorized(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	write(w, http.StatusUnauthorized, struct {
		Error string `json:"error"`
	}{"Unauthorized"})
}
