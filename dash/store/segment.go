package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"furlong/dash/api"
	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// A segment is a run of rows of the index: a sealed chunk, or the tail in memory.
type segment struct {
	first   int // number of its first row among all
	rows    int
	chunk   *samples.Chunk
	columns [samples.NumColumns][]byte // of the tail
	entries []entry
}

// An entry is the rows of one body.
type entry struct {
	samples.Key
	first, count int
	live         bool
	newest       uint32 // version that chose a token of it, as a publication number; only after ages
}

// sampleIndex is the rows of all samples of a run. Its lock is held during a search.
type sampleIndex struct {
	run *Run
	mu  sync.Mutex
	x   *samples.Index
	dir string // of the index that is read

	segments []segment
	state    [2]int // chunks and bytes of the tail when segments were made
	aged     bool   // segments' newest are known
	buffers  buffers
	body     openBody
	files    map[samples.Key]bool // bodies that are there or not, as far as this answer has asked
}

// buffers hold the columns of one block.
type buffers [samples.NumColumns][]byte

// indexDir is where a run keeps its index.
var indexDir = filepath.Join(run.SamplesDir, "index")

// look opens the index and reads what was written since.
func (x *sampleIndex) look() error {
	x.files = map[samples.Key]bool{}
	if x.x == nil {
		dir, err := x.find()
		if err != nil {
			return err
		}
		opened, err := samples.OpenIndex(dir)
		if err != nil {
			file := filepath.ToSlash(indexDir)
			x.run.indexOdd.Store(&[]api.Problem{{File: file, Error: x.run.plain(file, err), N: 1}})
			return x.run.broken(file, err)
		}
		x.x, x.dir = opened, dir
	} else if err := x.x.Refresh(); err != nil {
		return x.run.broken(indexDir, err)
	}
	x.cut()
	bad := x.bad()
	x.run.indexOdd.Store(&bad)
	return nil
}

// bad lists what of the index could not be read.
func (x *sampleIndex) bad() []api.Problem {
	out := []api.Problem{}
	if x.x == nil {
		return out
	}
	for _, err := range x.x.Problems {
		file := filepath.ToSlash(indexDir)
		text := x.run.plain(file, err)
		if name, why, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(name, file) {
			file, text = name, why
		}
		out = append(out, api.Problem{File: file, Error: text, N: 1})
	}
	return out
}

// damage lists what of the index could not be read, and an index without rows beside bodies that have some.
func (x *sampleIndex) damage() []api.Problem {
	bad := x.bad()
	if len(bad) > 0 || x.total(true) > 0 {
		return bad
	}
	for _, e := range x.run.entries(run.SamplesDir) {
		if filepath.Ext(e.Name()) == ".fls" {
			return []api.Problem{{File: filepath.ToSlash(indexDir), Error: "has no rows, and there are files of samples", N: 1}}
		}
	}
	return bad
}

// remedy says how an index is mended.
func (x *sampleIndex) remedy() string {
	return "furlong dash --reindex " + quote(x.run.dir) + " makes the index again from the bodies"
}

