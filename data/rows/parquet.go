package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// What a Parquet file may claim. Files of prompts stay far below.
const (
	mostFooter  = 64 << 20  // bytes of the footer
	mostPage    = 256 << 20 // bytes of a page, packed or unpacked
	mostValues  = 16 << 20  // values of a page
	mostInChunk = 64 << 20  // values of a column of a row group
	mostColumns = 4096
	mostDepth   = 16 // of groups in each other
	rowsAtOnce  = 16
)

// A parquetFile hands out the rows of a Parquet file as JSON.
type parquetFile struct {
	r      io.ReaderAt
	file   *parquet.File
	limit  int
	number int64 // rows handed out
	groups []parquet.RowGroup
	rows   parquet.Rows // of the present row group
	read   []parquet.Row
	ready  []parquet.Row // of read, not handed out yet
	top    []column
	left   []string
	text   []byte
}

func openParquet(r io.ReaderAt, size int64, limit int) (p *parquetFile, err error) {
	defer guard(&err)
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p = &parquetFile{r: r, file: f, limit: limit, groups: f.RowGroups(), read: make([]parquet.Row, rowsAtOnce)}
	p.top, p.left, err = columnsOf(f)
	return p, err
}

// guard turns a panic of the library into an error.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("file is damaged, or written in a way that is not read here: %v", r)
	}
}

// checkFooter reports a footer that cannot be, before room is made for it.
func checkFooter(r io.ReaderAt, size int64) error {
	const ends = 12 // PAR1, and the footer's length with PAR1
	if size < ends {
		return fmt.Errorf("file has %d bytes, want at least %d: it is cut off", size, ends)
	}
	var tail [8]byte
	if _, err := r.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(tail[4:]) != "PAR1" {
		return fmt.Errorf("file ends with %q, want PAR1: it is cut off", tail[4:])
	}
	if n := int64(binary.LittleEndian.Uint32(tail[:])); n > min(size-ends, mostFooter) {
		return fmt.Errorf("footer has %d bytes, want at most %d", n, min(size-ends, mostFooter))
	}
	return nil
}

// next returns the next row.
func (p *parquetFile) next() (row Row, err error) {
	defer guard(&err)
	if len(p.ready) == 0 {
		if err := p.fill(); err != nil {
			return Row{}, err
		}
	}
	values := p.ready[0]
	p.ready = p.ready[1:]
	p.number++
	a := assembly{out: p.text[:0], limit: p.limit}
	a.row(p.top, values)
	p.text = a.out
	row = Row{Number: int(p.number), Offset: -1, Text: a.out, Fault: a.fault}
	if a.fault != nil {
		row.Text = nil
	}
	return row, nil
}

// fill reads the next rows.
func (p *parquetFile) fill() error {
	for {
		if p.rows == nil {
			p.skipEmpty()
			if len(p.groups) == 0 {
				return io.EOF
			}
			if err := p.check(len(p.file.RowGroups()) - len(p.groups)); err != nil {
				return err
			}
			p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
		}
		n, err := p.rows.ReadRows(p.read)
		p.ready = p.read[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if errors.Is(err, io.EOF) || n == 0 {
			err = p.rows.Close()
			p.rows = nil
		}
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// skipEmpty passes over row groups without rows. What they say of their columns means nothing: writers give pages that are not there.
func (p *parquetFile) skipEmpty() {
	for len(p.groups) > 0 && p.groups[0].NumRows() == 0 {
		p.groups = p.groups[1:]
	}
}

// check looks at what row group i claims of its columns and pages.
func (p *parquetFile) check(i int) error {
	group := p.file.Metadata().RowGroups[i]
	for c := range group.Columns {
		if err := checkChunk(p.r, p.file.Size(), &group.Columns[c].MetaData); err != nil {
			return fmt.Errorf("row group %d: column %v: %w", i, slices.Collect(slices.Values(group.Columns[c].MetaData.PathInSchema)), err)
		}
	}
	return nil
}

// share returns the part of the rows that was handed out.
func (p *parquetFile) share() float64 {
	if n := p.file.NumRows(); n > 0 {
		return float64(p.number) / float64(n)
	}
	return 1
}

func (p *parquetFile) close() {
	if p.rows != nil {
		var err error
		defer guard(&err)
		_ = p.rows.Close() // reading is over
	}
}
