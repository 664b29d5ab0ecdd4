package data

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// mark is the byte order mark that some editors put before UTF-8.
var mark = []byte("\xef\xbb\xbf")

// lines reads a file line by line and knows where it is.
type lines struct {
	r       *bufio.Reader
	limit   int // longest line in bytes
	number  int // of the line read last, from 1
	marked  bool
	current []byte
}

// newLines returns the lines of r.
func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next line without its end, valid until the next call, and io.EOF after the last.
func (l *lines) next() ([]byte, error) {
	l.current = l.current[:0]
	l.number++
	for {
		part, err := l.r.ReadSlice('\n')
		l.current = append(l.current, part...)
		if len(l.current) > l.limit+len("\r\n") {
			return nil, fmt.Errorf("line is longer than %d bytes", l.limit)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.current) > 0, err == nil:
			return l.trim(), nil
		default:
			return nil, err
		}
	}
}

// trim takes the line's end off, and the mark at the beginning of a file.
func (l *lines) trim() []byte {
	line := bytes.TrimRight(l.current, "\r\n")
	if l.number == 1 {
		line, l.marked = bytes.CutPrefix(line, mark)
	}
	return line
}
