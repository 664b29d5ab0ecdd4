package store

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furlong/dash/api"
	"furlong/metrics/samples"
	"furlong/rl"
	"furlong/verdict"
)

// A SampleAsk says which samples are wanted.
type SampleAsk struct {
	Q     string
	Sort  string // a field, with - for falling; empty is -cycle
	Limit int
	After string // cursor of the page before
	Text  bool   // with the beginning of the answers
}

// textTime is how long one call may search texts.
const textTime = 2 * time.Second

// Samples answers a page of samples.
func (r *Run) Samples(a SampleAsk) (*api.Samples, error) {
	began := r.o.Now()
	f, err := ParseFilter(a.Q)
	if err != nil {
		return nil, err
	}
	s, err := newSearch(a)
	if err != nil {
		return nil, err
	}
	x := &r.index
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.look(); err != nil {
		return nil, err
	}
	out := &api.Samples{Rows: []api.Sample{}, Total: x.total(f.evals), Q: f.String(), Sets: slices.Clone(x.x.Sets), Latest: x.latest(), Bad: x.damage()}
	if len(out.Bad) > 0 {
		out.Remedy = x.remedy() + "."
	}
	s.x, s.hists = x, x.histograms()
	rest, text := f.split()
	m := &matcher{x: x, f: rest}
	if len(text) > 0 {
		err = s.texts(m, text, out, began.Add(textTime))
	} else {
		err = s.all(m, out)
	}
	if err != nil {
		return nil, err
	}
	out.Hist = map[string]api.Hist{}
	for _, h := range s.hists {
		out.Hist[h.name] = h.Hist
	}
	if err := s.read(out, a.Text); err != nil {
		return nil, err
	}
	out.Took = api.Float(math.Round(r.o.Now().Sub(began).Seconds()*1e4) / 10)
	return out, nil
}

// latest returns the newest cycle of the loop's samples.
func (x *sampleIndex) latest() int {
	for i := len(x.segments) - 1; i >= 0; i-- {
		for j := len(x.segments[i].entries) - 1; j >= 0; j-- {
			if e := x.segments[i].entries[j]; e.live && e.Eval == "" {
				return int(e.Cycle)
			}
		}
	}
	return 0
}

// A search gathers the rows of a page.
type search struct {
	x     *sampleIndex
	field *field
	down  bool // falling
	limit int
	after *found // last of the page before
	page  []found
	more  bool
	hists []*histogram

	plain   bool // a sample without text is none
	asked   bool // whether a body may hold a text
	askedOf samples.Key
	may     bool
}

// A found row is its place among all rows, and what it is sorted by.
type found struct {
	key float64
	row int
}

func newSearch(a SampleAsk) (*search, error) {
	s := &search{limit: a.Limit}
	if s.limit == 0 {
		s.limit = 100
	}
	if s.limit < 0 || s.limit > 1000 {
		return nil, asked(Wrong, "limit is %d, want 1 to 1,000", a.Limit)
	}
	by := a.Sort
	if by == "" {
		by = "-cycle"
	}
	by, s.down = strings.CutPrefix(by, "-")
	i := slices.IndexFunc(fields, func(f *field) bool { return f.name == by })
	if i < 0 {
		p := parser{q: by}
		return nil, p.unknown(by, 0)
	}
	s.field = fields[i]
	if a.After == "" {
		return s, nil
	}
	c, err := parseCursor(a.After)
	s.after = &c
	return s, err
}

func (f found) cursor() string { return fmt.Sprintf("%016x.%d", math.Float64bits(f.key), f.row) }

func parseCursor(s string) (found, error) {
	key, row, ok := strings.Cut(s, ".")
	bits, errKey := strconv.ParseUint(key, 16, 64)
	n, errRow := strconv.Atoi(row)
	if !ok || errKey != nil || errRow != nil || n < 0 {
		return found{}, asked(Wrong, "cursor is %.60q, want the one of the page before", s)
	}
	return found{math.Float64frombits(bits), n}, nil
}

// before reports whether a comes before b. What was not measured comes last; equal rows come newest first where the order falls.
func (s *search) before(a, b found) bool {
	an, bn := math.IsNaN(a.key), math.IsNaN(b.key)
	switch {
	case an != bn:
		return bn
	case !an && a.key != b.key:
		return (a.key < b.key) != s.down
	}
	return a.row != b.row && (a.row < b.row) != s.down
}

