package rollout

// memory is the scheduler's view of the pages.
type memory struct{ e *Engine }

// Fits reports whether n tokens have room alone.
func (m memory) Fits(n int) bool { return m.e.pages.Fits(n) }

// Open finds what is known of a request's tokens.
func (m memory) Open(id int64, n int) (known int, ok bool) {
	r := m.e.flight[id]
	if c := m.e.pages.Cache(); c != nil {
		known = c.Open(&r.seq, r.ask.Space, r.tokens, r.findable())
	}
	if !m.e.pages.Room(&r.seq, n) {
		m.e.pages.Release(&r.seq)
		return 0, false
	}
	return known, true
}

// Common returns how many tokens two requests begin with alike.
func (m memory) Common(a, b int64) int {
	s, t := m.e.flight[a].tokens, m.e.flight[b].tokens
	n := min(len(s), len(t))
	for i := range n {
		if s[i] != t[i] {
			return i
		}
	}
	return n
}

// Grow makes room for a request's tokens below n.
func (m memory) Grow(id int64, n int) int { return m.e.pages.Grow(&m.e.flight[id].seq, n) }

// Close gives back a request's pages.
func (m memory) Close(id int64) {
	r := m.e.flight[id]
	m.e.keepChoices(r)
	m.e.pages.Release(&r.seq)
}
