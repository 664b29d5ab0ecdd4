package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"furlong/metrics/run"
)

// openMax is how many runs stay open when nobody asks for them.
const openMax = 3

// A Shelf is the runs that can be looked at: directories of runs, and directories that hold many.
type Shelf struct {
	o     Options
	dirs  []string
	mu    sync.Mutex
	ids   map[string]string // directory by name
	names map[string]string // name by directory
	open  map[string]*opened
	clock int64
	cards map[string]card // what the list knows of a run, by directory
}

// opened is an open run and who uses it.
type opened struct {
	run   *Run
	users int
	used  int64
}

// NewShelf returns the runs in dirs. A directory that holds no run is looked through for those that do, again and again, so that new ones appear.
func NewShelf(dirs []string, o Options) *Shelf {
	s := &Shelf{o: o, dirs: dirs, ids: map[string]string{}, names: map[string]string{}, open: map[string]*opened{}, cards: map[string]card{}}
	s.find()
	return s
}

// find looks for runs and returns their directories.
func (s *Shelf) find() []string {
	var all []string
	for _, d := range s.dirs {
		if run.Holds(d) {
			all = append(all, d)
			continue
		}
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if dir := filepath.Join(d, e.Name()); e.IsDir() && run.Holds(dir) {
				all = append(all, dir)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range all {
		s.name(d)
	}
	return all
}

// name gives a directory its name, the same as long as the process lives.
func (s *Shelf) name(dir string) string {
	if id, ok := s.names[dir]; ok {
		return id
	}
	base := filepath.Base(dir)
	if base == "." || base == string(filepath.Separator) {
		if whole, err := filepath.Abs(dir); err == nil {
			base = filepath.Base(whole)
		}
	}
	id := base
	for n := 2; ; n++ {
		if _, taken := s.ids[id]; !taken {
			break
		}
		id = fmt.Sprintf("%s~%d", base, n)
	}
	s.ids[id], s.names[dir] = dir, id
	return id
}

// Use calls do with a run, which stays open at least as long.
func (s *Shelf) Use(id string, do func(*Run) error) error {
	o, err := s.take(id)
	if err != nil {
		return err
	}
	defer s.giveBack(o)
	return do(o.run)
}

func (s *Shelf) take(id string) (*opened, error) {
	s.mu.Lock()
	_, known := s.ids[id]
	s.mu.Unlock()
	if !known {
		s.find()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, ok := s.ids[id]
	if !ok {
		return nil, asked(Missing, "there is no run %q", id)
	}
	o := s.open[id]
	if o == nil {
		r, err := Open(dir, id, s.o)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, asked(Missing, "%s is not there any more", dir)
		}
		if err != nil {
			return nil, asked(Broken, "%s", plainError(err))
		}
		o = &opened{run: r}
		s.open[id] = o
	}
	s.clock++
	o.users, o.used = o.users+1, s.clock
	s.shrink()
	return o, nil
}

func (s *Shelf) giveBack(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users--
	s.shrink()
}

// shrink closes the runs that were used longest ago, and shares the memory for columns among the others.
func (s *Shelf) shrink() {
	var idle []string
	for id, o := range s.open {
		if o.users == 0 {
			idle = append(idle, id)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return cmp.Compare(s.open[a].used, s.open[b].used) })
	for len(s.open) > openMax && len(idle) > 0 {
		_ = s.open[idle[0]].run.Close() // it was only read
		delete(s.open, idle[0])
		idle = idle[1:]
	}
	for _, o := range s.open {
		o.run.limit.Store(hotBytes / int64(len(s.open)))
	}
}

// Warm reads the first runs before anybody asks, so that the first look at a long one need not wait.
func (s *Shelf) Warm() {
	for i, dir := range s.find() {
		if i == openMax {
			return
		}
		_ = s.Use(s.nameOf(dir), func(r *Run) error { _, err := r.Head(false); return err }) // who asks is told what is wrong
	}
}

// Close closes all runs. Nobody may use one any more.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for id, o := range s.open {
		errs = append(errs, o.run.Close())
		delete(s.open, id)
	}
	return errors.Join(errs...)
}

// nameOf returns the name of a directory that was found.
func (s *Shelf) nameOf(dir string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name(dir)
}
