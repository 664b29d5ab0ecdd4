package data

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A spool holds rows that stand in no file as they are needed: in memory, and beyond a limit in a temporary file that has
// no name any more, so that nothing stays behind when the process is killed.
type spool struct {
	limit  int
	memory []byte
	disk   *os.File
	size   int64
}

func newSpool(limit int) *spool { return &spool{limit: limit} }

// add appends a row and returns where it begins.
func (s *spool) add(text []byte) (offset int64, err error) {
	if s.disk == nil && len(s.memory)+len(text) > s.limit {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	offset = s.size
	s.size += int64(len(text))
	if s.disk == nil {
		s.memory = append(s.memory, text...)
		return offset, nil
	}
	if len(s.memory)+len(text) > cap(s.memory) {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	s.memory = append(s.memory, text...)
	return offset, nil
}

// spill goes on in a file.
func (s *spool) spill() (err error) {
	if s.disk, err = os.CreateTemp("", "furlong-rows-*"); err != nil {
		return fmt.Errorf("rows are more than --prompt-data-memory (%d bytes): %w", s.limit, err)
	}
	if err := os.Remove(s.disk.Name()); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.memory = make([]byte, 0, 1<<20)
	return nil
}

// flush writes what waits in memory.
func (s *spool) flush() error {
	_, err := s.disk.Write(s.memory)
	s.memory = s.memory[:0]
	return err
}

// ReadAt reads rows that were added.
func (s *spool) ReadAt(p []byte, at int64) (int, error) {
	if s.disk == nil {
		if at < 0 || at+int64(len(p)) > int64(len(s.memory)) {
			return 0, io.ErrUnexpectedEOF
		}
		return copy(p, s.memory[at:]), nil
	}
	return s.disk.ReadAt(p, at)
}

// finish says that all rows are there.
func (s *spool) finish() error {
	if s.disk == nil {
		return nil
	}
	err := s.flush()
	s.memory = nil
	return err
}

// Close gives the file back.
func (s *spool) Close() error {
	s.memory = nil
	if s.disk == nil {
		return nil
	}
	err := s.disk.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
