package orchestrator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"furlong/orchestrator/gather"
	"furlong/rl"
)

// Saved is what a checkpoint holds of the loop, for those who want to look at one.
type Saved struct {
	Cycle   int            `json:"cycle"`         // the last one trained
	Pushes  int            `json:"pushes"`        // of weights, before the one of these
	Skipped int            `json:"skipped_steps"` // in a row
	Epoch   int            `json:"epoch"`         // of the versions that the start published which saved it
	Base    int            `json:"base"`          // epoch of the run's first start
	Waiting []Waiting      `json:"waiting"`       // batches generated and not trained on
	Ready   Buffer         `json:"ready"`         // groups that are finished and in no batch
	Begun   Buffer         `json:"begun"`         // groups of which something is still to be drawn
	Prompts []byte         `json:"-"`             // the prompt source's state
	Account gather.Account `json:"account"`       // what became of all that was handed out

	Unread bool     `json:"unread,omitempty"` // the loop's part is damaged, and the figures above are not known
	Files  int      `json:"files"`            // that the manifest names
	Damage []string `json:"damage"`           // what is not as the manifest says
}

// Waiting is a batch that waits to be trained on.
type Waiting struct {
	Cycle   int        `json:"cycle"`
	Version rl.Version `json:"version"`
	Samples int        `json:"samples"`
}

// Buffer counts groups that wait, and what has been drawn of them.
type Buffer struct {
	Groups  int   `json:"groups"`
	Samples int   `json:"samples"`        // that have tokens
	Partial int   `json:"partial"`        // of these, the unfinished ones
	Tokens  int64 `json:"tokens"`         // of all samples
	Kept    int64 `json:"partial_tokens"` // of the unfinished ones
}

func bufferOf(groups []*gather.Group) (b Buffer) {
	b.Groups = len(groups)
	for _, g := range groups {
		for _, s := range g.Samples {
			if s == nil || len(s.Response) == 0 {
				continue
			}
			b.Samples++
			b.Tokens += int64(len(s.Response))
			if s.Stop == rl.Unfinished || s.Stop == rl.StopAbort {
				b.Partial++
				b.Kept += int64(len(s.Response))
			}
		}
	}
	return b
}

// ReadSaved reads the loop's part of checkpoint dir and holds all of its files against the manifest. Damage is no error, even where it is
// of the loop's part.
func ReadSaved(dir string) (*Saved, error) {
	files, damage, err := compareManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	out := &Saved{Files: files, Damage: []string{}, Waiting: []Waiting{}}
	for _, d := range damage {
		out.Damage = append(out.Damage, d.Error())
	}
	s, err := readState(dir)
	if err != nil && len(damage) == 0 {
		return nil, err
	}
	if out.Unread = err != nil; out.Unread {
		return out, nil
	}
	out.fill(s)
	return out, nil
}

// ReadLoop reads the loop's part of checkpoint dir alone, whatever there is of the rest. The manifest is looked at only where it cannot be read.
func ReadLoop(dir string) (*Saved, error) {
	s, err := readState(dir)
	if err != nil {
		if damage := checkManifest(dir); damage != nil {
			return nil, fmt.Errorf("checkpoint %s is damaged: %w", dir, damage)
		}
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	out := &Saved{}
	out.fill(s)
	return out, nil
}

// fill takes over what the loop wrote.
func (out *Saved) fill(s state) {
	out.Cycle, out.Pushes, out.Skipped, out.Epoch, out.Base, out.Prompts = s.Cycle, s.Pushes, s.Skipped, s.Epoch, s.Base, s.Gather.Prompts
	out.Account, out.Ready, out.Begun = s.Gather.Whole(), bufferOf(s.Gather.Ready), bufferOf(s.Gather.Begun)
	for _, p := range s.Gather.Batches {
		w := Waiting{Cycle: p.Cycle, Version: p.Version}
		for _, g := range p.Groups {
			w.Samples += len(g.Samples)
		}
		out.Waiting = append(out.Waiting, w)
	}
}

// NextVersion returns the version that start number starts of a run, counted from 0, publishes first when it goes on from here: its own checkpoint, or that
// of another run.
func (s *Saved) NextVersion(starts int, own bool) rl.Version {
	base := s.Base
	if !own {
		base = s.Epoch + 1
	}
	return rl.NewVersion(base+starts, s.Pushes+1)
}

// readState reads the loop's part of a checkpoint.
func readState(dir string) (s state, err error) {
	path := filepath.Join(dir, loopFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if s.Gather == nil {
		return s, fmt.Errorf("%s has no place in the data (gather)", path)
	}
	return s, nil
}
