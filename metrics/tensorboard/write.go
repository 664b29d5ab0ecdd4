package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"furlong/metrics/disk"
)

// A Writer writes one event file. One goroutine uses it.
type Writer struct {
	file    *disk.Appender
	resumed bool // the first step must say that the run went back to it
}

// Create begins a file in dir, which it makes if need be. The time, host and attempt go into its name, which sorts by time. From the second
// attempt on, the first step that is added is announced as a restart.
func Create(dir, host string, time float64, attempt int) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d", int64(time), host, attempt)
	file, err := disk.OpenAppender(filepath.Join(dir, name), 0)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, resumed: attempt > 1}
	return w, w.file.Append(record(event(time, 0, field(nil, fileVersion, []byte("brain.Event:2")))))
}

// Add adds the values of one step, in the order of their names, as one event.
func (w *Writer) Add(step int, time float64, values map[string]float64) error {
	var out []byte
	if w.resumed {
		out = record(event(time, step, field(nil, sessionLog, []byte{1 << 3, 1}))) // status: START
	}
	var summary []byte
	for _, tag := range slices.Sorted(maps.Keys(values)) {
		v := field(nil, 1, []byte(tag))
		v = append(v, 2<<3|fixed32)
		v = binary.LittleEndian.AppendUint32(v, math.Float32bits(float32(values[tag])))
		summary = field(summary, 1, v)
	}
	out = append(out, record(event(time, step, field(nil, summaryField, summary)))...)
	if err := w.file.Append(out); err != nil {
		return err
	}
	w.resumed = false
	return nil
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Fields of an Event, and the wire types of protocol buffers.
const (
	wallTime     = 1
	stepField    = 2
	fileVersion  = 3
	summaryField = 5
	sessionLog   = 7

	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

// event returns an Event with one more field, what.
func event(time float64, step int, what []byte) []byte {
	b := []byte{wallTime<<3 | fixed64}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(time))
	if step != 0 { // a zero is left out
		b = append(b, stepField<<3|varint)
		b = binary.AppendUvarint(b, uint64(step))
	}
	return append(b, what...)
}

// field appends field n, whose content has a length.
func field(b []byte, n int, content []byte) []byte {
	b = append(b, byte(n<<3|length))
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// record frames data.
func record(data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, masked(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the checksum of b, rotated and shifted so that checksums may be part of what is summed.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
