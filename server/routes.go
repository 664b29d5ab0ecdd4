package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"furlong/api/sglang"
)

// A gate says which key a route asks for.
type gate uint8

const (
	open  gate = iota // none
	user              // the API key, if there is one
	admin             // the admin key, if there is one, else the API key
)

// A route is one row of the table: GET|POST /flush_cache.
type route struct {
	methods string // joined by |
	path    string // as http.ServeMux reads it
	gate    gate
	serve   http.HandlerFunc
}

// table joins the routes of all files. To add endpoints, list them in a method and add it here.
func (s *Server) table() []route {
	return slices.Concat(
		s.generateRoutes(),
		s.controlRoutes(),
		s.healthRoutes(),
		s.infoRoutes(),
		s.loadRoutes(),
		s.metricRoutes(),
		s.tokenizeRoutes(),
		s.profileRoutes(),
		s.openaiRoutes(),
		s.weightRoutes(),
		s.adapterRoutes(),
		s.absentRoutes(),
	)
}

// routes returns the handler of the whole table. A row later in the table may take the place of an absent one.
func (s *Server) routes() (http.Handler, error) {
	mux := http.NewServeMux()
	taken := map[string]bool{}
	for _, r := range s.table() {
		if taken[r.path] {
			return nil, fmt.Errorf("server: %s is in the table of routes twice", r.path)
		}
		taken[r.path] = true
		mux.Handle(r.path, s.gated(r))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, refusal{http.StatusNotFound, fmt.Sprintf("there is no endpoint %s", r.URL.Path)})
	})
	return s.outer(mux), nil
}

// gated checks key and method before a route's handler.
func (s *Server) gated(rt route) http.HandlerFunc {
	methods := strings.Split(rt.methods, "|")
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.allowed(r, rt.gate) {
			s.unauthorized(w)
			return
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if !slices.Contains(methods, method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			s.problem(w, r, refusal{http.StatusMethodNotAllowed, fmt.Sprintf("%s is asked with %s, want %s", rt.path, r.Method, rt.methods)})
			return
		}
		rt.serve(w, r)
	}
}

// outer is around everything: answers name the process, any origin may ask, and a panic is one request's.
func (s *Server) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recovered(w, r)
		w.Header().Set(sglang.ProcessHeader, s.process)
		if r.Header.Get("Origin") != "" {
			anyOrigin(w, r)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				w.WriteHeader(http.StatusOK)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// anyOrigin says that pages of any origin may ask, by any method and with any header.
func anyOrigin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "*")
	h.Set("Access-Control-Allow-Headers", "*")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked) // the star does not cover Authorization
	}
	if asked := r.Header.Get("Access-Control-Request-Method"); asked != "" {
		h.Set("Access-Control-Allow-Methods", asked)
	}
}
