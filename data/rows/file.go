package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Row is one row of a file.
type Row struct {
	Number int    // of its line, or of the row in Parquet, from 1
	Offset int64  // of Text in the file; -1 in Parquet
	Text   []byte // a JSON object, not yet parsed; nil for a blank line. It is valid until the next call.
	Fault  error  // why there is no such object
}

// A File is a file that is read from its beginning. It is used by one goroutine.
type File struct {
	name  string
	size  int64
	lines *lines
	parq  *parquetFile
	close func() error
}

// Open opens a file for reading. Lines and Parquet rows may be at most limit bytes long.
func Open(path string, limit int) (*File, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	file, err := New(path, f, info.Size(), limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	file.close = f.Close
	return file, nil
}

// OpenRegular opens a file that is read more than once. Anything else is refused before it is opened: that of a pipe would wait for
// who writes into it.
func OpenRegular(path string) (*os.File, os.FileInfo, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: is no regular file, want jsonl or Parquet", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// New returns a file over r, which has size bytes. Messages call it name.
func New(name string, r io.ReaderAt, size int64, limit int) (*File, error) {
	f := &File{name: name, size: size, close: func() error { return nil }}
	head := make([]byte, min(4, size))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch ext := filepath.Ext(name); {
	case string(head) == "PAR1":
		var err error
		if f.parq, err = openParquet(r, size, limit); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return f, nil
	case ext == ".parquet":
		return nil, fmt.Errorf("%s: file begins with %q, want PAR1: this is no Parquet file", name, head)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), string(head) == "\x28\xb5\x2f\xfd", ext == ".gz", ext == ".zst":
		return nil, fmt.Errorf("%s: file is compressed, want jsonl or Parquet: unpack it first", name)
	}
	f.lines = newLines(io.NewSectionReader(r, 0, size), limit)
	return f, nil
}

// Next returns the next row, a blank line included, and io.EOF after the last.
func (f *File) Next() (Row, error) {
	if f.parq == nil {
		row, err := f.lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return row, fmt.Errorf("%s:%d: %w", f.name, f.lines.number, err)
		}
		return row, err
	}
	row, err := f.parq.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return row, fmt.Errorf("%s: row %d: %w", f.name, f.parq.number, err)
	}
	return row, err
}

// Parquet tells whether the file is one.
func (f *File) Parquet() bool { return f.parq != nil }

// Marked tells whether a byte order mark was skipped.
func (f *File) Marked() bool { return f.lines != nil && f.lines.marked }

// Size returns the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Done returns how many bytes of it have been read; of Parquet, its share of the rows.
func (f *File) Done() int64 {
	if f.parq == nil {
		return f.lines.end
	}
	return int64(float64(f.size) * f.parq.share())
}

// LeftOut returns the columns that rows have no form for.
func (f *File) LeftOut() []string {
	if f.parq == nil {
		return nil
	}
	return f.parq.left
}

// Close closes the file.
func (f *File) Close() error {
	if f.parq != nil {
		f.parq.close()
	}
	return f.close()
}

// Place names a row of a file: name:3 for lines, name: row 3 for Parquet.
func Place(name string, parquet bool, number int) string {
	if parquet {
		return fmt.Sprintf("%s: row %d", name, number)
	}
	return fmt.Sprintf("%s:%d", name, number)
}
