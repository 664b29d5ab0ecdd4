package main

import (
	"fmt"
	"slices"

	"furlong/config"
)

// evalMode knows what furlong eval is about: a model, or files of results.
type evalMode struct {
	o   *evalOptions
	f   *trainFlags
	set *config.Set
}

// Validate reports what is asked for and can't be.
func (m *evalMode) Validate() error {
	if n := m.f.eval.Samples; m.o.Results == "" && len(m.o.K) > 0 && slices.Max(m.o.K) > n && m.f.eval.Config == "" {
		return fmt.Errorf("--k asks for %d, want at most --n-samples-per-eval-prompt (%d)", slices.Max(m.o.K), n)
	}
	return nil
}

// ofFiles are the flags that say something where nothing is generated.
var ofFiles = []string{"json", "output", "quiet", "recipe", "config", "extra-args"}

// Idle returns what changes nothing where no model is evaluated, or no file read.
func (m *evalMode) Idle() map[string]string {
	all := idle{}
	switch {
	case m.o.Results != "":
		m.leave(all, "--results generates nothing", append(ofFiles, "results", "k", "per-problem", "eval-seed")...)
	case len(m.o.Compare) > 0:
		m.leave(all, "--compare generates nothing", append(ofFiles, "compare", "ignore")...)
	default:
		all.add("there is no --compare", "ignore")
		m.f.idleServers(all)
	}
	return all
}

// leave adds every flag but those.
func (m *evalMode) leave(all idle, why string, but ...string) {
	for _, s := range m.set.Settings() {
		if !slices.Contains(but, s.Name) {
			all.add(why, s.Name)
		}
	}
}
