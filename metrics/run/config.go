package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// A Change is a setting whose value is not what it was. The value is nil where there is no such setting.
type Change struct {
	Name     string
	Was, Now json.RawMessage
}

// String says what the value is and was.
func (c Change) String() string {
	return fmt.Sprintf("%s is %s, was %s", c.Name, valueText(c.Now), valueText(c.Was))
}

func valueText(v json.RawMessage) string {
	switch {
	case v == nil:
		return "no setting"
	case string(v) == "null":
		return "not set"
	}
	return string(v)
}

// WriteConfig writes config.json and returns the settings that are not what the run had before, by name. The old settings then stay
// under config-N.json, where N is the last attempt that had them.
func (d *Dir) WriteConfig(settings map[string]Setting) (changed []Change, err error) {
	path := filepath.Join(d.path, ConfigFile)
	now, err := encodeConfig(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	before, err := disk.ReadFile(path)
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

// differing returns the settings whose values are not the same text in both. Where a value came from may differ: a resumed run reads its own settings.
func differing(was, now []byte) []Change {
	x, y := values(was), values(now)
	all := maps.Clone(y)
	maps.Copy(all, x)
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(x[name], y[name]) {
			out = append(out, Change{name, x[name], y[name]})
		}
	}
	return out
}

// values returns the value of each setting in a config.json; none of what cannot be read.
func values(config []byte) map[string]json.RawMessage {
	var settings map[string]struct {
		Value json.RawMessage `json:"value"`
	}
	out := map[string]json.RawMessage{}
	var line bytes.Buffer
	if json.Compact(&line, config) != nil || json.Unmarshal(line.Bytes(), &settings) != nil {
		return out
	}
	for name, s := range settings {
		out[name] = s.Value
	}
	return out
}

// ReadConfig reads the settings of the run in dir. Without a file there are none.
func ReadConfig(dir string) (map[string]Setting, error) {
	path := filepath.Join(dir, ConfigFile)
	b, err := disk.ReadFile(path)
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
