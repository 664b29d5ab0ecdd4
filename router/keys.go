package router

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// user lets pass who shows the key of clients or that of the operator, if there is one.
func (r *Router) user(h http.HandlerFunc) http.HandlerFunc {
	return r.guard(h, r.cfg.APIKey, r.cfg.AdminKey)
}

// operator lets pass who shows the operator's key; without one it is the clients'.
func (r *Router) operator(h http.HandlerFunc) http.HandlerFunc {
	if r.cfg.AdminKey == "" {
		return r.user(h)
	}
	return r.guard(h, r.cfg.AdminKey, r.cfg.AdminKey)
}

// guard lets pass who shows a key, or everybody if the first is "".
func (r *Router) guard(h http.HandlerFunc, key, other string) http.HandlerFunc {
	if key == "" {
		return h
	}
	return func(rw http.ResponseWriter, req *http.Request) {
		shown := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		if !same(shown, key) && (other == "" || !same(shown, other)) {
			writeJSON(rw, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
			return
		}
		h(rw, req)
	}
}

// same compares keys in a time that does not depend on them.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
