package server

import (
	"net/http"

	"furlong/api/sglang"
)

// adapterRoutes are endpoints of what this server has none of: adapters, and memory that others write to.
func (s *Server) adapterRoutes() []route {
	var out []route
	for _, path := range []string{"/load_lora_adapter", "/load_lora_adapter_from_tensors", "/load_lora_adapter_from_distributed", "/unload_lora_adapter"} {
		out = append(out, route{"POST", path, admin, s.noAdapters})
	}
	for _, path := range []string{"/parallelism_config", "/get_remote_instance_transfer_engine_info"} {
		out = append(out, route{"GET|POST", path, user, s.noRemoteMemory})
	}
	return out
}

// noRemoteMemory answers who wants to write into the memory of a device.
func (s *Server) noRemoteMemory(w http.ResponseWriter, r *http.Request) {
	s.problem(w, r, refusal{http.StatusNotFound, "weights don't come by remote memory access: " + otherWays})
}

// noAdapters answers that there are none, in the shape of these endpoints.
func (s *Server) noAdapters(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name string `json:"lora_name"`
	}
	if !s.read(w, r, &in) {
		return
	}
	err := bad("lora_name is %.100q, but adapters are not served here: send the weights that they make", in.Name)
	s.complain(r, err)
	write(w, http.StatusBadRequest, sglang.Adapters{Message: err.Error(), Loaded: map[string]string{}})
}
