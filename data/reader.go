package data

import (
	"encoding/json"
	"errors"

	"furlong/tokenizer"
)

// A Row is one row of a file, as a run would see it.
type Row struct {
	ID, Text, Label string
	OwnID           bool // the file gives the id
	Metadata        json.RawMessage
	Tokens          int
}

// A Reader reads single rows as Open does. It may be used from several goroutines.
type Reader struct{ p *parser }

// NewReader returns a reader with the settings of c; c.File is not read.
func NewReader(c Config, tok tokenizer.Tokenizer) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p, err := newParser(c, tok)
	if err != nil {
		return nil, err
	}
	return &Reader{p}, nil
}

// Row reads a row from its JSON object. Its tokens are counted if they are wanted.
func (r *Reader) Row(text []byte, tokens bool) (Row, error) {
	in, err := r.p.parse(text, tokens)
	if err != nil {
		return Row{}, err
	}
	return Row{in.id, in.text, in.label, in.ownID, in.metadata, len(in.tokens)}, nil
}

// Malformed tells whether an error of Row says that there is no row at all. Of these, a run leaves out a few.
func Malformed(err error) bool {
	_, ok := errors.AsType[malformed](err)
	return ok
}

// MostMalformed is the share of malformed rows from which on a file is refused.
const MostMalformed = mostMalformed
