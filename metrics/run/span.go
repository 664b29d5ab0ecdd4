package run

import (
	"fmt"
	"os"
	"path/filepath"

	"furlong/metrics"
	"furlong/rl"
)

// A Span is what one part of a run did for a while.
type Span struct {
	Cycle    int        `json:"cycle"`
	Attempt  int        `json:"attempt"`
	Lane     string     `json:"lane"` // who: engine, trainer, graders, update, eval, driver
	Name     string     `json:"name"` // what: rollout, train, log_probs, ...
	T0       float64    `json:"t0"`   // seconds since 1970
	T1       float64    `json:"t1"`
	WaitsFor string     `json:"waits_for"` // empty when it works
	Version  rl.Version `json:"version"`
}

// WriteSpans appends spans of one cycle. The attempt is filled in.
func (d *Dir) WriteSpans(spans ...Span) error {
	if len(spans) == 0 {
		return nil
	}
	var b []byte
	for _, s := range spans {
		if s.Cycle != spans[0].Cycle {
			return fmt.Errorf("spans of cycles %d and %d, want one cycle at a time", spans[0].Cycle, s.Cycle)
		}
		s.Attempt = d.holder.Attempt
		l, err := line(s)
		if err != nil {
			return fmt.Errorf("span %s of cycle %d: %w", s.Name, s.Cycle, err)
		}
		b = append(b, l...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.openSpans(SpansFile(spans[0].Cycle)); err != nil {
		return err
	}
	return d.spans.Append(b)
}

func (d *Dir) openSpans(name string) error {
	if d.spansAt == name {
		return nil
	}
	if d.spans != nil {
		if err := d.spans.Close(); err != nil {
			return err
		}
		d.spans, d.spansAt = nil, ""
	}
	if err := os.MkdirAll(filepath.Join(d.path, spansDir), 0o755); err != nil {
		return err
	}
	a, err := d.openLines(name)
	if err != nil {
		return err
	}
	d.spans, d.spansAt = a, name
	return nil
}

// ParseSpan reads a line of a spans file.
func ParseSpan(line []byte) (Span, error) { return parse[Span](line) }

// An Alarm is something that went wrong, or got well again, in words.
type Alarm struct {
	Kind     string  `json:"kind"` // Raised or Cleared
	ID       string  `json:"id"`   // which alarm of the table
	Severity string  `json:"severity"`
	Cycle    int     `json:"cycle"`
	Attempt  int     `json:"attempt"`
	Time     float64 `json:"time"`
	Text     string  `json:"text"`
	Link     string  `json:"link"` // where to look, within the pages of the run
}

// The kinds of lines in alarms.jsonl.
const (
	Raised  = "raised"
	Cleared = "cleared"
)

// WriteAlarm appends a to alarms.jsonl. Attempt and time are filled in.
func (d *Dir) WriteAlarm(a Alarm) error {
	if a.ID == "" || a.Kind != Raised && a.Kind != Cleared {
		return fmt.Errorf("alarm %q is %q, want an id and %s or %s", a.ID, a.Kind, Raised, Cleared)
	}
	a.Attempt, a.Time = d.holder.Attempt, metrics.Unix(d.o.Now())
	b, err := line(a)
	if err != nil {
		return err
	}
	return d.alarms.Append(b)
}

// ParseAlarm reads a line of alarms.jsonl.
func ParseAlarm(line []byte) (Alarm, error) { return parse[Alarm](line) }
