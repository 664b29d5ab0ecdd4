package main

import (
	"cmp"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"

	"furlong/rollout"
	"furlong/server"
	"furlong/starter"
)

// model returns f as the other commands know it.
func (f servedFlags) model() modelFlags {
	m := modelFlags{Checkpoint: f.Model, Format: "bf16", Threads: f.Threads, Backend: f.Backend}
	if f.Format == "float32" || f.Format == "f32" {
		m.Format = "f32"
	}
	return m
}

// policy returns the model with its weights, or with some that were drawn.
func (f servedFlags) policy(r rollout.Config, log *slog.Logger) (*policy, error) {
	if f.LoadFormat != "dummy" {
		return loadPolicyFor(f.model(), formatOf(r), log)
	}
	raw, where := starter.Config, "built-in config.json"
	if f.Model != "" {
		var err error
		where = filepath.Join(f.Model, "config.json")
		if raw, err = os.ReadFile(where); err != nil {
			return nil, err
		}
	}
	p, err := newPolicy(raw, where, f.model())
	if err != nil {
		return nil, err
	}
	p.Init(1)
	log.Warn("weights are drawn, not read", "load_format", "dummy")
	return p, nil
}

// parts returns what a server needs to know of a loaded model, and where it is served.
func (l *loaded) parts(f *serveFlags, at *net.TCPAddr, log *slog.Logger) (server.Parts, error) {
	path := cmp.Or(f.what.Model, "built-in")
	p := server.Parts{
		Log: log, Weights: l.weights(f),
		Model: server.Model{
			Path: path, Name: cmp.Or(f.what.Name, path), TokenizerPath: cmp.Or(f.what.Tokenizer, path), Type: "deepseek_v4",
			Architectures: []string{"DeepseekV4ForCausalLM"}, Vocab: l.policy.Config().Vocab, Context: f.rollout.Context, Experts: f.rollout.Experts,
			LoadFormat: f.what.LoadFormat, Launch: f.told(at),
		},
	}
	err := f.what.words(&p, log)
	return p, err
}

// told returns what /server_info tells of the launch: the engine's settings, the address, and last what flags say verbatim.
func (f *serveFlags) told(at *net.TCPAddr) map[string]any {
	r := f.rollout
	out := map[string]any{
		"host": f.where.Host, "port": at.Port, "dtype": f.what.Format, "kv_cache_dtype": r.KV, "chunked_prefill_size": r.PrefillTokens,
		"max_prefill_tokens": r.PrefillTokens, "disable_radix_cache": r.NoSharing, "rollout_format": r.Format,
	}
	if r.MaxQueued > 0 {
		out["max_queued_requests"] = r.MaxQueued
	}
	facts, _ := f.launch.facts() // Validate has looked
	maps.Copy(out, facts)
	return out
}
