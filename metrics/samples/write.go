package samples

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"

	"furlong/metrics/disk"
)

// Options are what a [Writer] needs besides its folder.
type Options struct {
	Attempt int                      // number of the start of the run, from 1
	Text    func(token int32) []byte // what a token stands for, so that no tokenizer is needed to read a run
	Log     *slog.Logger
	Experts KeepExperts // of which tokens their experts are kept

	sealAt int // for tests: rows that make a chunk, 0 for the usual number
}

// A Writer writes the bodies and the index of a run. One goroutine uses it.
type Writer struct {
	dir string
	o   Options
	idx *indexer
}

// Open opens the folder for writing, or makes it. Bodies that a crash kept from the index are indexed first.
func Open(dir string, o Options) (*Writer, error) {
	if o.Attempt < 1 {
		return nil, fmt.Errorf("samples: attempt is %d, want at least 1", o.Attempt)
	}
	index := filepath.Join(dir, "index")
	if err := restore(index); err != nil {
		return nil, err
	}
	x, err := openIndexer(index, dir, o.Log)
	if err != nil {
		return nil, err
	}
	x.sealAt = cmp.Or(o.sealAt, sealAt)
	w := &Writer{dir: dir, o: o, idx: x}
	if _, err := x.heal(dir, o.Log); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return w, nil
}

// Add writes a body and then its rows. When it fails before the body is in place, nothing has changed; when it fails after, the
// body will be indexed by the next [Open].
func (w *Writer) Add(b Batch) error {
	k := Key{uint32(b.Cycle), uint32(w.o.Attempt), b.Eval}
	if err := w.check(b, k); err != nil {
		return fmt.Errorf("samples of cycle %d: %w", b.Cycle, err)
	}
	sets, r, body, err := w.lay(b, k)
	if err != nil {
		return fmt.Errorf("samples of cycle %d: %w", b.Cycle, err)
	}
	path := filepath.Join(w.dir, Name(k.Cycle, k.Eval))
	if err := disk.Replace(path, func(out io.Writer) error { return body.writeTo(out, k, sets) }); err != nil {
		return err
	}
	return w.idx.add(r, sets)
}

func (w *Writer) check(b Batch, k Key) error {
	if b.Cycle < 0 || int64(b.Cycle) > math.MaxUint32 {
		return fmt.Errorf("want a cycle of 0 to %d", uint32(math.MaxUint32))
	}
	if _, eval, ok := ParseName(Name(k.Cycle, k.Eval)); !ok || eval != k.Eval {
		return fmt.Errorf("evaluation %q, want a name of letters, digits, _ . and -", k.Eval)
	}
	if w.idx.known[k] {
		return fmt.Errorf("were written before by attempt %d", k.Attempt)
	}
	for i := range b.Samples {
		if err := b.Samples[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// lay lays out body and rows. The sets it returns may have grown.
func (w *Writer) lay(b Batch, k Key) (sets []string, r record, body *builder, err error) {
	r = record{cycle: k.Cycle, attempt: k.Attempt}
	if sets, r.source, err = w.idx.source(k.Eval); err != nil {
		return nil, r, nil, err
	}
	keep, err := w.o.Experts.newKeeping(b.Samples)
	if err != nil {
		return nil, r, nil, err
	}
	body = newBuilder(w.o.Text, b.Samples, keep)
	for i := range b.Samples {
		s := &b.Samples[i]
		set := uint8(r.source - 1)
		if k.Eval == "" {
			if sets, set, err = setNumber(sets, s.Prompt.Set); err != nil {
				return nil, r, nil, err
			}
		}
		row := s.row(k.Cycle, set, k.Eval != "")
		r.rows = append(r.rows, row)
		if err := body.add(s, row); err != nil {
			return nil, r, nil, err
		}
	}
	return sets, r, body, nil
}

// Close closes the index.
func (w *Writer) Close() error { return w.idx.close() }

// AddRows adds rows to the index of which there is no body, as those whose bodies were dropped: for tools that make runs. sets are the names of all data sets, by the
// numbers in rows; they may only grow from call to call.
func (w *Writer) AddRows(cycle int, sets []string, rows []Row) error {
	k := Key{Cycle: uint32(cycle), Attempt: uint32(w.o.Attempt)}
	if w.idx.known[k] {
		return fmt.Errorf("samples of cycle %d: were written before by attempt %d", cycle, k.Attempt)
	}
	return w.idx.add(record{k.Cycle, k.Attempt, loop, rows}, sets)
}
