package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"furlong/dash/api"
	"furlong/metrics/disk"
	"furlong/metrics/run"
)

// A tally is an evaluation without its answers, which lists and matrices do not show and which are most of its file.
type tally struct {
	run.Evaluation
	seen os.FileInfo
	bad  problems
}

// tallies remembers the evaluations that were read, as long as their files stay what they were. They are replaced whole, never changed.
type tallies struct {
	files map[string]tally
	held  int // problems of all of them
	read  int // files that were read, for tests
	buf   []byte
	names map[string]string // of problems, each once
}

// maxHeld is how many problems stay, some 100 bytes each.
const maxHeld = 200_000

// tallied returns all evaluations of a set by cycle, and what of them could not be read.
func (r *Run) tallied(name string) (all []tally, bad []api.Problem) {
	dir, err := r.root.OpenRoot(path.Join("eval", name))
	if err != nil {
		return nil, []api.Problem{{File: "eval/" + name, Error: r.plain("eval/"+name, err), N: 1}}
	}
	defer dir.Close()
	for _, c := range r.cyclesIn("eval/" + name) {
		file := run.EvalFile(name, c)
		e, err := r.tallies.get(dir, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			bad = append(bad, api.Problem{File: file, Error: r.plain(file, err), N: 1})
		case e.Name != name || e.Cycle != c:
			bad = append(bad, api.Problem{File: file, Error: fmt.Sprintf("file holds evaluation %.40q of cycle %d", e.Name, e.Cycle), N: 1})
		default:
			all = append(all, e)
			bad = append(bad, e.bad.report()...)
		}
	}
	return all, bad
}

// get returns what is remembered of a file in dir, or reads it.
func (t *tallies) get(dir *os.Root, file string) (tally, error) {
	info, err := dir.Stat(path.Base(file))
	if err != nil {
		return tally{}, err
	}
	if had, ok := t.files[file]; ok && os.SameFile(had.seen, info) && had.seen.Size() == info.Size() && had.seen.ModTime().Equal(info.ModTime()) {
		return had, nil
	}
	if t.held > maxHeld || t.files == nil {
		t.files, t.names, t.held = map[string]tally{}, map[string]string{}, 0
	}
	e, err := t.take(dir, file)
	if err != nil {
		return tally{}, err
	}
	t.held += len(e.Problems) - len(t.files[file].Problems)
	t.files[file] = e
	return e, nil
}

// take reads a file.
func (t *tallies) take(dir *os.Root, file string) (tally, error) {
	t.read++
	f, err := disk.OpenIn(dir, path.Base(file))
	if err != nil {
		return tally{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return tally{}, err
	}
	if !info.Mode().IsRegular() {
		return tally{}, errors.New("is no file")
	}
	t.buf = slices.Grow(t.buf[:0], int(info.Size()))[:info.Size()]
	n, err := f.ReadAt(t.buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return tally{}, err
	}
	e := tally{seen: info, bad: newProblems(file)}
	t.lines(&e, t.buf[:n])
	if e.Kind == "" {
		return tally{}, errors.New(cmp.Or(e.bad.first, "holds no evaluation"))
	}
	return e, nil
}

// lines reads the whole lines of a file.
func (t *tallies) lines(e *tally, all []byte) {
	for offset := 0; offset < len(all); {
		end := bytes.IndexByte(all[offset:], '\n')
		if end < 0 {
			e.bad.add(int64(offset), errors.New("line has no end"))
			return
		}
		if err := t.line(e, all[offset:offset+end]); err != nil {
			e.bad.add(int64(offset), err)
		}
		offset += end + 1
	}
}

func (t *tallies) line(e *tally, raw []byte) error {
	if e.Kind == "" {
		head := run.Evaluation{}
		if err := json.Unmarshal(raw, &head); err != nil {
			return err
		}
		if head.Kind != "eval" {
			return errors.New("line does not begin an evaluation")
		}
		e.Evaluation = head
		return nil
	}
	p, ok := quickProblem(raw)
	if !ok {
		whole := run.Problem{}
		if err := json.Unmarshal(raw, &whole); err != nil {
			return err
		}
		whole.Samples = nil
		p = whole
	}
	if had, ok := t.names[p.ID]; ok {
		p.ID = had
	} else {
		t.names[p.ID] = p.ID
	}
	e.Problems = append(e.Problems, p)
	return nil
}

// quickProblem reads the counts of a problem from a line in the form that [run.Dir.WriteEval] gives it, without looking at the answers behind them.
func quickProblem(raw []byte) (p run.Problem, ok bool) {
	raw, ok = bytes.CutPrefix(raw, []byte(`{"id":"`))
	end := bytes.IndexByte(raw, '"')
	if !ok || end < 0 || bytes.IndexByte(raw[:end], '\\') >= 0 {
		return p, false
	}
	p.ID, raw = string(raw[:end]), raw[end+1:]
	var group int
	for _, f := range []struct {
		name string
		to   *int
	}{{`,"n":`, &p.N}, {`,"c":`, &p.C}, {`,"truncated":`, &p.Truncated}, {`,"group":`, &group}} {
		if raw, ok = bytes.CutPrefix(raw, []byte(f.name)); !ok {
			return p, false
		}
		d, n := scanDecimal(raw)
		if n == 0 || d.minus || d.places > 0 || d.digits > 15 {
			return p, false
		}
		*f.to, raw = int(d.mantissa), raw[n:]
	}
	p.Group = int64(group)
	return p, bytes.HasPrefix(raw, []byte(`,"samples":[`)) && bytes.HasSuffix(raw, []byte(`]}`))
}
