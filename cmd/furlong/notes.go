package main

import (
	"strings"

	"furlong/config"
	"furlong/launchline"
)

// tell logs what a command line does not say in so many words: the recipe under it, flags that stand for others, and what was read and not acted on.
func (e *env) tell(set *config.Set) {
	if p := set.Presumed(); p.Recipe != "" {
		e.log.Info("recipe", "name", p.Recipe, "why", p.Why, "other", "--recipe names another, --recipe none takes none")
	}
	var expanded []string
	for _, x := range set.Expansions() {
		if len(x.Flags) > 0 {
			expanded = append(expanded, "--"+strings.TrimSpace(x.Flag+" "+x.Value))
		}
	}
	if len(expanded) > 0 {
		e.log.Info("flags that stand for others", "flags", strings.Join(expanded, " "), "which", "furlong config print, with the same flags, spells them out")
	}
	e.report(set.Notes())
}

// report logs what was read and not acted on: a line for each reason of flags that have no effect beside others, and one for all that
// the table of launch lines' flags lists.
func (e *env) report(notes []config.Note) {
	var reasons []string
	flags := map[string][]string{}
	for _, n := range notes {
		why := n.Why
		if n.Listed {
			why = listed
		}
		switch {
		case n.Held:
		case flags[why] == nil:
			reasons = append(reasons, why)
			fallthrough
		default:
			flags[why] = append(flags[why], spelled(n))
		}
	}
	for _, why := range reasons {
		e.log.Warn("options read and not acted on", "flags", strings.Join(flags[why], " "), "why", why)
	}
}

// listed is the reason of all flags that have one of their own in the table.
const listed = "furlong config print, with the same flags, says why of each; furlong config known lists every flag that is known"

// spelled returns what a note is about: a flag, or a variable.
func spelled(n config.Note) string {
	if n.Origin == launchline.Origin {
		return n.Flag
	}
	return "--" + n.Flag
}
