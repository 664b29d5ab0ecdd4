package sglang

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Done is the last frame of a stream.
const Done = "data: [DONE]\n\n"

// AppendFrame appends a frame of a stream that holds one JSON value.
func AppendFrame(dst, value []byte) []byte {
	dst = append(dst, "data: "...)
	dst = append(dst, value...)
	return append(dst, "\n\n"...)
}

// Frames reads the frames of a stream.
type Frames struct {
	r    *bufio.Reader
	most int
	err  error
}

// NewFrames returns a reader of r that refuses frames longer than most bytes.
func NewFrames(r io.Reader, most int) *Frames {
	return &Frames{r: bufio.NewReaderSize(r, 64<<10), most: most}
}

// Next returns the value of the next frame, valid until the call after. The end is io.EOF after [DONE] alone: a stream that breaks off is
// io.ErrUnexpectedEOF.
func (f *Frames) Next() ([]byte, error) {
	for f.err == nil {
		line, err := f.line()
		if err != nil {
			f.err = err
			break
		}
		value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
		value = bytes.TrimSpace(value)
		switch {
		case !ok || len(value) == 0: // a comment, another field, or the empty line between frames
			continue
		case string(value) == "[DONE]":
			f.err = io.EOF
		default:
			return value, nil
		}
	}
	return nil, f.err
}

// line returns the next line.
func (f *Frames) line() ([]byte, error) {
	var long []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if len(long)+len(part) > f.most {
			return nil, fmt.Errorf("frame has more than %d bytes", f.most)
		}
		if err == nil && long == nil {
			return part, nil
		}
		long = append(long, part...)
		switch {
		case err == nil:
			return long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
}
