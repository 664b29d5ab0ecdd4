package store

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"furlong/metrics"
)

// A rowReader reads lines into numbers. Series have numbers of its own, so that several readers can read pieces of one file at once.
type rowReader struct {
	names  []string
	byName map[string]int32
	global []int // numbers of the same series in the table

	lines  []line
	counts []int   // of each line's numbers in ids and values
	ids    []int32 // series
	values []float64
	last   [][]byte // digits of the newest number of each series, within the lines that were read
	bad    []badLine

	shapes [2]shape // of the newest row of a cycle and of an evaluation
	slow   int      // lines that looked otherwise
	pairs  []pair
	texts  [][]byte // digits of the numbers of one line
	buf    [32]byte
	piece  []byte // that is read
}

// A badLine is a line that is no row.
type badLine struct {
	offset int64
	err    error
}

// A pair is a member of a line.
type pair struct{ key, raw []byte }

func newRowReader() *rowReader { return &rowReader{byName: map[string]int32{}} }

// begin forgets lines that were read, and keeps the names.
func (r *rowReader) begin() {
	r.lines, r.counts, r.ids, r.values, r.bad = r.lines[:0], r.counts[:0], r.ids[:0], r.values[:0], r.bad[:0]
	clear(r.last)
}

// read takes one line in, whose bytes must stay until [rowReader.begin]. It never fails: a line that is no row is one of the bad.
func (r *rowReader) read(offset int64, raw []byte) {
	l := line{offset: offset, bytes: int32(min(len(raw), math.MaxInt32)), cycle: -1}
	had := len(r.ids)
	r.texts = r.texts[:0]
	if len(raw) > math.MaxInt32 {
		r.bad = append(r.bad, badLine{offset, errors.New("row is longer than 2 GiB")})
		return
	}
	if !r.quick(&l, raw) {
		r.slow++
		r.ids, r.values, r.texts = r.ids[:had], r.values[:had], r.texts[:0]
		l = line{offset: offset, bytes: l.bytes, cycle: -1}
		if err := r.split(&l, raw); err != nil {
			r.bad = append(r.bad, badLine{offset, err})
			return
		}
		r.take(&l)
	}
	for i, id := range r.ids[had:] {
		r.last[id] = r.texts[i]
	}
	r.lines, r.counts = append(r.lines, l), append(r.counts, len(r.ids)-had)
}

// take reads the numbers among the members of a line, and remembers what it looks like.
func (r *rowReader) take(l *line) {
	s := r.shapes[one(l.eval)][:0]
	for _, p := range r.pairs {
		id, named := naming[string(p.key)]
		if !named {
			v, ok := metrics.ParseNumber(p.raw)
			if !ok {
				continue // null, or no number
			}
			id = r.id(p.key)
			r.ids, r.values, r.texts = append(r.ids, id), append(r.values, v), append(r.texts, p.raw)
			l.foreign = l.foreign || !plain(v, p.raw, r.buf[:0])
		}
		s = s.add(p.key, id)
	}
	r.shapes[one(l.eval)] = s
}

// split lists the members of a row, and reads those that name it.
func (r *rowReader) split(l *line, raw []byte) error {
	kind := ""
	r.pairs = r.pairs[:0]
	err := metrics.Fields(raw, func(key, value []byte) error {
		r.pairs = append(r.pairs, pair{key, value})
		switch string(key) {
		case "kind":
			kind = string(value)
		case "cycle":
			return whole(&l.cycle, key, value)
		case "attempt":
			return whole(&l.attempt, key, value)
		case "step":
			l.step, _ = metrics.ParseNumber(value)
		case "time":
			l.time, _ = metrics.ParseNumber(value)
		case "version":
			v, _ := metrics.ParseNumber(value)
			l.version = uint32(v)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case kind == "":
		return errors.New("row has no kind")
	case kind != `"cycle"` && kind != `"eval"`:
		return fmt.Errorf("row has kind %.40s, want cycle or eval", kind)
	case l.cycle < 0:
		return errors.New("row has no cycle")
	case l.attempt < 1:
		return errors.New("row has no attempt")
	}
	l.eval = kind == `"eval"`
	return nil
}

func whole(to *int32, key, raw []byte) error {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%s is %.40s, want a whole number from 0", key, raw)
	}
	*to = int32(n)
	return nil
}

// plain reports whether raw is v in the digits that rows are written in.
func plain(v float64, raw, buf []byte) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return len(raw) > 0 && raw[0] == '"'
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		buf = strconv.AppendFloat(buf, v, 'e', -1, 64)
	} else {
		buf = strconv.AppendFloat(buf, v, 'f', -1, 64)
	}
	return string(buf) == string(raw)
}

// id returns the number of a series.
func (r *rowReader) id(key []byte) int32 {
	id, ok := r.byName[string(key)]
	if !ok {
		id = int32(len(r.names))
		r.names, r.last = append(r.names, string(key)), append(r.last, nil)
		r.byName[string(key)] = id
	}
	return id
}
