package disk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// An Appender adds whole pieces at the end of a file. It may be used from several goroutines at once.
type Appender struct {
	mu   sync.Mutex
	f    *os.File
	size int64 // whole pieces
	err  error // set once the file may end in half a piece
	lost int   // pieces that Write could not append
	why  error // the first of them
}

// OpenAppender opens path, or makes it, for appending behind its first keep bytes. What lies behind them is cut off.
func OpenAppender(path string, keep int64) (*Appender, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > keep {
		err = f.Truncate(keep)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Appender{f: f, size: min(keep, info.Size())}, nil
}

// OpenLines opens path, or makes it, for appending lines. A torn last line is cut off and its length returned, unless
// only its line feed is missing: a complete JSON object gets one and stays.
func OpenLines(path string) (a *Appender, torn int, err error) {
	whole, rest, err := lastLine(path)
	if err != nil {
		return nil, 0, err
	}
	if len(rest) > 0 && rest[0] == '{' && json.Valid(rest) {
		if a, err = OpenAppender(path, whole+int64(len(rest))); err == nil {
			err = a.Append([]byte("\n"))
		}
		return a, 0, err
	}
	a, err = OpenAppender(path, whole)
	return a, len(rest), err
}

// lastLine returns the length of path's whole lines and what comes after them.
func lastLine(path string) (whole int64, rest []byte, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, nil, err
	}
	if whole, err = wholeLines(f, info.Size()); err != nil {
		return 0, nil, err
	}
	rest = make([]byte, info.Size()-whole)
	_, err = f.ReadAt(rest, whole)
	return whole, rest, err
}

// wholeLines returns the offset behind the last line feed of r, looking from the end.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 1<<16)
	for hi := size; hi > 0; {
		lo := max(0, hi-int64(len(block)))
		if _, err := r.ReadAt(block[:hi-lo], lo); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:hi-lo], '\n'); i >= 0 {
			return lo + int64(i) + 1, nil
		}
		hi = lo
	}
	return 0, nil
}

// Append adds piece. When that fails, the file is as it was before, and the next piece may be tried.
func (a *Appender) Append(piece []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	if _, err := a.f.WriteAt(piece, a.size); err != nil {
		if cut := a.f.Truncate(a.size); cut != nil {
			a.err = fmt.Errorf("%s may end in half a piece: %w", a.f.Name(), errors.Join(err, cut))
			return a.err
		}
		return err
	}
	a.size += int64(len(piece))
	return nil
}

// Write is [Appender.Append] for those who want an io.Writer that they call once a line. They may not look at the error, as loggers do not, so [Appender.Close]
// tells it again.
func (a *Appender) Write(piece []byte) (int, error) {
	err := a.Append(piece)
	if err == nil {
		return len(piece), nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost++
	a.why = cmp.Or(a.why, err)
	return 0, err
}

// Size returns the length of the whole pieces.
func (a *Appender) Size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size
}

// Close forces the file to the disk and closes it. It also reports what Write could not append.
func (a *Appender) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lost error
	if a.lost > 0 {
		lost = fmt.Errorf("%s lost %d pieces, the first by: %w", a.f.Name(), a.lost, a.why)
	}
	return errors.Join(lost, a.f.Sync(), a.f.Close())
}
