package config

import (
	"slices"
	"strings"

	"furlong/nearest"
)

// suggest ends a complaint about an unknown flag.
func (s *Set) suggest(name string) string {
	if base, ok := strings.CutPrefix(name, "no-"); ok && s.byName[base] != nil {
		return "; --" + base + " always has a value"
	}
	if near := nearest.Name(name, s.names()); near != "" {
		return ", did you mean --" + near + "?"
	}
	return "; --help lists the flags"
}

// names returns every name that is understood, settings first, in a fixed order.
func (s *Set) names() []string {
	names := []string{"help"}
	for _, n := range s.settings {
		names = append(names, n.Name)
		names = append(names, n.Others...)
		if n.isSwitch() {
			names = append(names, "no-"+n.Name)
		}
	}
	var options []string
	for name, o := range s.options {
		options = append(options, name)
		if o.Takes == Switch {
			options = append(options, "no-"+name)
		}
	}
	slices.Sort(options)
	return append(names, options...)
}
