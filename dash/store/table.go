package store

import (
	"cmp"
	"io"
	"math"
	"os"
	"slices"

	"furlong/dash/api"
	"furlong/metrics"
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// hotBytes is what columns may take; the file is read again for those beyond it.
const hotBytes = 64 << 20

// absent marks a number that a row does not have: a NaN that no row holds, since theirs is the usual one.
var absent = math.Float64frombits(0x7ff8_dead_0000_0000)

func isAbsent(v float64) bool { return math.Float64bits(v) == math.Float64bits(absent) }

// A line is a row of the file.
type line struct {
	offset  int64
	bytes   int32
	cycle   int32
	attempt int32
	eval    bool
	foreign bool // holds a number in other digits than the shortest, which must be read again to be shown verbatim
	step    float64
	time    float64
	version uint32
}

// A column is a series over all lines of the file.
type column struct {
	name   string
	values []float64 // by line, absent where shorter; nil while cold
	cold   bool
	used   int64  // when it was last asked for
	n      int    // lines that have it
	odd    int    // and in which it is not finite
	last   []byte // digits of the newest
	first  int32  // cycles between which it is measured
	final  int32
}

// A point is what the charts show of one cycle: its row and that of the evaluations after it, each of the highest attempt. -1 is none.
type point struct {
	cycle      int32
	row, evals int32
}

// A table is metrics.jsonl in memory.
type table struct {
	root   *os.Root
	follow *disk.Follower
	lines  []line
	cols   []*column
	byName map[string]int
	points []point
	bad    problems
	hot    int // bytes of values
	limit  int // and what they may be
	clock  int64
	resets int      // times that the file was replaced
	again  []repeat // rows of a cycle that had one

	reader   *rowReader // of lines that come one by one
	bulkSlow int        // lines of pieces that were read the slow way, for tests
}

// A repeat is a row that took the place of another, or came too late to.
type repeat struct{ old, now int32 }

func newTable(root *os.Root) *table {
	t := &table{root: root}
	t.reset()
	return t
}

func (t *table) reset() {
	*t = table{root: t.root, resets: t.resets, limit: cmp.Or(t.limit, hotBytes), byName: map[string]int{}, bad: newProblems(run.RowsFile)}
	t.follow, t.reader = disk.FollowIn(t.root, run.RowsFile, 0), newRowReader()
}

// refresh reads what was written since.
func (t *table) refresh() error {
	if t.follow.Offset() == 0 && len(t.lines) == 0 {
		if err := t.bulk(); err != nil {
			return err
		}
	}
	restarted, err := t.follow.Poll(t.add)
	if restarted {
		// What was read now belongs behind nothing: begin with an empty table.
		t.resets++
		t.reset()
		_, err = t.follow.Poll(t.add)
	}
	t.cool()
	return err
}

// add takes in one line. It never fails: a line that is no row is counted.
func (t *table) add(offset int64, raw []byte) error {
	t.reader.begin()
	t.reader.read(offset, raw)
	t.merge(t.reader)
	return nil
}

// merge takes in the lines that a reader has read.
func (t *table) merge(r *rowReader) {
	for _, b := range r.bad {
		t.bad.add(b.offset, b.err)
	}
	for i := len(r.global); i < len(r.names); i++ {
		r.global = append(r.global, t.numberFor(r.names[i]))
	}
	ids, values := r.ids, r.values
	for i, l := range r.lines {
		at := len(t.lines)
		for n := range r.counts[i] {
			t.put(t.cols[r.global[ids[n]]], at, &l, values[n])
		}
		ids, values = ids[r.counts[i]:], values[r.counts[i]:]
		t.lines = append(t.lines, l)
		t.place(int32(at))
	}
	for i, raw := range r.last {
		if len(raw) > 0 {
			c := t.cols[r.global[i]]
			c.last = append(c.last[:0], raw...)
		}
	}
}

// numberFor returns the number of a series, which gets one if it is new.
func (t *table) numberFor(name string) int {
	i, ok := t.byName[name]
	if !ok {
		i = len(t.cols)
		t.cols = append(t.cols, &column{name: name, first: math.MaxInt32})
		t.byName[name] = i
	}
	return i
}

// put adds the number of a line to a column.
func (t *table) put(c *column, at int, l *line, v float64) {
	if c.n++; math.IsNaN(v) || math.IsInf(v, 0) {
		c.odd++
	}
	c.first, c.final = min(c.first, l.cycle), max(c.final, l.cycle)
	if c.cold {
		return
	}
	before := cap(c.values)
	c.values = grow(c.values, at)
	c.values = append(c.values, v)
	if at < len(c.values)-1 {
		c.values = c.values[:len(c.values)-1] // the name stands twice in one line: the first counts
	}
	t.hot += 8 * (cap(c.values) - before)
	if t.hot > t.limit && len(t.cols) > 1 {
		t.cool()
	}
}

// grow makes v at long, with absent numbers.
func grow(v []float64, at int) []float64 {
	if len(v) >= at {
		return v
	}
	v = slices.Grow(v, at+1-len(v))
	for len(v) < at {
		v = append(v, absent)
	}
	return v
}

// at returns the number of a line, or absent.
func (c *column) at(line int32) float64 {
	if line < 0 || int(line) >= len(c.values) {
		return absent
	}
	return c.values[line]
}

// cool drops the columns that were not asked for longest until the rest fits.
func (t *table) cool() {
	if t.hot <= t.limit {
		return
	}
	byUse := slices.Clone(t.cols)
	slices.SortStableFunc(byUse, func(a, b *column) int { return int(a.used - b.used) })
	for _, c := range byUse {
		if t.hot <= t.limit*3/4 {
			return
		}
		if !c.cold {
			t.hot -= 8 * cap(c.values)
			c.values, c.cold = nil, true
		}
	}
}

// warm makes sure that the columns of keys are there, reading the file again for those that are not. Unknown keys are left out.
func (t *table) warm(keys []string) error {
	t.clock++
	want := map[string]*column{}
	for _, k := range keys {
		i, ok := t.byName[k]
		if !ok {
			continue
		}
		c := t.cols[i]
		c.used = t.clock
		if c.cold {
			want[k] = c
		}
	}
	if len(want) == 0 {
		return nil
	}
	return t.reread(want)
}

func (t *table) reread(want map[string]*column) error {
	f, err := disk.OpenIn(t.root, run.RowsFile)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, c := range want {
		c.cold, c.values = false, make([]float64, 0, len(t.lines))
		t.hot += 8 * cap(c.values)
	}
	var buf []byte
	for at, l := range t.lines {
		if buf, err = readAt(f, l.offset, int(l.bytes), buf); err != nil {
			return err
		}
		_ = metrics.Fields(buf, func(key, raw []byte) error {
			if c := want[string(key)]; c != nil && len(c.values) <= at {
				if v, ok := metrics.ParseNumber(raw); ok {
					c.values = append(grow(c.values, at), v)
				}
			}
			return nil
		})
	}
	t.cool()
	return nil
}

func readAt(f io.ReaderAt, offset int64, n int, buf []byte) ([]byte, error) {
	buf = slices.Grow(buf[:0], n)[:n]
	if _, err := f.ReadAt(buf, offset); err != nil {
		return nil, err
	}
	return buf, nil
}

// place finds the cycle of a new line and lets it count if its attempt is the highest.
func (t *table) place(at int32) {
	l := t.lines[at]
	i := t.find(l.cycle)
	if i == len(t.points) || t.points[i].cycle != l.cycle {
		t.points = slices.Insert(t.points, i, point{l.cycle, -1, -1})
	}
	p := &t.points[i]
	had := &p.row
	if l.eval {
		had = &p.evals
	}
	if *had < 0 {
		*had = at
		return
	}
	t.again = append(t.again, repeat{*had, at})
	if l.attempt >= t.lines[*had].attempt {
		*had = at
	}
}

// find returns the first point at or behind a cycle. Rows mostly come in order, so the end is looked at first.
func (t *table) find(cycle int32) int {
	if n := len(t.points); n == 0 || t.points[n-1].cycle < cycle {
		return n
	}
	i, _ := slices.BinarySearchFunc(t.points, cycle, func(p point, c int32) int { return int(p.cycle) - int(c) })
	return i
}

// value returns the number of a series in a cycle: of its row or, if that has none, of its evaluations.
func (c *column) value(p point) float64 {
	if v := c.at(p.row); !isAbsent(v) {
		return v
	}
	return c.at(p.evals)
}

// lineOf returns the line that value took its number from.
func (c *column) lineOf(p point) int32 {
	if !isAbsent(c.at(p.row)) {
		return p.row
	}
	return p.evals
}

// column returns the column of a series, nil if no row has it. It must be warm.
func (t *table) column(key string) *column {
	if i, ok := t.byName[key]; ok {
		return t.cols[i]
	}
	return nil
}

// live returns the line that stands for a point: its row or, where there is none, its evaluations.
func (t *table) live(p point) line {
	if p.row >= 0 {
		return t.lines[p.row]
	}
	return t.lines[p.evals]
}

// text returns the bytes of a line.
func (t *table) text(at int32) ([]byte, error) {
	f, err := disk.OpenIn(t.root, run.RowsFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAt(f, t.lines[at].offset, int(t.lines[at].bytes), nil)
}

// number returns a value in the digits of its line, given those lines that had to be read again.
func (t *table) number(c *column, p point, again map[int32]map[string]string) api.Number {
	v := c.value(p)
	if isAbsent(v) {
		return ""
	}
	if at := c.lineOf(p); t.lines[at].foreign {
		if text, ok := again[at][c.name]; ok {
			return api.Number(text)
		}
	}
	return api.Float(v)
}

// foreign reads those lines of points again whose numbers are not in the usual digits, and returns their numbers' texts by line and name.
func (t *table) foreign(points []point, keys []string) (map[int32]map[string]string, error) {
	again := map[int32]map[string]string{}
	for _, p := range points {
		for _, at := range []int32{p.row, p.evals} {
			if at < 0 || !t.lines[at].foreign {
				continue
			}
			raw, err := t.text(at)
			if err != nil {
				return nil, err
			}
			texts := map[string]string{}
			_ = metrics.Fields(raw, func(key, value []byte) error {
				if slices.Contains(keys, string(key)) {
					texts[string(key)] = jsonNumber(value)
				}
				return nil
			})
			again[at] = texts
		}
	}
	return again, nil
}

// jsonNumber returns the text of a number as an answer may hold it. 1e999, which is none that a browser reads, becomes "Infinity".
func jsonNumber(raw []byte) string {
	if v, ok := metrics.ParseNumber(raw); ok && math.IsInf(v, 0) {
		return string(api.Float(v))
	}
	return string(raw)
}
