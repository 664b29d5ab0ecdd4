package orchestrator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"furlong/rl"
)

// Saved is what a checkpoint holds of the loop, for those who want to look at one.
type Saved struct {
	Cycle   int       `json:"cycle"`         // the last one trained
	Pushes  int       `json:"pushes"`        // of weights, before the one of these
	Skipped int       `json:"skipped_steps"` // in a row
	Waiting []Waiting `json:"waiting"`       // batches generated and not trained on

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
	out.Cycle, out.Pushes, out.Skipped = s.Cycle, s.Pushes, s.Skipped
	for _, p := range s.Pending {
		out.Waiting = append(out.Waiting, Waiting{p.Cycle, p.Version, len(p.Samples)})
	}
	return out, nil
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
	return s, nil
}
