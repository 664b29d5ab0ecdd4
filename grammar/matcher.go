package grammar

import (
	"errors"
	"fmt"
	"slices"
)

// A Matcher reads one text, token by token. One goroutine at a time uses it; matchers of one grammar may be used side by side.
type Matcher struct {
	r        *reader
	at       *set
	over     bool // an end was read
	err      error
	narrowed int
}

// Start returns a matcher at the begin of a text. What one matcher had to work out others of the same grammar and vocabulary find.
func (g *Grammar) Start(v *Vocabulary) *Matcher {
	r := g.reader(v)
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Matcher{r: r, at: r.root}
}

// reader returns the grammar's reader of a vocabulary.
func (g *Grammar) reader(v *Vocabulary) *reader {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.readers[v]; r != nil {
		return r
	}
	r := newReader(g, v)
	if g.readers == nil {
		g.readers = map[*Vocabulary]*reader{}
	}
	g.readers[v] = r
	return r
}

// Allow sets allowed[t] for each token t to whether it may come next. Ends may where the text may end, and nothing else may after one.
// A token that is allowed can always be followed by others up to an end, provided that the vocabulary has a token for each byte.
func (m *Matcher) Allow(allowed []bool) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if m.over || m.err != nil {
		clear(allowed)
		m.allowEnds(allowed)
		return
	}
	tokens := m.r.maskOf(m.at)
	tokens.write(allowed)
	if m.at.done {
		m.allowEnds(allowed)
	} else if tokens.bits == nil && len(tokens.list) == 0 {
		m.err = errors.New("no token of the vocabulary continues the text")
	}
	m.count()
}

func (m *Matcher) allowEnds(allowed []bool) {
	for _, id := range m.r.v.ends {
		if int(id) < len(allowed) {
			allowed[id] = true
		}
	}
}

func (m *Matcher) count() {
	if m.r.narrowed {
		m.r.narrowed = false
		m.narrowed++
	}
}

// Accept takes the token that was drawn. One that was not allowed is an error (Err), after which the text is over.
func (m *Matcher) Accept(token int32) {
	if m.over || m.err != nil {
		return
	}
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if slices.Contains(m.r.v.ends, token) && m.at.done {
		m.over = true
		return
	}
	if at := m.r.read(m.at, token); at != nil {
		m.at = at
	} else {
		m.err = fmt.Errorf("token %d was drawn and is not allowed", token)
	}
	m.count()
}

// read returns where a token leads, nil for nowhere.
func (r *reader) read(s *set, token int32) *set {
	if token < 0 || int(token) >= r.v.size || len(r.v.text[token]) == 0 {
		return nil
	}
	for _, b := range r.v.text[token] {
		s = r.step(s, r.g.class[b])
		if len(s.pairs) == 0 {
			return nil
		}
		if r.bytes > maxMemory {
			r.forget()
		}
	}
	return s
}

// Done reports whether nothing but an end may follow.
func (m *Matcher) Done() bool {
	return m.over || m.err != nil || m.at.done && len(m.at.pairs) == 1
}

// Err says what went wrong: a token that was not allowed, or a vocabulary that lacks the token to go on with. The text is over then.
func (m *Matcher) Err() error { return m.err }

// Narrowed counts the masks that leave out tokens which may be allowed, because to decide them was too much work.
func (m *Matcher) Narrowed() int { return m.narrowed }
