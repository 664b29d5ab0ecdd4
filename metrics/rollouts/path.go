package rollouts

import (
	"fmt"
	"regexp"
	"strconv"
)

// place is what stands for a cycle in a path, alone or with how many digits it has at least.
var place = regexp.MustCompile(`\{rollout_id(?::0?([1-9])d?)?\}`)

// A Path names the files of many cycles: {rollout_id} in it stands for the cycle, {rollout_id:06} for the cycle in six digits. Without either all cycles
// have one file.
type Path string

// Of returns the file of a cycle.
func (p Path) Of(cycle int) string {
	return place.ReplaceAllStringFunc(string(p), func(m string) string {
		width, _ := strconv.Atoi(place.FindStringSubmatch(m)[1]) // none is 0
		return fmt.Sprintf("%0*d", width, cycle)
	})
}

// Names reports whether p names a file of its own for each cycle.
func (p Path) Names() bool { return place.MatchString(string(p)) }

var braces = regexp.MustCompile(`\{[^}]*\}?`)

// Check reports braces that stand for nothing.
func (p Path) Check() error {
	if m := braces.FindString(place.ReplaceAllString(string(p), "")); m != "" {
		return fmt.Errorf("%q has %s, want {rollout_id} or {rollout_id:06}, or no braces", string(p), m)
	}
	return nil
}
