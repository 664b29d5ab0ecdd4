package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"furlong/metrics/run"
	"furlong/metrics/samples"
)

// An openBody is the body that was read last: one looks at several samples of a cycle in a row.
type openBody struct {
	key  samples.Key
	body *samples.Body
}

func (o *openBody) close() error {
	if o.body == nil {
		return nil
	}
	b := o.body
	o.body = nil
	return b.Close()
}

// bodyFile returns where the body of a key is, below the run.
func bodyFile(k samples.Key) string {
	return filepath.Join(run.SamplesDir, samples.Name(k.Cycle, k.Eval))
}

// kept reports whether a body is there.
func (x *sampleIndex) kept(k samples.Key) bool {
	if x.body.body != nil && x.body.key == k {
		return true
	}
	kept, known := x.files[k]
	if !known {
		info, err := x.run.root.Stat(bodyFile(k))
		kept = err == nil && info.Mode().IsRegular()
		x.files[k] = kept
	}
	return kept
}

// open returns the body of a key.
func (x *sampleIndex) open(k samples.Key) (*samples.Body, error) {
	if x.body.body != nil && x.body.key == k {
		return x.body.body, nil
	}
	file := bodyFile(k)
	path, err := x.run.path(file)
	if err != nil {
		return nil, err
	}
	b, err := samples.OpenBody(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, asked(Gone, "tokens of cycle %d were not kept", k.Cycle).in(file).hint("--keep-samples says which are")
	}
	if err != nil {
		return nil, x.run.broken(file, err)
	}
	if b.Attempt != k.Attempt {
		return nil, errors.Join(asked(Growing, "%s is of attempt %d, the index of attempt %d", file, b.Attempt, k.Attempt).in(file).hint("ask again"), b.Close())
	}
	_ = x.body.close() // it was only read
	x.body = openBody{k, b}
	return b, nil
}

// stored returns one sample with its tokens.
func (x *sampleIndex) stored(k samples.Key, group uint32, slot uint16) (*samples.Stored, error) {
	b, err := x.open(k)
	if err != nil {
		return nil, err
	}
	i := b.At(group, slot)
	if i < 0 {
		return nil, asked(Missing, "cycle %d has no sample %d of group %d", k.Cycle, slot, group).in(bodyFile(k))
	}
	s, err := b.Sample(i)
	if err != nil {
		return nil, x.run.broken(bodyFile(k), err)
	}
	return s, nil
}

// live returns the entry of a cycle, or of an evaluation after it, that counts, with its segment.
func (x *sampleIndex) live(cycle uint32, eval string) (*segment, *entry) {
	for i := len(x.segments) - 1; i >= 0; i-- {
		s := &x.segments[i]
		for j := len(s.entries) - 1; j >= 0; j-- {
			if e := &s.entries[j]; e.live && e.Cycle == cycle && e.Eval == eval {
				return s, e
			}
		}
	}
	return nil, nil
}

// rowsOf reads the rows of an entry.
func (x *sampleIndex) rowsOf(s *segment, e *entry) ([]samples.Row, error) {
	var all []samples.Row
	var p *piece
	for row := e.first; row < e.first+e.count; row++ {
		var at int
		p, at = x.locate(s.first+row, p)
		r, err := p.row(at)
		if err != nil {
			return nil, x.run.broken(indexDir, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// none says that the index has no samples of a cycle, and what may be the reason.
func (x *sampleIndex) none(cycle int, eval string) *Asked {
	a := asked(Missing, "there are no samples of cycle %d", cycle)
	if eval != "" {
		a = asked(Missing, "there are no samples of evaluation %q in cycle %d", eval, cycle)
	}
	a.in(filepath.ToSlash(indexDir))
	k := samples.Key{Cycle: uint32(cycle), Eval: eval}
	bad := x.bad()
	switch {
	case len(bad) > 0:
		return a.in(bad[0].File).hint("%s can't be read: %s; %s", bad[0].File, bad[0].Error, x.remedy())
	case x.kept(k):
		return a.hint("%s is there, but the index has no rows of it; %s", bodyFile(k), x.remedy())
	}
	return a.hint("the newest cycle with samples is %d", x.latest())
}

// cycle returns the rows of a cycle's samples.
func (x *sampleIndex) cycle(cycle int, eval string) (*entry, []samples.Row, error) {
	if err := x.look(); err != nil {
		return nil, nil, err
	}
	s, e := x.live(uint32(cycle), eval)
	if e == nil {
		return nil, nil, x.none(cycle, eval)
	}
	if err := x.ages(); err != nil {
		return nil, nil, x.run.broken(indexDir, err)
	}
	rows, err := x.rowsOf(s, e)
	return e, rows, err
}
