package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Follower reads the whole lines of a file that another process may be writing, cutting or replacing.
type Follower struct {
	path   string
	open   func() (*os.File, error)
	offset int64
	seen   os.FileInfo // nil before the first look and after the file was gone
}

// Follow starts at the line that begins at offset, 0 for the first.
func Follow(path string, offset int64) *Follower {
	return &Follower{path: path, offset: offset, open: func() (*os.File, error) { return Open(path) }}
}

// FollowIn is [Follow] for a file below root, which no link leaves.
func FollowIn(root *os.Root, name string, offset int64) *Follower {
	return &Follower{path: filepath.Join(root.Name(), name), offset: offset, open: func() (*os.File, error) { return OpenIn(root, name) }}
}

// Offset returns where the next line will begin.
func (l *Follower) Offset() int64 { return l.offset }

// Poll calls each for every whole line since the last Poll. line is valid until each returns. restarted says that the file was not the
// one read before, or that no line begins at the offset asked for, and that its lines come from the first on.
// An error of each ends the Poll; the next one begins with the same line.
func (l *Follower) Poll(each func(offset int64, line []byte) error) (restarted bool, err error) {
	f, err := l.open()
	if errors.Is(err, os.ErrNotExist) {
		restarted = l.offset > 0
		l.offset, l.seen = 0, nil
		return restarted, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !l.continues(f, info) {
		restarted, l.offset = true, 0
	}
	l.seen = info
	return restarted, l.lines(io.NewSectionReader(f, l.offset, info.Size()-l.offset), each)
}

// continues reports whether a line of f begins at the offset, as far as one can see.
func (l *Follower) continues(f *os.File, info os.FileInfo) bool {
	if l.offset == 0 {
		return true
	}
	if l.offset < 0 || info.Size() < l.offset || l.seen != nil && !os.SameFile(l.seen, info) {
		return false
	}
	var before [1]byte
	_, err := f.ReadAt(before[:], l.offset-1)
	return err == nil && before[0] == '\n'
}

func (l *Follower) lines(r io.Reader, each func(int64, []byte) error) error {
	br := bufio.NewReaderSize(r, 1<<16)
	var long []byte // the beginning of a line that does not fit the buffer
	for {
		part, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case errors.Is(err, io.EOF):
			return nil // a torn line waits
		case err != nil:
			return fmt.Errorf("%s: %w", l.path, err)
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if err := each(l.offset, line[:len(line)-1]); err != nil {
			return err
		}
		l.offset += int64(len(line))
		long = long[:0]
	}
}

// A Bad is a line that could not be read.
type Bad struct {
	Path   string
	Offset int64
	Err    error
}

// Error names file, offset and reason.
func (b Bad) Error() string { return fmt.Sprintf("%s: offset %d: %v", b.Path, b.Offset, b.Err) }

// Unwrap returns the reason.
func (b Bad) Unwrap() error { return b.Err }

// ReadLines returns what parse makes of path's whole lines, and the lines that it could not read.
func ReadLines[T any](path string, parse func(line []byte) (T, error)) (all []T, bad []Bad, err error) {
	_, err = Follow(path, 0).Poll(func(offset int64, line []byte) error {
		if v, err := parse(line); err != nil {
			bad = append(bad, Bad{path, offset, err})
		} else {
			all = append(all, v)
		}
		return nil
	})
	return all, bad, err
}