// all goes through all rows that the filter finds, counts them, and keeps those of the page.
func (s *search) all(m *matcher, out *api.Samples) error {
	err := m.scan(false, func(p *piece, rows []int) (bool, error) {
		out.Count += len(rows)
		return true, s.take(p, rows)
	})
	if err != nil {
		return err
	}
	s.trim()
	if s.more {
		out.Next = s.page[len(s.page)-1].cursor()
	}
	return nil
}

// take counts the rows of one block and offers them to the page.
func (s *search) take(p *piece, rows []int) error {
	if s.field.stale {
		if err := s.x.ages(); err != nil {
			return err
		}
		p.have = [samples.NumColumns]bool{}
	}
	for _, h := range s.hists {
		data, err := p.column(h.column)
		if err != nil {
			return s.x.run.broken(indexDir, err)
		}
		h.count(data, rows)
	}
	data, err := p.column(s.field.column)
	if err != nil {
		return s.x.run.broken(indexDir, err)
	}
	from, _ := p.s.span(p.block)
	for _, i := range rows {
		s.offer(found{s.key(p, data, from, i), p.s.first + from + i})
	}
	return nil
}

func (s *search) key(p *piece, data []byte, from, i int) float64 {
	v := s.field.column.Value(data, i)
	if s.field.mask != 0 {
		v = float64(uint32(v) & s.field.mask)
	}
	if s.field.stale {
		v = float64(p.s.entryOf(from+i).newest) - v
	}
	return v
}

// offer keeps f if it is behind the cursor and may be of the page. The page is cut when it is twice as long as it may be, and what comes behind its last row then is passed over, so each row costs little.
func (s *search) offer(f found) {
	if s.after != nil && !s.before(*s.after, f) || s.more && s.before(s.page[s.limit-1], f) {
		return
	}
	if s.page = append(s.page, f); len(s.page) >= 2*s.limit+64 {
		s.trim()
	}
}

func (s *search) trim() {
	slices.SortFunc(s.page, func(a, b found) int {
		switch {
		case s.before(a, b):
			return -1
		case s.before(b, a):
			return 1
		}
		return 0
	})
	if len(s.page) > s.limit {
		s.page, s.more = s.page[:s.limit], true
	}
}

// texts looks for texts among the rows that the rest of the filter finds, newest first, until the page is full or the time is over.
func (s *search) texts(m *matcher, terms []term, out *api.Samples, until time.Time) error {
	s.down, s.plain = true, onlyText(terms)
	seen := math.MaxInt // the last row that was looked at
	looked := 0
	err := m.scan(true, func(p *piece, rows []int) (bool, error) {
		rows = slices.Clone(rows) // reading a sample uses no buffer of the matcher, but counting does
		from, _ := p.s.span(p.block)
		for i := len(rows) - 1; i >= 0; i-- {
			row := p.s.first + from + rows[i]
			if s.after != nil && row >= s.after.row {
				continue
			}
			looked++
			if len(s.page) == s.limit || looked%16 == 0 && !s.x.run.o.Now().Before(until) {
				out.More, out.Next = true, found{0, seen}.cursor()
				return false, nil
			}
			seen = row
			ok, err := s.textHolds(p, rows[i], terms, out)
			if err != nil {
				return false, err
			}
			if ok {
				out.Count++
				s.page = append(s.page, found{0, row})
				for _, h := range s.hists {
					data, err := p.column(h.column)
					if err != nil {
						return false, s.x.run.broken(indexDir, err)
					}
					h.count(data, rows[i:i+1])
				}
			}
		}
		return true, nil
	})
	return err
}

// textHolds holds the terms against the answer of a row. A sample that is not kept has no text.
func (s *search) textHolds(p *piece, at int, terms []term, out *api.Samples) (bool, error) {
	from, _ := p.s.span(p.block)
	e := p.s.entryOf(from + at)
	may := s.mayHold(e.Key, terms)
	if !may && s.plain {
		return false, nil
	}
	row, err := p.row(at)
	if err != nil {
		return false, s.x.run.broken(indexDir, err)
	}
	text := ""
	if may {
		if stored, err := s.x.stored(e.Key, row.Group, row.Slot); err == nil {
			text = strings.ToLower(stored.Text)
		}
		out.Read++
	}
	for _, t := range terms {
		any := slices.ContainsFunc(t.any, func(a predicate) bool {
			if a.kind == hasText {
				return strings.Contains(text, a.text)
			}
			return s.x.rowHolds(&a, &row, e)
		})
		if any == t.not {
			return false, nil
		}
	}
	return true, nil
}

// onlyText reports whether some term can hold of no sample without a text.
func onlyText(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool {
		return !t.not && !slices.ContainsFunc(t.any, func(a predicate) bool { return a.kind != hasText })
	})
}

