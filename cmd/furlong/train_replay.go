package main

import (
	"errors"

	"furlong/rl"
)

// report returns what samples of a run tell of their choices: those that are replayed, and those that were asked for.
func (f *trainFlags) report() rl.Report {
	return rl.Report{Experts: f.train.Replay.Rollout || f.rollout.Experts, Entries: f.train.Replay.Entries}
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
