package data

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"furlong/data/rows"
	"furlong/rl"
)

// A Set is the prompts of one or several files. It does not change and may be shared.
type Set struct {
	files []*file
	mix   bool
}

// A file is the index of one file's prompts.
type file struct {
	*parser
	part    part
	parquet bool
	store   io.ReaderAt // where entries point into
	spool   *spool      // the same, if the rows had to be written
	close   func() error
	entries []entry
	longest Longest
	report  Report
	digest  string // of ids, texts, labels and metadata, in order
}

// An entry is what is kept of a prompt: where it stands, and how to know it again.
type entry struct {
	offset int64
	length int32
	number uint32
	tokens int32
	check  [8]byte
}

// Longest is the longest prompt of a set.
type Longest struct {
	ID, File string
	Tokens   int
}

func (f *file) spooled() bool { return f.spool != nil }

// Close gives back what the file holds on the disk.
func (f *file) Close() error {
	var errs []error
	if f.spool != nil {
		errs = append(errs, f.spool.Close())
	}
	if f.close != nil {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

func (s *Set) add(f *file) { s.files = append(s.files, f) }

// Close closes the files. No prompt can be read afterwards.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Len returns the number of prompts.
func (s *Set) Len() int {
	n := 0
	for _, f := range s.files {
		n += len(f.entries)
	}
	return n
}

// Name returns the set's name: its file's, without folder and ending, or mix.
func (s *Set) Name() string {
	if s.mix {
		return "mix"
	}
	return s.files[0].part.name
}

// Reports returns what was found in each file.
func (s *Set) Reports() []Report {
	var all []Report
	for _, f := range s.files {
		all = append(all, f.report)
	}
	return all
}

// Report returns what was found in all files.
func (s *Set) Report() Report {
	sum := s.files[0].report
	for _, f := range s.files[1:] {
		sum.add(f.report)
	}
	return sum
}

// Longest returns the longest prompt.
func (s *Set) Longest() Longest {
	longest := s.files[0].longest
	for _, f := range s.files[1:] {
		if f.longest.Tokens > longest.Tokens {
			longest = f.longest
		}
	}
	return longest
}

// Prompts returns every prompt once, in the files' order, Group counting from 0. The prompts are the caller's.
func (s *Set) Prompts() ([]*rl.Prompt, error) {
	all := make([]*rl.Prompt, 0, s.Len())
	for p, err := range s.All(true) {
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// All yields every prompt once, in the files' order, Group counting from 0. An error is the last that it yields. Without
// tokens the prompts have none, which is faster.
func (s *Set) All(tokens bool) iter.Seq2[*rl.Prompt, error] {
	return func(yield func(*rl.Prompt, error) bool) {
		group := int64(0)
		for _, f := range s.files {
			for i := range f.entries {
				p, err := s.prompt(f, i, group, tokens)
				if !yield(p, err) || err != nil {
					return
				}
				group++
			}
		}
	}
}

// prompt reads prompt i of a file again, as one of a run's groups.
func (s *Set) prompt(f *file, i int, group int64, tokens bool) (*rl.Prompt, error) {
	e := f.entries[i]
	text := make([]byte, e.length)
	if _, err := f.store.ReadAt(text, e.offset); err != nil {
		return nil, fmt.Errorf("%s: reading it again: %w", f.place(e), err)
	}
	r, err := f.parse(text, tokens)
	if err == nil && [8]byte(r.content()[:8]) != e.check {
		err = errors.New("another text or label")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: row has changed since the file was loaded: %w", f.place(e), err)
	}
	if s.mix {
		r.id = f.part.name + "/" + r.id
	}
	return &rl.Prompt{ID: r.id, Group: group, Text: r.text, Tokens: r.tokens, Label: r.label, Metadata: r.metadata, Set: f.part.name}, nil
}

func (f *file) place(e entry) string { return rows.Place(f.part.path, f.parquet, int(e.number)) }

// RolloutsPerEpoch returns how many rollouts of so many prompts an epoch holds, the incomplete last one not counted.
func (s *Set) RolloutsPerEpoch(batch int) (int, error) {
	if batch < 1 || batch > s.Len() {
		return 0, fmt.Errorf("--rollout-batch-size is %d, want 1 to %d, the prompts of %s", batch, s.Len(), s.Report().File)
	}
	return s.Len() / batch, nil
}
