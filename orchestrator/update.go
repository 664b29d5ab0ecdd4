package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furlong/rl"
	"furlong/weightsync"
)

// An Update is one attempt to give the trainer's weights to the rollout engine.
type Update struct {
	Cycle    int // trained before it
	Version  rl.Version
	State    rl.Digest      // of what the trainer published
	Attested rl.Attestation // the zero Attestation where the engine attests nothing
	Tensors  int
	Bytes    int // to come, each counted once
	Err      error

	Quantise time.Duration // packing the weights in the engine's formats
	Gather   time.Duration // listing them, with their digests
	Apply    time.Duration // sending, checking and deriving, until the engine serves them
	Stop     time.Duration // in which the engine chose no token
}

// errOther says that an engine serves what nobody published: trying again would hide it.
var errOther = errors.New("the rollout engine holds other weights than the trainer published")

// push publishes the trainer's weights until the engine serves them. A refused update leaves the engine on its old version; one refusal too many
// ends the run.
func (l *Loop) push(ctx context.Context) error {
	v := rl.NewVersion(l.epoch(), l.pushes+1)
	for refused := 1; ; refused++ {
		u := l.attempt(ctx, v)
		if u.Err != nil && ctx.Err() != nil {
			return u.Err
		}
		l.book(u)
		if err := l.Watch.Updated(u); err != nil {
			return errors.Join(u.Err, err)
		}
		if u.Err == nil {
			break
		}
		if refused >= l.Config.MaxRefused || errors.Is(u.Err, errOther) {
			return u.Err
		}
	}
	l.pushes++
	l.version, l.pushed = v, l.trained
	return nil
}

// attempt publishes the trainer's weights once and compares what the engine then attests with what was published.
func (l *Loop) attempt(ctx context.Context, v rl.Version) *Update {
	u := &Update{Cycle: l.trained, Version: v}
	t0 := l.Clock()
	w := l.Train.Publish(v)
	t1 := l.Clock()
	if u.Err = u.list(ctx, w); u.Err != nil {
		return u
	}
	t2 := l.Clock()
	u.Err = l.give(ctx, w)
	t3 := l.Clock()
	u.Quantise, u.Gather, u.Apply, u.Stop = t1.Sub(t0), t2.Sub(t1), t3.Sub(t2), t3.Sub(t2)
	if u.Err == nil {
		u.Err = u.compare(l.Rollout)
	}
	return u
}

// list takes down what a publication consists of.
func (u *Update) list(ctx context.Context, w rl.Weights) error {
	raw, err := w.Manifest(ctx)
	if err != nil {
		return fmt.Errorf("publication of version %v: %w", u.Version, err)
	}
	m, err := weightsync.ParseManifest(raw)
	if err != nil {
		return fmt.Errorf("publication of version %v: %w", u.Version, err)
	}
	u.State, u.Tensors, u.Bytes = m.State, len(m.Tensors), m.Bytes()
	return nil
}

// give updates the engine, which stands still meanwhile.
func (l *Loop) give(ctx context.Context, w rl.Weights) error {
	if err := l.Rollout.Pause(ctx); err != nil {
		return err
	}
	return errors.Join(l.Rollout.Update(ctx, w), l.Rollout.Resume(ctx))
}

// compare holds what an engine says it serves against what was published.
func (u *Update) compare(e rl.RolloutEngine) error {
	if got := e.Version(); got != u.Version {
		return fmt.Errorf("%w: it serves version %v, want %v", errOther, got, u.Version)
	}
	at, ok := e.(rl.Attester)
	if !ok {
		return nil
	}
	if u.Attested = at.Attestation(); u.Attested.Version != u.Version || u.Attested.State != u.State {
		return fmt.Errorf("%w: it attests state %v of version %v, published is state %v of version %v",
			errOther, u.Attested.State, u.Attested.Version, u.State, u.Version)
	}
	return nil
}

// book adds an attempt to the figures of the cycle's report.
func (l *Loop) book(u *Update) {
	s := l.update
	for name, d := range map[string]time.Duration{"quantise": u.Quantise, "gather": u.Gather, "apply": u.Apply, "stop": u.Stop} {
		s["perf/update_weights_"+name+"_time"] += d.Seconds()
	}
	s["perf/update_weights_wire_bytes"] += float64(u.Bytes)
	s["update/refused"] += one(u.Err != nil)
	s["update/retries"] = s["update/refused"] - one(u.Err != nil)
	s["update/version"], s["update/tensors"], s["update/bytes"] = float64(u.Version.Count()), float64(u.Tensors), float64(u.Bytes)
	s["update/attested"], s["update/compared"] = one(u.Attested.Version != 0), one(u.Attested.Cold)
}
