package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// An Event is what Read finds in one record.
type Event struct {
	Time        float64
	Step        int64
	FileVersion string
	Restart     bool // the run went back to Step
	Values      map[string]float32
}

// Read reads the events of a file as far as they are whole. It returns the length of what it read; behind that a file may be growing. An
// error means damage.
func Read(file []byte) (events []Event, good int, err error) {
	for {
		data, n, err := next(file[good:])
		if err != nil {
			return events, good, fmt.Errorf("record at %d: %w", good, err)
		}
		if n == 0 {
			return events, good, nil
		}
		e, err := parse(data)
		if err != nil {
			return events, good, fmt.Errorf("record at %d: %w", good, err)
		}
		events, good = append(events, e), good+n
	}
}

// next returns the data of the record that b begins with, and the record's length; 0 if it is not whole.
func next(b []byte) (data []byte, n int, err error) {
	if len(b) < 12 {
		return nil, 0, nil
	}
	if got, want := masked(b[:8]), binary.LittleEndian.Uint32(b[8:]); got != want {
		return nil, 0, fmt.Errorf("length has checksum %08x, want %08x", got, want)
	}
	size := binary.LittleEndian.Uint64(b)
	if size > uint64(len(b)-12) || uint64(len(b)-12)-size < 4 {
		return nil, 0, nil
	}
	end := 12 + int(size)
	if got, want := masked(b[12:end]), binary.LittleEndian.Uint32(b[end:]); got != want {
		return nil, 0, fmt.Errorf("data has checksum %08x, want %08x", got, want)
	}
	return b[12:end], end + 4, nil
}

func parse(b []byte) (e Event, err error) {
	err = fields(b, func(n int, v uint64, content []byte) error {
		switch n {
		case wallTime:
			e.Time = math.Float64frombits(v)
		case stepField:
			e.Step = int64(v)
		case fileVersion:
			e.FileVersion = string(content)
		case sessionLog:
			return fields(content, func(n int, v uint64, _ []byte) error {
				e.Restart = e.Restart || n == 1 && v == 1
				return nil
			})
		case summaryField:
			return fields(content, e.value)
		}
		return nil
	})
	return e, err
}

// value takes up one field of a Summary.
func (e *Event) value(n int, _ uint64, content []byte) error {
	if n != 1 {
		return nil
	}
	var tag string
	var value float32
	err := fields(content, func(n int, v uint64, content []byte) error {
		switch n {
		case 1:
			tag = string(content)
		case 2:
			value = math.Float32frombits(uint32(v))
		}
		return nil
	})
	if e.Values == nil {
		e.Values = map[string]float32{}
	}
	e.Values[tag] = value
	return err
}

// fields calls each for every field of a message, with its number or its content.
func fields(b []byte, each func(n int, v uint64, content []byte) error) error {
	cut := errors.New("field is cut short")
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 {
			return cut
		}
		b = b[n:]
		var v uint64
		var content []byte
		switch wire := key & 7; {
		case wire == varint || wire == length:
			if v, n = binary.Uvarint(b); n <= 0 {
				return cut
			}
			b = b[n:]
			if wire == length {
				if v > uint64(len(b)) {
					return cut
				}
				content, b = b[:v], b[v:]
			}
		case wire == fixed64 && len(b) >= 8:
			v, b = binary.LittleEndian.Uint64(b), b[8:]
		case wire == fixed32 && len(b) >= 4:
			v, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		case wire == fixed64 || wire == fixed32:
			return cut
		default:
			return fmt.Errorf("wire type %d, want 0, 1, 2 or 5", wire)
		}
		if err := each(int(key>>3), v, content); err != nil {
			return err
		}
	}
	return nil
}
