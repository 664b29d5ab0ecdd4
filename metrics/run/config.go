package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
)

// A Setting is a value and where it came from: default, recipe, file, flag, build, machine.
type Setting struct {
	Value  any    `json:"value"`
	Origin string `json:"origin"`
	Secret bool   `json:"secret,omitempty"` // the value is never written
}

// WriteConfig writes config.json and returns the names of the settings that are not what the run had before. The old settings then stay
// under config-N.json, where N is the last attempt that had them.
func (d *Dir) WriteConfig(settings map[string]Setting) (changed []string, err error) {
	path := filepath.Join(d.path, ConfigFile)
	now, err := encodeConfig(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(before) > 0 && !bytes.Equal(before, now) {
		changed = differing(before, now)
		old := filepath.Join(d.path, fmt.Sprintf("config-%d.json", d.holder.Attempt-1))
		if err := disk.ReplaceBytes(old, before); err != nil {
			return nil, err
		}
	}
	return changed, disk.ReplaceBytes(path, now)
}

func encodeConfig(settings map[string]Setting) ([]byte, error) {
	open := maps.Clone(settings)
	for name, s := range open {
		if s.Secret {
			s.Value = nil
			open[name] = s
		}
	}
	b, err := json.MarshalIndent(open, "", " ")
	return append(b, '\n'), err
}

// differing returns the names whose settings are not the same text in both.
func differing(a, b []byte) []string {
	var x, y map[string]json.RawMessage
	json.Unmarshal(a, &x) // what cannot be read has no settings
	json.Unmarshal(b, &y)
	all := maps.Clone(y)
	maps.Copy(all, x)
	var names []string
	for name := range all {
		if !bytes.Equal(x[name], y[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ReadConfig reads the settings of the run in dir. Without a file there are none.
func ReadConfig(dir string) (map[string]Setting, error) {
	path := filepath.Join(dir, ConfigFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var settings map[string]Setting
	if err := json.Unmarshal(b, &settings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return settings, nil
}
