package dash

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"

	"furlong/door"
)

const (
	tokenPath  = "/api/token"
	cookieName = "furlong-dash"
)

// refuses returns the status of a request that is not answered, 0 for one that is. The answer has no body, so that a stranger learns nothing.
func (s *Server) refuses(r *http.Request) int {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed
	case !s.host(r.Host):
		return http.StatusForbidden
	case foreign(r):
		return http.StatusForbidden
	case leaves(r.URL.Path):
		return http.StatusNotFound
	}
	return 0
}

// host reports whether a request is for a name of this server. Without this a page elsewhere could have its own name point at this machine, and read.
func (s *Server) host(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	return door.Loopback(name) || slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// foreign reports whether a page of another origin asks. A link from elsewhere may open a page, but not an answer.
func foreign(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" {
		_, at, ok := strings.Cut(o, "://")
		if !ok || !strings.EqualFold(at, r.Host) {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	opens := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !opens || strings.HasPrefix(r.URL.Path, "/api/")
}

// leaves reports whether a path goes up. Nothing that this server answers does.
func leaves(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		if part == ".." || part == "." {
			return true
		}
	}
	return strings.Contains(path, "\x00")
}

// bears reports whether a request bears the token, if one is wanted: in its cookie, or as a key.
func (s *Server) bears(r *http.Request) bool {
	if s.o.Token == "" {
		return true
	}
	if c, err := r.Cookie(cookieName); err == nil && same(c.Value, s.o.Token) {
		return true
	}
	return door.Keys{User: s.o.Token}.Allow(r, false)
}

// enter gives a browser that bears the token the cookie, so that the token need not stand in addresses.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !s.bears(r) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if s.o.Token != "" {
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.o.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	w.WriteHeader(http.StatusNoContent)
}

// same compares in a time that tells nothing of either.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
