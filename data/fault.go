package data

import "errors"

// A Part is a part of a row.
type Part int

// The parts of a row that can be wrong. Keys is the row as a whole: a key that stands in it twice.
const (
	Prompt Part = iota + 1
	Label
	Metadata
	ID
	Keys
)

// A fault is an error of one part of a row, for which a run refuses the file.
type fault struct {
	part Part
	err  error
}

func (f fault) Error() string { return f.err.Error() }

func (f fault) Unwrap() error { return f.err }

// of says which part of a row an error is of.
func of(part Part, err error) error { return fault{part, err} }

// PartOf returns the part of a row that an error of Row is of, 0 where there is no row at all ([Malformed]).
func PartOf(err error) Part {
	if f, ok := errors.AsType[fault](err); ok && !Malformed(err) {
		return f.part
	}
	return 0
}
