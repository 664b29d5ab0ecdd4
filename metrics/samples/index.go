package samples

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
)

const setsName = "sets.json"

// setList is the content of sets.json.
type setList struct {
	Sets []string `json:"sets"`
}

// An Index is the rows of a run as a reader sees them: sealed chunks, and the tail that the run may be writing. It is used by one goroutine at a time.
type Index struct {
	Sets   []string // names of the data sets, by the numbers in rows
	Chunks []*Chunk
	// Problems are the pieces that could not be read. The rest of the index is whole.
	Problems []error

	dir    string
	number uint32 // chunk that the tail will be
	tail   []record
	good   int  // bytes of the tail that are sound
	size   int  // bytes of the tail
	headed bool // the tail has a sound header
	seen   os.FileInfo
	live   map[place]uint32
}

// place is a key without its attempt.
type place struct {
	cycle uint32
	eval  string
}

func (k Key) place() place { return place{k.Cycle, k.Eval} }

// OpenIndex opens the index in a folder, samples/index of a run or one that [Reindex] made. A folder that is not there has no rows.
func OpenIndex(dir string) (*Index, error) {
	x := &Index{dir: dir}
	return x, x.Refresh()
}

// Refresh looks at what the run has written since. Chunks that are open and still in place stay open.
func (x *Index) Refresh() error {
	path := filepath.Join(x.dir, tailName)
	info, err := os.Stat(path)
	if err == nil && x.seen != nil && os.SameFile(info, x.seen) && info.Size() == x.seen.Size() {
		return nil
	}
	x.seen = info
	raw, err := disk.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x.Problems = nil
	if err := x.readSets(); err != nil {
		x.Problems = append(x.Problems, err)
	}
	x.readTail(path, raw)
	x.openChunks()
	x.mark()
	return nil
}

func (x *Index) readTail(path string, raw []byte) {
	var ok bool
	x.number, x.tail, x.good, ok = readTail(raw)
	x.size, x.headed = len(raw), ok
	if ok {
		return
	}
	// The tail says how many chunks there are; without one, those there are count.
	x.number = x.afterLastChunk()
	if len(raw) > 0 {
		x.Problems = append(x.Problems, fmt.Errorf("%s: has no sound header", path))
	}
}

func (x *Index) readSets() error {
	path := filepath.Join(x.dir, setsName)
	raw, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var s setList
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	x.Sets = s.Sets
	return nil
}

func (x *Index) afterLastChunk() uint32 {
	names, _ := filepath.Glob(filepath.Join(x.dir, "chunk-*.fli")) // the pattern is sound
	var next uint32
	for _, n := range names {
		var i uint32
		if _, err := fmt.Sscanf(filepath.Base(n), chunkFormat, &i); err == nil {
			next = max(next, i+1)
		}
	}
	return next
}

// openChunks opens the chunks before the tail that are not open yet.
func (x *Index) openChunks() {
	have := map[uint32]*Chunk{}
	for _, c := range x.Chunks {
		have[c.Number] = c
	}
	x.Chunks = nil
	// A damaged tail may claim any number; no more chunks are tried than there are names for.
	last := x.afterLastChunk()
	if x.number > last {
		x.Problems = append(x.Problems, fmt.Errorf("%s: chunks %d to %d are missing", x.dir, last, x.number-1))
	}
	for n := range min(x.number, last) {
		c := have[n]
		if c == nil || !c.current() {
			var err error
			if c, err = OpenChunk(filepath.Join(x.dir, fmt.Sprintf(chunkFormat, n))); err != nil {
				x.Problems = append(x.Problems, err)
				continue
			}
		}
		x.Chunks = append(x.Chunks, c)
		if have[n] == c {
			delete(have, n)
		}
	}
	for _, c := range have {
		c.Close() // replaced; it was only read
	}
}

// mark notes the highest attempt of every cycle and evaluation.
func (x *Index) mark() {
	x.live = map[place]uint32{}
	for k := range x.Keys() {
		x.live[k.place()] = max(x.live[k.place()], k.Attempt)
	}
}

// Keys yields what bodies the rows come from, in the order of the index.
func (x *Index) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for _, c := range x.Chunks {
			for _, e := range c.Entries {
				if !yield(key(e.Cycle, e.Attempt, e.source, x.Sets)) {
					return
				}
			}
		}
		for _, r := range x.tail {
			if !yield(r.key(x.Sets)) {
				return
			}
		}
	}
}

// Key returns which body the rows of an entry come from.
func (x *Index) Key(e Entry) Key { return key(e.Cycle, e.Attempt, e.source, x.Sets) }

// Live reports whether rows of k count: no higher attempt wrote the same cycle.
func (x *Index) Live(k Key) bool { return x.live[k.place()] == k.Attempt }

// Tail yields the rows that are not in a chunk yet, by body.
func (x *Index) Tail() iter.Seq2[Key, []Row] {
	return func(yield func(Key, []Row) bool) {
		for _, r := range x.tail {
			if !yield(r.key(x.Sets), r.rows) {
				return
			}
		}
	}
}

// All yields every row by body, superseded ones too, in the order of the index. A chunk with a damaged block is left out and its error appended to
// Problems.
func (x *Index) All() iter.Seq2[Key, []Row] {
	return func(yield func(Key, []Row) bool) {
		for r := range x.records() {
			if !yield(r.key(x.Sets), r.rows) {
				return
			}
		}
	}
}

func (x *Index) records() iter.Seq[record] {
	return func(yield func(record) bool) {
		for _, c := range x.Chunks {
			records, err := c.records()
			if err != nil {
				x.note(err)
			}
			for _, r := range records {
				if !yield(r) {
					return
				}
			}
		}
		for _, r := range x.tail {
			if !yield(r) {
				return
			}
		}
	}
}

// note adds a problem that is not known yet.
func (x *Index) note(err error) {
	if !slices.ContainsFunc(x.Problems, func(p error) bool { return p.Error() == err.Error() }) {
		x.Problems = append(x.Problems, err)
	}
}

// Close closes the chunks.
func (x *Index) Close() error {
	var errs []error
	for _, c := range x.Chunks {
		errs = append(errs, c.Close())
	}
	x.Chunks = nil
	return errors.Join(errs...)
}

// setNumber returns the place of name in sets, appending it if it is new.
func setNumber(sets []string, name string) ([]string, uint8, error) {
	if i := slices.Index(sets, name); i >= 0 {
		return sets, uint8(i), nil
	}
	if len(sets) > maxSetNumber {
		return sets, 0, fmt.Errorf("set %q is one too many, want at most %d", name, maxSetNumber+1)
	}
	return append(sets, name), uint8(len(sets)), nil
}
