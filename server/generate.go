package server

import (
	"encoding/json"
	"net/http"

	"furlong/api/sglang"
)

func (s *Server) generateRoutes() []route {
	return []route{{"POST|PUT", "/generate", user, s.generate}}
}

// generate answers POST /generate.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	var g sglang.Generate
	if !s.read(w, r, &g) {
		return
	}
	r = named(r, g.RID.At(0))
	p, err := s.plan(&g)
	switch {
	case g.Stream:
		s.flow(w, r, p, err)
	case err != nil:
		s.fail(w, r, err)
	default:
		s.reply(w, r, p)
	}
}

// reply waits for all samples of a plan and answers them in one piece.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, p *plan) {
	answers, err := s.all(r.Context(), p.specs)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	out := make([]sglang.Answer, len(answers))
	for i, a := range answers {
		out[i] = s.wire(a, &p.wants[i])
	}
	var raw []byte
	if p.many {
		raw, err = json.Marshal(out)
	} else {
		raw, err = json.Marshal(out[0])
	}
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.soon(w)
	writeRaw(w, http.StatusOK, raw)
}
