package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// A marker says which version a folder holds.
type marker struct {
	Version string `json:"version"`
}

func markerFile(local string) string { return filepath.Join(local, syncDir, "state.json") }

// Applied returns the version that a local folder holds, -1 if it holds none.
func Applied(local string) (int, error) {
	raw, err := os.ReadFile(markerFile(local))
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	var m marker
	if err := json.Unmarshal(raw, &m); err != nil {
		return none, fmt.Errorf("%s: %w", markerFile(local), err)
	}
	v, err := strconv.Atoi(m.Version)
	if err != nil || v < 0 {
		return none, fmt.Errorf("%s: version is %.20q, want a number", markerFile(local), m.Version)
	}
	return v, nil
}

// note says that a local folder holds a version, once everything written before is on the disk.
func note(local string, v int) error {
	raw, err := json.Marshal(marker{fmt.Sprintf("%06d", v)})
	if err != nil {
		return err
	}
	tmp := markerFile(local) + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, markerFile(local))
}

// forget says that a local folder holds no version.
func forget(local string) error {
	if err := os.Remove(markerFile(local)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
