package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"furlong/dash/api"
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// Config answers every setting.
func (r *Run) Config() (*api.Config, error) {
	settings, err := r.settings()
	if err != nil {
		return nil, err
	}
	out := &api.Config{Settings: settings, Attempts: []api.ConfigChange{}}
	slices.SortStableFunc(out.Settings, func(a, b api.Setting) int { return cmp.Or(one(b.Differs)-one(a.Differs), cmp.Compare(a.Name, b.Name)) })
	out.Attempts, err = r.configChanges()
	return out, err
}

// A stored setting, with the bytes of its value.
type setting struct {
	Value  json.RawMessage `json:"value"`
	Origin string          `json:"origin"`
	Secret bool            `json:"secret"`
}

// readSettings reads a file of settings, nothing if it is not there.
func (r *Run) readSettings(file string) (map[string]setting, error) {
	b, err := disk.ReadIn(r.root, file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.broken(file, err)
	}
	var all map[string]setting
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, r.broken(file, err)
	}
	return all, nil
}

// settings lists the settings by name.
func (r *Run) settings() ([]api.Setting, error) {
	all, err := r.readSettings(run.ConfigFile)
	out := []api.Setting{}
	for name, s := range all {
		o := api.Setting{Name: name, Value: s.Value, Origin: s.Origin, Secret: s.Secret, Differs: differs(s.Origin)}
		if s.Secret {
			o.Value = nil
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b api.Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out, err
}

// differs reports whether a setting was set by whoever started the run, and not by recipe, default, build or machine.
func differs(origin string) bool {
	word, _, _ := strings.Cut(origin, " ")
	return !slices.Contains([]string{"default", "recipe", "build", "machine"}, word)
}

// configChanges lists what changed from attempt to attempt: config-N.json holds what attempt N was the last to have.
func (r *Run) configChanges() ([]api.ConfigChange, error) {
	var attempts []int
	for _, e := range r.entries(".") {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "config-%d.json", &n); err == nil && e.Name() == fmt.Sprintf("config-%d.json", n) {
			attempts = append(attempts, n)
		}
	}
	slices.Sort(attempts)
	out := []api.ConfigChange{}
	for i, n := range attempts {
		next := run.ConfigFile
		if i+1 < len(attempts) {
			next = fmt.Sprintf("config-%d.json", attempts[i+1])
		}
		was, err := r.readSettings(fmt.Sprintf("config-%d.json", n))
		if err != nil {
			return out, err
		}
		now, err := r.readSettings(next)
		if err != nil {
			return out, err
		}
		out = append(out, api.ConfigChange{Attempt: n + 1, Changes: changes(was, now)})
	}
	return out, nil
}

func changes(was, now map[string]setting) []api.Change {
	out := []api.Change{}
	for _, name := range names(was, now) {
		if a, b := was[name].Value, now[name].Value; !sameJSON(a, b) {
			out = append(out, api.Change{Name: name, Was: a, Now: b})
		}
	}
	return out
}

func names(a, b map[string]setting) []string {
	var all []string
	for n := range a {
		all = append(all, n)
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// sameJSON reports whether two values are the same text but for blanks between.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
