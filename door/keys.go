package door

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Keys are what requests must bear (Authorization: Bearer KEY). The zero Keys asks for none.
type Keys struct {
	User  string // opens everything, or all but what Admin is for
	Admin string // opens everything, and alone what changes a server
}

// Allow reports whether a request bears a key that opens what it asks for; admin says that this changes the server. Where no key is wanted any
// request is allowed, whatever it bears.
func (k Keys) Allow(r *http.Request, admin bool) bool {
	switch given, ok := bearer(r); {
	case admin && k.Admin != "":
		return ok && same(given, k.Admin)
	case k.User == "":
		return true
	default:
		user, operator := same(given, k.User), k.Admin != "" && same(given, k.Admin)
		return ok && (user || operator)
	}
}

// bearer returns the key that a request bears.
func bearer(r *http.Request) (string, bool) {
	scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(key), ok && strings.EqualFold(scheme, "bearer")
}

// same compares in a time that tells nothing of either, lengths included.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
