package main

import (
	"errors"

	"furlong/metrics/samples"
	"furlong/rl"
)

// report returns what samples must tell of their choices: those that are replayed, and those that were asked for.
func (f *trainFlags) report() rl.Report {
	return rl.Report{Experts: f.train.Replay.Rollout || f.rollout.Experts, Entries: f.train.Replay.Entries}
}

// told returns what samples of a run tell: what they must, and their experts where those are kept and the engine that draws is inside, to which it
// costs next to nothing. Servers may refuse.
func (j *job) told() rl.Report {
	r := j.f.report()
	r.Experts = r.Experts || !j.f.isRemote() && j.keepsExperts()
	return r
}

// keepsExperts reports whether experts stay on disk.
func (j *job) keepsExperts() bool {
	keep, err := samples.ParseKeepExperts(j.f.run.Routes)
	return err == nil && !keep.None() && j.policy.Model.Choices() > 0
}

// checkReplay reports choices that nobody can record.
func (f *trainFlags) checkReplay() error {
	if f.isRemote() && f.train.Replay.Entries {
		return errors.New("--use-rollout-indexer-replay needs the engine inside, want it without --rollout-url: servers do not tell which entries tokens read")
	}
	return nil
}

// routes returns the shape of the experts that servers are to tell, nil where they are not.
func (j *job) routes() *rl.Routes {
	if !j.f.report().Experts {
		return nil
	}
	m := j.policy.Model
	return rl.NewRoutes(len(m.Layers()), m.Choices(), m.Experts())
}
