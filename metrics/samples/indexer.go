package samples

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"furlong/metrics/disk"
)

// An indexer writes an index.
type indexer struct {
	dir    string
	number uint32 // chunk that the tail will be
	tail   *disk.Appender
	held   []record // the tail's records
	rows   int      // and their rows
	sealAt int      // rows that make a chunk
	sets   []string
	known  map[Key]bool
	added  int               // rows added since it was opened
	gaps   map[place]float32 // largest gap among a body's rows
}

// openIndexer opens an index for writing, or makes it. A torn tail is cut. Names of sets that were lost are looked for in bodiesDir.
func openIndexer(dir, bodiesDir string, log *slog.Logger) (*indexer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	old, err := OpenIndex(dir)
	if err != nil {
		return nil, err
	}
	x := &indexer{dir: dir, number: old.number, sealAt: sealAt, sets: old.Sets, known: map[Key]bool{}, gaps: map[place]float32{}}
	if err := x.saveSets(lostSets(old, bodiesDir)); err != nil {
		return nil, err
	}
	for r := range old.records() {
		x.know(r)
	}
	for _, p := range old.Problems {
		log.Warn("index is damaged, rebuild it from the bodies", "error", p)
	}
	if cut := old.size - old.good; old.headed && cut > 0 {
		log.Warn("torn record cut off the index", "dir", dir, "bytes", cut)
	}
	return x, errors.Join(x.openTail(old), old.Close())
}

// know notes what r is, and how bad its worst token.
func (x *indexer) know(r record) {
	k := r.key(x.sets)
	x.known[k], x.gaps[k.place()] = true, worst(r.rows)
}

// worst returns the largest gap among rows, 0 if none was measured.
func worst(rows []Row) float32 {
	var g float32
	for _, r := range rows {
		if r.GapMax > g {
			g = r.GapMax
		}
	}
	return g
}

// lostSets returns the names of sets, mended where the rows use more than the index lists: from the bodies, whose lists only ever grow, or by stand-ins.
func lostSets(old *Index, dir string) []string {
	used, sets := 0, old.Sets
	for r := range old.records() {
		for i := range r.rows {
			used = max(used, int(r.rows[i].Set)+1)
		}
	}
	if used <= len(sets) {
		return sets
	}
	found, _ := bodies(dir) // a folder that cannot be read has none
	for _, p := range found {
		if b, err := OpenBody(filepath.Join(dir, Name(p.cycle, p.eval))); err == nil {
			if len(b.Sets) > len(sets) {
				sets = b.Sets
			}
			b.Close() // it was only read
		}
	}
	for len(sets) < used {
		sets = append(sets, setName(sets, uint32(len(sets))))
	}
	return sets
}

// openTail opens the tail behind its good records, or begins one.
func (x *indexer) openTail(old *Index) (err error) {
	if !old.headed {
		return x.newTail()
	}
	x.held = old.tail
	for _, r := range old.tail {
		x.rows += len(r.rows)
	}
	x.tail, err = disk.OpenAppender(filepath.Join(x.dir, tailName), int64(old.good))
	return err
}

// newTail begins an empty tail.
func (x *indexer) newTail() error {
	path := filepath.Join(x.dir, tailName)
	if err := disk.ReplaceBytes(path, appendTailHead(nil, x.number)); err != nil {
		return err
	}
	tail, err := disk.OpenAppender(path, tailHead)
	if err != nil {
		return err
	}
	x.tail, x.held, x.rows = tail, nil, 0
	return nil
}

// heal indexes the bodies in dir that the index does not know, and returns their number. A body that cannot be read is left, with a line.
func (x *indexer) heal(dir string, log *slog.Logger) (healed int, err error) {
	found, err := bodies(dir)
	if err != nil {
		return 0, err
	}
	for _, p := range found {
		path := filepath.Join(dir, Name(p.cycle, p.eval))
		r, sets, err := x.missing(path, p.eval)
		if err != nil {
			log.Warn("body left out of the index", "file", path, "error", err)
			continue
		}
		if r == nil {
			continue
		}
		if err := x.add(*r, sets); err != nil {
			return healed, err
		}
		healed++
		log.Warn("body added to the index", "file", path, "rows", len(r.rows))
	}
	return healed, nil
}

// missing returns the record of a body that the index does not have, with the names of its sets; nil if it has it.
func (x *indexer) missing(path, eval string) (*record, []string, error) {
	k, err := readKey(path, eval)
	if err != nil || x.known[k] {
		return nil, nil, err
	}
	b, err := OpenBody(path)
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	sets, source, err := x.source(eval)
	if err != nil {
		return nil, nil, err
	}
	for i := range b.Rows {
		r := &b.Rows[i]
		if sets, r.Set, err = setNumber(sets, setName(b.Sets, uint32(r.Set))); err != nil {
			return nil, nil, err
		}
	}
	return &record{b.Cycle, b.Attempt, source, b.Rows}, sets, nil
}

// source returns the source of an evaluation's records, or of the loop's, and the names of sets with it.
func (x *indexer) source(eval string) ([]string, uint32, error) {
	if eval == "" {
		return x.sets, loop, nil
	}
	sets, n, err := setNumber(x.sets, eval)
	return sets, uint32(n) + 1, err
}

// add appends a record, and seals the tail when it is long enough.
func (x *indexer) add(r record, sets []string) error {
	if err := x.saveSets(sets); err != nil {
		return err
	}
	if err := x.tail.Append(r.append(nil)); err != nil {
		return err
	}
	x.held, x.rows = append(x.held, r), x.rows+len(r.rows)
	x.added += len(r.rows)
	x.know(r)
	if x.rows < x.sealAt {
		return nil
	}
	return x.seal()
}

// saveSets writes the names of sets if there are more than before.
func (x *indexer) saveSets(sets []string) error {
	if len(sets) <= len(x.sets) {
		return nil
	}
	b, err := json.Marshal(setList{sets})
	if err != nil {
		return err
	}
	if err := disk.ReplaceBytes(filepath.Join(x.dir, setsName), append(b, '\n')); err != nil {
		return err
	}
	x.sets = sets
	return nil
}

// seal turns the tail into a chunk. After a crash in between, the tail still has the chunk's number, and so readers do not
// see its rows twice; the next seal writes the chunk again.
func (x *indexer) seal() error {
	path := filepath.Join(x.dir, fmt.Sprintf(chunkFormat, x.number))
	if err := disk.ReplaceBytes(path, appendChunk(nil, x.number, x.held)); err != nil {
		return err
	}
	old := x.tail
	x.number++
	if err := x.newTail(); err != nil {
		x.number-- // the tail stays, and the next record seals again
		return err
	}
	return old.Close()
}

func (x *indexer) close() error { return x.tail.Close() }
