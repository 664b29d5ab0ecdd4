package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"furlong/orchestrator/gather"
	"furlong/rl"
)

// state is the loop's part of a checkpoint.
type state struct {
	Cycle   int           `json:"cycle"`   // the last one trained
	Pushes  int           `json:"pushes"`  // before the one of these weights, which is a resumed run's first act
	Skipped int           `json:"skipped"` // steps skipped in a row
	Epoch   int           `json:"epoch"`   // of the versions of the start that saved it
	Base    int           `json:"base"`    // epoch of the run's first start: 0, unless it went on from another run
	Gather  *gather.State `json:"gather"`  // the prompt source's place, and all that was handed out and has not trained
}

const (
	loopFile = "loop.json"
	trainDir = "trainer"
)

// state returns what decides the rest of the run besides the trainer. Batches that have been generated go along; of one that has not, the
// prompts are handed out again.
func (l *Loop) state() (state, error) {
	s := state{Cycle: l.trained, Pushes: l.pushes, Skipped: l.skipped, Epoch: l.epoch(), Base: l.base}
	if l.pushed == l.trained {
		s.Pushes--
	}
	var err error
	s.Gather, err = l.gather.State(l.trained)
	return s, err
}

// saveLast saves what an interrupt leaves, unless there is nothing new, or the engine serves other weights than the trainer's last (between pushes):
// then the run goes on from the checkpoint before. One step ahead the batch in flight is waited for: it was begun with
// weights that are no more. Where samples are drawn without end they are new: what is in flight is brought to rest and goes along.
func (l *Loop) saveLast(ctx context.Context) error {
	if err := l.settle(); err != nil {
		return err
	}
	if err := l.examined(); err != nil {
		return err
	}
	endless := l.Config.Loop == FullyAsync
	if l.Dir == "" || l.trained == 0 || l.trained == l.saved && !endless || l.trained%l.Config.PushEvery != 0 {
		return nil
	}
	if endless {
		if err := l.gather.Park(ctx); err != nil {
			return err
		}
	}
	l.gather.Settle()
	if l.told != l.trained {
		if err := l.publish(ctx); err != nil {
			return err
		}
	}
	return errors.Join(l.save(ctx), l.settle())
}

// Load brings the loop, the prompt source and the trainer to where the newest checkpoint of Dir was taken or, where there is none, to where From was, and
// returns its cycle. Without either it returns 0. A checkpoint that is not what its manifest says is refused.
func (l *Loop) Load(ctx context.Context) (int, error) {
	at, err := Newest(l.Dir)
	if err != nil {
		return 0, err
	}
	dir, next := Checkpoint(l.Dir, at), "; remove it to go on from the one before"
	if at == 0 {
		dir, next = l.From, ""
	}
	if dir == "" {
		return 0, l.countStarts()
	}
	if err := checkManifest(dir); err != nil {
		return 0, fmt.Errorf("checkpoint %s is damaged: %w%s", dir, err, next)
	}
	s, err := readState(dir)
	if err != nil {
		return 0, err
	}
	l.gather = l.newGatherer()
	if err := l.gather.Restore(s.Gather); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	if err := l.Train.Load(ctx, filepath.Join(dir, trainDir)); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	l.adopt(s)
	if l.base = s.Base; at == 0 {
		l.base, l.saved = s.Epoch+1, 0
	}
	return s.Cycle, l.countStarts()
}

// epoch returns that of the versions which this start publishes.
func (l *Loop) epoch() int { return l.base + l.Epoch }

// countStarts refuses a start too many: its versions would be called like those of the first.
func (l *Loop) countStarts() error {
	if most := rl.Version(1<<32 - 1).Epoch(); l.epoch() > most {
		return fmt.Errorf("the run has been started %d times, and versions of weights tell no more than %d starts apart: --load begins another run from its newest checkpoint", l.Epoch+1, most+1)
	}
	return nil
}

func (l *Loop) adopt(s state) {
	l.trained, l.saved, l.told, l.pushes, l.skipped = s.Cycle, s.Cycle, s.Cycle, s.Pushes, s.Skipped
}
