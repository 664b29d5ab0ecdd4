package store

import (
	"cmp"
	"slices"

	"furlong/dash/api"
)

// A NextAsk says from where to go to which gap.
type NextAsk struct {
	At    SampleID
	Pos   int    // response token; -1 to begin with the largest
	Up    bool   // to the next larger gap instead of the next smaller
	Among string // sample, group or cycle
}

// A spot is a token and its gap.
type spot struct {
	group uint32
	slot  uint16
	pos   int
	gap   float64
}

// rank orders spots: largest gaps first, equal ones by place.
func rank(a, b spot) int {
	return cmp.Or(cmp.Compare(b.gap, a.gap), cmp.Compare(a.group, b.group), cmp.Compare(a.slot, b.slot), cmp.Compare(a.pos, b.pos))
}

// Next answers the next gap in the order of size.
func (r *Run) Next(a NextAsk) (*api.Token, error) {
	if a.Among != "sample" && a.Among != "group" && a.Among != "cycle" {
		return nil, asked(Wrong, "in is %q, want sample, group or cycle", a.Among)
	}
	x := &r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	e, rows, err := x.cycle(a.At.Cycle, a.At.Eval)
	if err != nil {
		return nil, err
	}
	var all []spot
	for i := range rows {
		w := &rows[i]
		if a.Among != "cycle" && w.Group != a.At.Group || a.Among == "sample" && int(w.Slot) != a.At.Slot {
			continue
		}
		s, err := x.stored(e.Key, w.Group, w.Slot)
		if err != nil {
			return nil, err
		}
		for _, pos := range places(s) {
			all = append(all, spot{w.Group, w.Slot, pos, gapOf(s, pos)})
		}
	}
	slices.SortFunc(all, rank)
	at, err := a.from(all)
	if err != nil {
		return nil, err
	}
	if at < 0 || at >= len(all) {
		return nil, asked(Missing, "there is no further gap in the %s", a.Among)
	}
	t := all[at]
	return &api.Token{Cycle: a.At.Cycle, Eval: a.At.Eval, Group: t.group, Slot: int(t.slot), Pos: t.pos, Gap: api.Float(t.gap), Rank: at + 1, Of: len(all)}, nil
}

// from returns the place in order of the gap that follows.
func (a NextAsk) from(all []spot) (int, error) {
	if a.Pos < 0 {
		return 0, nil
	}
	i := slices.IndexFunc(all, func(s spot) bool { return s.group == a.At.Group && int(s.slot) == a.At.Slot && s.pos == a.Pos })
	if i < 0 {
		return 0, asked(Missing, "token %d of sample %d of group %d has no gap", a.Pos, a.At.Slot, a.At.Group)
	}
	if a.Up {
		return i - 1, nil
	}
	return i + 1, nil
}
