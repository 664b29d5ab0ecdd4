package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furlong/metrics"
	"furlong/metrics/run"
)

// An Alarm is something that looks or looked wrong, from when to when.
type Alarm struct {
	run.Alarm     // as it was raised
	Until     int // cycle in which it was cleared, if it was
	Cleared   bool
}

// Begun returns the first cycle that each attempt wrote.
func Begun(rows []metrics.Row) map[int]int {
	first := map[int]int{}
	for _, r := range rows {
		if was, ok := first[r.Attempt]; r.Kind == metrics.Cycle && (!ok || r.Cycle < was) {
			first[r.Attempt] = r.Cycle
		}
	}
	return first
}

// Fold makes of the lines of alarms.jsonl, in the order of the file, one alarm for each time that it was raised: those that stand first, then by cycle. A line about a cycle that a later attempt ran again
// is passed over; begun tells where each attempt began ([Begun]).
func Fold(lines []run.Alarm, begun map[int]int) []Alarm {
	var all []Alarm
	stands := map[string]int{}
	for _, l := range lines {
		if superseded(l, begun) {
			continue
		}
		at, open := stands[l.ID]
		switch {
		case l.Kind == run.Raised && !open:
			stands[l.ID] = len(all)
			all = append(all, Alarm{Alarm: l})
		case l.Kind == run.Cleared && open:
			all[at].Until, all[at].Cleared = l.Cycle, true
			delete(stands, l.ID)
		}
	}
	slices.SortStableFunc(all, func(a, b Alarm) int {
		return cmp.Or(one(a.Cleared)-one(b.Cleared), cmp.Compare(a.Cycle, b.Cycle))
	})
	return all
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func superseded(l run.Alarm, begun map[int]int) bool {
	for attempt, first := range begun {
		if attempt > l.Attempt && l.Cycle >= first {
			return true
		}
	}
	return false
}

// alarms says what stands, and that rows which were written twice are unequal.
func alarms(r Run) Sentence {
	s := Sentence{ID: "alarms", Tone: OK}
	var text []string
	for _, a := range r.Alarms {
		if a.Cleared {
			continue
		}
		s.worse(toneOf(a.Severity))
		text = append(text, fmt.Sprintf("Since cycle %d: %s", a.Cycle, said(a.Text)))
		if a.Link != "" {
			s.Links = append(s.Links, Link{fmt.Sprintf("cycle %d", a.Cycle), a.Link})
		}
	}
	unequal, _ := Unequal(r.Twice)
	if unequal != "" {
		s.Tone = Bad
		text = append([]string{unequal}, text...)
	}
	earlier := ""
	if n := len(r.Alarms) - len(text) + one(unequal != ""); n > 0 {
		earlier = fmt.Sprintf("Earlier: %d.", n)
	}
	s.Big = "None"
	if len(r.Alarms) == 0 && unequal == "" {
		earlier = "No alarm was raised."
	}
	if len(text) > 0 {
		s.Big = fmt.Sprintf("%d standing", len(text))
	}
	s.Text = join(append(text, earlier)...)
	return s
}

func toneOf(severity string) Tone {
	if severity == "error" {
		return Bad
	}
	return Warn
}

// Unequal says which cycles were run twice with unequal values, and which is the first. Where all are equal it says nothing.
func Unequal(twice []metrics.Repeat) (text string, first int) {
	var cycles []string
	for _, t := range twice {
		if len(t.Differ) > 0 && t.Kind == metrics.Cycle {
			if cycles == nil {
				first = t.Cycle
			}
			cycles = append(cycles, fmt.Sprint(t.Cycle))
		}
	}
	if len(cycles) == 0 {
		return "", 0
	}
	return Short(fmt.Sprintf("Cycles that ran twice with unequal values: %s", strings.Join(cycles, ", ")), 200), first
}
