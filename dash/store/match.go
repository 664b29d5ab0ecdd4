package store

import (
	"math"
	"slices"

	"furlong/metrics/samples"
)

// A matcher holds a filter against blocks of rows.
type matcher struct {
	x     *sampleIndex
	f     *Filter
	keep  [samples.Block]bool // rows of the block for which all holds so far
	any   [samples.Block]bool
	found []int
}

// scan calls each with the rows of every block for which the filter holds, blocks in order, or last first. Places are within the block. It ends when each returns false.
func (m *matcher) scan(backward bool, each func(p *piece, rows []int) (bool, error)) error {
	order := make([]int, len(m.x.segments))
	for i := range order {
		order[i] = i
	}
	if backward {
		slices.Reverse(order)
	}
	for _, i := range order {
		s := &m.x.segments[i]
		for b := range s.blocks() {
			if backward {
				b = s.blocks() - 1 - b
			}
			from, to := s.span(b)
			p := &piece{s: s, block: b, n: to - from, bufs: &m.x.buffers}
			rows, err := m.match(p)
			if err != nil {
				return m.x.run.broken(indexDir, err)
			}
			if len(rows) == 0 {
				continue
			}
			if goOn, err := each(p, rows); err != nil || !goOn {
				return err
			}
		}
	}
	return nil
}

// match returns the rows of a block for which the filter holds.
func (m *matcher) match(p *piece) ([]int, error) {
	m.found = m.found[:0]
	if !m.begin(p) || m.ruledOut(p) {
		return nil, nil
	}
	for i := range m.f.terms {
		if err := m.term(&m.f.terms[i], p); err != nil {
			return nil, err
		}
	}
	for i, k := range m.keep[:p.n] {
		if k {
			m.found = append(m.found, i)
		}
	}
	return m.found, nil
}

// begin keeps the rows that count, and reports whether there are any.
func (m *matcher) begin(p *piece) bool {
	from, to := p.s.span(p.block)
	some := false
	for at := from; at < to; {
		e := p.s.entryOf(at)
		end := min(e.first+e.count, to)
		live := e.live && (m.f.evals || e.Eval == "")
		for ; at < end; at++ {
			m.keep[at-from] = live
		}
		some = some || live
	}
	return some
}

// ruledOut reports whether the extremes of a block leave no row for some term.
func (m *matcher) ruledOut(p *piece) bool {
	if p.s.chunk == nil {
		return false
	}
	return slices.ContainsFunc(m.f.terms, func(t term) bool {
		return !t.not && !slices.ContainsFunc(t.any, func(a predicate) bool { return a.possible(p) })
	})
}

// possible reports whether a may hold for a row of the block, as far as its extremes tell.
func (a *predicate) possible(p *piece) bool {
	switch a.kind {
	case hasVerdict:
		z := p.s.chunk.Zone(samples.ColVerdict, p.block)
		return z.Min <= float64(a.verdict) && float64(a.verdict) <= z.Max
	case inRange:
		if a.outside || a.field.stale {
			return true
		}
		z := p.s.chunk.Zone(a.field.column, p.block)
		lo, hi := z.Min, z.Max
		if m := a.field.mask; m != 0 && !math.IsInf(lo, 0) {
			if uint32(lo)&^m != uint32(hi)&^m {
				return true
			}
			lo, hi = float64(uint32(lo)&m), float64(uint32(hi)&m)
		}
		return lo <= a.hi && hi >= a.lo
	}
	return true
}

// term takes away the rows for which t does not hold.
func (m *matcher) term(t *term, p *piece) error {
	any := m.any[:p.n]
	clear(any)
	for i := range t.any {
		if err := m.predicate(&t.any[i], p, any); err != nil {
			return err
		}
	}
	for i, a := range any {
		if a == t.not {
			m.keep[i] = false
		}
	}
	return nil
}

// predicate sets any where a holds.
func (m *matcher) predicate(a *predicate, p *piece, any []bool) error {
	switch a.kind {
	case inRange:
		return m.ranged(a, p, any)
	case hasFlag, hasVerdict:
		c := samples.ColFlags
		if a.kind == hasVerdict {
			c = samples.ColVerdict
		}
		data, err := p.column(c)
		if err != nil {
			return err
		}
		for i := range any {
			v := uint32(c.Value(data, i))
			any[i] = any[i] || a.kind == hasFlag && samples.Flags(v)&a.flag != 0 || a.kind == hasVerdict && v == uint32(a.verdict)
		}
	case inSet:
		data, err := p.column(samples.ColSet)
		if err != nil {
			return err
		}
		for i := range any {
			any[i] = any[i] || m.x.set(uint8(samples.ColSet.Value(data, i))) == a.text
		}
	case hasText:
		panic("text is not in the index") // Filter.split takes these terms out
	}
	return nil
}

func (m *matcher) ranged(a *predicate, p *piece, any []bool) error {
	c := a.field.column
	data, err := p.column(c)
	if err != nil {
		return err
	}
	if a.field.stale {
		if err := m.x.ages(); err != nil {
			return err
		}
		p.have = [samples.NumColumns]bool{} // ages has used the buffers
		if data, err = p.column(c); err != nil {
			return err
		}
	}
	from, _ := p.s.span(p.block)
	for i := range any {
		v := c.Value(data, i)
		if a.field.mask != 0 {
			v = float64(uint32(v) & a.field.mask)
		}
		if a.field.stale {
			v = float64(p.s.entryOf(from+i).newest) - v
		}
		if a.holds(v) {
			any[i] = true
		}
	}
	return nil
}

// set returns the name of a data set.
func (x *sampleIndex) set(n uint8) string {
	if int(n) < len(x.x.Sets) {
		return x.x.Sets[n]
	}
	return ""
}
