package server

import (
	"maps"
	"net/http"

	"furlong/api/sglang"
)

func (s *Server) infoRoutes() []route {
	return []route{
		{"GET", "/{$}", user, func(w http.ResponseWriter, _ *http.Request) {
			text(w, http.StatusOK, "furlong serves %s; see /server_info", *s.name.Load())
		}},
		{"GET", "/model_info", user, s.modelInfo},
		{"GET", "/get_model_info", user, s.modelInfo},
		{"GET", "/weight_version", user, s.weightVersion},
		{"GET", "/get_weight_version", user, s.weightVersion},
		{"GET", "/server_info", user, s.serverInfo},
		{"GET", "/get_server_info", user, s.serverInfo},
	}
}

// served returns the label of the weights that are served.
func (s *Server) served() string { return s.labels.of(s.engine.Stats().Version) }

func (s *Server) modelInfo(w http.ResponseWriter, _ *http.Request) {
	m := s.parts.Model
	var preferred *string
	if s.cfg.Preferred != "" {
		preferred = &s.cfg.Preferred
	}
	write(w, http.StatusOK, sglang.ModelInfo{
		ModelPath: *s.path.Load(), ServedModelName: *s.name.Load(), TokenizerPath: m.TokenizerPath, IsGeneration: true, PreferredSamplingParams: preferred,
		WeightVersion: s.served(), LoadFormat: m.LoadFormat, ModelType: m.Type, Architectures: append([]string{}, m.Architectures...),
		Attested: s.attested(),
	})
}

// attested returns what the engine attests of the weights that are served.
func (s *Server) attested() *sglang.Attested {
	a := s.engine.Attestation()
	if a.Version == 0 {
		return nil
	}
	return &sglang.Attested{State: a.State.String(), Effective: a.Effective.String(), Canary: a.Canary, Tensors: a.Tensors, Bytes: a.Bytes, Cold: a.Cold}
}

func (s *Server) weightVersion(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]string{"weight_version": s.served()})
}

// serverInfo answers from a snapshot: it never waits for the engine.
func (s *Server) serverInfo(w http.ResponseWriter, _ *http.Request) {
	facts := s.facts()
	state := maps.Clone(facts)
	maps.Copy(state, s.figures())
	facts["internal_states"] = []any{state}
	write(w, http.StatusOK, facts)
}

// facts are the settings and sizes of a server by the names that the dialect has for them: one process with one rank of everything. What the launch says
// itself comes last.
func (s *Server) facts() map[string]any {
	m, st := s.parts.Model, s.engine.Stats()
	capacity := st.Lasting.Total * st.PageTokens
	out := map[string]any{
		"model_path": *s.path.Load(), "served_model_name": *s.name.Load(), "tokenizer_path": m.TokenizerPath, "load_format": m.LoadFormat,
		"weight_version": s.served(), "version": version(), "context_length": m.Context, "vocab_size": m.Vocab,
		"tp_size": 1, "dp_size": 1, "pp_size": 1, "ep_size": 1, "nnodes": 1, "node_rank": 0, "base_gpu_id": 0, "gpu_id_step": 1,
		"dtype": "auto", "quantization": nil, "kv_cache_dtype": "auto", "mem_fraction_static": nil, "max_running_requests": st.MaxRunning,
		"max_total_tokens": capacity, "max_total_num_tokens": capacity, "max_prefill_tokens": nil, "chunked_prefill_size": nil,
		"max_req_input_len": max(0, min(m.Context, capacity)-1), "page_size": st.PageTokens, "schedule_policy": "fcfs",
		"random_seed": s.cfg.Seed, "enable_memory_saver": true, "disable_radix_cache": false, "enable_deterministic_inference": true,
		"enable_return_routed_experts": m.Experts, "enable_return_indexer_topk": false, "response_start_len": true, "enable_metrics": s.cfg.Metrics,
		"skip_tokenizer_init": s.parts.Tokenizer == nil, "disaggregation_mode": "null", "enable_lora": false, "stream_interval": s.every.Load(),
		"incremental_streaming_output": s.cfg.Incremental, "log_requests": s.verbose.Load(), "enable_cache_report": s.cfg.CacheReport,
		"preferred_sampling_params": nil, "skip_server_warmup": false, "trust_remote_code": false, "is_embedding": false,
		"startup_time": float64(s.started.UnixNano()) / 1e9, "kv_events": nil, "status": "ready",
	}
	if s.cfg.Preferred != "" {
		out["preferred_sampling_params"] = s.cfg.Preferred
	}
	maps.Copy(out, m.Launch)
	return out
}

// figures are how it goes.
func (s *Server) figures() map[string]any {
	st := s.engine.Stats()
	return map[string]any{
		"last_gen_throughput": s.meter.throughput(), "memory_usage": map[string]any{"token_capacity": st.Lasting.Total * st.PageTokens},
		"effective_max_running_requests_per_dp": st.MaxRunning, "num_running_reqs": st.Running, "num_waiting_reqs": st.Queued, "is_paused": st.Paused,
	}
}
