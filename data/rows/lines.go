package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// mark is the byte order mark that some editors put before UTF-8.
var mark = []byte("\xef\xbb\xbf")

// lines reads a file line by line and knows where it is.
type lines struct {
	r       *bufio.Reader
	limit   int // longest line in bytes
	number  int // of the line read last, from 1
	begin   int64
	end     int64 // offset behind the line read last
	marked  bool
	current []byte
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// next returns the next line, without Text if it is blank, and io.EOF after the last.
func (l *lines) next() (Row, error) {
	text, fault, err := l.line()
	if err != nil {
		return Row{}, err
	}
	row := Row{Number: l.number, Offset: l.begin, Fault: fault}
	if fault != nil || len(bytes.TrimSpace(text)) == 0 {
		return row, nil
	}
	row.Text, row.Fault = text, check(text)
	return row, nil
}

// line returns the next line without its end. What is beyond the limit is read and not kept.
func (l *lines) line() (text []byte, fault, err error) {
	l.current, l.begin = l.current[:0], l.end
	l.number++
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.end += int64(len(part))
		if long = long || len(l.current)+len(part) > l.limit+len("\r\n"); !long {
			l.current = append(l.current, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && l.end > l.begin, err == nil:
			text, fault = l.trim(long)
			return text, fault, nil
		default:
			return nil, nil, err
		}
	}
}

// trim takes the line's end off, and the mark at the beginning of a file.
func (l *lines) trim(long bool) ([]byte, error) {
	text := bytes.TrimRight(l.current, "\r\n")
	if l.number == 1 && bytes.HasPrefix(text, mark) {
		text, l.marked = text[len(mark):], true
		l.begin += int64(len(mark))
	}
	if long || len(text) > l.limit {
		return nil, fmt.Errorf("line is longer than %d bytes (--max-line-bytes)", l.limit)
	}
	return text, nil
}

// check says why a text is not one JSON object.
func check(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("line is not UTF-8")
	}
	text = bytes.TrimSpace(text)
	if text[0] != '{' && json.Valid(text) {
		return fmt.Errorf("line is %.40s, want an object", text)
	}
	return nil
}
