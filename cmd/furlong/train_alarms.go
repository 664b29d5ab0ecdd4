package main

import (
	"context"
	"path/filepath"

	"furlong/config"
	"furlong/journal"
	"furlong/orchestrator"
	"furlong/rl"
)

// newJournal returns the journal of the run, with what its alarms need to say where a gap comes from.
func (j *job) newJournal() *journal.Journal {
	b := &journal.Journal{Dir: j.dir, Log: j.log, Mixed: j.f.mixed(), Tell: j.tell, Parity: j.parityCommand, Blind: blindOfServers}
	if j.actor != nil {
		b.Load = j.actor.ExpertLoad
	}
	if j.f.debug.trainOnly() {
		b.Blind = "samples are recorded ones (--load-debug-rollout-data): nothing that drew them is here"
	}
	return b
}

const blindOfServers = "samples come from servers (--rollout-url), whose memory can't be read from here, and whose scores go through the caches that may be at fault"

// rescore has the engine inside compute samples again, cold.
func (j *job) rescore(ctx context.Context, samples []*rl.Sample) (*rl.Rescored, error) {
	return j.local.Rescore(ctx, j.policy.twin(j.f.model), samples)
}

// parityCommand returns the command that holds the run's engines against each other, over its newest checkpoint if there is one.
func (j *job) parityCommand() string {
	f := j.f
	a := "rollout:format=" + f.rollout.Format + ",kv=" + f.rollout.KV
	if f.isRemote() {
		a = f.servers.Servers()[0]
	}
	line := "furlong parity " + a + " trainer:format=" + f.train.Format + ",kv=" + f.train.KV
	model := f.model.Checkpoint
	dir := checkpoints(j.dir.Path())
	if at, err := orchestrator.Newest(dir); err == nil && at > 0 {
		model = filepath.Join(orchestrator.Checkpoint(dir, at), "trainer", "model")
	}
	if model != "" {
		line += " --hf-checkpoint " + config.Quote(model)
	}
	return line
}