// mayHold reports whether a body may hold any of the texts that are looked for. The answer of the last body is remembered.
func (s *search) mayHold(k samples.Key, terms []term) bool {
	if s.asked && s.askedOf == k {
		return s.may
	}
	s.asked, s.askedOf, s.may = true, k, false
	b, err := s.x.open(k)
	if err != nil {
		return false // not kept: it has no text
	}
	for _, t := range terms {
		for _, a := range t.any {
			if a.kind == hasText {
				may, err := b.MayHold(a.text)
				s.may = s.may || may || err != nil
			}
		}
	}
	return s.may
}

// rowHolds holds a predicate against one row.
func (x *sampleIndex) rowHolds(a *predicate, r *samples.Row, e *entry) bool {
	switch a.kind {
	case hasFlag:
		return r.Flags&a.flag != 0
	case hasVerdict:
		return r.Verdict == a.verdict
	case inSet:
		return x.set(r.Set) == a.text
	}
	c := a.field.column
	v := c.Value(samples.AppendColumn(nil, c, []samples.Row{*r}), 0)
	if a.field.mask != 0 {
		v = float64(uint32(v) & a.field.mask)
	}
	if a.field.stale {
		if x.ages() != nil {
			return false
		}
		v = float64(e.newest) - v
	}
	return a.holds(v)
}

// read fills the page's rows in, block by block.
func (s *search) read(out *api.Samples, text bool) error {
	order := make([]int, len(s.page))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.page[a].row - s.page[b].row })
	if err := s.x.ages(); err != nil && len(order) > 0 {
		return s.x.run.broken(indexDir, err)
	}
	out.Rows = make([]api.Sample, len(s.page))
	var p *piece
	for _, i := range order {
		var at int
		if p, at = s.x.locate(s.page[i].row, p); p == nil {
			return asked(Broken, "row %d is not in the index", s.page[i].row).in(indexDir)
		}
		row, err := p.row(at)
		if err != nil {
			return s.x.run.broken(indexDir, err)
		}
		from, _ := p.s.span(p.block)
		out.Rows[i] = s.x.sample(&row, p.s.entryOf(from+at))
	}
	if !text {
		return nil
	}
	for i := range out.Rows {
		s.x.preview(&out.Rows[i])
	}
	return nil
}

// locate returns the block that holds a row, the one given if it is in there.
func (x *sampleIndex) locate(row int, had *piece) (*piece, int) {
	for i := range x.segments {
		s := &x.segments[i]
		if row < s.first || row >= s.first+s.rows {
			continue
		}
		block := (row - s.first) / samples.Block
		from, to := s.span(block)
		if had == nil || had.s != s || had.block != block {
			had = &piece{s: s, block: block, n: to - from, bufs: &x.buffers}
		}
		return had, row - s.first - from
	}
	return nil, 0
}

// sample is a row as answers have it.
func (x *sampleIndex) sample(r *samples.Row, e *entry) api.Sample {
	flags := r.Flags.Names()
	if flags == nil {
		flags = []string{}
	}
	s := api.Sample{
		Cycle: int(r.Cycle), Eval: e.Eval, Group: r.Group, Slot: int(r.Slot), Attempt: int(e.Attempt), Set: x.set(r.Set), Verdict: verdictWords[min(int(r.Verdict), 3)], Flags: flags,
		Reward: api.Float32(r.Reward), Advantage: api.Float32(r.Advantage), PromptLen: int(r.PromptLen), Len: int(r.ResponseLen),
		Version: verdict.Version(r.Version), Newest: verdict.Version(r.Version), Gap: api.Float32(r.GapMean), GapMax: api.Float32(r.GapMax), Pos: int(r.GapPos), Entropy: api.Float32(r.Entropy),
		Stale: api.Float(float64(e.newest) - float64(r.Version.Count())), Kept: x.kept(e.Key),
	}
	if r.Span > 0 {
		s.Newest = verdict.Version(rl.NewVersion(r.Version.Epoch(), r.Version.Count()+int(r.Span)))
	}
	return s
}

// preview reads the beginning of an answer.
func (x *sampleIndex) preview(s *api.Sample) {
	stored, err := x.stored(samples.Key{Cycle: uint32(s.Cycle), Attempt: uint32(s.Attempt), Eval: s.Eval}, s.Group, uint16(s.Slot))
	if err == nil {
		s.Text = beginning(stored.Text, 120)
	}
}

// beginning returns the first n characters of a text.
func beginning(text string, n int) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*n)], "\ufffd")
	i := 0
	for at := range text {
		if i == n {
			return text[:at]
		}
		i++
	}
	return text
}
