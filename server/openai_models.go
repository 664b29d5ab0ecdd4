package server

import (
	"net/http"

	"furlong/api/openai"
)

func (s *Server) onlyModel() openai.Model {
	name := *s.name.Load()
	return openai.Model{
		ID: name, Object: openai.ObjectModel, Created: s.started.Unix(), OwnedBy: "sglang", Root: name, MaxModelLen: s.parts.Model.Context,
	}
}

// models lists what is served: one model.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, openai.Models{Object: openai.ObjectList, Data: []openai.Model{s.onlyModel()}})
}

// model answers about one model by its name, which may have slashes.
func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); id != *s.name.Load() {
		write(w, http.StatusNotFound, openai.NoModel(id))
		return
	}
	write(w, http.StatusOK, s.onlyModel())
}
