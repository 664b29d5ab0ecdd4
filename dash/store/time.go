package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
	"furlong/verdict"
)

// partNames are the series that sum to the time of a cycle, in the order of stacks.
var partNames = func() []string {
	var names []string
	for _, s := range metrics.All() {
		if s.Part {
			names = append(names, s.Name)
		}
	}
	return names
}()

// around is how many cycles before and after one are shown beside it.
const around = 10

// Time answers one cycle as lanes.
func (r *Run) Time(cycle int) (*api.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.look(); err != nil {
		return nil, err
	}
	spans, bad, err := r.spans(cycle)
	if err != nil {
		return nil, err
	}
	out := &api.Time{Cycle: cycle, Lanes: lanes(spans), Parts: []api.Part{}, Around: []api.CycleParts{}, Series: partNames, Span: map[string]int{}, Bad: append([]api.Problem{}, bad.report()...)}
	t := r.table
	if err := t.warm(append(slices.Clone(partNames), stepTime)); err != nil {
		return nil, r.broken(run.RowsFile, err)
	}
	i := t.find(int32(cycle))
	if here := i < len(t.points) && int(t.points[i].cycle) == cycle; !here && len(spans) == 0 {
		return nil, asked(Missing, "there is no cycle %d", cycle)
	}
	for j := max(0, i-around); j < min(len(t.points), i+around+1); j++ {
		p := t.points[j]
		if p.row < 0 {
			continue
		}
		c := api.CycleParts{Cycle: int(p.cycle), Step: t.numberOf(stepTime, p)}
		for _, k := range partNames {
			c.Parts = append(c.Parts, t.numberOf(k, p))
		}
		if c.Cycle == cycle {
			out.Step = c.Step
			for k, name := range partNames {
				out.Parts = append(out.Parts, api.Part{Key: name, Value: c.Parts[k]})
			}
		}
		out.Around = append(out.Around, c)
	}
	for i, s := range spans {
		if i == 0 || s.T0 < out.T0 {
			out.T0 = s.T0
		}
		out.T1 = max(out.T1, s.T1)
		out.Span[s.Lane]++
	}
	return out, nil
}

// numberOf returns a value verbatim.
func (t *table) numberOf(key string, p point) api.Number {
	c := t.column(key)
	if c == nil {
		return ""
	}
	again, err := t.foreign([]point{p}, []string{key})
	if err != nil {
		return ""
	}
	return t.number(c, p, again)
}

// spans reads what was done in a cycle, by the highest attempt.
func (r *Run) spans(cycle int) ([]run.Span, problems, error) {
	file := run.SpansFile(cycle)
	bad := newProblems(file)
	var all []run.Span
	highest := 0
	mine := fmt.Appendf(nil, `"cycle":%d,`, cycle)
	_, err := disk.FollowIn(r.root, file, 0).Poll(func(offset int64, line []byte) error {
		object := bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}"))
		if object && !bytes.Contains(line, mine) {
			return nil // nearly all lines of the file; parsing them takes long
		}
		s, err := run.ParseSpan(line)
		switch {
		case err != nil:
			bad.add(offset, err)
		case s.Cycle == cycle:
			all = append(all, s)
			highest = max(highest, s.Attempt)
		}
		return nil
	})
	if err != nil {
		return nil, bad, r.broken(file, err)
	}
	all = slices.DeleteFunc(all, func(s run.Span) bool { return s.Attempt != highest })
	slices.SortStableFunc(all, func(a, b run.Span) int { return cmp.Compare(a.T0, b.T0) })
	return all, bad, nil
}

// laneOrder is the order from top to bottom; others follow by name.
var laneOrder = []string{"engine", "rollout", "trainer", "grader", "reward", "update", "eval", "save", "driver"}

func lanes(spans []run.Span) []api.Lane {
	by := map[string]*api.Lane{}
	names := []string{}
	for _, s := range spans {
		l := by[s.Lane]
		if l == nil {
			l = &api.Lane{Name: s.Lane}
			by[s.Lane] = l
			names = append(names, s.Lane)
		}
		l.Spans = append(l.Spans, api.Span{Name: s.Name, T0: s.T0, T1: s.T1, WaitsFor: s.WaitsFor, Version: verdict.Version(s.Version), Attempt: s.Attempt})
	}
	place := func(name string) int {
		i := slices.IndexFunc(laneOrder, func(l string) bool { return strings.HasPrefix(name, l) })
		if i < 0 {
			return len(laneOrder)
		}
		return i
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	out := []api.Lane{}
	for _, n := range names {
		out = append(out, *by[n])
	}
	return out
}

// Trace writes a cycle as Chrome's tracing and Perfetto read it.
func Trace(t *api.Time) ([]byte, error) {
	type event struct {
		Name string         `json:"name"`
		Ph   string         `json:"ph"`
		Pid  int            `json:"pid"`
		Tid  int            `json:"tid"`
		Ts   float64        `json:"ts,omitempty"`
		Dur  float64        `json:"dur,omitempty"`
		Args map[string]any `json:"args"`
	}
	all := []event{}
	for i, l := range t.Lanes {
		all = append(all, event{Name: "thread_name", Ph: "M", Pid: 1, Tid: i + 1, Args: map[string]any{"name": l.Name}})
		for _, s := range l.Spans {
			args := map[string]any{"cycle": t.Cycle, "version": s.Version}
			if s.WaitsFor != "" {
				args["waits_for"] = s.WaitsFor
			}
			all = append(all, event{Name: s.Name, Ph: "X", Pid: 1, Tid: i + 1, Ts: math.Round((s.T0 - t.T0) * 1e6), Dur: math.Round((s.T1 - s.T0) * 1e6), Args: args})
		}
	}
	return json.Marshal(map[string]any{"traceEvents": all, "displayTimeUnit": "ms"})
}
