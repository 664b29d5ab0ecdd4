package router

import (
	"net/http"

	"furlong/door"
)

// user lets pass who shows the key of clients or that of the operator, if there is one.
func (r *Router) user(h http.HandlerFunc) http.HandlerFunc { return r.guard(h, false) }

// operator lets pass who shows the operator's key; without one it is the clients'.
func (r *Router) operator(h http.HandlerFunc) http.HandlerFunc { return r.guard(h, true) }

func (r *Router) guard(h http.HandlerFunc, admin bool) http.HandlerFunc {
	keys := door.Keys{User: r.cfg.APIKey, Admin: r.cfg.AdminKey}
	return func(rw http.ResponseWriter, req *http.Request) {
		if !keys.Allow(req, admin) {
			writeJSON(rw, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
			return
		}
		h(rw, req)
	}
}
