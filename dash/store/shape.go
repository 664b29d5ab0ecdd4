package store

import (
	"bytes"
	"math"
)

// The members that name a row, in the place of numbers of series.
const (
	isKind int32 = -1 - iota
	isCycle
	isAttempt
	isStep
	isTime
	isVersion
)

var naming = map[string]int32{"kind": isKind, "cycle": isCycle, "attempt": isAttempt, "step": isStep, "time": isTime, "version": isVersion}

// A shape is the names of a row's members in their order. Rows of one run mostly have the same, so a line is read by comparing it with the shape of the one before, and only
// what differs is looked up.
type shape []member

// A member is a name as a line has it, with its quotes and the colon behind them, and the series it stands for.
type member struct {
	text string
	id   int32
}

// oddMembers is how many names of a line may be at other places than its shape has them.
const oddMembers = 8

// add adds a name that needs no escapes; others are never found, and so such lines are read in full.
func (s shape) add(key []byte, id int32) shape {
	if bytes.ContainsAny(key, `"\\`) || bytes.ContainsFunc(key, func(c rune) bool { return c < ' ' }) {
		return s
	}
	return append(s, member{`"` + string(key) + `":`, id})
}

// find returns the member that b begins with, from the i-th on.
func (s shape) find(i int, b []byte) int {
	for ; i < len(s); i++ {
		if t := s[i].text; len(b) >= len(t) && string(b[:len(t)]) == t {
			return i
		}
	}
	return -1
}

// quick reads a line that looks as its shape says: no blanks, no escapes, numbers only. It reports false for any other, also for one that is no row, and what it then has added
// to the numbers means nothing.
func (r *rowReader) quick(l *line, raw []byte) bool {
	switch {
	case bytes.HasPrefix(raw, []byte(`{"kind":"cycle",`)):
	case bytes.HasPrefix(raw, []byte(`{"kind":"eval",`)):
		l.eval = true
	default:
		return false
	}
	s := r.shapes[one(l.eval)]
	at, odd := bytes.IndexByte(raw, ',')+1, 0
	for i := 1; ; i++ { // the kind is the first member
		found, n := s.find(i, raw[at:]), 0
		var id int32
		if found >= 0 {
			i, id, n = found, s[found].id, len(s[found].text)
		} else {
			id, n = r.known(raw[at:])
			i--
			odd++
		}
		if n == 0 || odd > oddMembers {
			return false
		}
		at += n
		if n = r.member(l, id, raw[at:]); n == 0 || at+n == len(raw) {
			return false
		}
		switch at += n + 1; {
		case raw[at-1] == '}' && at == len(raw):
			return l.cycle >= 0 && l.attempt >= 1
		case raw[at-1] != ',':
			return false
		}
	}
}

// known looks up a name that a line has at another place than its shape.
func (r *rowReader) known(b []byte) (id int32, n int) {
	if len(b) == 0 || b[0] != '"' {
		return 0, 0
	}
	end := bytes.IndexByte(b[1:], '"') + 1
	if end < 1 || end+1 >= len(b) || b[end+1] != ':' {
		return 0, 0
	}
	key := b[1:end]
	if id, ok := r.byName[string(key)]; ok && bytes.IndexByte(key, '\\') < 0 {
		return id, end + 2
	}
	return 0, 0
}

// member takes in the value that b begins with, and returns its length, 0 if it is for the slow way to judge.
func (r *rowReader) member(l *line, id int32, b []byte) int {
	v, n, plain := readNumber(b, r.buf[:0])
	if n == 0 {
		if v, n = notFinite(b); n == 0 || id < 0 {
			return 0
		}
		plain = true
	}
	switch id {
	case isKind:
		return 0 // twice
	case isCycle, isAttempt:
		if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) || !plain || b[0] == '-' {
			return 0
		}
		if id == isCycle {
			l.cycle = int32(v)
		} else {
			l.attempt = int32(v)
		}
	case isStep:
		l.step = v
	case isTime:
		l.time = v
	case isVersion:
		l.version = uint32(v)
	default:
		r.ids, r.values, r.texts = append(r.ids, id), append(r.values, v), append(r.texts, b[:n:n])
		l.foreign = l.foreign || !plain
	}
	return n
}

// notFinite reads one of the strings that stand for what JSON has no number for.
func notFinite(b []byte) (float64, int) {
	for _, s := range [...]struct {
		text string
		v    float64
	}{{`"NaN"`, math.NaN()}, {`"Infinity"`, math.Inf(1)}, {`"-Infinity"`, math.Inf(-1)}} {
		if len(b) >= len(s.text) && string(b[:len(s.text)]) == s.text {
			return s.v, len(s.text)
		}
	}
	return 0, 0
}