// find returns the index to read: one made in the cache folder, if there is one, else the run's own. Its files may not be links.
func (x *sampleIndex) find() (string, error) {
	if dir := x.run.cached(); dir != "" {
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	if _, err := x.run.path(indexDir); err != nil {
		return "", err
	}
	for _, e := range x.run.entries(filepath.ToSlash(indexDir)) {
		if e.Type()&os.ModeSymlink != 0 {
			return "", asked(Broken, "%s is a link, want a file", e.Name()).in(filepath.Join(indexDir, e.Name()))
		}
	}
	return filepath.Join(x.run.dir, indexDir), nil
}

// cut makes segments of chunks and tail, if there is something new.
func (x *sampleIndex) cut() {
	tail := 0
	for _, rows := range x.x.Tail() {
		tail += len(rows)
	}
	state := [2]int{len(x.x.Chunks), tail}
	if x.segments != nil && state == x.state {
		return
	}
	x.state, x.aged = state, false
	x.segments = []segment{}
	first := 0
	for _, c := range x.x.Chunks {
		s := segment{first: first, rows: c.Rows, chunk: c}
		for _, e := range c.Entries {
			k := x.x.Key(e)
			s.entries = append(s.entries, entry{Key: k, first: e.First, count: e.Count, live: x.x.Live(k)})
		}
		x.segments = append(x.segments, s)
		first += c.Rows
	}
	x.cutTail(first)
}

func (x *sampleIndex) cutTail(first int) {
	s := segment{first: first}
	for k, rows := range x.x.Tail() {
		s.entries = append(s.entries, entry{Key: k, first: s.rows, count: len(rows), live: x.x.Live(k)})
		s.rows += len(rows)
		for c := range samples.Column(samples.NumColumns) {
			s.columns[c] = samples.AppendColumn(s.columns[c], c, rows)
		}
	}
	if s.rows > 0 {
		x.segments = append(x.segments, s)
	}
}

// total counts the rows that count; evals says whether those of evaluations do.
func (x *sampleIndex) total(evals bool) int {
	n := 0
	for i := range x.segments {
		for _, e := range x.segments[i].entries {
			if e.live && (evals || e.Eval == "") {
				n += e.count
			}
		}
	}
	return n
}

func (x *sampleIndex) close() error {
	err := x.body.close()
	if x.x == nil {
		return err
	}
	return errors.Join(err, x.x.Close())
}

// blocks returns the number of blocks.
func (s *segment) blocks() int { return (s.rows + samples.Block - 1) / samples.Block }

// span returns the rows of a block.
func (s *segment) span(block int) (from, to int) {
	return block * samples.Block, min((block+1)*samples.Block, s.rows)
}

// A piece is one block of a segment, whose columns are read when they are needed.
type piece struct {
	s     *segment
	block int
	n     int // rows
	have  [samples.NumColumns]bool
	bufs  *buffers
}

// column returns a column of the piece.
func (p *piece) column(c samples.Column) ([]byte, error) {
	if p.s.chunk == nil {
		from, to := p.s.span(p.block)
		return p.s.columns[c][from*c.Width() : to*c.Width()], nil
	}
	if !p.have[c] {
		var err error
		if p.bufs[c], err = p.s.chunk.Read(c, p.block, p.bufs[c]); err != nil {
			return nil, err
		}
		p.have[c] = true
	}
	return p.bufs[c], nil
}

// row returns a whole row of the piece.
func (p *piece) row(i int) (samples.Row, error) {
	var r samples.Row
	for c := range samples.Column(samples.NumColumns) {
		data, err := p.column(c)
		if err != nil {
			return r, err
		}
		r.SetColumn(c, data, i)
	}
	return r, nil
}

// entryOf returns the entry that holds a row of the segment.
func (s *segment) entryOf(row int) *entry {
	lo, hi := 0, len(s.entries)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.entries[mid].first <= row {
			lo = mid
		} else {
			hi = mid
		}
	}
	return &s.entries[lo]
}

// ages finds the newest version of each body, for which it reads two columns of everything.
func (x *sampleIndex) ages() error {
	if x.aged {
		return nil
	}
	for i := range x.segments {
		s := &x.segments[i]
		for b := range s.blocks() {
			if err := s.ageBlock(b, &x.buffers); err != nil {
				return err
			}
		}
	}
	x.aged = true
	return nil
}

func (s *segment) ageBlock(block int, bufs *buffers) error {
	from, to := s.span(block)
	p := piece{s: s, block: block, n: to - from, bufs: bufs}
	versions, err := p.column(samples.ColVersion)
	if err != nil {
		return err
	}
	spans, err := p.column(samples.ColSpan)
	if err != nil {
		return err
	}
	for at := from; at < to; {
		e := s.entryOf(at)
		for end := min(e.first+e.count, to); at < end; at++ {
			v := uint32(samples.ColVersion.Value(versions, at-from))&0xffffff + uint32(samples.ColSpan.Value(spans, at-from))
			e.newest = max(e.newest, v)
		}
	}
	return nil
}
