package store

import (
	"furlong/dash/api"
)

// problems counts what of one file could not be read and remembers the first.
type problems struct {
	file   string
	n      int
	offset int64
	first  string
}

func newProblems(file string) problems { return problems{file: file} }

func (p *problems) add(offset int64, err error) {
	if p.n++; p.n == 1 {
		p.offset, p.first = offset, err.Error()
	}
}

// report returns what is wrong, nothing if nothing is.
func (p problems) report() []api.Problem {
	if p.n == 0 {
		return nil
	}
	return []api.Problem{{File: p.file, Offset: p.offset, Error: p.first, N: p.n}}
}
