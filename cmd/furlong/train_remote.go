package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"furlong/kernels"
	"furlong/remote/sglang"
	"furlong/rl"
	"furlong/rollout"
)

// isRemote reports whether others generate.
func (f *trainFlags) isRemote() bool { return len(f.servers.URLs) > 0 }

// newRollout makes the engine that generates: one inside, or one over servers.
func (j *job) newRollout(ctx context.Context, k kernels.Backend) (rl.RolloutEngine, error) {
	if !j.f.isRemote() {
		var err error
		c, report := j.f.rollout, j.told()
		c.Experts, c.Entries = report.Experts, report.Entries
		j.local, err = rollout.New(c, j.policy.twin(j.f.model), k)
		return j.local, err
	}
	e, err := j.attach(ctx, j.f.servers)
	if err != nil {
		return nil, err
	}
	j.remote = e
	return e.Rollout(), nil
}

// attach goes to servers that hold the policy in the shape in which the run has it.
func (j *job) attach(ctx context.Context, c sglang.Config) (*sglang.Engine, error) {
	return sglang.Attach(ctx, c, sglang.Options{
		Mode: j.f.rollout.UpdateMode, ConfigJSON: j.policy.files.ConfigJSON, Experts: j.policy.files.Experts, Context: j.f.rollout.Context,
		Formats: sglang.Formats{Weights: j.f.rollout.Format, State: j.f.rollout.KV}, Routes: j.routes(), Log: j.log,
	})
}

// apartFlags say where evaluations are drawn, if not where training samples are.
type apartFlags struct {
	URLs []string `flag:"eval-url" help:"servers that evaluate beside the run, of the kinds that --rollout-url takes: training goes on meanwhile, and waits only for the next evaluation, a checkpoint and the end"`
}

// servers returns the addresses, each by itself.
func (f apartFlags) servers() []string { return sglang.Config{URLs: f.URLs}.Servers() }

// Validate reports addresses that are none.
func (f apartFlags) Validate() error {
	var errs []error
	for _, s := range f.servers() {
		if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, fmt.Errorf("--eval-url is %q, want http://host:port", s))
		}
	}
	return errors.Join(errs...)
}

// newApart attaches the servers that evaluate, if there are any.
func (j *job) newApart(ctx context.Context) (err error) {
	if len(j.f.apart.URLs) == 0 || j.evals == nil {
		return nil
	}
	c := j.f.servers
	c.URLs = j.f.apart.URLs
	if j.apart, err = j.attach(ctx, c); err != nil {
		return fmt.Errorf("--eval-url: %w", err)
	}
	return nil
}

// generate drives the engine inside until ctx ends. Servers drive themselves.
func (j *job) generate(ctx context.Context) error {
	if j.local == nil {
		<-ctx.Done()
		return nil
	}
	return j.local.Run(ctx)
}

// leave closes the data, ends what there is of servers, and says what became of samples and servers.
func (j *job) leave() {
	if j.data != nil {
		if err := j.data.Close(); err != nil {
			j.log.Warn("data", "not_closed", err.Error())
		}
	}
	if j.apart != nil {
		j.apart.Close()
	}
	if j.remote == nil {
		return
	}
	s := j.remote.Stats()
	j.log.Info("rollout servers", "requests", s.Requests, "samples", s.Samples, "drawn_anew", s.Again, "sent_elsewhere", s.Busy, "servers_lost", s.Lost, "servers_back", s.Back,
		"servers_stale", s.Stale, "stray_stops", s.Strays, "updates", s.Updates, "updates_refused", s.Refused, "caches_not_flushed", s.Flushes)
	j.remote.Close()
}

// idleServers adds what changes nothing about who generates.
func (f *trainFlags) idleServers(m idle) {
	if !f.isRemote() && len(f.apart.URLs) == 0 { // servers that evaluate are reached as those that generate are
		m.add("there is no --rollout-url", "rollout-api-key-file", "rollout-admin-api-key-file", "update-weight-transport", "update-weight-dir", "rollout-bucket-bytes",
			"rollout-concurrency", "rollout-retries", "rollout-wait")
		return
	}
	if f.isRemote() {
		m.add("the servers of --rollout-url have it as they were started", "sglang-max-running-requests", "sglang-chunked-prefill-size", "sglang-max-total-tokens",
			"rollout-recent-tokens", "sglang-page-size", "sglang-disable-radix-cache", "max-queued-requests")
	}
	if f.servers.Transport == "stream" {
		m.add("weights go over the connection", "update-weight-dir")
	}
	if f.servers.Transport == "disk" {
		m.add("weights go through a folder", "rollout-bucket-bytes")
	}
}
