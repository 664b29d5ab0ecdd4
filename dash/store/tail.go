package store

import (
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// A Tail follows the lines that a run adds.
type Tail struct {
	rows, alarms *disk.Follower
	reader       *rowReader // only its reading of what names a row
}

// Follow begins behind a place.
func (r *Run) Follow(p Place) *Tail {
	return &Tail{rows: disk.FollowIn(r.root, run.RowsFile, p.Rows), alarms: disk.FollowIn(r.root, run.AlarmsFile, p.Alarms), reader: newRowReader()}
}

// Here returns the place up to which lines were read.
func (r *Run) Here() (Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.look(); err != nil {
		return Place{}, err
	}
	return Place{r.table.follow.Offset(), r.alarms.file.Offset()}, nil
}

// An Added is something that a run wrote.
type Added struct {
	Event string // row, alarm, reset
	After Place  // up to its end
	Line  []byte // as the file has it; valid during the call alone
}

// Poll tells what was written since the last Poll, rows first. What is no row or alarm is passed over.
func (t *Tail) Poll(tell func(Added) error) error {
	if err := t.poll(t.rows, "row", t.isRow, tell); err != nil {
		return err
	}
	return t.poll(t.alarms, "alarm", isAlarm, tell)
}

func (t *Tail) poll(f *disk.Follower, event string, ok func([]byte) bool, tell func(Added) error) error {
	was := f.Offset()
	restarted, err := f.Poll(func(offset int64, line []byte) error {
		if was > 0 && offset == 0 {
			if err := tell(Added{Event: "reset", After: t.place()}); err != nil {
				return err
			}
		}
		was = 0
		if !ok(line) {
			return nil
		}
		p := t.place()
		if end := offset + int64(len(line)) + 1; event == "row" {
			p.Rows = end
		} else {
			p.Alarms = end
		}
		return tell(Added{Event: event, After: p, Line: line})
	})
	if restarted && err == nil && was > 0 {
		return tell(Added{Event: "reset", After: t.place()})
	}
	return err
}

func (t *Tail) place() Place { return Place{t.rows.Offset(), t.alarms.Offset()} }

func (t *Tail) isRow(raw []byte) bool {
	l := line{cycle: -1}
	return t.reader.split(&l, raw) == nil
}

func isAlarm(raw []byte) bool {
	a, err := run.ParseAlarm(raw)
	return err == nil && (a.Kind == run.Raised || a.Kind == run.Cleared)
}
