package rollouts

import (
	"fmt"
	"regexp"
	"strconv"
)

// place is what stands for a cycle in a path, alone or with how many digits it has at least.
var place = regexp.MustCompile(`\{(cycle|rollout_id)(?::0?([1-9])d?)?\}`)

// A Path names the files of many cycles: {cycle} in it stands for the cycle, {rollout_id} for its number from 0 on, and {cycle:06} has six digits at
// least. Without them all cycles have one file.
type Path string

// Of returns the file of a cycle.
func (p Path) Of(cycle int) string {
	return place.ReplaceAllStringFunc(string(p), func(m string) string {
		parts := place.FindStringSubmatch(m)
		width, _ := strconv.Atoi(parts[2]) // none is 0
		n := cycle
		if parts[1] == "rollout_id" {
			n--
		}
		return fmt.Sprintf("%0*d", width, n)
	})
}

// Names reports whether p names a file of its own for each cycle.
func (p Path) Names() bool { return place.MatchString(string(p)) }

var braces = regexp.MustCompile(`\{[^}]*\}?`)

// Check reports braces that stand for nothing.
func (p Path) Check() error {
	if m := braces.FindString(place.ReplaceAllString(string(p), "")); m != "" {
		return fmt.Errorf("%q has %s, want {cycle}, {cycle:06} or {rollout_id}, or no braces", string(p), m)
	}
	return nil
}
