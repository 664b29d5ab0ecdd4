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

	Files  int      `json:"files"`  // that the manifest names
	Damage []string `json:"damage"` // what is not as the manifest says
}

// Waiting is a batch that waits to be trained on.
type Waiting struct {
	Cycle   int        `json:"cycle"`
	Version rl.Version `json:"version"`
	Samples int        `json:"samples"`
}

// ReadSaved reads the loop's part of checkpoint dir and holds all of its files against the manifest. Damage is no error.
func ReadSaved(dir string) (*Saved, error) {
	files, damage, err := compareManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	out := &Saved{Files: files, Damage: []string{}, Waiting: []Waiting{}}
	for _, d := range damage {
		out.Damage = append(out.Damage, d.Error())
	}
	path := filepath.Join(dir, loopFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out.Cycle, out.Pushes, out.Skipped = s.Cycle, s.Pushes, s.Skipped
	for _, p := range s.Pending {
		out.Waiting = append(out.Waiting, Waiting{p.Cycle, p.Version, len(p.Samples)})
	}
	return out, nil
}
